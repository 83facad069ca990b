"""The machines that a run has had: what was launched, what the probe found, what was culled and why."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.identity import MASTER, ROLE_TAG
from benchmarks.demo.session import WIDTH

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.spark.machines import Bandwidth

_STAMP = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")


@dataclass(frozen=True, kw_only=True)
class LaunchedMachine:
    """A machine from its launch to its end.

    Attributes:
        number: of its launch, from 1.
        instance_id: AWS's name of it.
        role: "master" or "worker".
        launched_at: when RunInstances made it.
        ended_at: when it was terminated; None while it lives.
        price_per_hour: in dollars; None where unknown.
        bandwidth: what the probe last measured on it.
        culled_because: why it was ended before the others; None if it was not.
        slow_by: what makes it slow; None if nothing does.
    """

    number: int
    instance_id: str
    role: str
    launched_at: datetime
    ended_at: datetime | None
    price_per_hour: float | None = None
    bandwidth: Bandwidth | None = None
    culled_because: str | None = None
    slow_by: str | None = None

    def seconds(self, *, now: datetime) -> float:
        """That it has been paid for."""
        return ((self.ended_at or now) - self.launched_at).total_seconds()

    def seconds_before(self, moment: datetime, *, now: datetime) -> float:
        """That it had been paid for at a moment."""
        end = min(self.ended_at or now, moment)
        return max(0.0, (end - self.launched_at).total_seconds())


def launched_machines(
    instances: Iterable[Mapping[str, Any]], handles: Sequence[ClusterHandle], *, slow: Mapping[int, str]
) -> list[LaunchedMachine]:
    """The machines of a run, in the order of their launch.

    Args:
        instances: as DescribeInstances tells of them, in the order of their launch.
        handles: of their cluster as it was at one time and another, the latest last.
        slow: what makes a machine slow, by the number of its launch.
    """
    known: dict[str | None, Any] = {}
    reasons: dict[str | None, str] = {}
    for handle in handles:
        culled = [one.machine for one in handle.culled]
        everyone = [*handle.machines, *culled, *([handle.master] if handle.master else [])]
        known.update({machine.instance_id: machine for machine in everyone})
        reasons.update({one.machine.instance_id: one.reason for one in handle.culled})
    return [
        LaunchedMachine(
            number=number,
            instance_id=instance["InstanceId"],
            role=_tags(instance).get(ROLE_TAG, "?"),
            launched_at=instance["LaunchTime"],
            ended_at=_ended_at(instance),
            price_per_hour=_of(known.get(instance["InstanceId"]), "price_per_hour"),
            bandwidth=_of(known.get(instance["InstanceId"]), "bandwidth"),
            culled_because=reasons.get(instance["InstanceId"]),
            slow_by=slow.get(number),
        )
        for number, instance in enumerate(instances, start=1)
    ]


def machine_lines(machines: Sequence[LaunchedMachine], *, now: datetime) -> list[str]:
    """A line for each machine, then what became of those that were made slow."""
    start = min((machine.launched_at for machine in machines), default=now)
    lines = ["  #  instance id          role    launched  lived  $/hour  memory GB/s  network GB/s  score  "]
    for machine in machines:
        price = "?" if machine.price_per_hour is None else f"{machine.price_per_hour:.4f}"
        after = (machine.launched_at - start).total_seconds()
        lines.append(
            f"{machine.number:3d}  {machine.instance_id:19s}  {machine.role:6s}  {after:6.0f} s  "
            f"{machine.seconds(now=now):3.0f} s  {price:>6s}  {_measured(machine.bandwidth)}  "
            f"{_fate(machine)}".rstrip()
        )
    return [*(line.rstrip() for line in lines), *_culled_lines(machines), *_verdict(machines)]


def _culled_lines(machines: Sequence[LaunchedMachine]) -> list[str]:
    return [
        line
        for machine in machines
        if machine.culled_because
        for line in _wrapped(f"#{machine.number} {machine.instance_id} was culled: {machine.culled_because}.")
    ]


def _verdict(machines: Sequence[LaunchedMachine]) -> list[str]:
    slow = [machine for machine in machines if machine.slow_by]
    culled = [machine for machine in machines if machine.culled_because]
    if not slow:
        return _wrapped("None of them had been made slow.")
    made = ", ".join(f"#{machine.number} ({machine.slow_by})" for machine in slow)
    missed = [f"#{machine.number}" for machine in slow if machine not in culled]
    blamed = [f"#{machine.number}" for machine in culled if machine not in slow]
    verdict = "exactly those were culled" if not missed and not blamed else ""
    if missed:
        verdict = f"NOT culled: {', '.join(missed)}"
    if blamed:
        verdict += f"{'; ' if verdict else ''}culled without having been made slow: {', '.join(blamed)}"
    return _wrapped(f"The test bed had made slow: {made}; {verdict}.")


def _fate(machine: LaunchedMachine) -> str:
    if machine.culled_because:
        return "culled"
    return "" if machine.role == MASTER else "kept"


def _measured(bandwidth: Bandwidth | None) -> str:
    if bandwidth is None:
        return f"{'-':>11s}  {'-':>12s}  {'-':>5s}"
    network = bandwidth.network_gigabytes_per_second
    sent = "-" if network is None else f"{network:.3f}"
    return f"{bandwidth.memory_gigabytes_per_second:11.1f}  {sent:>12s}  {bandwidth.score:5.2f}"


def _ended_at(instance: Mapping[str, Any]) -> datetime | None:
    """By the reason of its last change of state, as in "User initiated (2026-11-21 19:30:00 GMT)"."""
    if instance["State"]["Name"] not in ("terminated", "shutting-down"):
        return None
    stamp = _STAMP.search(instance.get("StateTransitionReason", ""))
    return datetime.fromisoformat(stamp.group(1)).replace(tzinfo=UTC) if stamp else None


def _tags(instance: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}


def _of(machine: Any, attribute: str) -> Any:
    return getattr(machine, attribute, None)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")
