"""The time that a task spent in Python workers, from the metrics of SQL's Python operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_provider_ernest.spark.log_reading.task_events import Accumulable

RUN_PYTHON_WORKERS = "time to run Python workers"
"""From the request for a worker to its last answer (``BasePythonRunner.handleTimingData``, "total"): the
times to start and to initialise workers are parts of it and must not be added."""


def python_seconds(accumulables: Iterable[Accumulable] | None) -> float:
    """Seconds in Python workers, over all Python operators of the task; NaN where none is told of."""
    milliseconds = [
        int(each.update)
        for each in accumulables or ()
        if each.name == RUN_PYTHON_WORKERS and each.update is not None
    ]
    return max(0, sum(milliseconds)) / 1000 if milliseconds else float("nan")
