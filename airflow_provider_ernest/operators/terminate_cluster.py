"""Teardown: end a cluster, whichever operator of this package started it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.rendered import document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import Cluster

PERSISTENCE: dict[str, Any] = {
    # Some eight hours of them. A first attempt after the machines' expiry finds none, and succeeds.
    "retries": 100,
    "retry_delay": timedelta(seconds=15),
    # Doubles the delay. Airflow before 3.2 knows only whether to.
    "retry_exponential_backoff": True if BaseOperator.retry_exponential_backoff is False else 2.0,
    "max_retry_delay": timedelta(minutes=5),
    # Machines cost money while it waits for a slot; by Airflow's rule a task at a DAG's end comes last.
    "weight_rule": "absolute",
    "priority_weight": 10_000,
}
"""Arguments of each teardown. A DAG's ``default_args`` do not change them, only arguments of its own do."""


class TerminateClusterOperator(BaseOperator):
    """End a cluster; use it ``.as_teardown(setups=create)``.

    It may run any number of times: a cluster that has ended already is a success. Machines in a cloud are
    found by the cluster's tag, so that those which a resize has added end with the others.

    Where the cluster cannot be ended it tries again, after 15 s at first, later every five minutes, for eight
    hours: longer than machines live, unless you have given them more time. It is among the first of the tasks
    that wait for a slot of its pool (``weight_rule="absolute"``, ``priority_weight=10000``).

    Args:
        cluster: the `ClusterHandle` document, output of the operator that started the cluster.
        kwargs: those of any operator; they win over what is said above, and a DAG's ``default_args`` do not.

    Raises:
        InvalidParameterError: the handle is not as its kind of cluster has them, or names a job flow that is
            not ours (no retry).
        ClusterError: machines still live; names them.
    """

    template_fields: Sequence[str] = ("cluster",)
    ui_color = "#e4dcf2"

    def __init__(self, *, cluster: Any, **kwargs: Any) -> None:
        super().__init__(**{**PERSISTENCE, **kwargs})
        self.cluster = cluster

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """As of any operator: of a mapped task Airflow takes no arguments from the constructor."""
        return super().partial(**{**PERSISTENCE, **kwargs})

    def execute(self, context: Context) -> None:
        """End the cluster and say what was done."""
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.clusters.kinds import reopen
        from airflow_provider_ernest.operators.aws import aws_clients
        from airflow_provider_ernest.operators.locations import folder

        with no_vain_retries():
            handle = ClusterHandle.from_dict(document("cluster", self.cluster))
            cluster = reopen(
                handle, clusters=folder("clusters"), client=aws_clients(handle.aws_conn_id, handle.region)
            )
        self.log.info("Spark %s: %s", handle.name, _ended(cluster))


def _ended(cluster: Cluster) -> str:
    """What was done. Whatever goes wrong is tried again, since machines cost money, but a refused handle."""
    try:
        return cluster.terminate()
    except InvalidParameterError as error:
        if error.parameter == "cluster":
            with no_vain_retries():
                raise
        raise
