"""From which recorded runs each is predicted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from airflow_provider_ernest.documents.runs import PastRun
from benchmarks.history import evaluation as history


def _past_run(number: int, executors: int) -> history.RecordedRun:
    """Of a job of 10 seconds, and 20 more for the first input on one machine."""
    grown = 1 + number / 10
    past = PastRun(
        job="report",
        application_id=f"app-{number}",
        event_log=f"report-{number}",
        started_at=f"2026-03-{number + 1:02}T02:00:00+00:00",
        executors=executors,
        executor_cores=1,
        seconds=10 + 20 * grown / executors,
        input_bytes=round(1e9 * grown),
    )
    return history.RecordedRun(job="report", number=number, past=past, profile=None, failed=False)


def test_a_run_is_predicted_from_those_before_it_and_on_other_machines_from_none_like_it():
    runs = [_past_run(number, executors) for number, executors in enumerate((2, 2, 4, 2, 4, 2, 2))]
    said = pd.DataFrame(history.said_of("report", runs)).set_index(["method", "run", "known"])
    of_all, model = said.loc[history.MODEL_OF_ALL], said.loc[history.MODEL]

    assert of_all.loc[(1, 1), "case"] == history.USUAL
    assert of_all.loc[(2, 2), "case"] == history.OTHER
    assert (4, 5) not in of_all.index
    assert (6, 5) in of_all.index
    # Of the usual machines alone, a model of the terms' own says nothing, and with both it is right.
    assert np.isnan(model.loc[(2, 2), "error"])
    assert model.loc[(6, 5), "error"] == pytest.approx(0.0, abs=0.03)
