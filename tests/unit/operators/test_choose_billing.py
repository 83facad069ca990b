"""What the alternatives of a decision cost: all that is billed."""

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.operators.training_cluster import training_cluster
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from tests.unit.operators.decisions import choose_operator, cluster


def test_the_price_is_that_of_the_clusters_machines_unless_given(context, ti, model):
    priced = cluster(8, price_per_hour=0.2)
    choose_operator(model, cluster=priced, price_per_hour=None).execute(context)
    cheap = ti.pushed["predicted_cost"]
    choose_operator(model, cluster=priced, price_per_hour="0.4").execute(context)
    assert ti.pushed["predicted_cost"] == pytest.approx(2 * cheap)


@pytest.mark.parametrize("changes", [{"cluster": cluster(8)}, {}])
def test_an_unknown_price_is_asked_for(context, model, changes):
    with pytest.raises(AirflowFailException, match=r"price_per_hour=None .* Give the dollars"):
        choose_operator(model, price_per_hour=None, **changes).execute(context)


def test_all_that_is_billed_counts(context, ti, model):
    priced = cluster(8, kind="ec2", price_per_hour=0.36)
    master = {**priced["machines"][0], "price_per_hour": 0.72}
    handle = {**priced, "master": master}
    billing = Billing(increment_seconds=3600, minimum_seconds=0, volume_gigabytes=730, boot_seconds=10)

    fields = {"cluster": handle, "price_per_hour": None, "max_machines": 3, "deadline_seconds": 100}
    choose_operator(model, billing=billing, **fields).execute(context)

    parts = ti.pushed["record"]["decision"]["cost_parts"]
    machines = ti.pushed["machines"]
    assert parts["machines"] == pytest.approx(machines * 0.36), "an hour begun"
    assert parts["master"] == pytest.approx(0.72)
    assert parts["volumes"] == pytest.approx((machines + 1) * 730 * 0.08 / 730)
    assert parts["training"] == 0.0
    assert ti.pushed["predicted_cost"] == pytest.approx(
        sum(parts[name] for name in parts if name != "schema")
    )


def test_the_master_and_the_market_are_the_clusters_unless_stated(context, ti, model):
    handle = cluster(8, kind="ec2", price_per_hour=0.36)
    handle["machines"] = [{**machine, "market": "spot"} for machine in handle["machines"]]
    handle["master"] = handle["machines"][0]

    choose_operator(model, cluster=handle).execute(context)
    told = ti.pushed["record"]["decision"]["billing"]
    choose_operator(
        model, cluster=handle, billing={"master_price_per_hour": "0", "market": "reserved"}
    ).execute(context)
    stated = ti.pushed["record"]["decision"]["billing"]

    assert (told["market"], told["master_price_per_hour"]) == ("spot", 0.36)
    assert (stated["market"], stated["master_price_per_hour"]) == ("reserved", 0.0)


def test_the_training_is_shared_by_the_runs_that_are_expected(context, ti, observations):
    handle = cluster(4, kind="ec2", price_per_hour=0.36)
    model = train(
        observations,
        job="enrich",
        method="relative",
        cluster=training_cluster(ClusterHandle.from_dict(handle)),
    )
    trained = sum(one.seconds + one.startup_seconds for one in observations) * 4 * 0.36 / 3600

    choose_operator(model.to_dict(), cluster=handle, billing={"expected_runs": "10"}).execute(context)

    assert ti.pushed["record"]["decision"]["cost_parts"]["training"] == pytest.approx(trained / 10)


def test_a_training_of_unknown_cost_is_said_not_to_count(context, model):
    decision = choose_operator(model, billing={"expected_runs": 10}).execute(context)

    assert decision["cost_parts"]["training"] == 0.0
    assert any("cost is not known and not counted" in warning for warning in decision["warnings"])
