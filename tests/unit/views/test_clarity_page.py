"""What the page of a model is told of why its job takes as long as it does."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import (
    PRODUCTION,
    SAMPLE,
    BottleneckReport,
    ProfileRecord,
    ReplayOpinion,
    RunProfile,
    TwoOpinions,
)
from airflow_provider_ernest.links.spark_history import history_url
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import MOST_STRAGGLERS, clarity_page
from airflow_provider_ernest.web.answers import json_ready
from tests import examples
from tests.unit.run_profiles import cpu_bound, network_bound, reported_of
from tests.unit.views.stored import beside, everything, identity, model, not_secret

HOST = "10.0.0.14"
NOTHING = {"sample": None, "reported_by": None, "production": None, "comparison": None}
SIZES = (
    TwoOpinions(executors=4, replayed_seconds=50.0, model_seconds=48.0, nearly_certain_seconds=(40.0, 60.0)),
    TwoOpinions(executors=8, replayed_seconds=70.0, model_seconds=30.0, nearly_certain_seconds=(20.0, 40.0)),
)
OPINION = ReplayOpinion(scale=1.0, sizes=SIZES, error_percent=6.0)


def profile_of(
    by: Model,
    profile: RunProfile | None = None,
    *,
    days: float = 1.0,
    dag_id: str | None = "sizing",
    purpose: str = SAMPLE,
) -> ProfileRecord:
    told = beside(by, days=days, dag_id=dag_id, task_id="sample_run")
    return examples.profile_record(**told, purpose=purpose, profile=profile or network_bound())


def report_of(
    by: Model, record: ProfileRecord, *, days: float = 1.0, dag_id: str | None = "sizing", **fields: Any
) -> BottleneckReport:
    told = beside(by, days=days, dag_id=dag_id, task_id="bottleneck_report")
    known = {"replay": None, "profile_ids": (record.id,), "model_id": by.id, **reported_of(record.profile)}
    return examples.bottleneck_report(**told, **{**known, **fields})


def keep(
    store: ModelStore,
    by: Model,
    profile: RunProfile | None = None,
    *,
    days: float = 1.0,
    dag_id: str | None = "sizing",
    **fields: Any,
) -> None:
    """Save a profile, and a report that goes by it."""
    record = profile_of(by, profile, days=days, dag_id=dag_id)
    store.save(record)
    store.save(report_of(by, record, days=days, dag_id=dag_id, **fields))


def page(store: ModelStore, shown: Model, **asked: Any) -> dict[str, Any]:
    known = {"readable": everything, "link": partial(history_url, "")}
    return json_ready(clarity_page(store, shown, **{**known, **asked}))


class TestReport:
    def test_without_one_there_is_nothing(self, store: ModelStore, trained: Model):
        assert page(store, trained) == NOTHING

    def test_the_run_that_it_goes_by(self, store: ModelStore, trained: Model):
        profile = network_bound()
        keep(store, trained, warnings=("The two disagree.", profile.warnings[0]))
        told = page(store, trained, link=partial(history_url, "https://spark.example.com"))
        run = told["sample"]
        assert told["reported_by"]["task_id"] == "bottleneck_report"
        assert (run["purpose"], run["headline"]) == (SAMPLE, profile.headline)
        assert run["history_url"] == f"https://spark.example.com/history/{profile.application_id}/jobs/"
        assert run["origin"]["task_id"] == "sample_run"
        assert [stage["name"] for stage in run["stages"]] == [stage.name for stage in profile.stages]
        # What the report knows stands before what the run's own profile says, and neither is told twice.
        assert run["warnings"] == ["The two disagree.", *profile.warnings]

    def test_the_newest_of_the_lineage_counts(self, store: ModelStore, trained: Model):
        other = model(days=9, name="other")
        keep(store, trained, cpu_bound(), days=2)
        keep(store, trained, days=1.5)
        keep(store, other, cpu_bound(), days=1.0)
        learned = replace(trained, id=identity(0.5, "learned"), base_model_id=trained.id)
        for shown, profile in ((trained, network_bound()), (learned, network_bound()), (other, cpu_bound())):
            assert page(store, shown)["sample"]["headline"] == profile.headline

    @pytest.mark.parametrize("is_damaged", [True, False], ids=["damaged", "gone"])
    def test_without_its_profile_it_says_nothing(self, store: ModelStore, trained: Model, is_damaged: bool):
        record = profile_of(trained, days=3)
        if is_damaged:
            store.save(record).write_text('{"schema": 1, "id": 7}', encoding="utf-8")
        store.save(report_of(trained, record))
        assert page(store, trained) == NOTHING

    def test_only_the_worst_stragglers_are_told_one_by_one(self, store: ModelStore, trained: Model):
        (slow, *_) = network_bound().stragglers
        keep(store, trained, network_bound(stragglers=(slow,) * (MOST_STRAGGLERS + 9)))
        assert len(page(store, trained)["sample"]["stragglers"]) == MOST_STRAGGLERS


class TestProduction:
    def test_the_newest_run(self, store: ModelStore, trained: Model):
        for days, seconds in ((3.0, 300.0), (2.0, 200.0)):
            store.save(profile_of(trained, cpu_bound(seconds=seconds), days=days, purpose=PRODUCTION))
        # One that is damaged hides no other.
        store.save(profile_of(trained, days=1)).write_text("{}", encoding="utf-8")
        told = page(store, trained)
        assert told["sample"] is None, "there is no report that goes by the sample run"
        assert (told["production"]["purpose"], told["production"]["seconds"]) == (PRODUCTION, 200.0)

    def test_beside_the_last_good_run_before_it(self, store: ModelStore, trained: Model):
        def run(days: float, name: str, *, dag_id: str = "sizing", **changes: Any) -> None:
            profile = cpu_bound(application_id=name, **changes)
            store.save(profile_of(trained, profile, days=days, purpose=PRODUCTION, dag_id=dag_id))

        run(5.0, "good")
        assert page(store, trained)["comparison"] is None, "there is nothing before it"
        run(4.0, "hidden", dag_id="secret")
        run(3.0, "failed", not_counted="its last job failed")
        run(1.0, "newest", startup_seconds=16.2)
        told = page(store, trained, readable=not_secret)["comparison"]
        assert (told["earlier"], told["later"]) == ("good", "newest")
        assert told["headline"] == (
            "newest took 10 s longer than good, 60.2 s instead of 50.2 s: 10 s in the start-up."
        )

    def test_a_profile_of_an_earlier_version_is_shown_alone(self, store: ModelStore, trained: Model):
        old = cpu_bound()
        old = replace(old, stages=tuple(replace(each, own_seconds=None) for each in old.stages))
        store.save(profile_of(trained, old, days=2, purpose=PRODUCTION))
        newest = cpu_bound(application_id="app-2")
        store.save(profile_of(trained, newest, days=1, purpose=PRODUCTION))
        told = page(store, trained)
        assert (told["production"]["application_id"], told["comparison"]) == ("app-2", None)


class TestRights:
    def test_of_other_dags_there_is_nothing(self, store: ModelStore, trained: Model):
        keep(store, trained, dag_id="secret")
        store.save(profile_of(trained, days=0.5, dag_id="secret", purpose=PRODUCTION))
        assert page(store, trained, readable=not_secret) == NOTHING
        assert page(store, trained)["production"]["origin"]["dag_id"] == "secret"

    def test_an_older_one_that_may_be_read_is_shown_instead(self, store: ModelStore, trained: Model):
        keep(store, trained, cpu_bound(), days=2)
        keep(store, trained, days=1, dag_id="secret")
        told = page(store, trained, readable=not_secret)
        assert told["sample"]["headline"] == cpu_bound().headline
        assert "secret" not in str(told)

    def test_a_report_does_not_open_a_profile_of_another_dag(self, store: ModelStore, trained: Model):
        record = profile_of(trained, dag_id="secret")
        store.save(record)
        store.save(report_of(trained, record))
        told = page(store, trained, readable=not_secret)
        assert told == NOTHING
        assert HOST in str(page(store, trained))

    def test_what_no_dag_made_is_for_who_may_read_all(self, store: ModelStore, trained: Model):
        keep(store, trained, dag_id=None)
        assert page(store, trained)["sample"]["origin"] is None
        assert page(store, trained, readable=lambda dag_id: dag_id is not None)["sample"] is None
