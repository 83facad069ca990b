"""What the page of a model tells of its life."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import (
    CODE,
    InputFingerprint,
    Model,
    ModelMark,
    ObservationRecord,
    RunConditions,
)
from airflow_provider_ernest.learning.update import learn
from airflow_provider_ernest.links.spark_history import application_link
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.model import life_of, model_page, production_page
from airflow_provider_ernest.views.prediction import prediction, second_opinion
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.views.sample_runs import untrained_runs
from airflow_provider_ernest.web.answers import json_ready

from .stored import NOW, decided, everything, identity, model, observed, origin, produced


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path)


def not_secret(dag_id: str | None) -> bool:
    return dag_id != "secret"


def life(store: ModelStore, shown: Model, readable: Any = everything) -> dict[str, Any]:
    entries = [entry for entry in store.catalogue.entries() if readable(entry.dag_id)]
    told: dict[str, Any] = json_ready(life_of(store, shown, entries, readable))
    return told


def marked(of: Model, *, days: float, dag_id: str = "sizing", reason: str = "The code changed.") -> ModelMark:
    return ModelMark(
        id=identity(days, dag_id),
        at=NOW.isoformat(),
        job=of.job,
        instance_type=of.instance_type,
        model_id=of.id,
        cause=CODE,
        reason=reason,
        origin=origin(dag_id, "find_model"),
    )


class TestLineage:
    def test_the_versions_that_go_on_from_each_other(self, store: ModelStore):
        base = model(days=9, name="base")
        learned = replace(model(days=5, name="learned"), base_model_id=base.id, learned_from=("a", "b", "c"))
        unrelated = model(days=7, name="unrelated")
        for each in (base, learned, unrelated):
            store.save(each)
        for shown in (base, learned):
            told = life(store, shown)
            assert told["base_model_id"] == base.id
            assert [(each["model_id"], each["learned_from"]) for each in told["lineage"]] == [
                (base.id, 0),
                (learned.id, 3),
            ]
        assert [each["model_id"] for each in life(store, unrelated)["lineage"]] == [unrelated.id]

    def test_a_base_that_is_gone_is_still_named(self, store: ModelStore):
        learned = replace(model(), base_model_id="long-gone", learned_from=("a",))
        store.save(learned)
        told = life(store, learned)
        assert told["base_model_id"] == "long-gone"
        assert [each["model_id"] for each in told["lineage"]] == [learned.id]


class TestMarks:
    def test_of_the_whole_lineage_newest_first(self, store: ModelStore):
        base = model(days=9, name="base")
        learned = replace(model(days=5), base_model_id=base.id, learned_from=("a",))
        other = model(days=7, name="other")
        for each in (base, learned, other):
            store.save(each)
        store.save(marked(base, days=4, reason="first"))
        store.save(marked(learned, days=3, reason="second"))
        store.save(marked(other, days=2, reason="none of ours"))
        told = life(store, learned)["marks"]
        assert [each["reason"] for each in told] == ["second", "first"]
        assert told[0]["origin"]["task_id"] == "find_model"

    def test_those_of_dags_that_may_not_be_read_are_not_there(self, store: ModelStore):
        shown = model()
        store.save(shown)
        store.save(marked(shown, days=0.5, dag_id="secret"))
        assert life(store, shown, not_secret)["marks"] == []
        page = json_ready(model_page(store, shown, store.catalogue.entries(), readable=not_secret))
        assert page["state"]["name"] == "fresh"
        assert life(store, shown)["marks"] != []


class TestEvidence:
    def test_runs_outside_their_intervals_are_counted(self, store: ModelStore):
        shown = model(days=20)
        store.save(shown)
        for days, seconds in ((9, 290.0), (8, 350.0), (7, 300.0), (6, 281.0)):
            store.save(produced(shown, days=days, seconds=seconds))
        told = life(store, shown)["evidence"]
        assert (told["runs"], told["unlikely"], told["unusual"], told["is_drift"]) == (4, 1, 0, False)
        assert 0 < told["value"] < told["threshold"]

    def test_drift(self, store: ModelStore):
        shown = model(days=20)
        store.save(shown)
        for days in (5, 4, 3, 2):
            store.save(produced(shown, days=days, seconds=900.0))
        told = life(store, shown)["evidence"]
        assert told["is_drift"]
        assert told["value"] >= told["threshold"]

    def test_runs_of_dags_that_may_not_be_read_are_no_evidence(self, store: ModelStore):
        shown = model(days=20)
        store.save(shown)
        for days in (5, 4, 3, 2):
            store.save(produced(shown, days=days, dag_id="secret", seconds=900.0))
        store.save(produced(shown, days=1))
        told = life(store, shown, not_secret)["evidence"]
        assert (told["runs"], told["unlikely"], told["is_drift"]) == (1, 0, False)
        page = json_ready(model_page(store, shown, store.catalogue.entries(), readable=not_secret))
        assert (page["state"]["name"], page["production_total"]) == ("fresh", 1)
        assert life(store, shown)["evidence"]["is_drift"]

    def test_no_run(self, store: ModelStore):
        assert life(store, model())["evidence"]["runs"] == 0


class TestConditions:
    def test_of_settings_only_names_and_their_number(self, store: ModelStore):
        conditions = RunConditions(
            spark="4.2.0",
            settings={"spark.sql.shuffle.partitions": "5f" * 32, "--depth": "a0" * 32},
            input=InputFingerprint(partitions=640, total_bytes=64_000_000, columns=12, format="parquet"),
            cores_per_machine=4,
        )
        told = life(store, replace(model(), conditions=conditions))["conditions"]
        assert told == {
            "spark": "4.2.0",
            "settings": 2,
            "setting_names": ["--depth", "spark.sql.shuffle.partitions"],
            "cores_per_machine": 4,
            "partitions": 640,
            "total_bytes": 64_000_000,
            "bytes_per_partition": 100_000.0,
            "columns": 12,
            "format": "parquet",
        }

    def test_what_is_not_known_is_null(self, store: ModelStore):
        told = life(store, replace(model(), conditions=RunConditions()))["conditions"]
        assert (told["spark"], told["settings"], told["partitions"]) == (None, None, None)
        assert life(store, model())["conditions"] is None


class TestProduction:
    def test_older_runs_come_page_by_page(self, store: ModelStore):
        shown = model(days=20)
        for number in range(7):
            store.save(produced(shown, days=1 + number))
        store.save(produced(shown, days=0.5, dag_id="secret"))
        of_type = [entry for entry in store.catalogue.entries() if not_secret(entry.dag_id)]

        def asked(offset: int) -> dict[str, Any]:
            told: dict[str, Any] = json_ready(
                production_page(
                    store, of_type, readable=not_secret, link=lambda _: None, offset=offset, limit=3
                )
            )
            return told

        pages = [asked(offset) for offset in (0, 3, 6, 9)]
        assert {page["total"] for page in pages} == {7}
        found = [run["production_id"] for page in pages for run in page["runs"]]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == 7

    def test_a_run_that_was_learned_from_is_told_from_the_sample_runs(self, store: ModelStore):
        shown = model(days=20, method="averaging")
        learned = learn(shown, [produced(shown, days=5, run_seconds=280.0, startup_seconds=10.0)])
        assert learned is not None
        store.save(learned)
        page = json_ready(model_page(store, learned, store.catalogue.entries(), readable=everything))
        told = [run["is_production"] for run in page["observations"]]
        assert told == [False] * len(observed()) + [True]
        assert page["model"]["learned_from"] == 1
        before = json_ready(model_page(store, shown, [], readable=everything))
        assert page["defaults"]["training_dollars"] == before["defaults"]["training_dollars"]

    def test_which_runs_of_other_dags_a_model_has_learned_from_is_not_told(self, store: ModelStore):
        shown = model(days=20, method="averaging")
        run = produced(shown, days=5, dag_id="secret", run_seconds=280.0, startup_seconds=10.0)
        learned = learn(shown, [run])
        assert learned is not None
        store.save(learned)
        entries = store.catalogue.entries()
        told = json_ready(
            model_page(store, learned, entries, readable=not_secret, link=application_link("http://history"))
        )
        *samples, last = told["observations"]
        hidden = ("origin", "application_id", "event_log", "history_url")
        assert [last[name] for name in hidden] == [None] * 4
        assert (last["machines"], last["is_production"]) == (run.machines, True)
        assert all(sample["application_id"] for sample in samples)
        everything_told = json_ready(model_page(store, learned, entries, readable=everything))
        assert everything_told["observations"][-1]["origin"]["dag_id"] == "secret"


class TestUntrainedRuns:
    def kept(self, store: ModelStore, run: Any, *, days: float, dag_id: str = "sizing") -> None:
        store.save(
            ObservationRecord(
                id=identity(days, f"{run.index}"),
                at=NOW.isoformat(),
                job="join",
                instance_type="m5.large",
                observation=replace(run, origin=origin(dag_id, "sample_run")),
            )
        )

    def counted(self, store: ModelStore, readable: Any = everything) -> dict[str, Any]:
        counted: dict[str, Any] = json_ready(
            untrained_runs(
                store,
                job="join",
                instance_type="m5.large",
                entries=store.catalogue.entries(),
                readable=readable,
            )
        )
        return counted

    def test_those_in_no_model_are_counted(self, store: ModelStore):
        trained = model(days=1)
        for run in trained.observations:
            self.kept(store, run, days=1.1)
        store.save(trained)
        assert self.counted(store)["count"] == 0
        for run in trained.observations[:3]:
            self.kept(store, replace(run, seconds=run.seconds + 1, application_id="later"), days=0.5)
        told = self.counted(store)
        assert (told["count"], told["looked_at"]) == (3, 11)

    def test_those_of_dags_that_may_not_be_read_are_not_counted(self, store: ModelStore):
        self.kept(store, observed()[0], days=1, dag_id="secret")
        assert self.counted(store, not_secret) == {"count": 0, "looked_at": 0, "newest_at": None}
        assert self.counted(store)["count"] == 1

    def test_none_were_kept(self, store: ModelStore):
        assert self.counted(store)["looked_at"] == 0


class TestSecondOpinion:
    def learned(self) -> Model:
        """Nine tenths of its work spread, by the other model."""
        other = ExtendedAmdahl(degree=1)
        for scale in (0.02, 0.05, 1.5):
            other.add(x=scale, processors=1, seconds=10 + 900 * scale)
        other.add(x=1.5, processors=10, seconds=(0.9 / 10 + 0.1) * (10 + 900 * 1.5))
        return replace(model(days=20), amdahl=other.state)

    def test_it_comes_with_a_prediction(self, store: ModelStore):
        shown = self.learned()
        store.save(shown)
        request = PredictionRequest(price_per_hour=0.4, deadline_seconds=900.0, max_machines=12)
        told = prediction(store, shown, request, entries=store.catalogue.entries(), readable=everything)
        opinion = told.second_opinion
        assert opinion is not None
        assert opinion.machines is not None
        assert told.decision is not None
        assert opinion.machines == told.decision["config"]["machines"]
        assert opinion.alpha == pytest.approx(0.9)
        share = 0.9 / opinion.machines + 0.1
        assert opinion.seconds == pytest.approx(share * 910.0 + shown.startup_seconds)
        assert opinion.problem == ""

    def test_a_model_that_has_learned_nothing_has_none(self):
        assert second_opinion(model(), None, scale=1.0, iterations=None) is None

    def test_of_another_type_it_knows_nothing(self):
        elsewhere = decided(model(), days=1).decision
        elsewhere = replace(elsewhere, config=replace(elsewhere.config, instance_type="r5.large"))
        told = second_opinion(self.learned(), elsewhere, scale=1.0, iterations=None)
        assert told is not None
        assert (told.machines, told.seconds) == (None, None)
        assert told.alpha is not None

    def test_why_it_cannot_tell(self):
        shown = self.learned()
        bare = replace(shown, amdahl=ExtendedAmdahl(degree=1).state)
        told = second_opinion(bare, None, scale=1.0, iterations=None)
        assert told is not None
        assert told.alpha is None
        assert told.problem
