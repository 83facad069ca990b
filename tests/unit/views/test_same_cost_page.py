"""Types of machines at the same dollars per hour."""

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.decision.offers import OfferForecast
from airflow_provider_ernest.documents import Model
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.prediction import compared_at_same_cost
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.web.answers import json_ready

from .stored import everything, model


@pytest.fixture
def trained() -> Model:
    return model(price=0.4)


@pytest.fixture
def store(tmp_path: Path, trained: Model) -> ModelStore:
    store = ModelStore(tmp_path)
    store.save(trained)
    return store


def compared(store: ModelStore, of: Model, *, readable: Any = everything, **asked: Any) -> dict[str, Any]:
    request = PredictionRequest(**{"max_machines": 12, **asked})
    answer = compared_at_same_cost(store, of, request, entries=store.catalogue.entries(), readable=readable)
    ready = json_ready(answer)
    json.dumps(ready, allow_nan=False)
    return ready


def test_machines_at_half_the_price_are_twice_as_many(store: ModelStore, trained: Model):
    store.save(model(instance_type="r5.large", price=0.2))
    rates = compared(store, trained, price_per_hour=0.4)["rates"]
    assert rates
    for rate in rates:
        first, second = rate["types"]
        assert (first["instance_type"], second["instance_type"]) == ("m5.large", "r5.large")
        assert second["machines"] == 2 * first["machines"]
        assert second["is_fastest"]
        assert first["dollars_per_hour"] == pytest.approx(rate["dollars_per_hour"])


def test_one_type_alone_is_not_compared(store: ModelStore, trained: Model):
    assert compared(store, trained, price_per_hour=0.4) == {"rates": [], "skipped_types": []}


def test_without_a_price_nothing_is_compared(store: ModelStore, trained: Model):
    store.save(model(instance_type="r5.large", price=0.2))
    assert compared(store, trained)["rates"] == []


def test_types_without_a_common_rate(store: ModelStore, trained: Model):
    store.save(model(instance_type="r5.large", price=1000.0))
    assert compared(store, trained, price_per_hour=0.4)["rates"] == []


def test_each_configuration_is_predicted_once(
    store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch
):
    store.save(model(instance_type="r5.large", price=0.2))
    predicted: list[str] = []
    interval = OfferForecast.interval

    def counted(self: OfferForecast, share: float) -> Any:
        predicted.append(f"{self.offer.type_name} {share}")
        return interval(self, share)

    monkeypatch.setattr(OfferForecast, "interval", counted)
    assert compared(store, trained, price_per_hour=0.4)["rates"]
    assert len(predicted) == len(set(predicted)) > 0


def test_a_type_of_a_dag_that_may_not_be_read_is_not_named(store: ModelStore, trained: Model):
    store.save(model(instance_type="hidden", price=0.2, dag_id="secret"))
    answer = compared(store, trained, price_per_hour=0.4, readable=lambda dag_id: dag_id != "secret")
    assert "hidden" not in str(answer)
