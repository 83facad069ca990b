"""One training for each type of machine, and one decision over all of them."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.dag import ernest_dag
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import (
    ConnectedCluster,
    SizingGoal,
)
from tests.unit.operators.stated import group_arguments


def on_ec2(instance_type: str, **changes: Any) -> EC2ClusterSpec:
    return EC2ClusterSpec(
        machines=4,
        instance_type=instance_type,
        image="ami-0123456789abcdef0",
        subnets=("subnet-0123456789abcdef0",),
        security_groups=("sg-0123456789abcdef0",),
        **changes,
    )


SMALL = LocalClusterSpec(machines=4, instance_type="small")
LARGE = LocalClusterSpec(machines=4, cores_per_machine=2, instance_type="large")
M5, C5 = on_ec2("m5.large"), on_ec2("c5.large")


def sized(clusters: Any, *, goal: dict[str, Any] | None = None, **changes: Any) -> DAG:
    """The types ahead of a production task."""
    stated = {"deadline_seconds": 60, "max_machines": 4, "price_per_hour": 1, **(goal or {})}
    on_same_cluster = changes.pop("production_on_same_cluster", False)
    return ernest_dag(
        "nightly",
        schedule=None,
        production=lambda ernest: EmptyOperator(task_id="production"),
        production_on_same_cluster=on_same_cluster,
        ernest=group_arguments(cluster=clusters, goal=SizingGoal(**stated), **changes),
    )


@pytest.mark.parametrize("clusters", [[M5, C5], [SMALL, LARGE], [SMALL, M5]])
@pytest.mark.parametrize("goal", [{}, {"fallback_machines": 2}])
def test_airflow_accepts_the_dag(clusters, goal):
    dag = sized(clusters, goal=goal)

    dag.validate()
    dag.check_cycle()
    choose = dag.task_dict["ernest.choose_config"]
    assert choose.trigger_rule == "all_done", "it takes the models that there are"
    assert dag.task_dict["production"].upstream_task_ids == {"ernest.choose_config"}


def test_each_type_has_a_cluster_runs_and_a_model_of_its_own():
    tasks = sized([M5, C5]).task_dict

    for name in ("m5_large", "c5_large"):
        group = f"ernest.{name}"
        create, end = tasks[f"{group}.create_cluster"], tasks[f"{group}.terminate_cluster"]
        assert create.is_setup
        assert end.is_teardown
        assert create.task_id in end.upstream_task_ids
        assert tasks[f"{group}.check_cluster"].task_id in tasks[f"{group}.design"].upstream_task_ids
        assert f"{group}.create_cluster" in tasks[f"{group}.sample_run"].upstream_task_ids
    assert tasks["ernest.choose_config"].upstream_task_ids == {
        "ernest.find_model",
        "ernest.m5_large.fit_model",
        "ernest.c5_large.fit_model",
    }
    assert tasks["ernest.m5_large.create_cluster"].spec["instance_type"] == "m5.large"


def test_no_type_waits_for_another_or_for_the_decision():
    """Clusters end as soon as their runs have."""
    tasks = sized([M5, C5]).task_dict

    above = tasks["ernest.c5_large.terminate_cluster"].get_flat_relative_ids(upstream=True)
    above.remove("ernest.find_model")
    assert {task.rpartition(".")[0] for task in above} == {"ernest.c5_large"}
    assert "ernest.c5_large.fit_model" not in above


def test_local_clusters_follow_each_other_however_the_one_before_went():
    tasks = sized([SMALL, LARGE]).task_dict

    between = tasks["ernest.large.type_before_ended"]
    assert between.upstream_task_ids == {"ernest.small.terminate_cluster"}
    assert between.trigger_rule == "all_done"
    assert "ernest.large.type_before_ended" in tasks["ernest.large.create_cluster"].upstream_task_ids
    assert tasks["ernest.large.create_cluster"].trigger_rule == "all_success", "not after a failed design"


def test_whether_types_are_trained_at_the_same_time_can_be_stated():
    assert "ernest.large.type_before_ended" not in sized([SMALL, LARGE], types_in_parallel=True).task_dict
    assert "ernest.c5_large.type_before_ended" in sized([M5, C5], types_in_parallel=False).task_dict


def test_one_design_serves_all_types_whose_machines_have_as_many_cores():
    other = LocalClusterSpec(machines=6, instance_type="other")
    shared = sized([SMALL, other]).task_dict
    assert shared["ernest.design"].available_machines == 4
    for name in ("small", "other"):
        assert "ernest.design" in shared[f"ernest.{name}.sample_run"].upstream_task_ids
        assert "ernest.design" in shared[f"ernest.{name}.create_cluster"].upstream_task_ids

    assert "ernest.design" not in sized([SMALL, LARGE]).task_dict
    assert "ernest.design" not in sized([M5, C5]).task_dict, "AWS tells how many they have"


def test_a_shared_design_is_not_held_up_by_the_check_of_one_type():
    known = [on_ec2("m5.large", cores_per_machine=2), on_ec2("c5.large", cores_per_machine=2)]
    tasks = sized(known).task_dict

    assert tasks["ernest.design"].upstream_task_ids == {"ernest.find_model"}
    assert "ernest.m5_large.check_cluster" in tasks["ernest.m5_large.create_cluster"].upstream_task_ids


def test_the_decision_knows_each_type_in_the_same_order():
    choose = sized([M5, LARGE]).task_dict["ernest.choose_config"]

    assert [arg.operator.task_id for arg in choose.model] == [
        "ernest.m5_large.fit_model",
        "ernest.large.fit_model",
    ]
    assert ["ernest.m5_large.create" in choose.cluster[0], "ernest.large.create" in choose.cluster[1]] == [
        True
    ] * 2
    assert list(choose.training_failure) == ["m5.large", "large"]
    assert choose.cores_per_machine["large"] == 2
    assert "ernest.m5_large.check_cluster" in choose.cores_per_machine["m5.large"]


def test_each_cluster_may_take_options_of_its_own():
    there = ConnectedCluster(spark_conn_id="lake", machines=4, cores_per_machine=2)
    tasks = sized([M5, there], cluster_options=[{"aws_conn_id": "lake_aws"}, {"probe": True}]).task_dict

    assert tasks["ernest.m5_large.create_cluster"].aws_conn_id == "lake_aws"
    assert tasks["ernest.lake.create_cluster"].probe is True


@pytest.mark.parametrize(
    ("clusters", "changes", "named"),
    [
        ([SMALL, SMALL], {}, r"cluster=\['small', 'small'\] names a type of machine twice"),
        ([], {}, r"cluster=\[\] is empty"),
        (
            [M5, C5],
            {"resize_for_production": True},
            r"resize_for_production=True .*EC2ClusterOperator\(spec=",
        ),
        ([SMALL, LARGE], {"spark_conn_id": "lake"}, "spark_conn_id='lake' has no meaning with several types"),
        ([M5, C5], {"cluster_options": [{}]}, "is not one for each of the 2 clusters"),
        ([M5, C5], {"production_on_same_cluster": True}, "production_on_same_cluster=True is impossible"),
    ],
)
def test_what_cannot_be_is_refused_when_the_dag_is_parsed(clusters, changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        sized(clusters, **changes)


@pytest.mark.parametrize(
    ("clusters", "parallel_runs", "billed"),
    [
        ([LocalClusterSpec(machines=6)], 1, 6),
        ([LocalClusterSpec(machines=6)], 3, 2),
        ([ConnectedCluster(spark_conn_id="there", machines=50, cores_per_machine=1)], 1, None),
        ([M5], 1, 4),
    ],
)
def test_the_design_knows_what_is_billed_while_a_run_is_on_and_how_long_production_may_take(
    clusters, parallel_runs, billed
):
    dag = sized(clusters, goal={"deadline_seconds": "{{ params.deadline }}"}, parallel_runs=parallel_runs)
    design = dag.task_dict["ernest.design"]

    assert design.billed_machines == billed
    assert design.goal["deadline_seconds"] == "{{ params.deadline }}"
