"""The jobs of an application and the attempts of their stages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from airflow_provider_ernest.spark.log_reading.application_events import JobEnd, JobStart, StageEvent
from airflow_provider_ernest.spark.log_reading.bounds import (
    ENTRY_BYTES,
    REFERENCE_BYTES,
    ROW_BYTES,
    shortened,
)
from airflow_provider_ernest.spark.log_reading.tables import MOST_DIGITS, JobRow, StageRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow_provider_ernest.spark.log_reading.application_events import DataSet, StageInfo
    from airflow_provider_ernest.spark.log_reading.bounds import Bounds

_STREAMING = ("sql.streaming.queryId", "streaming.sql.batchId", "spark.streaming.internal.batchTime")
"""Properties of the jobs of structured and of discretised streams."""

_SQL_EXECUTION = "spark.sql.execution.id"

_LIBRARY = re.compile(r"^org\.apache\.spark\.(ml|mllib|graphx|streaming)\.", re.MULTILINE)
"""In the call site of a stage, a stack trace: the library that asked for it."""


class Jobs:
    """Collects jobs and stages.

    Args:
        bounds: of what may be kept.

    Attributes:
        is_streaming: whether a job was one of a stream.
        last_at: the last moment that their events tell of, seconds since the epoch.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.is_streaming = False
        self.last_at = 0.0
        self._bounds = bounds
        self._jobs: dict[int, JobRow] = {}
        self._active: dict[int, JobRow] = {}
        self._job_of: dict[int, int] = {}
        self._ids: dict[int, int] = {}
        self._stages: dict[tuple[int, int], StageRow] = {}
        self._scopes: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._start = msgspec.json.Decoder(JobStart).decode
        self._end = msgspec.json.Decoder(JobEnd).decode
        self._stage = msgspec.json.Decoder(StageEvent).decode
        self.handlers: dict[str, Callable[[bytes], None]] = {
            "SparkListenerJobStart": self._job_started,
            "SparkListenerJobEnd": self._job_ended,
        }

    @property
    def rows(self) -> tuple[JobRow, ...]:
        """The jobs in the order in which they were submitted."""
        return tuple(self._jobs.values())

    @property
    def stages(self) -> tuple[StageRow, ...]:
        """The attempts in the order in which they were submitted."""
        return tuple(self._stages.values())

    @property
    def failed_executions(self) -> set[int]:
        """The queries of which a job failed."""
        failed = (job.sql_execution_id for job in self._jobs.values() if job.succeeded is False)
        return {number for number in failed if number is not None}

    def _job_started(self, line: bytes) -> None:
        event = self._start(line)
        properties = event.properties or {}
        self.is_streaming = self.is_streaming or any(name in properties for name in _STREAMING)
        execution = str(properties.get(_SQL_EXECUTION, ""))
        job = JobRow(
            job_id=event.job_id,
            submitted_at=event.submitted_at / 1000,
            stage_ids=self._kept_ids(event.stage_ids),
            sql_execution_id=int(execution)
            if execution.isdecimal() and len(execution) < MOST_DIGITS
            else None,
        )
        self._jobs[event.job_id] = self._active[event.job_id] = job
        for stage_id in job.stage_ids:
            self._job_of.setdefault(stage_id, event.job_id)
        self._seen(job.submitted_at)

    def _kept_ids(self, stage_ids: list[int]) -> tuple[int, ...]:
        """The same ids; a number that a loop of jobs names again and again is kept once.

        Raises:
            NoRoomError: with these there are too many.
        """
        new = set(stage_ids).difference(self._ids)
        self._bounds.keep(ROW_BYTES + REFERENCE_BYTES * len(stage_ids) + 2 * ENTRY_BYTES * len(new))
        self._ids.update((each, each) for each in new)
        return tuple(map(self._ids.__getitem__, stage_ids))

    def _job_ended(self, line: bytes) -> None:
        event = self._end(line)
        job = self._jobs.get(event.job_id)
        self._active.pop(event.job_id, None)
        if job is not None:
            self._jobs[event.job_id] = replace(
                job,
                completed_at=event.completed_at / 1000,
                succeeded=event.result is not None and event.result.result == "JobSucceeded",
            )
        self._seen(event.completed_at / 1000)

    def stage_told(self, line: bytes) -> StageInfo:
        """Read that a stage was submitted or completed: both tell the same of it, the later one more."""
        event = self._stage(line)
        info = event.info
        properties = event.properties or {}
        self.is_streaming = self.is_streaming or any(name in properties for name in _STREAMING)
        key = (info.stage_id, info.attempt)
        known = self._stages.get(key)
        name, failure, parents = shortened(info.name), shortened(info.failure), tuple(info.parents or ())
        new = (name,) if known is None else ()
        self._bounds.keep(ROW_BYTES * len(new) + ENTRY_BYTES * len(parents), failure, *new)
        self._stages[key] = StageRow(
            stage_id=info.stage_id,
            attempt=info.attempt,
            name=name,
            tasks=info.tasks,
            parents=parents,
            job_id=known.job_id if known else self._job_that_runs(info.stage_id),
            submitted_at=known.submitted_at
            if known and info.submitted_at is None
            else _seconds(info.submitted_at),
            completed_at=_seconds(info.completed_at),
            failure=failure,
            scopes=self._scopes_of(info),
            library=_library(info.details or ""),
        )
        self._seen(max(info.submitted_at or 0, info.completed_at or 0) / 1000)
        return info

    def _job_that_runs(self, stage_id: int) -> int:
        """The first of the running jobs that need the stage: an earlier one may have passed over it."""
        running = (job.job_id for job in self._active.values() if stage_id in job.stage_ids)
        return min(running, default=self._job_of.get(stage_id, -1))

    def _scopes_of(self, info: StageInfo) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name for each in info.data_sets or () if (name := _scope_name(each))))
        # Thousands of stages of an iterative job share a few.
        known = self._scopes.get(names)
        if known is None:
            self._bounds.keep(ROW_BYTES, *names)
            known = self._scopes[names] = names
        return known

    def _seen(self, moment: float) -> None:
        self.last_at = max(self.last_at, moment)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _scope_name(data_set: DataSet) -> str:
    """The name of the operation that made a data set; its own where none is told, as of what Python reads."""
    if not data_set.scope:
        return shortened(data_set.name)
    try:
        scope: Mapping[str, Any] = msgspec.json.decode(data_set.scope, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return ""
    return shortened(str(scope.get("name", "")))


def _library(call_site: str) -> str:
    """The library that asked for a stage first; empty where it was none of them."""
    found = _LIBRARY.search(call_site)
    return found[1] if found else ""
