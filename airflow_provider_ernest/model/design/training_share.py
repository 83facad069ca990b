"""What the sample runs may cost beside the production run they are for, before either was made.

A deadline tells how long production runs: the cheapest configuration within it takes about as long. Times a
middle number of the machines that production may have, that is a rough guess of its machine seconds. Rough is
enough: work that spreads costs its scale of production, whatever that takes, and only what every run costs
besides is weighed against the guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.design.costs import MachineSeconds
from airflow_provider_ernest.model.documents import Design
from airflow_provider_ernest.model.parameters import positive_number

LONG_SECONDS = 1200.0
"""Production that takes as long can be sampled for little: start-ups are little beside it."""

RUN_OVERHEAD_SECONDS = 45.0
"""What every run takes besides its work, where nobody says: start-up, result, the gap before the next one."""


@dataclass(frozen=True, kw_only=True)
class ProductionRun:
    """What is known of one production run beforehand.

    Attributes:
        seconds: that it takes.
        machine_seconds: its seconds times its machines.
        scale: its input relative to the one that is sampled.
    """

    seconds: float
    machine_seconds: float
    scale: float = 1.0

    @property
    def is_long(self) -> bool:
        """Whether its sample runs are to be frugal by default."""
        return self.seconds >= LONG_SECONDS

    def cost_of_samples(
        self, *, billed_machines: float, run_overhead_seconds: float = RUN_OVERHEAD_SECONDS
    ) -> MachineSeconds:
        """What sample runs cost beside it, in machine seconds."""
        return MachineSeconds(
            full_seconds_on_one_machine=self.machine_seconds / self.scale,
            run_overhead_seconds=run_overhead_seconds,
            billed_machines=billed_machines,
        )

    def share_of(self, design: Design, cost: MachineSeconds) -> float:
        """What the runs of a design are expected to cost, as a share of what it costs.

        Args:
            design: the runs.
            cost: of them, by `cost_of_samples`.
        """
        machines = np.array([run.machines for run in design.experiments])
        scale = np.array([run.scale for run in design.experiments])
        seconds = cost.seconds(machines=machines, scale=scale)
        return float(cost.of_seconds(machines=machines, seconds=seconds).sum()) / self.machine_seconds


def expected_production(
    *,
    machines: Sequence[int] | None,
    scale: float = 1.0,
    deadline_seconds: float | None = None,
    full_seconds_on_one_machine: float | None = None,
) -> ProductionRun | None:
    """What one production run takes by what the user said; None where that tells nothing.

    Args:
        machines: the numbers of machines that it may have; None where they are not known.
        scale: its input relative to the one that is sampled.
        deadline_seconds: within which it is to end.
        full_seconds_on_one_machine: the user's guess for the input that is sampled; it is worth more than the
            deadline.

    Raises:
        InvalidParameterError: a number cannot be.
    """
    middle = None if machines is None else float(np.exp(np.mean(np.log(machines))))
    positive_number("target_scale", scale)
    if deadline_seconds is not None:
        positive_number("target_deadline_seconds", deadline_seconds)
    work = None
    if full_seconds_on_one_machine is not None:
        work = scale * positive_number("full_seconds_on_one_machine", full_seconds_on_one_machine)
    elif deadline_seconds is not None and middle is not None:
        work = deadline_seconds * middle
    seconds = deadline_seconds
    if seconds is None and work is not None and middle is not None:
        seconds = work / middle
    if work is None or seconds is None:
        return None
    return ProductionRun(seconds=seconds, machine_seconds=work, scale=scale)
