"""The queries of Spark SQL, and the time that their broadcasts took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from airflow_provider_ernest.spark.log_reading.bounds import ENTRY_BYTES, ROW_BYTES
from airflow_provider_ernest.spark.log_reading.sql_events import (
    DriverUpdates,
    ExecutionEnd,
    ExecutionPlan,
    nodes_of,
)
from airflow_provider_ernest.spark.log_reading.tables import SqlExecutionRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from airflow_provider_ernest.spark.log_reading.bounds import Bounds

PACKAGE = "org.apache.spark.sql.execution.ui."
BROADCAST_NODE = "BroadcastExchange"
BROADCAST_METRICS = frozenset(("time to build", "time to broadcast"))
"""One after the other (``BroadcastExchangeExec.relationFuture``), in milliseconds."""


@dataclass(kw_only=True)
class _Execution:
    started_at: float
    ended_at: float | None = None
    failed: bool | None = None
    broadcast_seconds: float = 0.0
    metrics: set[int] = field(default_factory=set)
    updates: dict[int, int] = field(default_factory=dict)

    def settle(self) -> None:
        """Add up the broadcasts and forget of what: plans of adaptive queries tell their metrics late."""
        told = sum(max(0, value) for metric, value in self.updates.items() if metric in self.metrics)
        self.broadcast_seconds += told / 1000
        self.updates.clear()
        self.metrics.clear()


class SqlExecutions:
    """Collects the queries.

    Args:
        bounds: of what may be kept.

    Attributes:
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.last_at = 0.0
        self._bounds = bounds
        self._executions: dict[int, _Execution] = {}
        self._plan = msgspec.json.Decoder(ExecutionPlan).decode
        self._end = msgspec.json.Decoder(ExecutionEnd).decode
        self._driver = msgspec.json.Decoder(DriverUpdates).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            f"{PACKAGE}SparkListenerSQLExecutionStart": self._planned,
            f"{PACKAGE}SparkListenerSQLAdaptiveExecutionUpdate": self._planned,
            f"{PACKAGE}SparkListenerSQLExecutionEnd": self._ended,
            f"{PACKAGE}SparkListenerDriverAccumUpdates": self._updated,
        }

    def _planned(self, line: bytes) -> None:
        event = self._plan(line)
        execution = self._executions.get(event.execution_id)
        if execution is None:
            if not event.time:
                return
            self._bounds.keep(ROW_BYTES)
            execution = self._executions[event.execution_id] = _Execution(started_at=event.time / 1000)
            self.last_at = max(self.last_at, execution.started_at)
        if event.plan is not None:
            told = {
                metric.accumulator_id
                for node in nodes_of(event.plan)
                if node.node_name == BROADCAST_NODE
                for metric in node.metrics
                if metric.name in BROADCAST_METRICS
            }
            self._bounds.keep(ENTRY_BYTES * len(told - execution.metrics))
            execution.metrics |= told

    def _ended(self, line: bytes) -> None:
        event = self._end(line)
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            execution.ended_at = event.time / 1000
            execution.failed = None if event.error is msgspec.UNSET else bool(event.error)
            execution.settle()
        self.last_at = max(self.last_at, event.time / 1000)

    def _updated(self, line: bytes) -> None:
        event = self._driver(line)
        execution = self._executions.get(event.execution_id)
        if execution is not None:
            new = {metric for metric, _ in event.updates}.difference(execution.updates)
            self._bounds.keep(ENTRY_BYTES * len(new))
            for metric, value in event.updates:
                execution.updates[metric] = execution.updates.get(metric, 0) + value

    def rows(self, failed_jobs: Collection[int]) -> tuple[SqlExecutionRow, ...]:
        """All queries in the order in which they started.

        Args:
            failed_jobs: queries of which a job failed: before Spark 3.4 nothing else tells of a failure.
        """
        for execution in self._executions.values():
            execution.settle()
        return tuple(
            SqlExecutionRow(
                execution_id=number,
                started_at=execution.started_at,
                ended_at=execution.ended_at,
                failed=number in failed_jobs if execution.failed is None else execution.failed,
                broadcast_seconds=execution.broadcast_seconds,
            )
            for number, execution in self._executions.items()
        )
