"""What the sample runs of a model cost, reckoned by hand."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import TrainedMachine, TrainingCluster, training_dollars
from airflow_provider_ernest.prediction.training import train
from tests.examples import observe


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
