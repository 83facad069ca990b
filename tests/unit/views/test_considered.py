"""All that may be chosen for a job: on the types of machines that the reader may see, where they compare."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.decision.goals import on_pareto_front
from airflow_provider_ernest.documents import DecisionRecord, FittedTerm, Model, Record
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.prediction import prediction
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.web.answers import json_ready

from .stored import decided, everything, model


@pytest.fixture(scope="module")
def trained() -> Model:
    return model(method="averaging")


@pytest.fixture
def store(tmp_path: Path, trained: Model) -> ModelStore:
    store = ModelStore(tmp_path)
    store.save(trained)
    return store


def predicted(store: ModelStore, of: Model, *, readable: Any = everything, **asked: Any) -> dict[str, Any]:
    request = PredictionRequest(**{"max_machines": 12, **asked})
    entries = store.catalogue.entries()
    return json_ready(prediction(store, of, request, entries=entries, readable=readable))


class TestSeveralTypes:
    """The one that was asked about costs 0.5 dollars an hour; r5.large, of the same runs, a fraction."""

    @pytest.fixture
    def answer(self, store: ModelStore, trained: Model) -> dict[str, Any]:
        store.save(model(instance_type="r5.large", price=0.02, method="averaging"))
        store.save(model(instance_type="c5.large", price=None))
        store.save(model(instance_type="hidden", price=0.01, dag_id="secret"))
        return predicted(
            store,
            trained,
            price_per_hour=0.5,
            deadline_seconds=250.0,
            readable=lambda dag_id: dag_id != "secret",
        )

    def test_the_best_of_all_is_chosen_and_named(self, answer: dict[str, Any]):
        assert answer["decision"]["config"]["instance_type"] == "r5.large"
        cheapest = min(
            (each for each in answer["alternatives"] if each["feasible"]),
            key=lambda each: each["cost"] / each["probability"],
        )
        assert answer["decision"]["config"]["machines"] == cheapest["machines"]
        assert answer["decision"]["price_per_hour"] == 0.02
        assert answer["instance_type"] == "m5.large"
        offered = {each["instance_type"]: each["price_per_hour"] for each in answer["offered_types"]}
        assert offered == {"m5.large": 0.5, "r5.large": 0.02}

    def test_all_are_in_one_picture(self, answer: dict[str, Any]):
        types = [each["instance_type"] for each in answer["alternatives"]]
        assert types == ["m5.large"] * 12 + ["r5.large"] * 12
        front = on_pareto_front([(each["seconds"], each["cost"]) for each in answer["alternatives"]])
        assert [each["is_pareto"] for each in answer["alternatives"]] == front
        assert any(front[12:])

    def test_what_the_reader_may_not_see_is_not_named(self, answer: dict[str, Any]):
        (skipped,) = answer["skipped_types"]
        assert skipped["instance_type"] == "c5.large"
        assert "not known" in skipped["reason"]
        assert "hidden" not in str(answer)


def test_a_type_that_cannot_be_compared_says_why(store: ModelStore, trained: Model):
    shown = replace(trained, artifact_sha256="aa")
    unknown = FittedTerm(name="entangled(machines)", meaning="", coefficient=1.0)
    store.save(model(instance_type="other code", artifact_sha256="bb"))
    store.save(
        model(
            instance_type="other terms",
            terms=(unknown,),
            artifact_sha256="aa",
        )
    )
    answer = predicted(store, shown, price_per_hour=0.5, deadline_seconds=300.0)
    reasons = {each["instance_type"]: each["reason"] for each in answer["skipped_types"]}
    assert "another JAR" in reasons["other code"]
    assert "entangled(machines)" in reasons["other terms"]
    assert {each["instance_type"] for each in answer["alternatives"]} == {"m5.large"}
    assert answer["decision"]["config"]["instance_type"] == "m5.large"


@pytest.mark.parametrize("price", [1e308, 1e10, 5e-324])
def test_a_price_beyond_all_measure_offers_no_type(store: ModelStore, trained: Model, price: float):
    store.save(model(instance_type="r5.large", price=price))
    answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=300.0)
    (skipped,) = answer["skipped_types"]
    assert skipped["instance_type"] == "r5.large"
    assert "beyond all measure" in skipped["reason"]
    assert [each["instance_type"] for each in answer["offered_types"]] == ["m5.large"]


@pytest.mark.parametrize("nonsense", [1e300, 1.7e308])
def test_a_type_whose_times_are_beyond_all_measure_is_left_out(
    store: ModelStore, trained: Model, nonsense: float
):
    store.save(model(instance_type="r5.large", price=0.4, startup_seconds=nonsense))
    terms = Billing(volume_gigabytes=1e9, volume_price_per_gigabyte_month=1e9)
    answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=300.0, billing=terms)
    assert all(each["cost"] is not None for each in answer["alternatives"])
    told = [each["instance_type"] for each in (*answer["offered_types"], *answer["skipped_types"])]
    assert told == ["m5.large", "r5.large"]


def test_a_slider_that_moves_reads_no_decision_twice(
    store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch
):
    other = model(instance_type="r5.large", price=None)
    store.save(other)
    for number in range(5):
        store.save(decided(other, days=1 + number, price=0.3 if number else None))
    asked: list[str] = []
    load = store.load

    def noted(form: type[Record], *names: str) -> Record:
        if form is DecisionRecord:
            asked.append(names[-1])
        return load(form, *names)

    monkeypatch.setattr(store, "load", noted)

    for scale in (0.5, 0.6, 0.7):
        answer = predicted(store, trained, price_per_hour=0.5, scale=scale)
        assert {each["instance_type"] for each in answer["alternatives"]} == {"m5.large", "r5.large"}

    # The newest names no price, the one before does.
    assert len(asked) == 2
