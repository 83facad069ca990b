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
from airflow_provider_ernest.spark.log_reading.executor_rows import ExecutorRow

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVER = "driver"
_BROADCAST_BLOCK = b'"Block ID":"broadcast_'
_REASON_CHARACTERS = 500


class Machines:
    """Collects executors and the pieces of broadcasts that they hold.

    Attributes:
        broadcast_bytes: of the pieces that reached executors.
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self) -> None:
        self.broadcast_bytes = 0
        self.last_at = 0.0
        self._executors: dict[str, ExecutorRow] = {}
        self._added = msgspec.json.Decoder(ExecutorAdded).decode
        self._removed = msgspec.json.Decoder(ExecutorRemoved).decode
        self._block = msgspec.json.Decoder(BlockUpdated).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerExecutorAdded": self._executor_added,
            "SparkListenerExecutorRemoved": self._executor_removed,
            "SparkListenerBlockUpdated": self._block_updated,
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
        known = self._executors.get(event.executor_id)
        self._executors[event.executor_id] = ExecutorRow(
            number=known.number if known else len(self._executors),
            executor_id=event.executor_id,
            host=info.host,
            worker=page.netloc or info.host,
            cores=info.cores,
            added_at=event.timestamp / 1000,
        )
        self.last_at = max(self.last_at, event.timestamp / 1000)

    def _executor_removed(self, line: bytes) -> None:
        event = self._removed(line)
        known = self._executors.get(event.executor_id)
        if known is not None:
            self._executors[event.executor_id] = replace(
                known,
                removed_at=event.timestamp / 1000,
                removed_because=" ".join((event.reason or "").split())[:_REASON_CHARACTERS],
            )
        self.last_at = max(self.last_at, event.timestamp / 1000)

    def _block_updated(self, line: bytes) -> None:
        """Pieces are what is sent; the whole value is what an executor has made of them."""
        if _BROADCAST_BLOCK not in line or b"_piece" not in line:
            return
        info = self._block(line).info
        if info.manager.get("Executor ID") != DRIVER and info.level.get("Use Memory"):
            self.broadcast_bytes += max(0, info.memory_bytes)
