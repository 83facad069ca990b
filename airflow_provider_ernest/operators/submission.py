"""Which way a sample run is submitted: by spark-submit to an address or a connection, or as a step of EMR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.emr.steps import StepRun
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What is to be run.

    Attributes:
        name: of the application.
        application_args: of the application.
        machines: exactly so many.
        cores_per_machine: of each.
        conf: the job's Spark properties.
        options: further arguments of `SparkSubmitHook`.
        directory: local folder for the event log, for this run only.
        wait_seconds: how long it may wait for its machines.
        run_seconds: how long it may take then; None for no limit.
        staging_uri: s3:// folder that a local application is uploaded to, for EMR.
    """

    name: str
    application_args: Sequence[str]
    machines: int
    cores_per_machine: int
    directory: Path
    wait_seconds: float
    run_seconds: float | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    staging_uri: str | None = None


class Submission(Protocol):
    """One run of one application, whichever way it goes to its cluster."""

    waited_seconds: float
    """How long the run waited for machines that other runs held."""

    def run(self, application: str) -> None:
        """Run it and wait for its end; then its event log lies in the request's directory."""

    def end(self) -> object:
        """End it, from a signal handler or another thread. May be repeated."""


class DriverSubmission:
    """A run whose driver is a child of this task.

    Args:
        hook: submits it.
        request: what to run.
        web_url: the standalone master's page; None where there is none.
        log: the logger that progress goes to.
    """

    def __init__(self, hook: ErnestSubmitHook, request: RunRequest, *, web_url: str | None, log: Any) -> None:
        self.waited_seconds = 0.0
        self._hook = hook
        self._request = request
        self._web_url = web_url
        self._log = log

    def run(self, application: str) -> None:
        """Submit it and watch over it. Must be called from the task's main thread.

        Raises:
            SampleRunError: the application failed, or was ended for a reason that is told.
            ClusterLostError: the cluster no longer has the machines.
        """
        from airflow_provider_ernest.exceptions import SampleRunError
        from airflow_provider_ernest.spark.run_watch import RunLimits, RunWatch, require_workers

        request = self._request
        if self._web_url is not None:
            require_workers(self._web_url, request.machines)
        with RunWatch(
            directory=request.directory,
            machines=request.machines,
            cores=request.machines * request.cores_per_machine,
            web_url=self._web_url,
            limits=RunLimits(wait_seconds=request.wait_seconds, run_seconds=request.run_seconds),
            end=self._hook.end,
            log=self._log,
        ) as watch:
            try:
                self._hook.run(application)
            except SampleRunError as error:
                if watch.ended_because:
                    raise SampleRunError(f"The run was ended: {watch.ended_because}.") from error
                raise
        self.waited_seconds = watch.waited_seconds

    def end(self) -> list[int]:
        """End the driver, and with it the application."""
        return self._hook.end()


def submission(
    handle: ClusterHandle | None, *, spark_conn_id: str | None, request: RunRequest, log: Any
) -> Submission:
    """The way to a cluster.

    Args:
        handle: of the cluster; None to submit through
        spark_conn_id: the Airflow connection of a master that is there already.
        request: what to run.
        log: the logger that progress goes to.

    Raises:
        InvalidParameterError: neither is given, an unknown option, or a connection that would run the driver
            elsewhere.
        MissingResourceError: there is no such connection.
        ClusterLostError: the cluster has ended, or there is no way to it.
    """
    from airflow_provider_ernest.clusters.base import EMR

    if handle is None:
        return DriverSubmission(
            _through_connection(spark_conn_id, {}, request), request, web_url=None, log=log
        )
    if handle.kind == EMR:
        return _step(handle, request, log)
    return DriverSubmission(_to_cluster(handle, request), request, web_url=handle.web_url, log=log)


def require_readable_input(handle: ClusterHandle | None, input_path: str, sampling: str) -> None:
    """Refuse a sample that would lie where the cluster's machines cannot read it.

    Raises:
        InvalidParameterError: on EMR, a local input, or a way of sampling that writes beside the task.
    """
    from airflow_provider_ernest.clusters.base import EMR
    from airflow_provider_ernest.setting_checks import require_emr_input

    if handle is not None and handle.kind == EMR:
        require_emr_input("input_path", input_path, sampling)


def _to_cluster(handle: ClusterHandle, request: RunRequest) -> ErnestSubmitHook:
    from airflow_provider_ernest.clusters.base import EXISTING
    from airflow_provider_ernest.operators.aws import cluster_secret
    from airflow_provider_ernest.operators.driver_properties import driver_properties
    from airflow_provider_ernest.operators.spark_connection import require_own_driver, require_same_master
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook

    conf = driver_properties(handle, request.conf)
    if handle.kind == EXISTING:
        hook = _through_connection(handle.spark_conn_id, conf, request)
        require_same_master(hook, handle)
        return hook
    hook = ErnestSubmitHook(
        master_url=handle.master_url,
        conf={**conf, **_run_conf(request, str(request.directory))},
        application_args=list(request.application_args),
        name=request.name,
        options=request.options,
        secret=cluster_secret(handle),
    )
    require_own_driver(hook)
    return hook


def _through_connection(
    spark_conn_id: str | None, conf: Mapping[str, str], request: RunRequest
) -> ErnestSubmitHook:
    from airflow_provider_ernest.operators.spark_connection import require_own_driver
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook

    hook = ErnestSubmitHook(
        spark_conn_id=spark_conn_id,
        conf={**conf, **request.conf, **_run_conf(request, str(request.directory))},
        application_args=list(request.application_args),
        name=request.name,
        options=request.options,
    )
    require_own_driver(hook)
    return hook


def _run_conf(request: RunRequest, event_logs: str) -> dict[str, str]:
    from airflow_provider_ernest.spark.sizing import event_log_conf

    return {**_sizing(request), **event_log_conf(event_logs)}


def _sizing(request: RunRequest) -> dict[str, str]:
    from airflow_provider_ernest.spark.sizing import sizing_conf

    sizing = sizing_conf(
        machines=request.machines,
        cores_per_machine=request.cores_per_machine,
        machines_wait_seconds=request.wait_seconds,
    )
    # Its pages know no login, and show arguments and properties. All that is wanted is in the event log.
    return {**sizing, "spark.ui.enabled": "false"}


def _step(handle: ClusterHandle, request: RunRequest, log: Any) -> StepRun:
    from airflow_provider_ernest.clusters.emr.steps import SparkStep, StepRun
    from airflow_provider_ernest.operators.aws import aws_clients
    from airflow_provider_ernest.spark.run_watch import RunLimits

    return StepRun(
        handle=handle,
        step=SparkStep(
            name=request.name,
            machines=request.machines,
            conf={**handle.spark_conf(), **request.conf, **_sizing(request)},
            application_args=request.application_args,
            options=request.options,
            staging_uri=request.staging_uri,
        ),
        clients=aws_clients(handle.aws_conn_id, handle.region),
        directory=request.directory,
        limits=RunLimits(wait_seconds=request.wait_seconds, run_seconds=request.run_seconds),
        log=log,
    )
