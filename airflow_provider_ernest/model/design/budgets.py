"""What the sample runs may cost together, as a number or a share of production, and what they did cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.design.candidates import Candidates
from airflow_provider_ernest.model.design.costs import (
    CheckedCost,
    Cost,
    MachineSeconds,
    RelativeTime,
    in_seconds,
)
from airflow_provider_ernest.model.design.expectations import ExpectedSecondsOfRuns
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import FloatArray, positive_number, whole_number


@dataclass(frozen=True, kw_only=True)
class ProductionShare:
    """A budget as a share of what one production run is predicted to cost.

    Attributes:
        share: 0.05 is 5 %.
        machines: the machines of the production run, such as those it has now. Work that spreads costs
            the same machine seconds on any number; only the overhead grows with it.
        scale: its input, relative to the target input.
    """

    share: float = 0.05
    machines: int = 1
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse shares and configurations that cannot be."""
        positive_number("share", self.share)
        whole_number("machines", self.machines)
        positive_number("scale", self.scale)

    def of(self, cost: Cost, candidates: Candidates) -> float:
        """The budget in the unit of the cost.

        Args:
            cost: of runs; made of expected seconds, or the user's own function.
            candidates: the sample runs; they tell the partitions of the production input.

        Raises:
            InvalidParameterError: the cost is relative to the cheapest sample run, and says nothing of
                production.
        """
        unchecked = cost.cost if isinstance(cost, CheckedCost) else cost
        if isinstance(unchecked, RelativeTime):
            raise InvalidParameterError(
                "budget",
                self,
                "is a share of what production costs, and nothing says what that is",
                remedy='Use cost="machine_seconds" or "dollars" with full_seconds_on_one_machine, a rough '
                "guess of the whole input's seconds on one machine.",
            )
        partitions = np.median(candidates.partitions / candidates.scale) * self.scale
        production = Candidates(
            machines=np.array([self.machines]),
            scale=np.array([self.scale]),
            partitions=np.array([max(1, round(float(partitions)))]),
        )
        own = in_seconds(cost)
        of_production = own.of_production() if isinstance(own, MachineSeconds) else cost
        return self.share * float(of_production(production)[0])


def spent_on(observed: Sequence[Observation], *, cost: Cost, candidates: Candidates) -> float:
    """What runs that were made have cost, in the unit of the cost.

    A cost made of seconds is reckoned from the seconds that the runs took, start-up included; any other
    one is taken as it was expected.

    Args:
        observed: the runs.
        cost: of runs.
        candidates: the runs that a relative cost is relative to.
    """
    if not observed:
        return 0.0
    machines = np.array([run.machines for run in observed])
    of_seconds = in_seconds(cost)
    if of_seconds is not None:
        seconds = np.array([run.startup_seconds + run.seconds for run in observed])
        return float(of_seconds.of_seconds(machines=machines, seconds=seconds).sum())
    scale = np.array([run.scale for run in observed])
    whole = float(np.median(candidates.partitions / candidates.scale))
    runs = Candidates(
        machines=machines, scale=scale, partitions=np.maximum(1, np.rint(scale * whole)).astype(np.int64)
    )
    unchecked = cost.cost if isinstance(cost, CheckedCost) else cost
    if isinstance(unchecked, RelativeTime):
        return float(unchecked.relative_to(candidates, runs=runs).sum())
    return float(cost(runs).sum())


def costs_by_now(
    candidates: Candidates,
    *,
    cost: Cost,
    observed: Sequence[Observation],
    expected_seconds: ExpectedSecondsOfRuns | None,
) -> FloatArray:
    """What the candidates are expected to cost by all that is known now, shape (n,).

    Args:
        candidates: the runs that could be made.
        cost: of runs; only one that is made of seconds can learn.
        observed: the runs already made: the next ones start up as they did.
        expected_seconds: what runs are expected to take from then on; None for the guess in the cost.
    """
    of_seconds = in_seconds(cost)
    if of_seconds is None or expected_seconds is None:
        return np.asarray(cost(candidates), dtype=np.float64)
    startup = float(np.median([run.startup_seconds for run in observed])) if observed else 0.0
    seconds = expected_seconds(machines=candidates.machines.astype(np.float64), scale=candidates.scale)
    return of_seconds.of_seconds(machines=candidates.machines, seconds=startup + seconds)


def resolve_budget(
    budget: float | ProductionShare | None, *, cost: Cost, candidates: Candidates
) -> float | None:
    """The budget as a number in the unit of the cost; None stays None.

    Raises:
        InvalidParameterError: it is a share, and the cost says nothing of production; see
            `ProductionShare.of`.
    """
    return budget.of(cost, candidates) if isinstance(budget, ProductionShare) else budget
