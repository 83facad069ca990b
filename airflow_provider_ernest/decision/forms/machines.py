"""The machines of a decision, and what an executor may take on each."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from operator import floordiv
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow_provider_ernest.documents.decisions import Decision

DAEMON_RESERVE_MEGABYTES = 1024


@dataclass(frozen=True, kw_only=True)
class MachineShape:
    """What one executor that fills a machine may take; a machine without cores or memory is refused."""

    cores: int
    memory_megabytes: int | None = None  # heap, with room for a tenth more beside it; None where unknown
    # Known from a worker of a standalone master, which leaves the operating system 1 GB and nothing else.
    # False where YARN or Kubernetes granted the sample runs' executors just this.
    is_standalone: bool = False

    def __post_init__(self) -> None:
        for name in ("cores", "memory_megabytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidParameterError(name, value, "is not a number of at least 1")

    @property
    def room_megabytes(self) -> int | None:
        """All that an executor may take, overhead included; None where only what it took is known."""
        if self.memory_megabytes is None or not self.is_standalone:
            return None
        return int(self.memory_megabytes * 1.1)


@dataclass(frozen=True, kw_only=True)
class MachineGroup:
    """So many machines of a type."""

    instance_type: str
    machines: int
    shape: MachineShape | None = None  # of each; None where nothing tells it

    @property
    def known_shape(self) -> MachineShape:
        """The shape; a `MissingResourceError` where nothing tells it."""
        if self.shape is None:
            raise MissingResourceError(
                f"Nothing tells the cores and the memory of a machine of type {self.instance_type!r}.",
                remedy="Pass the cluster of the sample runs to the FitModelOperator, which notes its "
                "machines, or state cores_per_machine, of a type that is not trained in untrained_types.",
            )
        return self.shape


def groups_of(decision: Decision, shapes: Mapping[str, MachineShape]) -> tuple[MachineGroup, ...]:
    """The machines of a decision, by type; the type with most machines first."""
    chosen = sorted(decision.composition or (decision.config,), key=lambda one: -one.machines)
    return tuple(
        MachineGroup(
            instance_type=one.instance_type, machines=one.machines, shape=shapes.get(one.instance_type)
        )
        for one in chosen
    )


def only_group(decision: Decision, shapes: Mapping[str, MachineShape], *, target: str) -> MachineGroup:
    """The machines of a decision for a target that takes one type only; a mix is refused."""
    groups = groups_of(decision, shapes)
    if len(groups) > 1:
        raise InvalidParameterError(
            "instance_type",
            " + ".join(f"{one.machines} {one.instance_type}" for one in groups),
            f"is a mix of types, and all workers of {target} are alike",
            remedy="Decide with allow_mixed=False.",
        )
    return groups[0]


# YARN and Kubernetes grant an executor a container of ``spark.executor.memory`` and
# ``spark.executor.memoryOverhead`` (a tenth of the heap, at least 384 MB), of ``spark.memory.offHeap.size``
# and ``spark.executor.pyspark.memory`` (Spark documentation, "Configuration", "Application Properties";
# "Running Spark on YARN"). Kubernetes kills what takes more. Sizes are in MiB, as in Spark.

HEAP = "spark.executor.memory"
OVERHEAD = "spark.executor.memoryOverhead"
FACTORS = (
    "spark.executor.memoryOverheadFactor",
    "spark.kubernetes.memoryOverheadFactor",
    "spark.emr-serverless.memoryOverheadFactor",
)
REQUESTED_CORES = "spark.kubernetes.executor.request.cores"
OWN_SIZES = (
    HEAP,
    OVERHEAD,
    *FACTORS,
    "spark.executor.pyspark.memory",
    "spark.memory.offHeap.enabled",
    "spark.memory.offHeap.size",
    "spark.driver.cores",
    "spark.driver.memory",
    "spark.driver.memoryOverhead",
    REQUESTED_CORES,
)
"""The job's own properties that a decision goes by. It sees none of the others: they may hold secrets, and
whoever may see the DAG can read the XComs of a decision."""

DEFAULT_FACTOR = 0.1
LEAST_OVERHEAD_MEGABYTES = 384
LEAST_HEAP_MEGABYTES = 450  # Spark reserves 300 MB and starts with no less than one and a half times as much

SLACK_MEGABYTES = 1024
"""Memory of a machine that is left to the application master, which is on one of them only."""

_SIZE = re.compile(r"(\d+)\s*(?:([kmgtp])b?)?", re.IGNORECASE)
_MEGABYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2, "p": 1024**3}
_ROUNDING = 1e-9
_MORE_THAN_HALF = 0.51


def own_sizes(conf: Mapping[str, Any]) -> dict[str, Any]:
    """The job's Spark properties that say how large its executors and its driver are."""
    return {name: conf[name] for name in OWN_SIZES if name in conf}


@dataclass(frozen=True, kw_only=True)
class ExecutorMemory:
    """What one executor takes."""

    heap_megabytes: int  # spark.executor.memory
    overhead_megabytes: int  # spark.executor.memoryOverhead
    further_megabytes: int = 0  # off the heap and of PySpark, by properties of their own

    @property
    def container_megabytes(self) -> int:
        """All together."""
        return self.heap_megabytes + self.overhead_megabytes + self.further_megabytes


def megabytes(name: str, text: str) -> int:
    """A size as Spark reads it, such as ``4g`` or ``512m``; a number alone is in MiB."""
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise InvalidParameterError(name, text, "is no size of memory", remedy="Write it as 4g or 4096m.")
    return int(int(size[1]) * _MEGABYTES[(size[2] or "m").lower()])


