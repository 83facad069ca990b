"""The machines that a decision comes to, with what an executor may take on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.model.results import Decision

_TENTH = 1.1
_DAEMON_RESERVE_MEGABYTES = 1024


@dataclass(frozen=True, kw_only=True)
class MachineShape:
    """What one executor that fills a machine may take.

    Attributes:
        cores: of the machine.
        memory_megabytes: heap of the executor, with room for a tenth more beside it; None where unknown.
        is_standalone: known from a worker of a standalone master, which leaves the operating system 1 GB and
            nothing else. False where YARN or Kubernetes granted the sample runs' executors just this.

    Raises:
        InvalidParameterError: a machine without cores or without memory.
    """

    cores: int
    memory_megabytes: int | None = None
    is_standalone: bool = False

    def __post_init__(self) -> None:
        """Refuse machines on which nothing runs."""
        for name in ("cores", "memory_megabytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidParameterError(name, value, "is not a number of at least 1")

    @property
    def room_megabytes(self) -> int | None:
        """All that an executor may take, overhead included; None where only what it took is known."""
        if self.memory_megabytes is None or not self.is_standalone:
            return None
        return int(self.memory_megabytes * _TENTH)

    @property
    def whole_megabytes(self) -> int | None:
        """Memory of the machine itself, about; None as of `room_megabytes`."""
        room = self.room_megabytes
        return None if room is None else room + min(_DAEMON_RESERVE_MEGABYTES, room)


@dataclass(frozen=True, kw_only=True)
class MachineGroup:
    """So many machines of a type.

    Attributes:
        instance_type: the type's name.
        machines: how many.
        shape: of each; None where nothing tells it.
    """

    instance_type: str
    machines: int
    shape: MachineShape | None = None

    @property
    def known_shape(self) -> MachineShape:
        """The shape.

        Raises:
            MissingResourceError: nothing tells it.
        """
        if self.shape is None:
            raise MissingResourceError(
                f"Nothing tells the cores and the memory of a machine of type {self.instance_type!r}.",
                remedy="Pass the cluster of the sample runs to the FitModelOperator, which notes its "
                "machines, or state cores_per_machine, of a type that is not trained in untrained_types.",
            )
        return self.shape


def groups_of(decision: Decision, shapes: Mapping[str, MachineShape]) -> tuple[MachineGroup, ...]:
    """The machines of a decision, by type; those with most machines first.

    Args:
        decision: what was decided.
        shapes: of the types of machines, by name.
    """
    chosen = sorted(decision.composition or (decision.config,), key=lambda one: -one.machines)
    return tuple(
        MachineGroup(
            instance_type=one.instance_type, machines=one.machines, shape=shapes.get(one.instance_type)
        )
        for one in chosen
    )


def only_group(decision: Decision, shapes: Mapping[str, MachineShape], *, target: str) -> MachineGroup:
    """The machines of a decision for one type.

    Args:
        decision: what was decided.
        shapes: of the types of machines, by name.
        target: who takes machines of one type only.

    Raises:
        InvalidParameterError: a mix of several types was decided on.
    """
    groups = groups_of(decision, shapes)
    if len(groups) > 1:
        raise InvalidParameterError(
            "instance_type",
            " + ".join(f"{one.machines} {one.instance_type}" for one in groups),
            f"is a mix of types, and all workers of {target} are alike",
            remedy="Decide with allow_mixed=False.",
        )
    return groups[0]
