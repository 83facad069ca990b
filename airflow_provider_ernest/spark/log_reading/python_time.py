"""The time that a task spent in Python workers, from the metrics of SQL's Python operators (Spark 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.log_reading.task_events import TaskEndWithAccumulables

RUN_PYTHON_WORKERS = "time to run Python workers"
"""From the request for a worker to its last answer (``BasePythonRunner.handleTimingData``, "total"). The time
to start a worker is a part of it; that to initialise one is, too, but counts from the worker's start, which
may have been for an earlier task: neither may be added."""


def python_seconds(event: TaskEndWithAccumulables) -> float:
    """Seconds in Python workers; NaN where no Python operator tells.

    Operators of one task are added up. They may work at the same time, one on what the other gives, so the
    sum is bounded by the time that the task ran.
    """
    milliseconds = [
        int(each.update)
        for each in event.info.accumulables or ()
        if each.name == RUN_PYTHON_WORKERS and each.update is not None
    ]
    if not milliseconds:
        return float("nan")
    ran = event.metrics.run if event.metrics is not None else 0
    return max(0, min(sum(milliseconds), ran)) / 1000
