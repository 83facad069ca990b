"""After a production run its model learns from it, or is marked, once; and nothing of that fails the task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents.models import (
    CODE,
    UNEXPLAINED,
    Model,
    ModelMark,
)
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Lineage
from airflow_provider_ernest.operators.record_run import RecordRunOperator
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.catalogue import entry_of
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.operators.test_production_record import decided

TYPE = "m5.large"


def a_model(observations: list[Observation], **fields: Any) -> Model:
    """A model in the store."""
    model = replace(train(observations, job="enrich", instance_type=TYPE, method="relative"), **fields)
    ModelStore(store_root()).save(model)
    return model


def decided_by(model: Model, **changes: Any) -> dict[str, Any]:
    document = decided(**changes)
    document["decision"]["model_id"] = model.id
    return document


def record(context: Any, model: Model, seconds: float, **changes: Any) -> None:
    """A run of so many seconds, of which 110 were expected, 100 to 120 with 95 %."""
    fields = {"decision": decided_by(model), "seconds": seconds, **changes}
    RecordRunOperator(task_id="record_run", **fields).execute(context)


def models() -> list[Model]:
    return ModelStore(store_root()).newest(Model, "enrich", TYPE)


def marks() -> list[Any]:
    return ModelStore(store_root()).newest(ModelMark, "enrich", TYPE)


def state(model: Model) -> str:
    entries = ModelStore(store_root()).catalogue.entries()
    return Lineage(entry_of(model), entries).state().name


def test_the_model_learns_from_each_run(context, observations):
    model = a_model(observations)
    record(context, model, 110.0)
    record(context, model, 112.0)

    base, first, second = models()
    assert base == model
    assert (first.base_model_id, second.base_model_id) == (model.id, model.id)
    assert len(first.learned_from) == 1
    assert len(second.learned_from) == 2
    assert [run.seconds for run in second.observations[-2:]] == [pytest.approx(105.0), pytest.approx(107.0)]
    assert second.origin.task_id == "ernest.step"
    assert state(second) == FRESH


def test_a_run_by_an_older_model_teaches_the_newest_of_its_lineage(context, observations):
    model = a_model(observations)
    record(context, model, 110.0)
    newest = models()[-1]
    record(context, newest, 111.0)
    record(context, model, 109.0)

    assert len(models()[-1].learned_from) == 3


def test_drift_is_marked_once_and_told(context, observations, capsys):
    model, told = a_model(observations), []
    record(context, model, 110.0)
    newest = models()[-1]
    for _ in range(5):
        record(context, newest, 200.0, on_stale=lambda context: told.append(context["ernest_mark"]))

    (mark,) = marks()
    assert (mark.cause, mark.model_id) == (UNEXPLAINED, newest.id)
    assert "By run 4, 3 had fallen outside the 95 % range" in mark.reason
    assert "Retrain" in mark.reason
    assert told == [mark]
    assert models()[1:] == [newest], "nothing is learned from drift"
    assert state(newest) == state(model) == DRIFTING
    assert "STALE" in capsys.readouterr().out


def test_other_code_is_marked_with_its_hash(context, observations, tmp_path):
    model = a_model(observations, artifact_sha256="ab" * 32)
    job = tmp_path / "job.py"
    job.write_text("changed")
    for _ in range(2):
        record(context, model, 110.0, application=str(job))

    (mark,) = marks()
    assert mark.cause == CODE
    assert mark.artifact_sha256 not in (None, "ab" * 32)
    assert models() == [model], "it is no run of what the model knows"
    assert state(model) == STALE


def test_of_an_iterative_job_the_decision_tells_the_iterations(context, observations):
    trained = [replace(run, iterations=5) for run in observations]
    model = a_model(trained)
    record(context, model, 110.0, decision=decided_by(model))
    assert models() == [model], "how much of it iterates is not known"

    record(context, model, 110.0, decision=decided_by(model, id="another", iterations=50))

    learned = models()[-1]
    assert len(learned.learned_from) == 1
    assert learned.observations[-1].seconds < 50.0


def test_a_run_by_a_model_that_is_not_in_the_store_teaches_nothing(context, capsys):
    RecordRunOperator(task_id="record_run", decision=decided(), seconds=110).execute(context)

    assert "Nothing is learned from this run" in capsys.readouterr().out
    assert models() == []


def test_learning_that_fails_is_a_warning(context, ti, observations, capsys, monkeypatch):
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no sense")

    model = a_model(observations)
    monkeypatch.setattr("airflow_provider_ernest.learning.production.learn", fail)
    record(context, model, 110.0)

    assert (
        "What the model learns from this run is not recorded: RuntimeError: no sense"
        in capsys.readouterr().out
    )
    assert ti.pushed["production_run"]["seconds"] == 110.0


def test_a_run_that_contradicts_others_is_a_warning_until_more_runs_tell(context, ti, observations, capsys):
    """Of few runs nobody can tell which is wrong, and intervals so wide speak of no drift."""
    model = train(observations[:3], job="enrich", instance_type=TYPE)
    ModelStore(store_root()).save(model)
    document = decided_by(model)
    document["decision"]["likely_seconds"] = document["decision"]["nearly_certain_seconds"] = [1.0, 1e5]

    record(context, model, 5005.0, decision=document)

    assert models() == [model]
    assert ti.pushed["production_run"]["seconds"] == 5005.0
    told = capsys.readouterr().out
    assert "What the model learns from this run is not recorded: FitError: The runs contradict" in told
    assert "size 4, 150 % of the input, 1 h 23 min" in told

    for _ in range(2):
        record(context, model, 60.0, decision=document)
    assert len(models()[-1].learned_from) == 3
