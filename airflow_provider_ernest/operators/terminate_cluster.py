"""Teardown: end a cluster, whichever operator of this package started it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.rendered import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context


class TerminateClusterOperator(BaseOperator):
    """End a cluster; use it ``.as_teardown(setups=create)``.

    It may run any number of times: a cluster that has ended already is a success. Machines in a cloud are
    found by the cluster's tag, so that those which a resize has added end with the others.

    Args:
        cluster: the `ClusterHandle` document, output of the operator that started the cluster.

    Raises:
        ClusterError: machines still live; names them.
    """

    template_fields: Sequence[str] = ("cluster",)
    ui_color = "#e4dcf2"

    def __init__(self, *, cluster: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cluster = cluster

    def execute(self, context: Context) -> None:
        """End the cluster and say what was done."""
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.clusters.kinds import reopen
        from airflow_provider_ernest.operators.aws import aws_clients

        with no_vain_retries():
            handle = ClusterHandle.from_dict(document("cluster", self.cluster))
            cluster = reopen(handle, client=aws_clients(handle.aws_conn_id, handle.region))
        # Whatever goes wrong here is tried again as often as the task has retries: machines cost money.
        self.log.info("Spark %s: %s", handle.name, cluster.terminate())
