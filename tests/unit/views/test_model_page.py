"""What the page of a model tells: of its training, life, decisions and production, and what it asks first."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.base import Record, new_stamp
from airflow_provider_ernest.documents.models import FittedTerm, Model, TrainedMachine
from airflow_provider_ernest.documents.runs import Observation, RunConditions
from airflow_provider_ernest.documents.surveys import Lateness, Survey, SurveyedJob
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.learning.production import learn
from airflow_provider_ernest.links.spark_history import history_url
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import no_link, other_types
from airflow_provider_ernest.views.model import (
    MOST_DECISIONS,
    MOST_PRODUCTION_RUNS,
    model_page,
    modelled_runs,
)
from airflow_provider_ernest.views.prediction import prediction, second_opinion
from airflow_provider_ernest.views.prediction_request import MOST_RUNS, PredictionRequest
from airflow_provider_ernest.web.answers import json_ready
from tests.examples import design, experiment
from tests.unit.views.stored import decided, everything, marked, model, not_secret, produced, shared


def test_past_runs_are_told_apart_and_cost_nothing():
    sample, *_ = model().observations
    past = replace(sample, index=90, from_history=True, origin=None)
    runs = modelled_runs(
        replace(model(), observations=(sample, past)), price_per_hour=1.0, link=no_link, readable=everything
    )

    assert [run.from_history for run in runs] == [False, True]
    assert runs[0].cost > 0
    assert runs[1].cost == 0


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path)


def page(store: ModelStore, shown: Model, **asked: Any) -> dict[str, Any]:
    return json_ready(
        model_page(store, shown, store.catalogue.entries(), **{"readable": everything, **asked})
    )


def defaults(store: ModelStore, shown: Model, **asked: Any) -> dict[str, Any]:
    """What the page asks at first, in one with what is billed."""
    request = page(store, shown, **asked)["defaults"]
    return {**request["billing"], **request}


def save(store: ModelStore, *documents: Record) -> None:
    for each in documents:
        store.save(each)


def paid_for(run: Observation) -> Any:
    return pytest.approx(0.4 * run.executors * (run.seconds + 5.0) / 3600)


def test_the_page_counts_executors_where_a_shared_cluster_places_them(store: ModelStore, trained: Model):
    assert page(store, trained)["model"]["unit"] == "machine"
    assert page(store, shared(trained))["model"]["unit"] == "executor"


def test_the_newest_survey_tells_when_the_job_will_be_late(store: ModelStore, trained: Model):
    save(store, trained)
    assert page(store, trained)["late"] == ""
    late = Lateness(from_day="2026-12-05", earliest_day="2026-11-25", latest_day="2027-01-10", executors=16)
    job = SurveyedJob(job=trained.job, runs=9, executors=8, limit_seconds=600.0, lateness=late)
    survey = Survey(**{**new_stamp(), "at": "2026-11-01T00:00:00+00:00"}, jobs=(job,), logs=9)
    store.save(survey)
    assert page(store, trained)["late"].startswith("Late in 5 weeks (3 to 10)")


class TestTraining:
    def test_what_a_run_cost_is_not_what_production_pays(self, store: ModelStore, trained: Model):
        save(store, trained, decided(trained, days=0.5, price=9.0))
        for told, run in zip(page(store, trained)["observations"], trained.observations, strict=True):
            assert told["cost"] == paid_for(run)

    def test_runs_of_two_designs_may_share_an_index(self, store: ModelStore, trained: Model):
        first, second, *_ = trained.observations
        folds = trained.validation.folds[:2]
        shared = replace(
            trained,
            observations=(first, replace(second, index=first.index)),
            validation=replace(
                trained.validation, folds=tuple(replace(each, index=first.index) for each in folds)
            ),
        )
        told = page(store, shared)["observations"]
        assert [each["predicted_seconds"] for each in told] == [each.predicted_seconds for each in folds]

    def test_a_model_with_nothing_besides(self, store: ModelStore):
        bare = replace(model(dag_id=None, price=None), cluster=None)
        save(store, bare)
        shown = page(store, bare)
        assert (shown["design"], shown["cluster"], shown["model"]["origin"]) == (None, None, None)
        assert {each["cost"] for each in shown["observations"]} == {None}
        assert (shown["production_runs"], shown["decisions"], shown["other_types"]) == ([], [], [])
        asked = defaults(store, bare)
        assert (asked["deadline_seconds"], asked["price_per_hour"], asked["max_executors"]) == (
            None,
            None,
            24,
        )

    def test_the_design_with_what_came_of_it(self, store: ModelStore, trained: Model):
        run = trained.observations[3]
        made = experiment(3, executors=run.executors, scale=run.scale, weight=0.8)
        planned = design(made, experiment(99, executors=3, scale=0.01), criterion="bayesian D")
        shown = page(store, replace(trained, design=planned))["design"]
        assert (shown["criterion"], shown["candidates"], shown["candidate_ranges"]) == ("bayesian D", 20, [])
        made, left = shown["experiments"]
        assert (made["observed"], made["seconds"], made["weight"]) == (True, run.seconds, 0.8)
        assert made["paid"] == paid_for(run)
        assert (left["observed"], left["seconds"], left["paid"]) == (False, None, None)

    def test_an_experiment_claims_the_run_most_like_it(self, store: ModelStore, trained: Model):
        run = trained.observations[0]
        earlier = replace(run, scale=0.9, seconds=700.0)
        less = replace(run, executors=run.executors + 1, seconds=33.0)
        planned = design(experiment(executors=run.executors + 2, scale=run.scale))
        shown = page(store, replace(trained, observations=(earlier, less), design=planned))["design"]
        assert shown["experiments"][0]["seconds"] == 33.0

    def test_what_another_version_wrote_and_numbers_that_are_none_are_still_shown(
        self, store: ModelStore, trained: Model
    ):
        unknown = FittedTerm(name="entangled(executors)", meaning="", coefficient=math.nan)
        shown = page(store, replace(trained, terms=(unknown,), noise=math.inf, observations=()))
        assert shown["model"]["terms"][0]["name"] == "entangled(executors)"
        assert (shown["model"]["terms"][0]["coefficient"], shown["model"]["noise"]) == (None, None)
        assert (shown["observations"], shown["defaults"]["max_executors"]) == ([], 2)

    def test_of_settings_no_values_are_told_and_what_is_not_known_is_null(self, store, trained: Model):
        for conditions in (RunConditions(settings={"--depth": "a0" * 32}), RunConditions(), None):
            told = page(store, replace(trained, conditions=conditions))["conditions"]
            assert "a0a0" not in str(told)
        known = page(store, replace(trained, conditions=RunConditions(settings={"--depth": "a0"})))
        assert known["conditions"]["settings"] == {"--depth": ""}


class TestVersions:
    def test_those_that_go_on_from_each_other_and_their_marks(self, store: ModelStore):
        base = model(days=9, name="base")
        learned = replace(model(days=5, name="learned"), base_model_id=base.id, learned_from=("a", "b", "c"))
        unrelated = model(days=7, name="unrelated")
        save(
            store,
            *(base, learned, unrelated),
            marked(base, days=4, reason="first"),
            marked(learned, days=3, reason="second"),
            marked(unrelated, days=2, reason="none of ours"),
        )
        for shown in (base, learned):
            told = page(store, shown)
            versions = [(each["model_id"], each["learned_from"]) for each in told["versions"]]
            assert versions == [(learned.id, 3), (unrelated.id, 0), (base.id, 0)]
            assert [each["reason"] for each in told["marks"]] == ["second", "first"]
            assert told["marks"][0]["origin"]["task_id"] == "find_model"


class TestProduction:
    def test_a_run_that_was_learned_from_is_told_from_the_sample_runs(self, store: ModelStore):
        shown = model(days=20, method="averaging")
        run = produced(shown, days=5, dag_id="secret", run_seconds=280.0, startup_seconds=10.0)
        learned = learn(shown, [run])
        save(store, learned)
        told = page(store, learned)
        *samples, last = told["observations"]
        assert [each["is_production"] for each in told["observations"]] == [False] * 8 + [True]
        assert told["model"]["learned_from"] == 1
        assert told["defaults"]["billing"]["training_dollars"] == defaults(store, shown)["training_dollars"]
        assert last["origin"]["dag_id"] == "secret"
        # Of a DAG that may not be read nothing but that it was learned from.
        link = partial(history_url, "http://history")
        *samples, last = page(store, learned, readable=not_secret, link=link)["observations"]
        hidden = ("origin", "application_id", "event_log", "history_url")
        assert [last[name] for name in hidden] == [None] * 4
        assert (last["executors"], last["is_production"]) == (run.executors, True)
        assert all(sample["application_id"] for sample in samples)

    def test_links_to_the_history_server(self, store: ModelStore, trained: Model):
        first = replace(trained.observations[0], application_id="../<b>")
        odd = replace(trained, observations=(first, *trained.observations[1:]))
        save(store, produced(trained, days=1))
        shown = page(store, odd, link=partial(history_url, "https://spark.example.com/ui/"))
        encoded = "https://spark.example.com/ui/history/..%2F%3Cb%3E/jobs/"
        assert shown["observations"][0]["history_url"] == encoded
        assert shown["production_runs"][0]["history_url"].endswith("/history/app-production/jobs/")


class TestRights:
    def test_what_may_not_be_read_is_as_if_it_were_not_there(self, store: ModelStore, trained: Model):
        shown = replace(trained, artifact_sha256="aa")
        save(
            store,
            shown,
            model(days=0.5, dag_id="secret", artifact_sha256="bb"),
            model(days=0.5, dag_id="secret", instance_type="r5.large"),
            marked(shown, days=0.5, dag_id="secret"),
            *(produced(shown, days=days, dag_id="secret", seconds=900.0) for days in (0.6, 0.5, 0.4, 0.3)),
            produced(shown, days=0.2, dag_id="secret", artifact_sha256="bb"),
            produced(shown, days=0.1),
        )
        told = page(store, shown, readable=not_secret)
        assert len(told["versions"]) == len(told["production_runs"]) == told["production_total"] == 1
        assert (told["is_newest"], told["state"]["name"], told["other_types"]) == (True, "fresh", [])
        assert told["marks"] == []
        assert "secret" not in str(told)
        told = page(store, shown)
        assert told["marks"]
        assert told["state"]["name"] == "stale"

    def test_it_is_not_even_opened(self, store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch):
        for days in (1, 2, 3):
            for hidden in (produced, decided):
                store.save(hidden(trained, days=days, dag_id="secret")).write_text("{")
        save(store, produced(trained, days=9), decided(trained, days=9))
        asked = noted(store, monkeypatch)
        for _ in range(2):
            shown = page(store, trained, readable=not_secret)
            assert (len(shown["production_runs"]), len(shown["decisions"])) == (1, 1)
            assert len(asked) == 2, "what was read once is not read again"
        assert not any("secret" in name for name in asked)

    def test_it_takes_no_place_among_those_that_are_shown(self, store: ModelStore, trained: Model):
        for kept, most in ((produced, MOST_PRODUCTION_RUNS), (decided, MOST_DECISIONS)):
            save(store, *(kept(trained, days=2 + number / 1000) for number in range(most + 3)))
            save(store, *(kept(trained, days=1 + number / 1000, dag_id="secret") for number in range(5)))
        save(store, decided(trained, days=0.5, dag_id="secret", scale=77.0))
        shown = page(store, trained, readable=not_secret)
        assert len(shown["production_runs"]) == MOST_PRODUCTION_RUNS
        assert len(shown["decisions"]) == MOST_DECISIONS
        assert "secret" not in str(shown)
        assert shown["defaults"]["scale"] == 1.5


def noted(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the documents that are loaded from here on."""
    asked: list[str] = []
    load = store.load
    monkeypatch.setattr(store, "load", lambda form, *names: asked.append(names[-1]) or load(form, *names))
    return asked


