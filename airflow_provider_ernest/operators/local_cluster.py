"""Setup: an embedded Spark cluster on the Airflow worker's own machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.locations import folder, task_path
from airflow_provider_ernest.operators.task_context import no_vain_retries
from airflow_provider_ernest.stated import number, optional_number, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.local import LocalCluster
    from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
    from airflow_provider_ernest.settings import Number


class LocalClusterOperator(BaseOperator):
    """Start a real Spark standalone cluster of small workers; use it ``.as_setup()``.

    Returns the `ClusterHandle` document. The cluster outlives the task: `TerminateClusterOperator`
    ends it, else its time to live, else its idle limit, else the end of its keeper process.

    Only who knows the cluster's secret may submit to it. The operators of this package take it from a file
    that only the task's user may read; a stock ``SparkSubmitOperator`` is given that file, in place of
    spark-defaults.conf: ``properties_file=create.output["properties_file"]``.

    Args:
        machines: number of workers.
        cores_per_machine: cores of each.
        memory_megabytes_per_machine: memory each offers to its executor.
        instance_type: what to call this type of machine: models are kept by it.
        cpu_share: CPU that each may use, in cores, where control groups allow it; None for no limit.
        time_to_live_seconds: the cluster ends itself after so long, whatever happens.
        idle_limit_seconds: it ends itself after so long without an application.
        start_timeout_seconds: how long it may take to become ready.
        spark_conn_id: Airflow connection at whose host and port the master is to listen, so that stock
            operators find it; None for a free port.

    Raises:
        InvalidParameterError, MissingResourceError: impossible sizes, no Java, no such connection.
        ClusterStartError: it did not become ready; nothing is left running then.
    """

    template_fields: Sequence[str] = (
        "machines",
        "cores_per_machine",
        "memory_megabytes_per_machine",
        "instance_type",
        "cpu_share",
        "time_to_live_seconds",
        "idle_limit_seconds",
        "start_timeout_seconds",
        "spark_conn_id",
    )
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        machines: Number,
        cores_per_machine: Number = 1,
        memory_megabytes_per_machine: Number = 1024,
        instance_type: str = "local",
        cpu_share: Number | None = None,
        time_to_live_seconds: Number = 3600,
        idle_limit_seconds: Number = 900,
        start_timeout_seconds: Number = 120,
        spark_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.machines = machines
        self.cores_per_machine = cores_per_machine
        self.memory_megabytes_per_machine = memory_megabytes_per_machine
        self.instance_type = instance_type
        self.cpu_share = cpu_share
        self.time_to_live_seconds = time_to_live_seconds
        self.idle_limit_seconds = idle_limit_seconds
        self.start_timeout_seconds = start_timeout_seconds
        self.spark_conn_id = spark_conn_id
        self._cluster: LocalCluster | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Start the cluster, or adopt the one that an earlier attempt of this task started."""
        from airflow_provider_ernest.clusters.local import CLIENT_FILE, LocalCluster

        with no_vain_retries():
            # A retry must find what the attempt before it left behind.
            path = task_path(context)
            self._cluster = LocalCluster(
                self._spec(), name="-".join(path.parts), directory=folder("clusters") / path
            )
            handle = self._cluster.start()
        context["ti"].xcom_push(key="properties_file", value=str(self._cluster.directory / CLIENT_FILE))
        self.log.info(
            "Spark %s at %s, %d machines; ends itself at %s at the latest",
            handle.name,
            handle.master_url,
            len(handle.machines),
            handle.expires_at,
        )
        return handle.to_dict()

    def on_kill(self) -> None:
        """End what was started so far."""
        if self._cluster is not None:
            self._cluster.terminate()

    def _spec(self) -> LocalClusterSpec:
        from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec

        return LocalClusterSpec(
            machines=whole_number("machines", self.machines),
            cores_per_machine=whole_number("cores_per_machine", self.cores_per_machine),
            memory_megabytes_per_machine=whole_number(
                "memory_megabytes_per_machine", self.memory_megabytes_per_machine
            ),
            instance_type=self.instance_type,
            cpu_share=optional_number("cpu_share", self.cpu_share),
            time_to_live_seconds=number("time_to_live_seconds", self.time_to_live_seconds),
            idle_limit_seconds=number("idle_limit_seconds", self.idle_limit_seconds),
            start_timeout_seconds=number("start_timeout_seconds", self.start_timeout_seconds),
            master_port=self._master_port(),
        )

    def _master_port(self) -> int:
        if not self.spark_conn_id:
            return 0
        from airflow_provider_ernest.exceptions import InvalidParameterError
        from airflow_provider_ernest.spark.submit import master_address

        host, port = master_address(self.spark_conn_id)
        if host not in ("127.0.0.1", "localhost"):
            raise InvalidParameterError(
                "spark_conn_id",
                self.spark_conn_id,
                f"points at {host}, and a local cluster listens at 127.0.0.1 only",
                remedy="Use a connection of its own, spark://127.0.0.1:PORT.",
            )
        return port
