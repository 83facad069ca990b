"""How a production run is submitted to a cluster of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EC2, EMR, LOCAL
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.driver_properties import driver_properties
from airflow_provider_ernest.spark.sizing import event_log_conf
from airflow_provider_ernest.spark.submit import ErnestSubmitHook

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.clusters.base import ClusterHandle

STANDALONE = (LOCAL, EC2)
"""Kinds of clusters whose master is Spark's own and whose drivers run beside their tasks."""


class ProductionHook(ErnestSubmitHook):
    """`ErnestSubmitHook` as the stock operator calls it: by `submit`."""

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Submit, wait, and end with the task; see `ErnestSubmitHook.run`.

        Args:
            application: path of the JAR or .py file.
            kwargs: how the process is started; `run` gives them, the operator does not.

        Returns:
            The driver's id where it runs on the cluster.
        """
        if kwargs:
            super().submit(application, **kwargs)
        else:
            self.run(application)
        driver: str | None = self._driver_id
        return driver


def production_conf(handle: ClusterHandle, conf: Mapping[Any, Any], *, event_logs: str) -> dict[str, str]:
    """The properties of a run on a cluster: what it needs there, and the user's own, which win.

    Args:
        handle: the cluster.
        conf: the user's.
        event_logs: folder on this host, for a driver on it.

    Raises:
        ClusterLostError: there is no way to the master.
    """
    logging = event_log_conf(event_logs) if handle.kind in STANDALONE else {}
    # The driver's pages know no login. Whether they are shown is the user's matter; nobody ends jobs there.
    own = {"spark.ui.killEnabled": "false", **{str(key): str(value) for key, value in conf.items()}}
    return {**logging, **driver_properties(handle, own)}


def check_fits(handle: ClusterHandle, conf: Mapping[str, str], *, deploy_mode: str | None) -> None:
    """Refuse a run that would wait, or quietly get less than it was sized for.

    Args:
        handle: the cluster.
        conf: of the run.
        deploy_mode: as the user has set it.

    Raises:
        InvalidParameterError: it cannot run as it should.
    """
    if handle.kind == EMR:
        raise InvalidParameterError(
            "cluster",
            handle.name,
            "is a job flow of EMR, whose drivers run as its steps",
            remedy="Add a step by EmrAddStepsOperator of Airflow's amazon provider.",
        )
    if handle.kind not in STANDALONE:
        return
    if deploy_mode == "cluster":
        raise InvalidParameterError(
            "deploy_mode",
            deploy_mode,
            f"is impossible on cluster {handle.name}: its master starts no drivers",
            remedy="Leave it out; the driver runs on the Airflow worker.",
        )
    wanted, present = conf.get("spark.cores.max", ""), sum(machine.cores for machine in handle.machines)
    if wanted.isdigit() and int(wanted) > present:
        raise InvalidParameterError(
            "spark.cores.max",
            int(wanted),
            f"is more than the {present} cores of cluster {handle.name}",
            remedy="Resize the cluster to the chosen number of machines before "
            "(ErnestTaskGroup(resize_for_production=True)), or lower max_machines.",
        )