class TestOtherTypes:
    def test_with_their_newest_model_and_price(self, store: ModelStore, trained: Model):
        newest = model(days=8, instance_type="r5.large", price=0.7)
        unpriced = model(days=8, instance_type="c5.large", price=None)
        save(store, trained, model(days=9, instance_type="r5.large", price=0.1), newest, unpriced)
        save(store, model(days=1, instance_type="m4.large", job="another job"))
        shown = page(store, trained)["other_types"]
        assert shown == ["c5.large", "r5.large"]
        told = other_types(store, trained, store.catalogue.entries(), everything)
        assert [(each.entry.id, each.price_per_hour) for each in told] == [
            (unpriced.id, None),
            (newest.id, 0.7),
        ]
        save(store, decided(unpriced, days=1, price=0.3))
        told = other_types(store, trained, store.catalogue.entries(), everything)
        assert told[0].price_per_hour == 0.3

    def test_one_that_is_damaged_does_no_harm(self, store: ModelStore, trained: Model):
        store.save(model(days=2, instance_type="r5.large")).write_text("{", encoding="utf-8")
        assert page(store, trained)["other_types"] == []

    def test_decisions_that_cannot_be_read_do_no_harm(
        self, store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch, caplog: Any
    ):
        other = model(days=8, instance_type="r5.large", price=None)
        save(store, other, decided(other, days=1))

        def broken(*_: object) -> None:
            raise StoreError("the network is down") from OSError("unreachable")

        monkeypatch.setattr(store, "load", broken)
        (told,) = other_types(store, trained, store.catalogue.entries(), everything)
        assert (told.entry.instance_type, told.price_per_hour) == ("r5.large", None)
        assert "r5.large" in caplog.text
        assert "the network is down" in caplog.text


