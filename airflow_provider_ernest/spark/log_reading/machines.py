"""The executors of an application, and what was sent to them as broadcasts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from airflow_provider_ernest.spark.log_reading.application_events import (
    BlockUpdated,
    ExecutorAdded,
    ExecutorRemoved,
)
from airflow_provider_ernest.spark.log_reading.bounds import ROW_BYTES, shortened
from airflow_provider_ernest.spark.log_reading.executor_rows import DRIVER, ExecutorRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_ernest.spark.log_reading.bounds import Bounds

_BROADCAST_BLOCK = b'"Block ID":"broadcast_'


class Machines:
    """Collects executors and the pieces of broadcasts that they hold.

    Args:
        bounds: of what may be kept.

    Attributes:
        application_ended: to be set then. That executors go after it is the normal thing.
        broadcast_bytes: of the pieces that reached executors.
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.application_ended = False
        self.broadcast_bytes = 0
        self.last_at = 0.0
        self._bounds = bounds
        self._executors: dict[str, ExecutorRow] = {}
        self._added = msgspec.json.Decoder(ExecutorAdded).decode
        self._removed = msgspec.json.Decoder(ExecutorRemoved).decode
        self._block = msgspec.json.Decoder(BlockUpdated).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerExecutorAdded": self._executor_added,
            "SparkListenerExecutorRemoved": self._executor_removed,
        }

    @property
    def rows(self) -> tuple[ExecutorRow, ...]:
        """The executors in the order in which they were added."""
        return tuple(self._executors.values())

    @property
    def numbers(self) -> dict[str, int]:
        """`ExecutorRow.number` by Spark's id."""
        return {executor.executor_id: executor.number for executor in self._executors.values()}

    def _executor_added(self, line: bytes) -> None:
        event = self._added(line)
        info = event.info
        # The log page is served by the worker daemon: its address tells two workers of one host apart.
        page = urlsplit((info.log_urls or {}).get("stderr", ""))
        executor_id, host = shortened(event.executor_id), shortened(info.host)
        worker = shortened(page.netloc) or host
        known = self._executors.get(executor_id)
        if known is None:
            self._bounds.keep(ROW_BYTES, executor_id, host, worker)
        self._executors[executor_id] = ExecutorRow(
            number=known.number if known else len(self._executors),
            executor_id=executor_id,
            host=host,
            worker=worker,
            cores=info.cores,
            added_at=event.timestamp / 1000,
        )
        self.last_at = max(self.last_at, event.timestamp / 1000)

    def _executor_removed(self, line: bytes) -> None:
        event = self._removed(line)
        executor_id = shortened(event.executor_id)
        known = self._executors.get(executor_id)
        # Of one that never registered the process did not start, and the run has lost nothing by it.
        if known is not None:
            self._executors[executor_id] = replace(
                known,
                removed_at=event.timestamp / 1000,
                removed_because=" ".join(shortened(event.reason).split()),
                is_lost=not self.application_ended,
            )
        self.last_at = max(self.last_at, event.timestamp / 1000)

    def block_updated(self, line: bytes) -> None:
        """Count a piece of a broadcast: they are what is sent, values are made of them."""
        if _BROADCAST_BLOCK not in line or b"_piece" not in line:
            return
        info = self._block(line).info
        if info.manager.executor_id != DRIVER and info.level.use_memory:
            self.broadcast_bytes += max(0, info.memory_bytes)
