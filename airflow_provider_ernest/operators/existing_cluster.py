"""Setup: an existing Spark cluster, known by an Airflow connection."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

import airflow_provider_ernest.words as words
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.operators.task_context import failure_pushed, no_vain_retries
from airflow_provider_ernest.settings import ConnectedCluster
from airflow_provider_ernest.settings.templates import as_template, settings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook

PROBE_SECONDS = 300.0
STRAGGLER_FLOOR = 0.85
"""Score of a machine below which a warning names it."""


class ExistingClusterOperator(BaseOperator):
    """Look up a cluster that somebody else starts and ends. Nothing is launched, culled or ended.

    The machines of a standalone master are read from its page if that answers; those of YARN, Kubernetes and
    of a master without a page are declared. A secret shared by the cluster's processes belongs in the
    submitter's properties file (SPARK_CONF_DIR) or in the job's ``submit_options``.

    Returns the `ClusterHandle` document; `TerminateClusterOperator` does nothing on it.

    Args:
        spec: a `ConnectedCluster`, or a mapping of its fields; both may hold templates.
        probe: measure the bandwidth of its machines, and name stragglers in a warning. Nothing else should
            run on them meanwhile.

    Raises:
        InvalidParameterError, MissingResourceError: no such connection, one that runs cannot be sized on, or
            machines about which nothing is known (no retry).
        ClusterLostError: the master does not answer, or has fewer machines than declared.
    """

    template_fields: Sequence[str] = ("spec",)
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        spec: ConnectedCluster | Mapping[str, Any],
        probe: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.spec = as_template(ConnectedCluster, spec, "spec")
        self.probe = probe
        self._hook: ErnestSubmitHook | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Look the cluster up, and measure it if that was asked for."""
        from airflow_provider_ernest.clusters.existing import look_up

        with no_vain_retries(), failure_pushed(context):
            spec = settings_of(ConnectedCluster, self.spec, "spec")
            handle = look_up(spec, master_of_connection(spec.spark_conn_id))
            if self.probe:
                handle = self._probed(handle)
        self.log.info(
            "Spark at %s: %d machines of %d cores%s",
            handle.master_url,
            len(handle.machines),
            handle.cores_per_machine,
            "" if handle.web_url else ", as declared",
        )
        return handle.to_dict()

    def on_kill(self) -> None:
        """End the probe; the cluster is not ours."""
        if self._hook is not None:
            self._hook.end()

    def _probed(self, handle: ClusterHandle) -> ClusterHandle:
        from airflow_provider_ernest.clusters.probe import probe_bandwidth

        def remember(hook: ErnestSubmitHook) -> None:
            self._hook = hook

        measured = probe_bandwidth(
            handle,
            rounds=1,
            interval_seconds=0,
            secret=None,
            timeout_seconds=PROBE_SECONDS,
            log=self.log,
            on_submit=remember,
        )
        for host, bandwidth in measured.items():
            if bandwidth.score < STRAGGLER_FLOOR:
                self.log.warning(
                    "%s is a straggler: it scores %s, below %s. Runs on it are slower than on the others",
                    host,
                    words.number(bandwidth.score),
                    words.number(STRAGGLER_FLOOR),
                )
        hosts = [machine.host for machine in handle.machines]
        if not measured.keys() >= set(hosts):
            # YARN and Kubernetes place executors as they like: these are the machines that were measured.
            hosts = list(measured)
        machines = [
            replace(one, host=host, bandwidth=measured[host])
            for one, host in zip(handle.machines, hosts, strict=True)
        ]
        return replace(handle, machines=tuple(machines))


def master_of_connection(spark_conn_id: str) -> str:
    """Return the master that a connection points at, as spark-submit gets it.

    Raises:
        InvalidParameterError: it is not a Spark connection, or runs drivers on the cluster.
        MissingResourceError: there is no such connection, or Kubernetes support is not installed.
    """
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook, require_connection

    kind = require_connection(spark_conn_id).conn_type
    if kind not in ("spark", "k8s"):
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            f"is a connection of type {kind!r}",
            remedy="Its type must be spark.",
        )
    try:
        hook = ErnestSubmitHook(spark_conn_id=spark_conn_id, conf={}, application_args=[], name="")
    except (NameError, RuntimeError) as error:
        # This is how the spark provider reports that its optional import failed.
        raise MissingResourceError(
            f"Connection {spark_conn_id!r} points at Kubernetes, and the spark provider lacks a package: "
            f"{error}.",
            remedy="Install it: pip install apache-airflow-providers-cncf-kubernetes.",
        ) from error
    require_own_driver(hook)
    # Taken from the hook, so that both always mean the same master.
    return str(hook._connection["master"])


def require_own_driver(hook: ErnestSubmitHook) -> None:
    """Refuse a driver on the cluster: its event log would lie there, and it would not end with the task."""
    mode = hook._connection["deploy_mode"]
    if mode not in (None, "client"):
        raise InvalidParameterError(
            "deploy_mode",
            mode,
            "puts the driver where its run can neither be observed nor ended",
            remedy='Use "client", in submit_options as in the extra of the connection ("deploy-mode").',
        )


def require_same_master(hook: ErnestSubmitHook, handle: ClusterHandle) -> None:
    """Refuse to submit to another cluster than the handle's, for whose machines the run is sized."""
    master = str(hook._connection["master"])
    if master != handle.master_url:
        raise InvalidParameterError(
            "cluster",
            handle.name,
            f"was at {handle.master_url}, and its connection {handle.spark_conn_id!r} points at {master}",
            remedy="Clear the task that looked the cluster up, and pass its output unchanged.",
        )
