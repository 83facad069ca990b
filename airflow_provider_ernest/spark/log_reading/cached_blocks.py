"""What a job asked Spark to cache, and how much of it lay in memory.

The event log tells it by three kinds of events: a stage names the cached data sets that it reads
(with sizes that are always 0), a block update tells where one partition of them lies now, and an
unpersist event drops a data set. A partition of ``MEMORY_ONLY`` that finds no room leaves no trace at
all: only the stage knows that it was wanted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from airflow_provider_ernest.spark.log_reading.application_events import (
    BlockManagerEvent,
    BlockUpdated,
    DataSetDropped,
)
from airflow_provider_ernest.spark.log_reading.bounds import ENTRY_BYTES, ROW_BYTES, shortened
from airflow_provider_ernest.spark.log_reading.executor_rows import DRIVER
from airflow_provider_ernest.spark.log_reading.tables import CacheUse

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_ernest.spark.log_reading.application_events import StageInfo
    from airflow_provider_ernest.spark.log_reading.bounds import Bounds

_CACHED_BLOCK = b'"Block ID":"rdd_'
_ABOUT_THE_SAME = 1.01


@dataclass(frozen=True, kw_only=True)
class _Block:
    """One copy of one partition; its bytes where it lies, and what it took when it last was in memory."""

    in_memory: bool
    memory_bytes: int
    disk_bytes: int


@dataclass(kw_only=True)
class _DataSet:
    """A cached RDD; a cached DataFrame is one too. Sums are kept up, since each stage asks for them."""

    partitions: int = 0
    replication: int = 1
    blocks: dict[str, dict[str, _Block]] = field(default_factory=dict)
    copies: Counter[str] = field(default_factory=Counter)
    held_bytes: int = 0
    disk_bytes: int = 0
    sized: int = 0
    sized_bytes: int = 0

    def put(self, executor: str, block_id: str, block: _Block) -> None:
        """Note where a block lies now."""
        of_executor = self.blocks.setdefault(executor, {})
        known = of_executor.get(block_id)
        if known is not None:
            self._count(block_id, known, -1)
        of_executor[block_id] = block
        self._count(block_id, block, 1)

    def forget(self, executor: str) -> None:
        """Forget what an executor held."""
        for block_id, block in self.blocks.pop(executor, {}).items():
            self._count(block_id, block, -1)

    def _count(self, block_id: str, block: _Block, times: int) -> None:
        self.copies[block_id] += times
        if not self.copies[block_id]:
            del self.copies[block_id]
        self.held_bytes += times * block.memory_bytes * block.in_memory
        self.disk_bytes += times * block.disk_bytes * (not block.in_memory)
        self.sized += times * bool(block.memory_bytes)
        self.sized_bytes += times * block.memory_bytes

    def use(self, storage_memory_bytes: int) -> CacheUse:
        """Partitions not in memory are taken to be as large as the mean of those that were."""
        copies = max(self.partitions * self.replication, len(self.copies))
        if self.sized:
            wanted = max(self.held_bytes, round(copies * self.sized_bytes / self.sized))
        else:
            # Not one partition found room: all that is known is that they want more than there is.
            wanted = max(self.disk_bytes, storage_memory_bytes) if copies else 0
        return CacheUse(wanted_bytes=wanted, held_bytes=self.held_bytes, disk_bytes=self.disk_bytes)


class CachedBlocks:
    """Follows the cached data sets of one application; memory in proportion to the cached partitions.

    Args:
        bounds: of what may be kept.

    Attributes:
        told: whether the log has block updates (``spark.eventLog.logBlockUpdates.enabled``); without them
            nothing is known of the cache.
        storage_memory_bytes: the most memory for cached data that the executors had together; the driver
            holds none, and only the heap counts, where Spark caches unless a job asks for off-heap storage.
        peak: the use of the cache when most was wanted.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.told = False
        self.storage_memory_bytes = 0
        self.peak = CacheUse()
        self._bounds = bounds
        self._executors: dict[str, int] = {}
        self._sets: dict[int, _DataSet] = {}
        self._manager = msgspec.json.Decoder(BlockManagerEvent).decode
        self._block = msgspec.json.Decoder(BlockUpdated).decode
        self._dropped = msgspec.json.Decoder(DataSetDropped).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerBlockManagerAdded": self._executor_added,
            "SparkListenerBlockManagerRemoved": self._executor_removed,
            "SparkListenerUnpersistRDD": self._unpersisted,
        }

    def stage_completed(self, stage: StageInfo) -> None:
        """Learn which data sets are wanted in memory, and how much of them.

        A stage of fewer tasks than the data set has partitions has read only some of them (``take``), or
        several with each task (``coalesce``); then the partitions that were kept tell the rest.
        """
        for each in stage.data_sets or ():
            if each.level.use_memory and not each.level.off_heap:
                data_set = self._set(each.number)
                data_set.partitions = max(data_set.partitions, min(each.partitions, stage.tasks))
                data_set.replication = each.level.replication
        self.look()

    def block_updated(self, line: bytes) -> None:
        """Learn where a partition lies now (SparkListenerBlockUpdated)."""
        info = self._block(line).info if _CACHED_BLOCK in line else None
        self.told = True
        if info is None or info.level.off_heap:
            return
        _, number, _ = info.block_id.split("_")
        data_set = self._set(int(number))
        executor, block_id = shortened(info.manager.executor_id), shortened(info.block_id)
        known = data_set.blocks.get(executor, {}).get(block_id)
        if known is None:
            self._bounds.keep(ROW_BYTES, executor, block_id)
        # On the way from memory to disk "Memory Size" is what was freed, so it is the level that counts.
        block = _Block(
            in_memory=info.level.use_memory,
            memory_bytes=info.memory_bytes or (known.memory_bytes if known else 0),
            disk_bytes=info.disk_bytes if info.level.use_disk else 0,
        )
        data_set.put(executor, block_id, block)

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

    def _executor_added(self, line: bytes) -> None:
        event = self._manager(line)
        executor = shortened(event.manager.executor_id)
        if executor == DRIVER:
            return
        if executor not in self._executors:
            self._bounds.keep(ENTRY_BYTES, executor)
        self._executors[executor] = event.memory_bytes if event.heap_bytes is None else event.heap_bytes
        self.storage_memory_bytes = max(self.storage_memory_bytes, sum(self._executors.values()))

    def _executor_removed(self, line: bytes) -> None:
        executor = shortened(self._manager(line).manager.executor_id)
        self._executors.pop(executor, None)
        for data_set in self._sets.values():
            data_set.forget(executor)

    def _unpersisted(self, line: bytes) -> None:
        """Its blocks have no updates of their own."""
        self.look()
        self._sets.pop(self._dropped(line).number, None)

    def _set(self, number: int) -> _DataSet:
        known = self._sets.get(number)
        if known is None:
            self._bounds.keep(ROW_BYTES)
            known = self._sets[number] = _DataSet()
        return known
