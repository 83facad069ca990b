"""The machines that a run has had: what was launched, measured and culled, and what all of it has cost."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.identity import MASTER, ROLE_TAG
from airflow_provider_ernest.eventlog.run_facts import run_seconds
from benchmarks.demo.session import WIDTH

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.spark.machines import Machine
    from benchmarks.demo.report import Outcome
    from tests.ec2_testbed.api_client import Call

_STAMP = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, kw_only=True)
class LaunchedMachine:
    """A machine from its launch to its end.

    Attributes:
        number: of its launch, from 1.
        ended_at: when it was terminated; None while it lives.
        known: the machine as its cluster knew it; None where it did not.
        culled_because: why it was ended before the others; None if it was not.
        slow_by: what makes it slow; None if nothing does.
    """

    number: int
    instance_id: str
    role: str
    launched_at: datetime
    ended_at: datetime | None
    known: Machine | None = None
    culled_because: str | None = None
    slow_by: str | None = None

    @property
    def price_per_hour(self) -> float | None:
        """In dollars; None where unknown."""
        return None if self.known is None else self.known.price_per_hour

    def seconds_before(self, moment: datetime) -> float:
        """That it had been paid for at a moment."""
        return max(0.0, (min(self.ended_at or moment, moment) - self.launched_at).total_seconds())


def launched_machines(
    instances: Iterable[Mapping[str, Any]], handles: Sequence[ClusterHandle], *, slow: Mapping[int, str]
) -> list[LaunchedMachine]:
    """The machines of a run, in the order of their launch, as DescribeInstances tells of them.

    `handles` are of their cluster as it was at one time and another, the latest last; `slow` says what makes
    a machine slow, by the number of its launch.
    """
    known: dict[str | None, Machine] = {}
    for handle in handles:
        culled = [one.machine for one in handle.culled]
        everyone = [*handle.machines, *culled, *([handle.master] if handle.master else [])]
        known.update({machine.instance_id: machine for machine in everyone})
    reasons = {one.machine.instance_id: one.reason for handle in handles for one in handle.culled}
    return [
        LaunchedMachine(
            number=number,
            instance_id=instance["InstanceId"],
            role={tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}.get(ROLE_TAG, "?"),
            launched_at=instance["LaunchTime"],
            ended_at=_ended_at(instance),
            known=known.get(instance["InstanceId"]),
            culled_because=reasons.get(instance["InstanceId"]),
            slow_by=slow.get(number),
        )
        for number, instance in enumerate(instances, start=1)
    ]


def _ended_at(instance: Mapping[str, Any]) -> datetime | None:
    """By the reason of its last change of state, as in "User initiated (2026-11-21 19:30:00 GMT)"."""
    if instance["State"]["Name"] not in ("terminated", "shutting-down"):
        return None
    stamp = _STAMP.search(instance.get("StateTransitionReason", ""))
    return datetime.fromisoformat(stamp.group(1)).replace(tzinfo=UTC) if stamp else None


def machine_lines(machines: Sequence[LaunchedMachine], *, now: datetime) -> list[str]:
    """A line for each machine, then what became of those that were made slow."""
    start = min((machine.launched_at for machine in machines), default=now)
    lines = ["  #  instance id          role    launched  lived  $/hour  memory GB/s  network GB/s  score"]
    for machine in machines:
        price = "?" if machine.price_per_hour is None else f"{machine.price_per_hour:.4f}"
        after = (machine.launched_at - start).total_seconds()
        fate = "culled" if machine.culled_because else "" if machine.role == MASTER else "kept"
        lines.append(
            f"{machine.number:3d}  {machine.instance_id:19s}  {machine.role:6s}  {after:6.0f} s  "
            f"{machine.seconds_before(now):3.0f} s  {price:>6s}  {_measured(machine.known)}  {fate}".rstrip()
        )
    culled = [machine for machine in machines if machine.culled_because]
    for machine in culled:
        lines += _wrapped(f"#{machine.number} {machine.instance_id} was culled: {machine.culled_because}.")
    slow = [machine for machine in machines if machine.slow_by]
    if not slow:
        return [*lines, "None of them had been made slow."]
    made = ", ".join(f"#{machine.number} ({machine.slow_by})" for machine in slow)
    verdicts = {
        "NOT culled": [f"#{machine.number}" for machine in slow if machine not in culled],
        "culled without having been made slow": [f"#{each.number}" for each in culled if each not in slow],
    }
    told = [f"{verdict}: {', '.join(numbers)}" for verdict, numbers in verdicts.items() if numbers]
    verdict = "; ".join(told) or "exactly those were culled"
    return [*lines, *_wrapped(f"The test bed had made slow: {made}; {verdict}.")]


def _measured(machine: Machine | None) -> str:
    bandwidth = machine.bandwidth if machine else None
    if bandwidth is None:
        return f"{'-':>11s}  {'-':>12s}  {'-':>5s}"
    network = bandwidth.network_gigabytes_per_second
    sent = "-" if network is None else f"{network:.3f}"
    return f"{bandwidth.memory_gigabytes_per_second:11.1f}  {sent:>12s}  {bandwidth.score:5.2f}"


def paid_before(machines: Iterable[LaunchedMachine], moment: datetime) -> tuple[float, float | None]:
    """Machine-seconds and dollars from each launch on, boot, probe and idle time too; None for no price."""
    paid = [(machine.seconds_before(moment), machine.price_per_hour) for machine in machines]
    dollars = None
    if all(price is not None for _, price in paid):
        dollars = sum(seconds * (price or 0.0) / _SECONDS_PER_HOUR for seconds, price in paid)
    return sum(seconds for seconds, _ in paid), dollars


def cost_lines(
    outcome: Outcome, machines: Sequence[LaunchedMachine], *, decided_at: datetime, now: datetime
) -> list[str]:
    """What training and production cost, by themselves and with all that the machines were paid for."""
    price = (outcome.decision.price_per_hour or 0.0) / _SECONDS_PER_HOUR
    samples = sum(run.executors * run.seconds for run in outcome.model.observations)
    size = outcome.decision.config.executors
    production = size * run_seconds(outcome.production, size)
    (before, before_dollars), (total, dollars) = paid_before(machines, decided_at), paid_before(machines, now)
    after = None if dollars is None or before_dollars is None else dollars - before_dollars
    runs = len(outcome.model.observations)
    rows = (
        (f"the {runs} sample runs, once they had their machines", samples, samples * price),
        (f"the production run, the same, on {size} machines", production, production * price),
        ("paid for all machines from launch to decision", before, before_dollars),
        ("paid for all machines from decision to the end", total - before, after),
        ("paid in all", total, dollars),
    )
    return [
        f"{'':58s}  machine-seconds   dollars",
        *(
            f"{what:58s}  {seconds:15.0f}  {'unknown' if paid is None else f'{paid:.4f}':>8s}"
            for what, seconds, paid in rows
        ),
        *_wrapped(
            f"The sample runs took {samples / production:.0%} of the machine time of the production run. "
            "The rest of what was paid until the decision is boot, probe, start-up of the runs, and machines "
            "that idle while a run uses fewer than there are."
        ),
    ]


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


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")
