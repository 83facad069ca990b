"""What a run has cost in machines and in calls of AWS: its training against its production."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from airflow_provider_ernest.eventlog.run_facts import run_seconds
from benchmarks.demo.session import WIDTH

if TYPE_CHECKING:
    from benchmarks.demo.report import Outcome
    from benchmarks.demo_ec2.machines import LaunchedMachine
    from tests.ec2_testbed.api_client import Call

_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Machine time and its price.

    Attributes:
        machine_seconds: summed over the machines.
        dollars: None where the price of a machine is unknown.
    """

    machine_seconds: float
    dollars: float | None

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        known = self.dollars is not None and other.dollars is not None
        return Cost(
            machine_seconds=self.machine_seconds + other.machine_seconds,
            dollars=(self.dollars or 0.0) + (other.dollars or 0.0) if known else None,
        )


def paid_before(machines: Iterable[LaunchedMachine], moment: datetime, *, now: datetime) -> Cost:
    """What all machines had cost at a moment, from their launch on: boot, probe and idle time too."""
    return _paid((machine, machine.seconds_before(moment, now=now)) for machine in machines)


def paid_in_all(machines: Iterable[LaunchedMachine], *, now: datetime) -> Cost:
    """What all machines have cost."""
    return _paid((machine, machine.seconds(now=now)) for machine in machines)


def _paid(parts: Iterable[tuple[LaunchedMachine, float]]) -> Cost:
    total = Cost(machine_seconds=0.0, dollars=0.0)
    for machine, seconds in parts:
        price = machine.price_per_hour
        dollars = None if price is None else price * seconds / _SECONDS_PER_HOUR
        total += Cost(machine_seconds=seconds, dollars=dollars)
    return total


def cost_lines(
    outcome: Outcome, machines: Sequence[LaunchedMachine], *, decided_at: datetime, now: datetime
) -> list[str]:
    """What training and production cost, by themselves and with all that the machines were paid for.

    Args:
        outcome: of the run.
        machines: that it had.
        decided_at: when the training was over.
        now: the present.
    """
    price = (outcome.decision.price_per_hour or 0.0) / _SECONDS_PER_HOUR
    seconds_of_samples = sum(run.machines * run.seconds for run in outcome.model.observations)
    size = outcome.decision.config.machines
    seconds_of_production = size * run_seconds(outcome.production, size)
    samples, production = (
        Cost(machine_seconds=seconds, dollars=seconds * price)
        for seconds in (seconds_of_samples, seconds_of_production)
    )
    before, total = paid_before(machines, decided_at, now=now), paid_in_all(machines, now=now)
    after = Cost(
        machine_seconds=total.machine_seconds - before.machine_seconds,
        dollars=None if total.dollars is None or before.dollars is None else total.dollars - before.dollars,
    )
    return [
        f"{'':58s}  machine-seconds   dollars",
        _row(f"the {len(outcome.model.observations)} sample runs, once they had their machines", samples),
        _row(f"the production run, the same, on {size} machines", production),
        _row("paid for all machines from launch to decision", before),
        _row("paid for all machines from decision to the end", after),
        _row("paid in all", total),
        *_wrapped(
            f"The sample runs took {samples.machine_seconds / production.machine_seconds:.0%} of the "
            "machine time of the production run. The rest of what was paid until the decision is boot, "
            "probe, start-up of the runs, and machines that idle while a run uses fewer than there are."
        ),
    ]


def deadline_line(seconds: float, deadline_seconds: float) -> str:
    """Whether production ended in time."""
    difference = deadline_seconds - seconds
    kept = f"kept with {difference:.1f} s to spare" if difference >= 0 else f"MISSED by {-difference:.1f} s"
    return f"the deadline of {deadline_seconds:g} s was {kept}"


def call_lines(calls: Sequence[Call]) -> list[str]:
    """How often which action of AWS was called, and what was refused."""
    counts = Counter(f"{call.service}:{call.action}" for call in calls)
    listed = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    refused = Counter(f"{call.action} ({call.outcome})" for call in calls if call.outcome != "ok")
    lines = _wrapped(f"{len(calls)} calls: {listed}.")
    if refused:
        named = ", ".join(f"{name} {count}" for name, count in refused.most_common())
        lines += _wrapped(f"Refused or left unanswered: {named}.")
    return lines


def _row(what: str, cost: Cost) -> str:
    dollars = "unknown" if cost.dollars is None else f"{cost.dollars:.4f}"
    return f"{what:58s}  {cost.machine_seconds:15.0f}  {dollars:>8s}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")
