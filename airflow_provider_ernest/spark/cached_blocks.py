"""What a job asked Spark to cache, and how much of it lay in memory.

The event log tells it by three kinds of events: a stage names the cached data sets that it reads
(with sizes that are always 0), a block update tells where one partition of them lies now, and an
unpersist event drops a data set. A partition of ``MEMORY_ONLY`` that finds no room leaves no trace at
all: only the stage knows that it was wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_ABOUT_THE_SAME = 1.01


@dataclass(frozen=True, kw_only=True)
class CacheUse:
    """The cache at one moment, in bytes.

    Attributes:
        wanted_bytes: memory that everything asked to be cached would take.
        held_bytes: of it in memory.
        disk_bytes: on disk for want of memory; serialised, so often smaller than it would be in memory.
    """

    wanted_bytes: int = 0
    held_bytes: int = 0
    disk_bytes: int = 0


@dataclass(kw_only=True)
class _Block:
    """One copy of one partition; its bytes where it lies, and what it took when it last was in memory."""

    in_memory: bool
    memory_bytes: int
    disk_bytes: int


@dataclass(kw_only=True)
class _DataSet:
    """A cached RDD; a cached DataFrame is one too."""

    partitions: int = 0
    replication: int = 1
    blocks: dict[tuple[str, str], _Block] = field(default_factory=dict)

    def use(self, storage_memory_bytes: int) -> CacheUse:
        """Partitions not in memory are taken to be as large as the mean of those that were."""
        held = sum(block.memory_bytes for block in self.blocks.values() if block.in_memory)
        disk = sum(block.disk_bytes for block in self.blocks.values() if not block.in_memory)
        sizes = [block.memory_bytes for block in self.blocks.values() if block.memory_bytes]
        copies = max(self.partitions * self.replication, len({block for _, block in self.blocks}))
        if sizes:
            wanted = max(held, round(copies * sum(sizes) / len(sizes)))
        else:
            # Not one partition found room: all that is known is that they want more than there is.
            wanted = max(disk, storage_memory_bytes) if copies else 0
        return CacheUse(wanted_bytes=wanted, held_bytes=held, disk_bytes=disk)


class CachedBlocks:
    """Follows the cached data sets of one application; memory in proportion to the cached partitions.

    Attributes:
        told: whether the log has block updates (``spark.eventLog.logBlockUpdates.enabled``); without them
            nothing is known of the cache.
        storage_memory_bytes: the most memory for cached data that the executors had together; the driver
            holds none, and only the heap counts, where Spark caches unless a job asks for off-heap storage.
        peak: the use of the cache when most was wanted.
    """

    def __init__(self) -> None:
        self.told = False
        self.storage_memory_bytes = 0
        self.peak = CacheUse()
        self._executors: dict[str, int] = {}
        self._sets: dict[int, _DataSet] = {}

    def executor_added(self, event: dict[str, Any]) -> None:
        """Add the memory of an executor (SparkListenerBlockManagerAdded)."""
        executor = _executor_id(event)
        if executor != "driver":
            heap = event.get("Maximum Onheap Memory")
            self._executors[executor] = event["Maximum Memory"] if heap is None else heap
            self.storage_memory_bytes = max(self.storage_memory_bytes, sum(self._executors.values()))

    def executor_removed(self, event: dict[str, Any]) -> None:
        """Forget a lost executor and what it held (SparkListenerBlockManagerRemoved)."""
        executor = _executor_id(event)
        self._executors.pop(executor, None)
        for data_set in self._sets.values():
            for key in [key for key in data_set.blocks if key[0] == executor]:
                del data_set.blocks[key]

    def stage_completed(self, stage: dict[str, Any]) -> None:
        """Learn from a stage's "Stage Info" which data sets are wanted in memory, and how much of them.

        A stage of fewer tasks than the data set has partitions has read only some of them (``take``), or
        several with each task (``coalesce``); then the partitions that were kept tell the rest.
        """
        for rdd in stage.get("RDD Info", ()):
            level = rdd["Storage Level"]
            if level["Use Memory"] and not level.get("Use Off Heap"):
                data_set = self._sets.setdefault(rdd["RDD ID"], _DataSet())
                read = min(rdd["Number of Partitions"], stage["Number of Tasks"])
                data_set.partitions = max(data_set.partitions, read)
                data_set.replication = level.get("Replication", 1)
        self.look()

    def block_updated(self, event: dict[str, Any]) -> None:
        """Learn where a partition lies now (SparkListenerBlockUpdated)."""
        self.told = True
        info = event["Block Updated Info"]
        level, block_id = info["Storage Level"], info["Block ID"]
        if level.get("Use Off Heap"):
            return
        _, rdd_id, _ = block_id.split("_")
        data_set = self._sets.setdefault(int(rdd_id), _DataSet())
        key = (_executor_id(info), block_id)
        known = data_set.blocks.get(key)
        # On the way from memory to disk "Memory Size" is what was freed, so it is the level that counts.
        data_set.blocks[key] = _Block(
            in_memory=level["Use Memory"],
            memory_bytes=info["Memory Size"] or (known.memory_bytes if known else 0),
            disk_bytes=info["Disk Size"] if level["Use Disk"] else 0,
        )

    def unpersisted(self, event: dict[str, Any]) -> None:
        """Forget a data set (SparkListenerUnpersistRDD): its blocks have no updates of their own."""
        self.look()
        self._sets.pop(event["RDD ID"], None)

    def look(self) -> None:
        """Compare the present use with the peak.

        Of the moments at which about the same was wanted the one counts at which most lay in memory:
        what is read back from disk later displaces other blocks, but is not logged itself.
        """
        # Data sets on which no stage has reported want no memory: those of DISK_ONLY have blocks too.
        uses = [each.use(self.storage_memory_bytes) for each in self._sets.values() if each.partitions]
        now = CacheUse(
            wanted_bytes=sum(use.wanted_bytes for use in uses),
            held_bytes=sum(use.held_bytes for use in uses),
            disk_bytes=sum(use.disk_bytes for use in uses),
        )
        much_more = now.wanted_bytes > _ABOUT_THE_SAME * self.peak.wanted_bytes
        about_as_much = now.wanted_bytes * _ABOUT_THE_SAME >= self.peak.wanted_bytes
        if much_more or (about_as_much and now.held_bytes > self.peak.held_bytes):
            self.peak = now


def _executor_id(event: dict[str, Any]) -> str:
    executor: str = event["Block Manager ID"]["Executor ID"]
    return executor