class TestDecisions:
    def test_one_of_another_type_that_this_one_was_considered_for(self, store: ModelStore, trained: Model):
        other = model(instance_type="r5.large")
        save(
            store,
            other,
            decided(other, days=1, model_ids=(trained.id, "another"), confidence=0.9),
            decided(other, days=2, model_ids=("another",)),
            decided(other, days=3, model_ids=(trained.id,), dag_id="secret"),
        )
        shown = page(store, trained, readable=not_secret)
        (told,) = shown["decisions"]
        assert told["instance_type"] == "r5.large"
        assert shown["defaults"]["confidence"] == 0.9
        # Its price is of the other type; that of the own cluster is known.
        assert shown["defaults"]["price_per_hour"] == 0.4

    def test_one_that_is_damaged_hides_no_other(self, store: ModelStore, trained: Model, caplog: Any):
        damaged = decided(trained, days=1)
        save(store, decided(trained, days=2))
        store.save(damaged).write_text("{")
        assert len(page(store, trained)["decisions"]) == 1
        assert damaged.id in caplog.text


class TestWhatIsAskedAtFirst:
    def test_is_what_was_decided_by_last(self, store: ModelStore, trained: Model):
        billed = {"boot_seconds": 90.0, "master_price_per_hour": 0.2, "training_dollars": 3.0}
        billing = Billing(price_per_hour=0.5, expected_runs=50, **billed)
        goal = {"confidence": 0.95, "objective": "balanced", "budget_dollars": 0.7}
        save(store, decided(trained, days=1, decision={"billing": billing}, **goal))
        decided_by = {"scale": 1.5, "deadline_seconds": 300.0, "min_executors": 2, "max_executors": 20}
        expected = {**billed, **goal, **decided_by, "expected_runs": 50, "price_per_hour": 0.5}
        assert defaults(store, trained).items() >= expected.items()

    @pytest.mark.parametrize(
        ("decided_by", "told"),
        [
            ({"billing": {"training_dollars": 1e300}}, {"training_dollars": None, "expected_runs": None}),
            ({"billing": {"training_dollars": 3.0}}, {"training_dollars": 3.0, "expected_runs": MOST_RUNS}),
            (
                {"objective": "my_score", "budget_dollars": 0.7},
                {"objective": None, "budget_dollars": None, "deadline_seconds": 300.0},
            ),
            *(({"confidence": each}, {"confidence": 0.8}) for each in (None, 1.0)),
            ({"min_executors": 1, "max_executors": 10**9}, {"min_executors": 1, "max_executors": 10**6}),
            ({"min_executors": 9, "max_executors": 3}, {"min_executors": 9, "max_executors": 9}),
        ],
    )
    def test_is_nothing_that_a_page_cannot_ask(
        self, store: ModelStore, trained: Model, decided_by: dict[str, Any], told: dict[str, Any]
    ):
        billing = Billing(price_per_hour=0.5, expected_runs=10**12, **decided_by.get("billing", {}))
        others = {name: value for name, value in decided_by.items() if name != "billing"}
        save(store, decided(trained, days=1, decision={"billing": billing}, **others))
        known = defaults(store, trained)
        assert {name: known[name] for name in told} == told
        PredictionRequest(min_executors=known["min_executors"], max_executors=known["max_executors"]).counts()

    def test_is_what_the_training_cost_and_no_run_bears_it_unasked(self, store: ModelStore, trained: Model):
        executors = (TrainedMachine(host="a"), TrainedMachine(host="b"))
        told = defaults(store, replace(trained, cluster=replace(trained.cluster, machines=executors)))
        seconds = sum(run.seconds + run.startup_seconds for run in trained.observations)
        assert told["training_dollars"] == pytest.approx(2 * 0.4 * seconds / 3600, rel=1e-3)
        assert told["expected_runs"] is None