def overhead_factor(conf: Mapping[str, str]) -> float:
    """The share of the heap that lies beside it, as the job's properties say."""
    for name in FACTORS:
        if name in conf:
            try:
                factor = float(conf[name])
            except ValueError:
                factor = -1.0
            if not 0 <= factor < float("inf"):
                raise InvalidParameterError(name, conf[name], "is not a finite number of at least 0")
            return factor
    return DEFAULT_FACTOR


def memory_of(name: str, heap_megabytes: int, conf: Mapping[str, str]) -> ExecutorMemory:
    """What an "executor" or a "driver" with a heap takes, as the job's properties of that name say."""
    stated = f"spark.{name}.memoryOverhead"
    if stated in conf:
        overhead = megabytes(stated, conf[stated])
    else:
        part = int(heap_megabytes * overhead_factor(conf) + _ROUNDING)
        overhead = max(part, LEAST_OVERHEAD_MEGABYTES)
    return ExecutorMemory(
        heap_megabytes=heap_megabytes,
        overhead_megabytes=overhead,
        further_megabytes=_further(conf) if name == "executor" else 0,
    )


def wanted_memory(shape: MachineShape, conf: Mapping[str, str]) -> ExecutorMemory:
    """What an executor took in the sample runs: as the job's properties say, else what fills the machine."""
    heap = megabytes(HEAP, conf[HEAP]) if HEAP in conf else shape.memory_megabytes
    if heap is None:
        raise MissingResourceError(
            "Nothing tells the memory of an executor.", remedy=f"Set {HEAP} in the job's conf."
        )
    return memory_of("executor", heap, conf)


def memory_within(
    shape: MachineShape, conf: Mapping[str, str], *, room_megabytes: int | None
) -> ExecutorMemory:
    """What an executor may take on a machine: as in the sample runs, or less where that has no room.

    Where the stated heap takes less than half of the room, the overhead grows: YARN looks at memory alone and
    would put two such executors on one machine, and none on another. The room includes the overhead; None
    where what the sample runs took is known to fit. A stated heap that does not fit is refused.
    """
    wanted = wanted_memory(shape, conf)
    if room_megabytes is None:
        return wanted
    if wanted.container_megabytes <= room_megabytes:
        alone = min(int(_MORE_THAN_HALF * (room_megabytes + SLACK_MEGABYTES)), room_megabytes)
        return replace(
            wanted,
            overhead_megabytes=wanted.overhead_megabytes + max(0, alone - wanted.container_megabytes),
        )
    if HEAP in conf:
        raise InvalidParameterError(
            HEAP,
            conf[HEAP],
            f"takes {wanted.container_megabytes} MB with its overhead, of the {room_megabytes} MB that "
            "executors may have on such a machine",
            remedy="Lower it, for the sample runs and for production.",
        )
    return filling(room_megabytes, conf)


def filling(room_megabytes: int, conf: Mapping[str, str]) -> ExecutorMemory:
    """The most that an executor can take of some memory, overhead included; too little is refused."""
    left = room_megabytes - _further(conf)
    if OVERHEAD in conf:
        heap = left - megabytes(OVERHEAD, conf[OVERHEAD])
    else:
        by_factor = int(left / (1 + overhead_factor(conf)) + _ROUNDING)
        heap = min(by_factor, left - LEAST_OVERHEAD_MEGABYTES)
    if heap < LEAST_HEAP_MEGABYTES:
        raise InvalidParameterError(
            HEAP,
            f"{heap}m",
            f"is all that {room_megabytes} MB leave for the heap, and Spark needs {LEAST_HEAP_MEGABYTES} MB",
            remedy="Use machines with more memory.",
        )
    return memory_of("executor", heap, conf)


def _further(conf: Mapping[str, str]) -> int:
    further = 0
    if conf.get("spark.memory.offHeap.enabled", "").lower() == "true":
        # Unlike all others, this one is in bytes where no unit is given.
        size = conf.get("spark.memory.offHeap.size", "0")
        further += int(size) // 1024**2 if size.isdigit() else megabytes("spark.memory.offHeap.size", size)
    if "spark.executor.pyspark.memory" in conf:
        further += megabytes("spark.executor.pyspark.memory", conf["spark.executor.pyspark.memory"])
    return further


# YARN and Kubernetes place containers by memory (YARN's default calculator looks at nothing else) and cores,
# and all executors of a run are alike. One that takes what its machine offers is alone there. Of several
# types the larger machines hold more of the same, if their memory has room for as many as their cores.


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How executors, all alike with so many cores, fill machines: of each group one holds a share of them."""

    count: int
    cores: int
    shares: tuple[int, ...]


def layout_on(groups: Sequence[MachineGroup]) -> Layout:
    """One executor on each machine of a single type; in a mix, several on those with more cores."""
    of_machines = [group.known_shape.cores for group in groups]
    cores = math.gcd(*of_machines)
    shares = tuple(each // cores for each in of_machines)
    count = sum(group.machines * share for group, share in zip(groups, shares, strict=True))
    return Layout(count=count, cores=cores, shares=shares)


def memory_on(
    groups: Sequence[MachineGroup],
    layout: Layout,
    conf: Mapping[str, str],
    *,
    room: Callable[[MachineShape], int | None],
) -> ExecutorMemory:
    """What each of the executors takes that fill some machines; a layout that would not come out is refused.

    `room` gives the megabytes that they may take of a machine; None where what they took is known to fit.
    """
    shapes = [group.known_shape for group in groups]
    if len(groups) == 1:
        return memory_within(shapes[0], conf, room_megabytes=room(shapes[0]))
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
    return memory
