"""What production runs and the sample runs of a model cost, computed by hand."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.decision.trainings import TrainedType, billing_of, offered_by
from airflow_provider_ernest.documents.models import TrainedMachine, TrainingCluster, training_dollars
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from tests import examples
from tests.examples import observe

HOUR = 3600.0


@pytest.mark.parametrize(
    ("price", "increment", "seconds", "billed"),
    [(0.36, 1.0, 100.2, 101), (0.36, 1.0, 5, 60), (0.35, HOUR, 3500, HOUR), (0.35, HOUR, 3601, 2 * HOUR)],
    ids=["by the second", "at least a minute", "by the hour", "a begun hour is a whole one"],
)
def test_what_is_billed_of_a_run(price, increment, seconds, billed):
    billing = Billing(price_per_hour=price, increment_seconds=increment)
    assert billing.cost(executors=10, seconds=seconds).total == pytest.approx(10 * price * billed / HOUR)


def test_all_that_is_billed_stands_apart():
    """Ten machines of 0.36 $/h and a master of 0.72 $/h, with 73 GB at 0.10 $ a month on each."""
    billing = Billing(
        price_per_hour=0.36,
        boot_seconds=100,
        master_price_per_hour=0.72,
        volume_gigabytes=73,
        volume_price_per_gigabyte_month=0.1,
        training_dollars=3.0,
        expected_runs=30,
    )

    parts = billing.cost(executors=10, seconds=1900)

    assert parts.executors == pytest.approx(10 * 0.0001 * 2000)
    assert parts.master == pytest.approx(0.0002 * 2000)
    # 7.3 $ for each of eleven disks and 730 hours: a cent an hour each.
    assert parts.volumes == pytest.approx(11 * 0.01 / 3600 * 2000)
    assert parts.training == pytest.approx(0.1)
    assert parts.total == pytest.approx(2.0 + 0.4 + 0.0611 + 0.1, abs=1e-3)


def test_disks_cost_8_cents_and_one_run_bears_the_training_unless_stated_otherwise():
    parts = Billing(price_per_hour=0.36, volume_gigabytes=730, training_dollars=3.0).cost(
        executors=10, seconds=HOUR
    )

    assert parts.volumes == pytest.approx(10 * 0.08)
    assert parts.training == pytest.approx(3.0)


@pytest.mark.parametrize("increment", [1.0, 60.0, HOUR])
@pytest.mark.parametrize("boot", [0.0, 90.0])
@pytest.mark.parametrize("budget", [0.3, 0.5, 2.0, 7.3])
def test_the_longest_run_that_a_budget_pays_for(increment, boot, budget):
    """It costs no more than the budget, and a run of one increment more does."""
    billing = Billing(
        price_per_hour=0.4,
        increment_seconds=increment,
        boot_seconds=boot,
        master_price_per_hour=0.2,
        volume_gigabytes=100,
        training_dollars=1.0,
        expected_runs=10,
    )

    longest = billing.most_seconds(executors=3, budget_dollars=budget)

    if longest > 0:
        assert billing.cost(executors=3, seconds=longest).total <= budget * (1 + 1e-6)
    assert billing.cost(executors=3, seconds=longest + increment + 1).total > budget


def test_a_budget_below_the_least_that_is_billed_pays_for_no_run():
    billing = Billing(price_per_hour=3600.0)

    assert billing.most_seconds(executors=1, budget_dollars=59.0) == 0.0
    assert billing.most_seconds(executors=1, budget_dollars=60.0) == pytest.approx(60.0)


@pytest.fixture
def model():
    runs = observe(
        executors=[1, 2, 4, 4, 2], scale=[0.1, 0.1, 0.1, 0.05, 0.05], seconds=[99.0, 59.0, 39.0, 29.0, 34.0]
    )
    return train([replace(run, startup_seconds=4.0) for run in runs], job="job")


def cluster(*executors, price_per_hour=None):
    return TrainingCluster(
        kind="ec2",
        name="c",
        instance_type="m5.large",
        executor_cores=2,
        price_per_hour=price_per_hour,
        machines=executors,
    )


def test_all_machines_are_paid_for_while_any_run_is_on(model):
    """260 s of runs with 20 s of start-ups; four workers of 0.9 $ and a master of 1.8 $ an hour."""
    workers = [TrainedMachine(host=f"10.0.0.{host}", price_per_hour=0.9) for host in range(4)]
    culled = TrainedMachine(host="10.0.0.9", price_per_hour=0.9, culled_because="slow")
    master = TrainedMachine(host="10.0.0.8", price_per_hour=1.8, is_master=True)

    trained = replace(model, cluster=cluster(*workers, culled, master))
    assert training_dollars(trained) == pytest.approx(280 / 3600 * (4 * 0.9 + 1.8))
    # A worker without a price of its own costs what the cluster says.
    trained = replace(model, cluster=cluster(TrainedMachine(host="a"), price_per_hour=3600.0))
    assert training_dollars(trained) == pytest.approx(280.0)
    unpriced = TrainedMachine(host="m", is_master=True)
    for known in (None, cluster(), cluster(TrainedMachine(host="a")), cluster(workers[0], unpriced)):
        assert training_dollars(replace(model, cluster=known)) is None


# What of it the clusters of the trainings tell.


def handle(**changes) -> ClusterHandle:
    priced = {"price_per_hour": 0.4, "market": "spot"}
    return examples.cluster(4, each=priced, **{"kind": "local", **changes})


def test_a_local_cluster_limits_production_until_it_has_ended():
    assert handle().most_machines == 4
    assert handle(master_url="").most_machines is None
    assert handle(kind="ec2").most_machines is None


@pytest.mark.parametrize(
    ("terms", "market", "master"),
    [(Billing(), "spot", 0.4), (Billing(market="reserved", master_price_per_hour=0), "reserved", 0.0)],
)
def test_what_is_billed_is_as_stated_else_as_the_cluster_tells(terms, market, master):
    known = handle(master=handle().machines[0])
    billing = billing_of(terms, price_per_hour=1.0, cluster=known, training_dollars=5.0)
    assert (billing.market, billing.master_price_per_hour, billing.training_dollars) == (market, master, 0.0)


def test_sample_runs_of_unknown_cost_are_told_of_the_types_that_had_some(model):
    goal = examples.sizing_goal(deadline_seconds=600, billing=Billing(expected_runs=30))
    modelled = TrainedType(instance_type="local", model=model, cluster=handle())
    unmodelled = TrainedType(instance_type="m5.large", model=None, cluster=handle(kind="ec2"))

    warnings = offered_by(goal, [modelled, unmodelled]).warnings
    assert [warning for warning in warnings if "sample runs" in warning] == [
        "The cost of the sample runs on local is unknown and not counted."
    ]