class TestSecondOpinion:
    @pytest.fixture
    def learned(self, trained: Model) -> Model:
        """Nine tenths of its work spread, by the other model."""
        other = ExtendedAmdahl(degree=1)
        for scale in (0.02, 0.05, 1.5):
            other.add(x=scale, processors=1, seconds=10 + 900 * scale)
        other.add(x=1.5, processors=10, seconds=(0.9 / 10 + 0.1) * (10 + 900 * 1.5))
        return replace(trained, amdahl=other.state)

    def test_it_comes_with_a_prediction(self, store: ModelStore, learned: Model):
        save(store, learned)
        request = PredictionRequest(price_per_hour=0.4, deadline_seconds=900.0, max_executors=12)
        told = prediction(store, learned, request, entries=store.catalogue.entries(), readable=everything)
        opinion = told.second_opinion
        assert opinion.executors == told.decision.executors
        assert opinion.alpha == pytest.approx(0.9)
        share = 0.9 / opinion.executors + 0.1
        assert opinion.seconds == pytest.approx(share * 910.0 + learned.startup_seconds)

    def test_of_another_type_it_knows_nothing(self, trained: Model, learned: Model):
        other = decided(replace(trained, instance_type="r5.large"), days=1).decision
        told = second_opinion(learned, other, scale=1.0, iterations=None)
        assert (told.executors, told.seconds) == (None, None)
        assert told.alpha is not None

    def test_one_that_has_not_learned_enough_says_nothing(self, learned: Model):
        bare = replace(learned, amdahl=ExtendedAmdahl(degree=1).state)
        assert second_opinion(bare, None, scale=1.0, iterations=None) is None
