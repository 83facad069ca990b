"""The decisions that the page of a model lists, and what it asks at first because of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import Billing, Configuration, DecisionRecord, Model, TrainedMachine
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.model import model_page
from airflow_provider_ernest.views.prediction_request import BILLED_NUMBERS, MOST_RUNS, PredictionRequest
from airflow_provider_ernest.web.answers import json_ready

from .stored import decided, everything, model


@pytest.fixture(scope="module")
def trained() -> Model:
    return model()


@pytest.fixture
def store(tmp_path: Path, trained: Model) -> ModelStore:
    store = ModelStore(tmp_path)
    store.save(trained)
    return store


def page(store: ModelStore, shown: Model, readable: Any = everything) -> dict[str, Any]:
    answer = model_page(store, shown, store.catalogue.entries(), readable=readable)
    ready = json_ready(answer)
    return ready


def of(record: DecisionRecord, **changes: Any) -> DecisionRecord:
    """The record with another decision."""
    return replace(record, decision=replace(record.decision, **changes))


def test_how_sure_it_was_and_of_which_type(store: ModelStore, trained: Model):
    record = of(decided(trained, days=1, confidence=0.95), confidence=0.95, probability=0.97)
    store.save(record)
    (told,) = page(store, trained)["decisions"]
    assert (told["confidence"], told["probability"]) == (0.95, 0.97)
    assert (told["machines"], told["instance_type"]) == (4, "m5.large")
    assert told["fallback"] is told["fallback_reason"] is None


@pytest.mark.parametrize(("probability", "kind"), [(None, "stated"), (0.3, "most_probable")])
def test_which_fallback_it_was(store: ModelStore, trained: Model, probability: float | None, kind: str):
    record = of(decided(trained, days=1), probability=probability, fallback_reason="Out of reach.")
    store.save(record)
    (told,) = page(store, trained)["decisions"]
    assert (told["fallback"], told["fallback_reason"]) == (kind, "Out of reach.")


def test_a_choice_of_another_type_that_this_one_was_considered_for(store: ModelStore, trained: Model):
    other = model(instance_type="r5.large")
    store.save(other)
    considered = decided(other, days=1, model_ids=(trained.id, "another"), confidence=0.9)
    store.save(replace(considered, model_id=other.id))
    store.save(decided(other, days=2, model_ids=("another",)))
    store.save(decided(other, days=3, model_ids=(trained.id,), dag_id="secret"))
    shown = page(store, trained, readable=lambda dag_id: dag_id != "secret")
    (told,) = shown["decisions"]
    assert told["instance_type"] == "r5.large"
    assert shown["defaults"]["confidence"] == 0.9
    # Its price is of the other type; that of the own cluster is known.
    assert shown["defaults"]["price_per_hour"] == 0.4


def test_a_mix_of_types_is_listed_as_such(store: ModelStore, trained: Model):
    mix = (
        Configuration(machines=3, instance_type="m5.large"),
        Configuration(machines=1, instance_type="c5.large"),
    )
    store.save(of(decided(trained, days=1), composition=mix))
    (told,) = page(store, trained)["decisions"]
    assert [each["machines"] for each in told["composition"]] == [3, 1]


def test_what_is_asked_at_first_is_what_was_decided_by_last(store: ModelStore, trained: Model):
    billing = Billing(
        price_per_hour=0.5, boot_seconds=90.0, master_price_per_hour=0.2, training_dollars=3, expected_runs=50
    )
    record = decided(trained, days=1, confidence=0.95, objective="balanced", budget_dollars=0.7)
    store.save(of(record, billing=billing))
    defaults = page(store, trained)["defaults"]
    expected = {
        "confidence": 0.95,
        "objective": "balanced",
        "deadline_seconds": 300.0,
        "budget_dollars": 0.7,
        "boot_seconds": 90.0,
        "master_price_per_hour": 0.2,
        "training_dollars": 3.0,
        "expected_runs": 50,
    }
    assert {name: defaults[name] for name in expected} == expected


def test_a_bill_beyond_all_measure_is_not_asked_at_first(store: ModelStore, trained: Model):
    billing = Billing(price_per_hour=0.5, training_dollars=1e300, expected_runs=10**12, volume_gigabytes=1e20)
    store.save(of(decided(trained, days=1), billing=billing))
    defaults = page(store, trained)["defaults"]
    assert defaults["training_dollars"] is defaults["expected_runs"] is None
    assert defaults["volume_gigabytes"] == 0.0
    asked = {name: defaults[name] for name in BILLED_NUMBERS if defaults[name] is not None}
    PredictionRequest(billing=Billing(**asked, expected_runs=defaults["expected_runs"]))


def test_more_runs_than_may_be_asked_for_share_the_training(store: ModelStore, trained: Model):
    billing = Billing(price_per_hour=0.5, training_dollars=3.0, expected_runs=10**12)
    store.save(of(decided(trained, days=1), billing=billing))
    defaults = page(store, trained)["defaults"]
    assert (defaults["training_dollars"], defaults["expected_runs"]) == (3.0, MOST_RUNS)


def test_an_objective_that_only_the_dag_knows_cannot_be_asked_for_here(store: ModelStore, trained: Model):
    store.save(decided(trained, days=1, objective="my_score", budget_dollars=0.7))
    defaults = page(store, trained)["defaults"]
    assert defaults["objective"] is defaults["budget_dollars"] is None
    assert defaults["deadline_seconds"] == 300.0


@pytest.mark.parametrize("confidence", [None, 0.0, 1.0, -3.0])
def test_a_confidence_that_cannot_be(store: ModelStore, trained: Model, confidence: float | None):
    store.save(decided(trained, days=1, confidence=confidence))
    assert page(store, trained)["defaults"]["confidence"] == 0.8


def test_what_the_training_cost_is_told_and_no_run_bears_it_unasked(store: ModelStore, trained: Model):
    assert trained.cluster is not None
    cluster = replace(trained.cluster, machines=(TrainedMachine(host="a"), TrainedMachine(host="b")))
    shown = replace(trained, cluster=cluster)
    defaults = page(store, shown)["defaults"]
    seconds = sum(run.seconds + run.startup_seconds for run in shown.observations)
    assert defaults["training_dollars"] == pytest.approx(2 * 0.4 * seconds / 3600, rel=1e-3)
    assert defaults["expected_runs"] is None
