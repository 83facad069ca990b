"""The production run of a task group beside what was predicted of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_ernest.plugin.run_costs import (
    production_cost,
    production_machines,
    production_seconds,
)
from airflow_provider_ernest.plugin.run_documents import Documents
from airflow_provider_ernest.plugin.run_record import FAILED, SUCCESS, TaskRow


def production_against_prediction(
    task: TaskRow | None, documents: Sequence[Documents]
) -> dict[str, Any] | None:
    """The production run beside its prediction; of a mapped task the first instance."""
    if task is None:
        return None
    first, ended = documents[0], task.state in (SUCCESS, FAILED)
    seconds = production_seconds(task, first) if ended else None
    told = first.prediction_of(task)
    predicted = told.predicted_seconds if told else None
    likely = told.likely_seconds if told else None
    nearly_certain = told.nearly_certain_seconds if told else None
    # The time of a run that failed says nothing of the prediction.
    taken = seconds if task.state == SUCCESS else None
    return {
        "task_id": task.task_id,
        "state": task.state,
        "machines": production_machines(task, first),
        "seconds": seconds,
        "cost": production_cost(task, documents) if ended else None,
        "predicted_seconds": predicted,
        "likely_seconds": likely,
        "nearly_certain_seconds": nearly_certain,
        "error_percent": 100.0 * (predicted - taken) / taken if predicted is not None and taken else None,
        "held_likely": _held(taken, likely),
        "held_nearly_certain": _held(taken, nearly_certain),
    }


def _held(seconds: float | None, interval: tuple[float, float] | None) -> bool | None:
    return None if seconds is None or interval is None else interval[0] <= seconds <= interval[1]
