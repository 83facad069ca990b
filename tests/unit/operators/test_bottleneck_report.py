from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents.profiles import PRODUCTION, SAMPLE, BottleneckReport, ProfileRecord
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators import bottleneck_report
from airflow_provider_ernest.operators.bottleneck_report import BottleneckReportOperator
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.operators.stated import rendered, spark_job
from tests.unit.run_profiles import network_bound


def record(application_id: str, *, scale: float = 0.1, executors: int = 4, **changes: Any) -> ProfileRecord:
    profile = replace(network_bound(), application_id=application_id, scale=scale, executors=executors)
    values = {
        "id": f"profile-of-{application_id}",
        "at": "2026-01-01T00:00:00+00:00",
        "job": "enrich",
        "instance_type": "local",
        "purpose": SAMPLE,
        **changes,
    }
    return ProfileRecord(profile=profile, **values)


@pytest.fixture
def runs(observations) -> list[dict[str, Any]]:
    return [replace(run, application_id=f"app-{run.index}").to_dict() for run in observations]


@pytest.fixture
def store(context) -> ModelStore:
    return model_store()


def report(context, store, runs, *, goal=None, job=None, **fields) -> dict[str, Any] | None:
    operator = BottleneckReportOperator(
        task_id="bottleneck_report",
        observations=runs,
        job=spark_job(),
        goal=SizingGoal(objective="cheapest", max_executors=6),
        **fields,
    )
    return rendered(operator, goal=goal, job=job).execute(context)


def test_it_goes_by_the_run_that_is_most_like_production(context, store, runs):
    store.save(record("app-0", scale=0.05, executors=1))
    store.save(record("app-6", scale=0.1, executors=4))
    store.save(record("app-4", scale=0.1, executors=3))

    told = BottleneckReport.from_dict(report(context, store, runs))

    assert store.newest(BottleneckReport, "enrich", "local") == [told]
    assert told.application_id == "app-6"
    assert told.profile_ids == ("profile-of-app-6", "profile-of-app-4", "profile-of-app-0")
    assert told.headline == network_bound().headline
    assert (told.scale, told.executors) == (0.1, 4)
    assert told.origin is not None
    assert told.origin.task_id == "ernest.step"


def test_the_replay_stands_beside_the_model_for_each_size_that_production_may_have(
    context, store, runs, observations
):
    for index in (0, 6):
        store.save(record(f"app-{index}", scale=observations[index].scale))
    model = train(observations, job="enrich", instance_type="local")

    told = BottleneckReport.from_dict(
        report(context, store, runs, model=json.dumps(model.to_dict()), goal={"min_executors": 2})
    )

    assert told.model_id == model.id
    assert told.replay is not None
    assert [size.executors for size in told.replay.sizes] == [2, 3, 4, 5, 6]
    for size in told.replay.sizes:
        assert size.replayed_seconds > model.startup_seconds
        low, high = size.nearly_certain_seconds
        assert low <= size.model_seconds <= high


def test_where_they_disagree_is_a_warning_in_the_log_and_in_the_report(
    context, store, runs, observations, capsys
):
    # 44 s for a tenth of the input: ten times what the model has seen.
    store.save(record("app-6"))
    model = train(observations, job="enrich", instance_type="local")

    told = BottleneckReport.from_dict(report(context, store, runs, model=model.to_dict()))

    assert "disagrees with the model" in told.warnings[0]
    assert "disagrees with the model" in capsys.readouterr().out


def test_only_the_profiles_of_these_very_runs_count(context, store, runs, capsys):
    store.save(record("app-of-another-training"))
    store.save(record("app-6", purpose=PRODUCTION))

    assert report(context, store, runs) is None
    assert "left a profile" in capsys.readouterr().out


@pytest.mark.parametrize("given", [[], None, [None]])
def test_without_runs_it_says_so_and_succeeds(context, store, given, capsys):
    assert report(context, store, given) is None
    assert "no sample run" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "{"},
        {"goal": {"max_executors": "many"}},
        {"runs": [{"schema": 99}]},
        {"goal": {"scale": "NaN"}},
    ],
)
def test_what_cannot_be_read_is_a_warning_and_never_a_failure(context, store, runs, wrong, capsys):
    store.save(record("app-6"))

    assert report(context, store, **{"runs": runs, **wrong}) is None
    assert "There is no report of bottlenecks" in capsys.readouterr().out


def test_a_store_that_does_not_answer_does_not_keep_the_dag_run_from_its_end(
    context, store, runs, monkeypatch, capsys
):
    answered = threading.Event()
    monkeypatch.setattr(bottleneck_report, "MOST_SECONDS", 0.01)
    monkeypatch.setattr(ModelStore, "newest", lambda self, *of, limit: answered.wait() and [])

    assert report(context, store, runs) is None
    answered.set()
    assert "There is no report of bottlenecks: TimeoutError" in capsys.readouterr().out


def test_a_store_that_cannot_be_written_costs_the_record_only(context, store, runs, monkeypatch, capsys):
    store.save(record("app-6"))

    def full(self: ModelStore, report: BottleneckReport) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(ModelStore, "save", full)

    assert report(context, store, runs) is not None
    assert "No space left" in capsys.readouterr().out


def test_other_iterations_of_runs_that_name_none_are_not_predicted(context, store, runs):
    store.save(record("app-6"))

    told = BottleneckReport.from_dict(
        report(context, store, runs, job={"iterations": "100", "sample_iterations": 5})
    )

    assert told.replay is not None
    assert not told.replay.sizes
    assert "100 iterations" in told.replay.problem
