"""The decision as a function of settings and models, as anybody may call it without Airflow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.decision import deciding
from airflow_provider_ernest.decision.trainings import TrainedType, billing_of, offered_by
from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.spark.machines import Machine
from tests.unit.decision.test_deciding import model_with


@pytest.fixture(scope="module")
def model() -> Model:
    return replace(model_with(fixed=2.0, spread=120.0, per_machine=1.5), instance_type="local")


def trained(model: Model | None, cluster: ClusterHandle | None = None) -> TrainedType[ClusterHandle]:
    return TrainedType(instance_type="local", model=model, cluster=cluster)


def handle(**changes: object) -> ClusterHandle:
    machine = Machine(
        worker_id="w", host="h", cores=1, memory_megabytes=900, price_per_hour=0.4, market="spot"
    )
    fields = {"kind": "local", "name": "c", "master_url": "spark://h:7077", "machines": (machine,) * 4}
    return ClusterHandle(**{**fields, **changes})  # type: ignore[arg-type]


def decide(goal: SizingGoal, types: list[TrainedType[ClusterHandle]]) -> Decision:
    return deciding.decide(goal, offered_by(goal, types)).required()


def goal(**changes: object) -> SizingGoal:
    return SizingGoal(**{"deadline_seconds": 60, "max_machines": 8, "price_per_hour": 0.35, **changes})


def test_sample_runs_of_unknown_cost_are_told_of_the_types_that_had_some(model: Model) -> None:
    unmodelled = TrainedType(instance_type="m5.large", model=None, cluster=handle(kind="ec2"))
    asked = goal(price_per_hour=None, billing=Billing(expected_runs=30))
    decision = decide(asked, [trained(model, handle()), unmodelled])
    assert [warning for warning in decision.warnings if "sample runs" in warning] == [
        "The cost of the sample runs on local is unknown and not counted."
    ]


def test_a_local_cluster_limits_production_until_it_has_ended() -> None:
    assert handle().most_machines == 4
    assert handle(master_url="").most_machines is None
    assert handle(kind="ec2").most_machines is None


@pytest.mark.parametrize(
    ("terms", "market", "master"),
    [(Billing(), "spot", 0.4), (Billing(market="reserved", master_price_per_hour=0), "reserved", 0.0)],
)
def test_what_is_billed_is_as_stated_else_as_the_cluster_tells(
    terms: Billing, market: str, master: float
) -> None:
    cluster = handle(master=handle().machines[0])
    billing = billing_of(terms, price_per_hour=1.0, cluster=cluster, training_dollars=5.0)
    assert (billing.market, billing.master_price_per_hour, billing.training_dollars) == (market, master, 0.0)
