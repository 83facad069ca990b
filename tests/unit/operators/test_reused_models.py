from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.base import CulledMachine
from airflow_provider_ernest.documents.base import new_id
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.deciding import (
    planned_cluster,
    trained_types,
    training_cluster,
    with_stored_models,
)
from airflow_provider_ernest.spark.machines import Bandwidth, Machine
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators.decisions import choose_operator

MOMENT = datetime(2026, 1, 5, tzinfo=UTC)


def machine(price: float, *, memory: int = 8000, **fields) -> Machine:
    return examples.machine(2, memory_megabytes=memory, price_per_hour=price, **fields)


HANDLE = replace(
    examples.cluster(),
    machines=(machine(0.2), machine(0.4, memory=7000)),
    web_url="http://10.0.0.1:8080",
    instance_type="local",
    master=machine(0.1),
    culled=(CulledMachine(machine=machine(9.0), reason="slow"),),
)


@pytest.fixture
def stored(model) -> Model:
    return replace(Model.from_dict(model), cluster=training_cluster(HANDLE))


def choose(stored, **changes):
    arguments = {
        "model": [None],
        "training_failure": {"local": ""},
        "stored_models": json.dumps({"local": stored.to_dict()}),
        "input_growth": json.dumps({"local": 1.0}),
        "reuse_reasons": json.dumps({"local": "It is reused."}),
        "cluster": ["null"],
        "price_per_hour": None,
        "max_executors": 4,
        **changes,
    }
    return choose_operator(**arguments)


def test_what_a_model_keeps_of_its_cluster():
    measured = Bandwidth(memory_gigabytes_per_second=10.0, network_gigabytes_per_second=1.2, score=1.0)
    executors = (machine(0.2, instance_id="i-a", bandwidth=measured), machine(0.4))
    kept = training_cluster(replace(HANDLE, machines=executors, instance_type="m5.large"))

    told = (kept.kind, kept.name, kept.instance_type, kept.executor_cores, kept.price_per_hour)
    assert told == ("ec2", "ernest-1", "m5.large", 2, pytest.approx(0.3))
    a, b, culled, master = kept.machines
    assert (a.instance_id, a.score, a.memory_gigabytes_per_second) == ("i-a", 1.0, 10.0)
    assert (a.network_gigabytes_per_second, a.culled_because) == (1.2, "")
    assert (b.score, b.memory_gigabytes_per_second, b.price_per_hour) == (None, None, 0.4)
    assert (culled.culled_because, culled.price_per_hour) == ("slow", 9.0)
    assert (master.is_master, master.price_per_hour) == (True, 0.1)


def test_the_decision_is_made_by_the_stored_model_at_the_price_of_its_cluster(stored, context, ti):
    decision = choose(stored).execute(context)

    assert decision["model_id"] == stored.id
    assert decision["price_per_hour"] == pytest.approx(0.3), "without the machines that were culled"
    assert decision["billing"]["master_price_per_hour"] == 0.1
    assert ti.pushed["spark_conf"]["spark.executor.memory"] == "7000m"
    assert ti.pushed["record"]["reuse"] == "It is reused."
    (record,) = ModelStore(store_root()).newest(DecisionRecord, "enrich", "local")
    assert record.reuse == "It is reused."


def test_a_cluster_that_has_ended_limits_no_local_one_that_comes(stored, context):
    """It had two machines; the next one has as many as are asked for then."""
    local = replace(stored, cluster=training_cluster(replace(HANDLE, kind="local")))

    assert choose(local).execute(context)["model_id"] == stored.id


@pytest.mark.parametrize("master", [0.1, None])
def test_a_model_of_past_runs_is_billed_as_the_cluster_that_was_not_started(model, context, ti, master):
    machine = {"price_per_hour": 0.04, "executor_memory_megabytes": 6000, "executor_cores": 2}
    machine |= {"kind": "ec2", "instance_type": "m5.large", "market": "spot", "master_price_per_hour": master}
    past = replace(Model.from_dict(model), instance_type="m5.large", cluster=planned_cluster(machine))
    decision = choose(
        past, model=[past.to_dict()], stored_models="{}", training_failure={"m5.large": ""}
    ).execute(context)

    assert decision["price_per_hour"] == 0.04
    assert decision["billing"]["market"] == "spot"
    unknown = "The cost of the master of m5.large is unknown and not counted."
    assert (unknown in decision["warnings"], decision["cost_parts"]["master"] == 0) == (
        not master,
        not master,
    )
    assert ti.pushed["spark_conf"]["spark.executor.memory"] == "6000m"


def test_grown_input_is_another_scale(stored, context, ti):
    choose(stored).execute(context)
    then = {each["executors"]: each["seconds"] for each in ti.pushed["record"]["decision"]["alternatives"]}
    assert ti.pushed["record"]["scale"] == 1.0

    choose(stored, input_growth={"local": 2.0}, deadline_seconds=600).execute(context)
    now = {each["executors"]: each["seconds"] for each in ti.pushed["record"]["decision"]["alternatives"]}
    assert ti.pushed["record"]["scale"] == 2.0
    # 120 s of the work spread over the machines: there is twice as much of it.
    for executors, seconds in then.items():
        assert now[executors] - seconds == pytest.approx(120.0 / executors, rel=1e-6)


@pytest.mark.parametrize(("hours", "is_reused"), [(-24, False), (1, True)])
def test_of_a_model_that_was_trained_and_a_stored_one_the_newer_counts(model, stored, hours, is_reused):
    """A task that is skipped after a clear keeps the model that it returned before."""
    trained = {**model, "id": new_id(MOMENT)}
    found = replace(stored, id=new_id(MOMENT + timedelta(hours=hours)))
    (each,) = with_stored_models(
        trained_types(models=trained, clusters=None, failures=None),
        models={"local": found.to_dict()},
        growth={"local": 1.5},
        reasons={"local": "It is reused."},
    )
    expected = (found.id, "It is reused.", 1.5) if is_reused else (trained["id"], "", 1.0)
    assert (each.model.id, each.reuse, each.input_growth) == expected


def test_a_living_cluster_is_asked_rather_than_the_memory_of_one(stored):
    living = replace(HANDLE, machines=(machine(0.5),))
    (each,) = with_stored_models(
        trained_types(models=None, clusters=living.to_dict(), failures={"local": ""}),
        models={"local": stored.to_dict()},
        growth={},
        reasons={},
    )
    assert each.cluster == living
