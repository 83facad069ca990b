"""Which tasks check, start and resize a cluster, by the type of its specification."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from airflow.sdk import XComArg

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.setting_checks import PlannedCluster
from airflow_provider_ernest.specification import ConnectedCluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import BaseOperator

ClusterSpec = LocalClusterSpec | EC2ClusterSpec | EmrClusterSpec | ConnectedCluster
"""The kinds of clusters that a task group can start, or find."""

CLUSTER_KINDS = (LocalClusterSpec, EC2ClusterSpec, EmrClusterSpec, ConnectedCluster)

CHECK_OPTIONS = ("aws_conn_id", "region_name")
"""Options of a cluster on EC2 that its check and its resize have, too."""


def check_task(cluster: ClusterSpec, options: Mapping[str, Any]) -> BaseOperator | None:
    """The task that checks a specification before anything costs money; None where there is nothing to ask.

    Args:
        cluster: the specification.
        options: further arguments of the operator that starts the cluster.
    """
    if not isinstance(cluster, EC2ClusterSpec):
        return None
    from airflow_provider_ernest.operators.ec2_preflight import EC2PreflightOperator

    return EC2PreflightOperator(task_id="check_cluster", **_fields(cluster), **_shared(options))


def create_task(cluster: ClusterSpec, options: Mapping[str, Any], spark_conn_id: str | None) -> BaseOperator:
    """The task that starts a cluster.

    Args:
        cluster: the specification.
        options: further arguments of its operator.
        spark_conn_id: Airflow connection at whose address a local cluster listens.

    Raises:
        InvalidParameterError: such a cluster cannot listen where a connection says.
    """
    if isinstance(cluster, LocalClusterSpec):
        from airflow_provider_ernest.operators.local_cluster import LocalClusterOperator

        # The operator takes the port from its connection.
        given = _fields(cluster, but="master_port")
        return LocalClusterOperator(task_id="create_cluster", spark_conn_id=spark_conn_id, **given, **options)
    if spark_conn_id is not None:
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            f"has no meaning for a cluster of {type(cluster).__name__}, whose address is not known before",
            remedy="Run production by ErnestSparkSubmitOperator(cluster=group.cluster).",
        )
    if isinstance(cluster, EC2ClusterSpec):
        from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator

        return EC2ClusterOperator(task_id="create_cluster", **_fields(cluster), **options)
    if isinstance(cluster, EmrClusterSpec):
        from airflow_provider_ernest.operators.emr_cluster import EmrClusterOperator

        return EmrClusterOperator(task_id="create_cluster", spec=cluster, **options)
    from airflow_provider_ernest.operators.existing_cluster import ExistingClusterOperator

    return ExistingClusterOperator(task_id="create_cluster", **_fields(cluster), **options)


def resize_task(cluster: ClusterSpec, options: Mapping[str, Any], *, handle: Any, size: Any) -> BaseOperator:
    """The task that gives a running cluster another size.

    Args:
        cluster: the specification.
        options: further arguments of the operator that started the cluster.
        handle: the cluster's handle, the output of that operator.
        size: machines that it shall have.

    Raises:
        InvalidParameterError: such clusters keep their size.
    """
    if not isinstance(cluster, EC2ClusterSpec):
        raise InvalidParameterError(
            "resize_for_production", True, f"is impossible for a cluster of {type(cluster).__name__}"
        )
    from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator

    return EC2ClusterOperator(
        task_id="resize_cluster", cluster=handle, size=size, **_fields(cluster), **_shared(options)
    )


def type_name(cluster: ClusterSpec) -> str:
    """The name of its type of machine, under which models are stored."""
    if isinstance(cluster, ConnectedCluster):
        return cluster.instance_type or cluster.spark_conn_id
    return cluster.instance_type


def spark_release(cluster: ClusterSpec) -> str | None:
    """What tells the Spark that it runs, as `FindModelOperator` takes it; None where nothing does."""
    if isinstance(cluster, LocalClusterSpec):
        return "installed"
    if isinstance(cluster, EC2ClusterSpec):
        distribution = cluster.spark_distribution.rpartition("/")[2]
        return f"{distribution} on {cluster.image}" if cluster.image else distribution
    return cluster.release_label if isinstance(cluster, EmrClusterSpec) else None


def cores_per_machine(cluster: ClusterSpec, check: BaseOperator | None) -> Any:
    """The cores of each machine, or what they are read from at run time.

    Raises:
        InvalidParameterError: nothing tells them.
    """
    if cluster.cores_per_machine is not None:
        return cluster.cores_per_machine
    if check is None:
        raise InvalidParameterError(
            "cores_per_machine",
            None,
            f"must be told of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return XComArg(check, key="cores_per_machine")


def planned(cluster: ClusterSpec) -> PlannedCluster:
    """What is known beforehand of a cluster."""
    return PlannedCluster(
        instance_type=type_name(cluster),
        machines=certain_machines(cluster),
        # AWS tells the prices of EC2's machines; those of EMR include its own share.
        has_price=isinstance(cluster, EC2ClusterSpec) or getattr(cluster, "price_per_hour", None) is not None,
        is_emr=isinstance(cluster, EmrClusterSpec),
        limits_production=isinstance(cluster, LocalClusterSpec),
    )


def certain_machines(cluster: ClusterSpec) -> int:
    """How many machines the cluster has at least, if it starts at all."""
    return cluster.smallest_machines if isinstance(cluster, EC2ClusterSpec) else cluster.machines


def billed_machines(clusters: Sequence[ClusterSpec], parallel_runs: int) -> float | None:
    """The machines that are paid for while a sample run is on, however few it uses; None for its own.

    Args:
        clusters: that the runs are made on; one that somebody else starts is there anyway.
        parallel_runs: that share the cluster.
    """
    started = [cluster.machines for cluster in clusters if not isinstance(cluster, ConnectedCluster)]
    return max(started) / parallel_runs if started else None


def _fields(cluster: ClusterSpec, *, but: str = "") -> dict[str, Any]:
    return {one.name: getattr(cluster, one.name) for one in fields(cluster) if one.name != but}


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in CHECK_OPTIONS if name in options}
