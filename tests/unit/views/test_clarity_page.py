"""What the page of a model is told of why its job takes as long as it does."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import (
    PRODUCTION,
    SAMPLE,
    BottleneckReport,
    Model,
    ProfileRecord,
    Record,
    ReplayOpinion,
    TwoOpinions,
)
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.links.spark_history import application_link
from airflow_provider_ernest.run_profile import RunProfile, Straggler
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import MOST_STRAGGLERS, clarity_page
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.run_profiles import bare, cpu_bound, network_bound, reported_of
from tests.unit.views.stored import NOW, everything, identity, model, origin

HOST = "10.0.0.14"
SIZES = (
    TwoOpinions(machines=4, replayed_seconds=50.0, model_seconds=48.0, nearly_certain_seconds=(40.0, 60.0)),
    TwoOpinions(machines=8, replayed_seconds=70.0, model_seconds=30.0, nearly_certain_seconds=(20.0, 40.0)),
)


def profile_of(
    by: Model,
    profile: RunProfile | None = None,
    *,
    days: float = 1.0,
    dag_id: str | None = "sizing",
    purpose: str = SAMPLE,
    name: str = "",
) -> ProfileRecord:
    return ProfileRecord(
        id=identity(days, name or dag_id or "nobody"),
        at=(NOW - timedelta(days=days)).isoformat(),
        job=by.job,
        instance_type=by.instance_type,
        purpose=purpose,
        profile=profile or network_bound(),
        origin=origin(dag_id, "sample_run") if dag_id else None,
    )


def report_of(
    by: Model, record: ProfileRecord, *, days: float = 1.0, dag_id: str | None = "sizing", **changes: Any
) -> BottleneckReport:
    known = BottleneckReport(
        id=identity(days, dag_id or "nobody"),
        at=(NOW - timedelta(days=days)).isoformat(),
        job=by.job,
        instance_type=by.instance_type,
        profile_ids=(record.id,),
        model_id=by.id,
        origin=origin(dag_id, "bottleneck_report") if dag_id else None,
        **reported_of(record.profile),
    )
    return replace(known, **changes)


@pytest.fixture(scope="module")
def trained() -> Model:
    return model()


@pytest.fixture
def store(tmp_path: Path, trained: Model) -> ModelStore:
    store = ModelStore(tmp_path)
    store.save(trained)
    return store


def keep(store: ModelStore, by: Model, profile: RunProfile | None = None, **facts: Any) -> BottleneckReport:
    """Save a profile, and a report that goes by it."""
    own = {key: facts.pop(key) for key in ("days", "dag_id") if key in facts}
    record = profile_of(by, profile, **own)
    store.save(record)
    report = report_of(by, record, **own, **facts)
    store.save(report)
    return report


def page(store: ModelStore, shown: Model, **asked: Any) -> dict[str, Any]:
    known = {"readable": everything, "link": application_link(""), "entries": store.catalogue.entries()}
    told = json_ready(clarity_page(store, shown, **{**known, **asked}))
    return told


def not_secret(dag_id: str | None) -> bool:
    return dag_id != "secret"


def test_without_a_report_there_is_nothing(store: ModelStore, trained: Model):
    assert page(store, trained) == {"report": None, "sample": None, "production": None, "replays": []}


def test_the_run_that_the_report_goes_by(store: ModelStore, trained: Model):
    keep(store, trained, warnings=("The two disagree.",))
    told = page(store, trained, link=application_link("https://spark.example.com"))
    run, profile = told["sample"], network_bound()
    assert told["report"]["model_id"] == trained.id
    assert (run["purpose"], run["has_profile"]) == (SAMPLE, True)
    assert run["headline"] == profile.headline
    assert run["history_url"] == f"https://spark.example.com/history/{profile.application_id}/jobs/"
    assert run["origin"]["task_id"] == "sample_run"
    assert [limit["resource"] for limit in run["limits"]] == [limit.resource for limit in profile.limits]
    assert [stage["name"] for stage in run["stages"]] == [stage.name for stage in profile.stages]
    assert run["stages"][3]["seconds"] == pytest.approx(27.7)
    assert run["replay_error_percent"] == pytest.approx(profile.replay_error_percent)
    # What the report knows stands before what the run's own profile says, and neither is told twice.
    assert run["warnings"] == ["The two disagree.", *profile.warnings]


def test_a_warning_of_both_is_told_once(store: ModelStore, trained: Model):
    keep(store, trained, warnings=network_bound().warnings)
    assert page(store, trained)["sample"]["warnings"] == list(network_bound().warnings)


def test_the_least_that_a_profile_tells(store: ModelStore, trained: Model):
    keep(store, trained, bare())
    run = page(store, trained)["sample"]
    assert (run["limits"], run["stages"], run["advice"], run["capacity"]) == ([], [], [], None)


def test_the_newest_report_of_the_lineage_counts(store: ModelStore, trained: Model):
    other = model(days=9, name="other")
    keep(store, trained, cpu_bound(), days=2)
    keep(store, trained, days=1.5)
    keep(store, other, cpu_bound(), days=1.0)
    assert page(store, trained)["sample"]["headline"] == network_bound().headline
    learned = replace(trained, id=identity(0.5, "learned"), base_model_id=trained.id)
    assert page(store, learned)["sample"]["headline"] == network_bound().headline
    assert page(store, other)["sample"]["headline"] == cpu_bound().headline


def test_a_report_outlives_the_profile(store: ModelStore, trained: Model):
    store.save(report_of(trained, profile_of(trained)))
    run = page(store, trained)["sample"]
    assert (run["has_profile"], run["headline"]) == (False, network_bound().headline)
    assert (run["stages"], run["phases"], run["seconds"]) == ([], None, None)
    assert len(run["limits"]) == len(network_bound().limits)


def test_a_damaged_profile_leaves_the_report(store: ModelStore, trained: Model):
    record = profile_of(trained, days=3, name="damaged")
    store.save(record).write_text('{"schema": 1, "id": 7}', encoding="utf-8")
    store.save(report_of(trained, record))
    assert page(store, trained)["sample"]["has_profile"] is False


def test_the_newest_production_run(store: ModelStore, trained: Model):
    for days, seconds in ((3.0, 300.0), (2.0, 200.0)):
        record = profile_of(trained, cpu_bound(seconds=seconds), days=days, purpose=PRODUCTION)
        store.save(record)
    store.save(profile_of(trained, days=1))
    told = page(store, trained)
    assert told["sample"] is None, "there is no report that goes by the sample run"
    assert (told["production"]["purpose"], told["production"]["seconds"]) == (PRODUCTION, 200.0)


def test_profiles_are_looked_through_for_one_of_production_once_only(
    store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch
):
    for days in range(1, 9):
        store.save(profile_of(trained, days=days))
    read: list[str] = []
    load = store.load

    def counted(form: type[Record], *names: str) -> Record:
        read.append(names[-1])
        return load(form, *names)

    monkeypatch.setattr(store, "load", counted)
    assert page(store, trained)["production"] is None
    assert len(read) == 8
    assert page(store, trained)["production"] is None
    assert len(read) == 8, "whoever opens the page after that reads none of them again"
    store.save(profile_of(trained, days=0.5, purpose=PRODUCTION))
    assert page(store, trained)["production"]["purpose"] == PRODUCTION
    assert set(read[8:]) == {identity(0.5, "sizing")}


def test_a_damaged_profile_does_not_hide_those_of_production(store: ModelStore, trained: Model):
    store.save(profile_of(trained, days=2, purpose=PRODUCTION))
    store.save(profile_of(trained, days=1)).write_text("{}", encoding="utf-8")
    assert page(store, trained)["production"]["purpose"] == PRODUCTION


def test_only_the_worst_stragglers_are_told_one_by_one(store: ModelStore, trained: Model):
    slow = tuple(
        Straggler(stage_id=1, task_id=number, host=HOST, seconds=9.0, median_seconds=1.0, cause="input skew")
        for number in range(MOST_STRAGGLERS + 9)
    )
    keep(store, trained, network_bound(stragglers=slow))
    assert len(page(store, trained)["sample"]["stragglers"]) == MOST_STRAGGLERS


class TestRights:
    def test_of_other_dags_there_is_nothing(self, store: ModelStore, trained: Model):
        keep(store, trained, dag_id="secret")
        production = profile_of(trained, days=0.5, dag_id="secret", purpose=PRODUCTION)
        store.save(production)
        told = page(store, trained, readable=not_secret)
        assert told == {"report": None, "sample": None, "production": None, "replays": []}
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
        assert told["sample"]["has_profile"] is False
        assert HOST not in str(told)
        assert HOST in str(page(store, trained))

    def test_what_no_dag_made_is_for_who_may_read_all(self, store: ModelStore, trained: Model):
        keep(store, trained, dag_id=None)
        assert page(store, trained)["sample"]["origin"] is None
        assert page(store, trained, readable=lambda dag_id: dag_id is not None)["sample"] is None


class TestReplays:
    def test_beside_the_model(self, store: ModelStore, trained: Model):
        opinion = ReplayOpinion(
            scale=1.0, sizes=SIZES, from_application_id="app-1", from_scale=0.1, error_percent=6.0
        )
        keep(store, trained, replay=opinion)
        (told,) = page(store, trained)["replays"]
        assert (told["instance_type"], told["scale"], told["error_percent"]) == ("m5.large", 1.0, 6.0)
        assert [(size["machines"], size["disagrees"]) for size in told["sizes"]] == [(4, False), (8, True)]

    def test_why_there_is_none(self, store: ModelStore, trained: Model):
        keep(store, trained, replay=ReplayOpinion(scale=1.0, problem="Its stages differ from run to run."))
        (told,) = page(store, trained)["replays"]
        assert (told["problem"], told["sizes"]) == ("Its stages differ from run to run.", [])

    def test_of_other_types_by_their_newest_models(self, store: ModelStore, trained: Model):
        opinion = ReplayOpinion(scale=1.0, sizes=SIZES)
        other = model(days=2, instance_type="r5.large", name="other")
        hidden = model(days=2, instance_type="x1.large", dag_id="secret", name="hidden")
        for each, dag_id in ((other, "sizing"), (hidden, "secret")):
            store.save(each)
            keep(store, each, replay=opinion, dag_id=dag_id)
        keep(store, trained, replay=opinion)
        told = page(store, trained, readable=not_secret)["replays"]
        assert [each["instance_type"] for each in told] == ["m5.large", "r5.large"]
        store.save(model(days=1, instance_type="r5.large", name="newer"))
        told = page(store, trained, readable=not_secret)["replays"]
        assert [each["instance_type"] for each in told] == ["m5.large"]

    def test_another_type_that_cannot_be_read_does_no_harm(
        self, store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch
    ):
        store.save(model(days=2, instance_type="r5.large", name="other"))
        keep(store, trained, replay=ReplayOpinion(scale=1.0, sizes=SIZES))
        read = store.newest

        def unreachable(form: type[Record], job: str, instance_type: str, **asked: Any) -> Any:
            if instance_type == "r5.large":
                raise StoreError("the network is down")
            return read(form, job, instance_type, **asked)

        monkeypatch.setattr(store, "newest", unreachable)
        assert [each["instance_type"] for each in page(store, trained)["replays"]] == ["m5.large"]


def test_no_mathematics_is_loaded(store: ModelStore, trained: Model):
    keep(store, trained, replay=ReplayOpinion(scale=1.0, sizes=SIZES))
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from airflow_provider_ernest.store.store import ModelStore\n"
        "from airflow_provider_ernest.views.clarity import clarity_page\n"
        "store = ModelStore(Path(sys.argv[1]))\n"
        "shown = store.latest('join', 'm5.large')\n"
        "page = clarity_page(store, shown, entries=store.catalogue.entries(),\n"
        "                    readable=lambda dag_id: True, link=lambda application_id: None)\n"
        "assert page.sample.stages and page.replays\n"
        "assert not {'numpy', 'scipy', 'cvxpy', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(store.root)], check=True)
