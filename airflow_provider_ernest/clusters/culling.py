"""Which machines of a cluster that was launched with a few in excess are ended again, and why.

Ernest paper (NSDI 2016), section 4.2: launch some more machines than needed, measure, keep the fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.clusters.base import CulledMachine, Machine
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.bandwidth import relative_to_median


def choose_culled(
    machines: Sequence[Machine], *, keep: int, floor: float, smallest: int
) -> list[CulledMachine]:
    """The machines to end, the slowest first; their order in `machines` does not matter.

    First stragglers, whose score is below the floor, then machines that were not measured, then the rest,
    the slowest first, until `keep` remain. Stragglers that still remain are culled too, down to `smallest`.

    Args:
        machines: all that were launched.
        keep: how many are wanted.
        floor: the score below which a machine is a straggler.
        smallest: how few may remain for the sake of culling stragglers; at most `keep`.

    Raises:
        InvalidParameterError: `smallest` is not from 1 to `keep`.
    """
    if not 1 <= smallest <= keep:
        raise InvalidParameterError("smallest", smallest, f"is not from 1 to keep={keep}")
    judged = sorted(_judge(machines, floor), key=lambda verdict: verdict.order)
    stragglers = sum(verdict.is_straggler for verdict in judged)
    surplus = max(0, len(judged) - keep)
    culled = max(surplus, min(stragglers, len(judged) - smallest))
    return [CulledMachine(machine=verdict.machine, reason=verdict.reason) for verdict in judged[:culled]]


def warnings_after(machines: Sequence[Machine], *, floor: float) -> tuple[str, ...]:
    """What to tell the user of stragglers among the machines that were kept.

    Args:
        machines: that were kept.
        floor: the score below which a machine is a straggler.
    """
    judged = sorted(_judge(machines, floor), key=lambda verdict: verdict.order)
    return tuple(
        f"{verdict.machine.host} remains though it is slow: {verdict.measured}, below the floor of "
        f"{floor:g}. The others will wait for it, and the runs take longer than on ordinary machines."
        for verdict in judged
        if verdict.is_straggler
    )


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    machine: Machine
    floor: float
    resource: str

    @property
    def score(self) -> float | None:
        return None if self.machine.bandwidth is None else self.machine.bandwidth.score

    @property
    def is_straggler(self) -> bool:
        return self.score is not None and self.score < self.floor

    @property
    def measured(self) -> str:
        return f"{self.resource} {self.score:.2f} of the median"

    @property
    def reason(self) -> str:
        if self.score is None:
            return "not needed: its bandwidth was not measured"
        if self.is_straggler:
            return f"{self.measured}, below the floor of {self.floor:g}: a straggler"
        return f"not needed: {self.measured}"

    @property
    def order(self) -> tuple[int, float, str, str, str]:
        machine = self.machine
        names = (machine.host, machine.worker_id, machine.instance_id or "")
        if self.score is None:
            return (1, 0.0, *names)
        return (0 if self.is_straggler else 2, self.score, *names)


def _judge(machines: Sequence[Machine], floor: float) -> list[_Verdict]:
    """Each machine with the resource that holds it back most, against the median of all."""
    measured = {
        str(index): machine.bandwidth
        for index, machine in enumerate(machines)
        if machine.bandwidth is not None
    }
    memory = relative_to_median({key: each.memory_gigabytes_per_second for key, each in measured.items()})
    network = relative_to_median(
        {
            key: each.network_gigabytes_per_second
            for key, each in measured.items()
            if each.network_gigabytes_per_second is not None
        }
    )
    return [
        _Verdict(
            machine=machine,
            floor=floor,
            resource="network" if key in network and network[key] < memory[key] else "memory",
        )
        for key, machine in ((str(index), machine) for index, machine in enumerate(machines))
    ]
