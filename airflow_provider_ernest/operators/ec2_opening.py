"""What starts or resizes a cluster on EC2, with the clients, prices and probe that it needs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.operators.rendered import document, optional_whole_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster
    from airflow_provider_ernest.clusters.ec2.resizing import ClusterResize
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook


def cluster_to_start(
    spec: EC2ClusterSpec,
    context: Context,
    *,
    aws_conn_id: str | None,
    region_name: str | None,
    on_submit: Callable[[ErnestSubmitHook], None],
    log: Any,
    deployment: str | None = None,
) -> EC2Cluster:
    """A cluster of which nothing is launched yet, or what an earlier attempt of the task launched.

    Args:
        spec: of the cluster.
        context: of the task that starts it.
        aws_conn_id: Airflow connection of AWS.
        region_name: AWS region; None for that of the connection.
        on_submit: told of each submission of the probe, before it begins.
        log: the task's.
        deployment: in whose name an earlier part of the task has launched; None for the configured one.
    """
    from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster
    from airflow_provider_ernest.operators.aws import cluster_identity

    return EC2Cluster(
        spec,
        cluster_identity(context, deployment=deployment),
        aws_conn_id=aws_conn_id,
        **_means(spec, aws_conn_id, region_name, on_submit=on_submit, log=log),
    )


def resize_to_run(
    cluster: Any,
    context: Context,
    *,
    size: Any,
    smallest_acceptable: Any,
    spec_of: Callable[..., EC2ClusterSpec],
    on_submit: Callable[[ErnestSubmitHook], None],
    log: Any,
) -> ClusterResize:
    """A resize that has not begun, in region and connection of the cluster.

    Args:
        cluster: its handle, as a document.
        context: of the task that resizes it.
        size: the number of workers that it shall have.
        smallest_acceptable: of the specification by which new machines are launched.
        spec_of: makes that specification, given what differs from the task's arguments.
        on_submit: told of each submission of the probe, before it begins.
        log: the task's.

    Raises:
        InvalidParameterError: there is no cluster, or no size.
    """
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.resizing import ClusterResize
    from airflow_provider_ernest.operators.aws import cluster_identity

    handle = ClusterHandle.from_dict(document("cluster", cluster))
    wanted = whole_number("size", size)
    # Number and type of the machines are those of the running cluster, whatever is said of them here.
    smallest = optional_whole_number("smallest_acceptable", smallest_acceptable) or 1
    spec = spec_of(machines=max(wanted, smallest), instance_type=handle.instance_type)
    return ClusterResize(
        handle,
        wanted,
        spec=spec,
        identity=cluster_identity(context),
        **_means(spec, handle.aws_conn_id, handle.region, on_submit=on_submit, log=log),
    )


def _means(
    spec: EC2ClusterSpec,
    aws_conn_id: str | None,
    region_name: str | None,
    *,
    on_submit: Callable[[ErnestSubmitHook], None],
    log: Any,
) -> dict[str, Any]:
    """Of a launch: clients, prices, the probe and the task's log."""
    from airflow_provider_ernest.operators.aws import aws_clients
    from airflow_provider_ernest.operators.ec2_prices import price_book
    from airflow_provider_ernest.operators.ec2_probe import measure

    clients = aws_clients(aws_conn_id, region_name)
    return {
        "client": clients,
        "prices": price_book(clients("ec2"), aws_conn_id=aws_conn_id, override_per_hour=spec.price_per_hour),
        "probe": partial(measure, spec=spec, log=log, on_submit=on_submit),
        "log": log,
    }
