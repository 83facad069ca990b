"""What the kinds of clusters differ in, for a task group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import XComArg

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.setting_checks import PlannedCluster
from airflow_provider_ernest.operators.terminate_cluster import PERSISTENCE
from airflow_provider_ernest.settings import ConnectedCluster
from airflow_provider_ernest.settings.values import count, is_template

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


ClusterSpec = LocalClusterSpec | EC2ClusterSpec | EmrJobFlow | ConnectedCluster
"""The kinds of clusters that a task group can start, or find."""

OPERATORS: Mapping[type, tuple[str, str]] = {
    LocalClusterSpec: ("local_cluster", "LocalClusterOperator"),
    EC2ClusterSpec: ("ec2_cluster", "EC2ClusterOperator"),
    EmrJobFlow: ("emr_job_flow", "EmrJobFlowOperator"),
    ConnectedCluster: ("existing_cluster", "ExistingClusterOperator"),
}
"""Module and name of the operator of each, imported on use: DAG files pay for no other kind."""

CHECK_OPTIONS = ("aws_conn_id", "region_name")
"""Options of a cluster on EC2 that its check and its resize have, too."""

MACHINE_SETTINGS = (
    "memory_megabytes_per_machine",
    "launch_template",
    "launch_template_version",
    "setup_script",
    "java_home",
    "python",
    "network_encryption",
    "volume_gigabytes",
    "volume_type",
)
"""Fields of the clusters' specifications that may change how long a run takes on one machine."""


def check_task(cluster: ClusterSpec, options: Mapping[str, Any]) -> BaseOperator | None:
    """The task that checks a specification before anything costs money; None if nothing can be asked."""
    if not isinstance(cluster, EC2ClusterSpec):
        return None
    from airflow_provider_ernest.operators.ec2_cluster import EC2PreflightOperator

    return EC2PreflightOperator(task_id="check_cluster", spec=cluster, **shared_options(options))


def create_task(cluster: ClusterSpec, options: Mapping[str, Any], spark_conn_id: str | None) -> BaseOperator:
    """The task that starts a cluster; only a local one can listen at the address of a connection."""
    if isinstance(cluster, LocalClusterSpec):
        options = {"spark_conn_id": spark_conn_id, **options}
    elif spark_conn_id is not None:
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            f"has no meaning for a cluster of {type(cluster).__name__}, whose address is not known before",
            remedy="Run production by ErnestSparkSubmitOperator(cluster=group.cluster).",
        )
    module, name = OPERATORS[type(cluster)]
    operator = getattr(import_module(f"airflow_provider_ernest.operators.{module}"), name)
    create: BaseOperator = operator(task_id="create_cluster", spec=cluster, **options)
    return create


def job_flow_tasks(
    cluster: EmrJobFlow, *, rule: Mapping[str, Any], teardown: Mapping[str, Any], **options: Any
) -> tuple[BaseOperator, BaseOperator]:
    """Amazon's operators that start a job flow, as a setup, and end it, as its teardown.

    The setup does not wait until the job flow is ready: if it failed meanwhile, no teardown would run.
    """
    from airflow.providers.amazon.aws.operators.emr import (
        EmrCreateJobFlowOperator,
        EmrTerminateJobFlowOperator,
    )

    request: Any = cluster.job_flow
    start: BaseOperator = EmrCreateJobFlowOperator(
        task_id="start_job_flow", emr_conn_id=None, job_flow_overrides=request, **rule, **options
    )
    end: BaseOperator = EmrTerminateJobFlowOperator(
        **{**PERSISTENCE, **teardown}, job_flow_id=cast("str", start.output), **options
    )
    end.as_teardown(setups=start)
    return start, end


def resize_task(cluster: ClusterSpec, options: Mapping[str, Any], *, handle: Any, size: Any) -> BaseOperator:
    """The task that gives a running cluster on EC2 another size; others keep theirs."""
    if not isinstance(cluster, EC2ClusterSpec):
        raise InvalidParameterError(
            "resize_for_production", True, f"is impossible for a cluster of {type(cluster).__name__}"
        )
    from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator

    return EC2ClusterOperator(
        task_id="resize_cluster", spec=cluster, cluster=handle, size=size, **shared_options(options)
    )


def shared_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The `CHECK_OPTIONS` among them."""
    return {name: options[name] for name in CHECK_OPTIONS if name in options}


def type_name(cluster: ClusterSpec) -> str:
    """The type of machine under which models are stored."""
    if isinstance(cluster, ConnectedCluster):
        return cluster.instance_type or cluster.spark_conn_id
    return cluster.instance_type


def spark_release(cluster: ClusterSpec) -> str | None:
    """The Spark that it runs, as `FindModelOperator` takes it; None if unknown."""
    if isinstance(cluster, LocalClusterSpec):
        return "installed"
    if isinstance(cluster, EC2ClusterSpec):
        distribution = cluster.spark_distribution.rpartition("/")[2]
        return f"{distribution} on {cluster.image}" if cluster.image else distribution
    return cluster.release_label if isinstance(cluster, EmrJobFlow) else None


def cores_per_machine(cluster: ClusterSpec, check: BaseOperator | None) -> Any:
    """The cores of each machine, or the XCom that they are read from; an error if nothing tells them."""
    if cluster.cores_per_machine is not None:
        return cluster.cores_per_machine
    if check is None:
        raise InvalidParameterError(
            "cores_per_machine",
            None,
            f"must be stated of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return XComArg(check, key="cores_per_machine")


def planned(cluster: ClusterSpec) -> PlannedCluster:
    """What is known of a cluster beforehand."""
    return PlannedCluster(
        instance_type=type_name(cluster),
        machines=certain_machines(cluster),
        # AWS tells the prices of EC2's machines; those of EMR include its own share.
        has_price=isinstance(cluster, EC2ClusterSpec) or getattr(cluster, "price_per_hour", None) is not None,
        is_emr=isinstance(cluster, EmrJobFlow),
        limits_production=isinstance(cluster, LocalClusterSpec),
    )


def certain_machines(cluster: ClusterSpec) -> int:
    """The fewest machines with which the cluster starts; an error if only the running DAG will know."""
    machines = cluster.smallest_machines if isinstance(cluster, EC2ClusterSpec) else cluster.machines
    if machines is None or is_template(machines):
        raise InvalidParameterError(
            "machines",
            machines,
            f"must be known of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return count("machines", machines)


def billed_machines(clusters: Sequence[ClusterSpec], parallel_runs: int) -> float | None:
    """The machines that are paid for while a sample run is on, however few it uses; None for its own.

    A cluster that is there anyway costs nothing.
    """
    started = [cluster.machines for cluster in clusters if not isinstance(cluster, ConnectedCluster)]
    return max(started) / parallel_runs if started else None
