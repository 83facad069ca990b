"""What production runs and the sample runs of a model cost, computed by hand."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents.models import TrainedMachine, TrainingCluster, training_dollars
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from tests.examples import observe

HOUR = 3600.0


def test_machines_are_billed_by_the_second_and_at_least_a_minute():
    billing = Billing(price_per_hour=0.36)

    assert billing.cost(machines=10, seconds=100.2).total == pytest.approx(10 * 0.0001 * 101)
    assert billing.cost(machines=10, seconds=5).total == pytest.approx(10 * 0.0001 * 60)


def test_by_the_hour_a_begun_hour_is_a_whole_one():
    billing = Billing(price_per_hour=0.35, increment_seconds=HOUR)

    assert billing.cost(machines=16, seconds=3500).total == pytest.approx(16 * 0.35)
    assert billing.cost(machines=16, seconds=3601).total == pytest.approx(16 * 0.70)


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

    parts = billing.cost(machines=10, seconds=1900)

    assert parts.machines == pytest.approx(10 * 0.0001 * 2000)
    assert parts.master == pytest.approx(0.0002 * 2000)
    # 7.3 $ for each of eleven disks and 730 hours: a cent an hour each.
    assert parts.volumes == pytest.approx(11 * 0.01 / 3600 * 2000)
    assert parts.training == pytest.approx(0.1)
    assert parts.total == pytest.approx(2.0 + 0.4 + 0.0611 + 0.1, abs=1e-3)


def test_disks_cost_8_cents_and_one_run_bears_the_training_unless_stated_otherwise():
    parts = Billing(price_per_hour=0.36, volume_gigabytes=730, training_dollars=3.0).cost(
        machines=10, seconds=HOUR
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

    longest = billing.most_seconds(machines=3, budget_dollars=budget)

    if longest > 0:
        assert billing.cost(machines=3, seconds=longest).total <= budget * (1 + 1e-6)
    assert billing.cost(machines=3, seconds=longest + increment + 1).total > budget


def test_a_budget_below_the_least_that_is_billed_pays_for_no_run():
    billing = Billing(price_per_hour=3600.0)

    assert billing.most_seconds(machines=1, budget_dollars=59.0) == 0.0
    assert billing.most_seconds(machines=1, budget_dollars=60.0) == pytest.approx(60.0)


@pytest.fixture
def model():
    runs = observe(
        machines=[1, 2, 4, 4, 2], scale=[0.1, 0.1, 0.1, 0.05, 0.05], seconds=[99.0, 59.0, 39.0, 29.0, 34.0]
    )
    return train([replace(run, startup_seconds=4.0) for run in runs], job="job")


def cluster(*machines, price_per_hour=None):
    return TrainingCluster(
        kind="ec2",
        name="c",
        instance_type="m5.large",
        cores_per_machine=2,
        price_per_hour=price_per_hour,
        machines=machines,
    )


def test_all_machines_are_paid_for_while_any_run_is_on(model):
    """260 s of runs with 20 s of start-ups; four workers of 0.9 $ and a master of 1.8 $ an hour."""
    workers = [TrainedMachine(host=f"10.0.0.{host}", price_per_hour=0.9) for host in range(4)]
    culled = TrainedMachine(host="10.0.0.9", price_per_hour=0.9, culled_because="slow")
    master = TrainedMachine(host="10.0.0.8", price_per_hour=1.8, is_master=True)

    trained = replace(model, cluster=cluster(*workers, culled, master))

    assert training_dollars(trained) == pytest.approx(280 / 3600 * (4 * 0.9 + 1.8))


def test_a_worker_without_a_price_of_its_own_costs_what_the_cluster_says(model):
    trained = replace(model, cluster=cluster(TrainedMachine(host="a"), price_per_hour=3600.0))

    assert training_dollars(trained) == pytest.approx(280.0)


@pytest.mark.parametrize(
    "known",
    [
        None,
        cluster(),
        cluster(TrainedMachine(host="a")),
        cluster(TrainedMachine(host="a", price_per_hour=1.0), TrainedMachine(host="m", is_master=True)),
    ],
)
def test_without_prices_it_is_not_known(model, known):
    assert training_dollars(replace(model, cluster=known)) is None
