"""Executors that fill the machines, where a cluster manager places them as it likes.

YARN and Kubernetes place containers by memory (YARN's default calculator looks at nothing else) and cores,
and all executors of a run are alike. One that takes what its machine offers is alone there. On machines of
several types the larger ones hold more of the same; that comes out as it should only where their memory has
room for as many executors as their cores, and for no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import floordiv
from typing import TYPE_CHECKING

from airflow_provider_ernest.downstream.memory import (
    HEAP,
    SLACK_MEGABYTES,
    filling,
    memory_within,
    wanted_memory,
)
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow_provider_ernest.downstream.machines import MachineGroup, MachineShape
    from airflow_provider_ernest.downstream.memory import ExecutorMemory


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How executors, all alike, fill machines.

    Attributes:
        count: of all executors.
        cores: of each.
        shares: how many of them one machine of each group holds.
    """

    count: int
    cores: int
    shares: tuple[int, ...]


def layout_on(groups: Sequence[MachineGroup]) -> Layout:
    """One executor on each machine of a single type; in a mix, several on those with more cores.

    Args:
        groups: the machines.

    Raises:
        MissingResourceError: nothing tells a machine's cores.
    """
    of_machines = [group.known_shape.cores for group in groups]
    cores = math.gcd(*of_machines)
    shares = tuple(each // cores for each in of_machines)
    count = sum(group.machines * share for group, share in zip(groups, shares, strict=True))
    return Layout(count=count, cores=cores, shares=shares)


@dataclass(frozen=True, kw_only=True)
class Executors:
    """The executors of a run, all alike.

    Attributes:
        count: how many.
        cores: of each.
        memory: of each.
    """

    count: int
    cores: int
    memory: ExecutorMemory


def executors_on(
    groups: Sequence[MachineGroup],
    conf: Mapping[str, str],
    *,
    room: Callable[[MachineShape], int | None],
) -> Executors:
    """The executors that fill some machines.

    Args:
        groups: the machines.
        conf: the job's properties.
        room: megabytes that executors may take of a machine; None where what they took is known to fit.

    Raises:
        InvalidParameterError: they would not come to lie on the machines as they should.
        MissingResourceError: nothing tells the machines' cores or memory.
    """
    layout, shapes = layout_on(groups), [group.known_shape for group in groups]
    if len(groups) == 1:
        memory = memory_within(shapes[0], conf, room_megabytes=room(shapes[0]))
        return Executors(count=layout.count, cores=layout.cores, memory=memory)
    rooms = [room(shape) or wanted_memory(shape, conf).container_megabytes for shape in shapes]
    if HEAP in conf:
        memory = wanted_memory(shapes[0], conf)
    else:
        memory = filling(min(map(floordiv, rooms, layout.shares)), conf)
    each = memory.container_megabytes
    for group, all_of, share in zip(groups, rooms, layout.shares, strict=True):
        if not share * each <= all_of < (share + 1) * each - SLACK_MEGABYTES:
            raise InvalidParameterError(
                "instance_type",
                group.instance_type,
                f"has cores for {share} of the executors that suit all types of the mix, and its memory "
                f"({all_of} MB) holds another number of them ({each} MB each)",
                remedy="Decide with allow_mixed=False.",
            )
    return Executors(count=layout.count, cores=layout.cores, memory=memory)
