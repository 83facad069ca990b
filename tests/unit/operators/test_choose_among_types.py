"""The decision over several types of machines, each with a model of its own or without one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.deciding import training_cluster
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators import decisions
from tests.unit.operators.conftest import EXPERIMENTS

PRICES = {"m5.large": 0.1, "c5.xlarge": 0.18}
CORES = {"m5.large": 2, "c5.xlarge": 4}


def cluster(
    instance_type: str, *, executors: int = 4, kind: str = "ec2", price: bool = True
) -> dict[str, Any]:
    """Of the type, whose machines cost what they do."""
    cores = CORES[instance_type]
    each = {
        "cores": cores,
        "memory_megabytes": 3000 * cores,
        "price_per_hour": PRICES[instance_type] if price else None,
    }
    fields = {"kind": kind, "instance_type": instance_type, "cores_per_machine": cores}
    return examples.cluster(executors, each=each, **fields).to_dict()


def model(instance_type: str) -> dict[str, Any]:
    """The work that spreads goes as fast as the machine has cores."""
    executors, scales = zip(*EXPERIMENTS, strict=True)
    seconds = [
        2.0 + 1200.0 * scale / count / CORES[instance_type] + 1.5 * count for count, scale in EXPERIMENTS
    ]
    fields = {"startup_seconds": 5.0, "instance_type": instance_type}
    observations = examples.observe(executors=executors, scale=scales, seconds=seconds, **fields)
    handle = ClusterHandle.from_dict(cluster(instance_type))
    trained = train(
        observations,
        job="enrich",
        instance_type=instance_type,
        method="relative",
        cluster=training_cluster(handle),
    )
    return trained.to_dict()


@pytest.fixture(scope="module")
def models() -> list[dict[str, Any]]:
    return [model(name) for name in PRICES]


def choose_operator(models: list[Any], **changes: Any) -> ChooseConfigOperator:
    fields = {
        "price_per_hour": None,
        "max_executors": 12,
        "deadline_seconds": 120,
        "cluster": [json.dumps(cluster(name)) for name in PRICES],
        "training_failure": dict.fromkeys(PRICES, ""),
        **changes,
    }
    return decisions.choose_operator(models, **fields)


def types_of(decision: dict[str, Any]) -> set[str]:
    return {one["instance_type"] for one in decision["alternatives"]}


def test_the_cheapest_of_all_types_is_chosen_with_what_its_machines_need(context, ti, models):
    decision = choose_operator(models).execute(context)

    assert types_of(decision) == set(PRICES)
    kept = [one for one in decision["alternatives"] if one["probability"] >= 0.8]
    cheapest = min(kept, key=lambda one: one["cost"] / one["probability"])
    assert ti.pushed["instance_type"] == cheapest["instance_type"] == "c5.xlarge"
    assert ti.pushed["executors"] == cheapest["executors"]
    assert ti.pushed["spark_conf"]["spark.executor.cores"] == "4"
    assert ti.pushed["spark_conf"]["spark.executor.memory"] == "12000m"
    assert ti.pushed["emr_instance_groups"][0]["InstanceType"] == "c5.xlarge"
    assert ti.pushed["fallback_reason"] == ""


@pytest.mark.parametrize(
    ("prices", "cheapest"),
    [
        ('{"m5.large": 0.01, "c5.xlarge": 0.18}', "m5.large"),
        (0.01, "c5.xlarge"),
    ],
)
def test_prices_are_stated_by_type_or_told_by_the_clusters(context, ti, models, prices, cheapest):
    choose_operator(models, price_per_hour=prices).execute(context)
    assert ti.pushed["instance_type"] == cheapest


def test_a_type_whose_training_failed_leaves_the_others_and_is_named(context, ti, models, capsys):
    failures = {"m5.large": "", "c5.xlarge": "The leave-one-out error is 41 %."}
    decision = choose_operator([models[0], None], training_failure=failures).execute(context)

    assert types_of(decision) == {"m5.large"}
    (warning,) = (text for text in decision["warnings"] if "c5.xlarge" in text)
    assert "The leave-one-out error is 41 %." in warning
    assert warning in capsys.readouterr().out
    assert ti.pushed["fallback_reason"] == ""


def test_a_type_whose_cluster_never_was_is_named_too(context, models):
    decision = choose_operator(
        [models[0], None],
        cluster=[json.dumps(cluster("m5.large")), "null"],
        training_failure={"m5.large": "", "c5.xlarge": "No sample run succeeded."},
    ).execute(context)

    (warning,) = (text for text in decision["warnings"] if "c5.xlarge" in text)
    assert "No sample run succeeded. Its cluster did not start" in warning
    assert "create_cluster" in warning


def test_a_type_without_a_price_cannot_be_compared(context, models):
    handles = [cluster("m5.large"), cluster("c5.xlarge", price=False)]
    decision = choose_operator(models, cluster=handles).execute(context)

    assert types_of(decision) == {"m5.large"}
    assert any("c5.xlarge" in text and "price_per_hour=None" in text for text in decision["warnings"])


def test_without_any_model_the_reasons_of_all_are_named(context):
    failures = {"m5.large": "Too few runs.", "c5.xlarge": "No sample run succeeded."}
    with pytest.raises(AirflowFailException, match=r"m5\.large .*Too few runs.* c5\.xlarge .*No sample run"):
        choose_operator([None, None], training_failure=failures).execute(context)


def test_a_cluster_that_cannot_grow_is_offered_as_it_is_beside_one_that_can(context, models):
    handles = [cluster("m5.large", kind="existing", executors=3), cluster("c5.xlarge")]
    decision = choose_operator(models, cluster=handles).execute(context)

    sizes: dict[str, list[int]] = {}
    for one in decision["alternatives"]:
        sizes.setdefault(one["instance_type"], []).append(one["executors"])
    assert sizes == {"m5.large": [1, 2, 3], "c5.xlarge": list(range(1, 13))}


def test_the_training_of_all_types_counts_whichever_is_chosen(context, ti, models):
    choose_operator(models, billing={"expected_runs": 1}).execute(context)

    spent = 0.0
    for fitted in models:
        seconds = sum(run["seconds"] + run["startup_seconds"] for run in fitted["observations"])
        spent += seconds * 4 * PRICES[fitted["instance_type"]] / 3600
    assert ti.pushed["record"]["decision"]["cost_parts"]["training"] == pytest.approx(spent)


def test_the_fallback_is_of_the_stated_type_with_its_cores_and_price(context, ti):
    handles = [json.dumps(cluster(name)) for name in PRICES]
    operator = choose_operator(
        [None, None], cluster=handles, fallback_executors=6, fallback_instance_type="c5.xlarge"
    )
    decision = operator.execute(context)

    assert (ti.pushed["instance_type"], ti.pushed["executors"]) == ("c5.xlarge", 6)
    assert ti.pushed["spark_conf"]["spark.cores.max"] == "24"
    assert decision["price_per_hour"] == pytest.approx(0.18)


def test_a_fallback_knows_its_cores_even_where_no_cluster_came_up(context, ti):
    fields = {"cluster": ["null", "null"], "fallback_executors": 6}
    choose_operator([None, None], executor_cores={"m5.large": "2"}, **fields).execute(context)
    assert (ti.pushed["instance_type"], ti.pushed["executors"]) == ("m5.large", 6), "the first, unless stated"
    assert ti.pushed["spark_conf"]["spark.cores.max"] == "12"


CHAINED = {"cluster": None, "training_failure": None, "price_per_hour": 0.2, "deadline_seconds": 60}
"""By hand: the model is all that the decision is given."""


@pytest.mark.parametrize("stated", [None, 4])
def test_without_a_cluster_production_gets_machines_as_the_model_was_trained_on(context, ti, models, stated):
    choose_operator(models[1:], executor_cores=stated, **CHAINED).execute(context)

    conf, executors = ti.pushed["spark_conf"], ti.pushed["executors"]
    assert conf["spark.cores.max"] == str(4 * executors)
    assert conf["spark.executor.memory"] == "12000m"
    assert ti.pushed["yarn_conf"]["spark.executor.instances"] == str(executors)


def test_cores_that_were_stated_are_not_those_that_the_model_was_trained_on(context, ti, models):
    choose_operator(models[1:], executor_cores={"c5.xlarge": 8}, **CHAINED).execute(context)

    assert ti.pushed["spark_conf"]["spark.executor.cores"] == "8"
    assert "spark.executor.memory" not in ti.pushed["spark_conf"], "which is that of other machines"


@pytest.mark.parametrize(
    "changes",
    [
        # The cores of the type were to be told by a task that failed.
        {"cluster": ["null", "null"], "executor_cores": {"c5.xlarge": 4, "m5.large": "None"}},
        # The type is none of those that were trained.
        {"fallback_instance_type": "r5.4xlarge", "executor_cores": CORES},
        {"fallback_instance_type": "r5.4xlarge"},
        # Neither a cluster nor a model is there.
        {"cluster": None},
    ],
)
def test_production_is_never_sized_for_cores_that_nobody_told(context, ti, capsys, changes):
    choose_operator([None, None], fallback_executors=6, **changes).execute(context)

    assert ti.pushed["executors"] == 6
    assert ti.pushed["emr_instance_groups"][0]["InstanceCount"] == 6, "which needs no cores"
    for key in ("spark_conf", "yarn_conf", "glue"):
        assert key not in ti.pushed, "so that a task that reads it fails"
        assert "Nothing tells the cores" in ti.pushed["unavailable"][key]
    assert "There is no spark_conf for production" in capsys.readouterr().out


def test_a_fallback_is_bought_and_billed_as_the_machines_of_its_training(context, ti):
    handle = cluster("m5.large")
    handle["machines"] = [{**machine, "market": "spot"} for machine in handle["machines"]]
    handle["master"] = {**handle["machines"][0], "price_per_hour": 0.05}
    fields = {"fallback_executors": 6, "billing": {"expected_runs": 30}}
    choose_operator([None, None], cluster=[handle, "null"], **fields).execute(context)

    billing = ti.pushed["record"]["decision"]["billing"]
    assert (billing["master_price_per_hour"], billing["training_dollars"]) == (0.05, 0)
    assert ti.pushed["emr_instance_groups"][0]["Market"] == "SPOT"


def test_a_goal_out_of_reach_tells_which_types_could_have_kept_it(context, models, caplog):
    with pytest.raises(AirflowFailException, match="InfeasibleGoalError"):
        choose_operator([models[0], None], deadline_seconds=1).execute(context)
    assert "c5.xlarge is not among the choices" in caplog.text


def test_a_fallback_to_more_machines_than_its_cluster_can_have_is_refused(context):
    handles = [cluster("m5.large", kind="existing", executors=3), cluster("c5.xlarge")]
    with pytest.raises(AirflowFailException, match="fallback_executors=6 is outside the 1 to 3 executors"):
        choose_operator([None, None], cluster=handles, fallback_executors=6).execute(context)


def test_a_mix_of_types_is_sized_by_executors_that_fit_all_of_them(context, ti, models, monkeypatch):
    """The machines with more cores hold several of them."""
    from airflow_provider_ernest.documents.decisions import Alternative, Configuration

    def mixed_as_well(offers, **asked):
        parts = tuple(
            Configuration(executors=count, instance_type=name)
            for count, name in zip((3, 2), PRICES, strict=True)
        )
        mixed = {"executors": 5, "instance_type": "3 m5.large + 2 c5.xlarge", "composition": parts}
        return (Alternative(seconds=1.0, cost=1e-6, feasible=True, probability=1.0, **mixed),)

    monkeypatch.setattr("airflow_provider_ernest.decision.deciding.mixed_alternatives", mixed_as_well)
    choose_operator(models, allow_mixed=True).execute(context)

    conf = ti.pushed["spark_conf"]
    assert (conf["spark.executor.cores"], conf["spark.executor.instances"]) == ("2", "7")
    assert conf["spark.cores.max"] == "14"
    assert conf["spark.executor.memory"] == "6000m", "two of them share a c5.xlarge"
    assert ti.pushed["executors"] == 5
    assert len(ModelStore(store_root()).newest(DecisionRecord, "enrich", "3 m5.large + 2 c5.xlarge")) == 1
