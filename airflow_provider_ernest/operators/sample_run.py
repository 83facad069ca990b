"""One sample run: the user's unmodified job on a number of executors and a share of its input."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.exceptions import InvalidParameterError, SampleRunError
from airflow_provider_ernest.hooks.aws import aws_clients
from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink, SparkHistoryLink
from airflow_provider_ernest.operators.task_context import (
    OfJob,
    as_mappings,
    event_logs,
    failure_pushed,
    no_vain_retries,
    origin_of,
    owner_of,
    rendered_texts,
    staging,
)
from airflow_provider_ernest.settings import SampledInput, SparkJob
from airflow_provider_ernest.settings.job import FILES
from airflow_provider_ernest.settings.values import Number, document, number, optional_number, optional_text
from airflow_provider_ernest.spark.artifact import require_application
from airflow_provider_ernest.words import counted, duration, input_share, unit

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.emr.steps import StepRun
    from airflow_provider_ernest.documents.base import Origin
    from airflow_provider_ernest.documents.runs import Experiment, Observation
    from airflow_provider_ernest.eventlog.tables import EventLog
    from airflow_provider_ernest.spark.input import Sample
    from airflow_provider_ernest.spark.runs import RunRequest
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook


class SampleRunOperator(OfJob, EmitsLineage, BaseOperator):
    """Run the application as one experiment of the design says, and observe it.

    Map it over the design: ``SampleRunOperator.partial(...).expand(experiment=design.output)``. The
    application is submitted to exactly the experiment's number of executors, through the spark provider's
    hook or as a step of EMR. Spark's event log gives the clean run time and verifies that all executors
    worked and stayed to the end. Runs may share a cluster: first come, first served, and waiting is not
    counted. On YARN and Kubernetes a run whose executors do not all come in time counts on those that came.

    Returns the `Observation` document. The run's profile is stored, whatever becomes of the training.

    Args:
        experiment: the `Experiment` document.
        job: the application; its arguments name the sample, see `SparkJob`.
        input: the production input, and how a sample of it is taken.
        cluster: `ClusterHandle` document of the cluster to run on.
        artifact_sha256: hash of the application; see `FitModelOperator`.
        wait_timeout_seconds: limit for the wait for executors.
        run_timeout_seconds: limit for the run once it has them; None for no limit.

    Raises:
        InvalidParameterError, MissingResourceError: the request cannot be run (no retry).
        ClusterLostError: the cluster has ended, or lost executors that the run needs. The next try fails as
            fast unless the cluster is started anew.
        SampleRunError: the run failed, or not as designed (retried as Airflow retries).
    """

    template_fields: Sequence[str] = (
        "experiment",
        "job",
        "submit_options",
        "input",
        "cluster",
        "artifact_sha256",
        "wait_timeout_seconds",
        "run_timeout_seconds",
    )
    operator_extra_links = (ModelFitLink(), SparkHistoryLink())
    ui_color = "#f6e3c5"
    application_id: str | None = None
    """Spark's id of the run, also of a failed one, once there is an event log; for `SparkHistoryLink`."""

    def __init__(
        self,
        *,
        experiment: Any,
        job: SparkJob | Mapping[str, Any],
        input: SampledInput | Mapping[str, Any] | str,  # noqa: A002 - the word that fits
        cluster: Any,
        artifact_sha256: str | None = None,
        wait_timeout_seconds: Number = 1800,
        run_timeout_seconds: Number | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.experiment = experiment
        self._keep_job(job, input)
        self.cluster = cluster
        self.artifact_sha256 = artifact_sha256
        self.wait_timeout_seconds = wait_timeout_seconds
        self.run_timeout_seconds = run_timeout_seconds
        self._submission: DriverSubmission | StepRun | None = None

    @classmethod
    def partial(cls, **kwargs: Any) -> Any:
        """Airflow's ``partial``, also for settings objects."""
        return super().partial(**as_mappings(kwargs))

    def execute(self, context: Context) -> dict[str, Any]:
        """Stage the sample, run, observe."""
        from airflow_provider_ernest.documents.runs import Experiment
        from airflow_provider_ernest.operators.recording import (
            keep_profile,
            median_bandwidth,
            network_capacity,
        )
        from airflow_provider_ernest.operators.setting_checks import require_sample_named

        with no_vain_retries(), failure_pushed(context):
            experiment = Experiment.from_dict(self.experiment)
            job = self._rendered_job(application_args=self.application_args)
            sampled = self._rendered_input()
            require_sample_named(job.application_args, sampled.sampling, reads_all=experiment.scale >= 1)
            handle = sample_cluster(self.cluster, sampled, executors=experiment.executors)
            require_application(job.required_application)
            units = unit(handle.executors_per_machine)
            slots = experiment.executors * handle.cores_per_machine
            with staged_sample(experiment, sampled, folder=staging(context), minimum_files=slots) as sample:
                self.log.info(
                    "Run %d: %s, %s of the input in %s",
                    experiment.index,
                    counted(experiment.executors, units),
                    input_share(sample.scale),
                    counted(sample.partitions, "partition"),
                )
                request = self._request(job, sample, handle, context)
                observation, event_log = self._observe(
                    experiment, sample, handle, request, origin_of(context)
                )
        self.log.info(
            "Run %d took %s on %s (start-up %s, waited %s for %ss)",
            observation.index,
            duration(observation.seconds),
            ", ".join(observation.hosts),
            duration(observation.startup_seconds),
            duration(observation.waited_seconds),
            units,
        )
        if observation.executors < experiment.executors:
            self.log.warning(
                "%d of its %d executors came in time: it counts as a run on these",
                observation.executors,
                experiment.executors,
            )
        keep_profile(
            observation,
            event_log,
            job=job.name,
            artifact_sha256=optional_text(self.artifact_sha256),
            iterations=observation.iterations,
            capacity=network_capacity(handle.cores_per_machine, median_bandwidth(handle.machines)),
            log=self.log,
        )
        self.add_lineage(observation, inputs=[sampled.path])
        return observation.to_dict()

    def on_kill(self) -> None:
        """End the Spark application: its driver, or its EMR step."""
        if self._submission is not None:
            self._submission.end()

    def _request(self, job: SparkJob, sample: Sample, handle: ClusterHandle, context: Context) -> RunRequest:
        from airflow_provider_ernest.spark.runs import RunLimits, RunRequest

        names = cast("Context", {**context, "sample": sample})
        rendered = rendered_texts(self, dict(self.conf), context)
        return RunRequest(
            name=f"ernest-sample-{self.experiment['index']}",
            owner=owner_of(context),
            application=job.required_application,
            application_args=rendered_texts(self, list(job.application_args), names),
            executors=sample.executors,
            executor_cores=handle.cores_per_machine,
            conf={str(key): str(value) for key, value in rendered.items()},
            options=self.submit_options,
            directory=event_logs(context),
            limits=RunLimits(
                wait_seconds=number("wait_timeout_seconds", self.wait_timeout_seconds),
                run_seconds=optional_number("run_timeout_seconds", self.run_timeout_seconds),
            ),
        )

    def _observe(
        self,
        experiment: Experiment,
        sample: Sample,
        handle: ClusterHandle,
        request: RunRequest,
        origin: Origin,
    ) -> tuple[Observation, EventLog]:
        from airflow_provider_ernest.spark.runs import logged_application, observe

        submitted = self._submission = submission(handle, request=request, log=self.log)
        submitted_at = time.time()
        try:
            submitted.run()
        finally:
            self.application_id = logged_application(request.directory)
        return observe(
            experiment,
            sample,
            request.directory,
            instance_type=handle.instance_type,
            executors_per_machine=handle.executors_per_machine,
            submitted_at=submitted_at,
            waited_seconds=submitted.waited_seconds,
            origin=origin,
        )


def sample_cluster(given: Any, sampled: SampledInput, *, executors: int) -> ClusterHandle:
    """Return the cluster to run on, checked to have the executors."""
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.emr.spec import EMR
    from airflow_provider_ernest.operators.setting_checks import require_emr_input
    from airflow_provider_ernest.spark.runs import require_workers

    handle = ClusterHandle.from_dict(document("cluster", given))
    if executors > len(handle.machines):
        raise InvalidParameterError(
            "executors",
            executors,
            f"is more than cluster {handle.name} has ({len(handle.machines)})",
            remedy="Lower max_executors of the design, or start a larger cluster.",
        )
    if handle.web_url is not None:
        # Before a sample is staged, while there is nothing to wait for.
        require_workers(handle.web_url, executors)
    if handle.kind == EMR:
        require_emr_input(sampled)
    return handle


@contextmanager
def staged_sample(
    experiment: Experiment, sampled: SampledInput, *, folder: Path, minimum_files: int
) -> Iterator[Sample]:
    """Stage the sample of an experiment in a new folder below `folder` for the time of its run.

    Only this user may read it; links to files of the input are readable as these files are, since machines
    may run as another user. What a killed try of the task left in `folder` is deleted before.
    """
    from airflow_provider_ernest.processes import make_owned
    from airflow_provider_ernest.spark.input import take_sample

    shutil.rmtree(folder, ignore_errors=True)
    staged = make_owned(folder)
    if sampled.sampling == FILES:
        staged.chmod(0o755)
    try:
        yield take_sample(
            experiment,
            sampled.path,
            method=sampled.sampling,
            header=sampled.header,
            minimum_files=minimum_files,
            seed=f"{sampled.seed}/{experiment.index}",
            staging=staged,
        )
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        # Keep what a retry has put there meanwhile, if this try was wrongly taken for dead.
        with suppress(OSError):
            folder.rmdir()


def submission(handle: ClusterHandle, *, request: RunRequest, log: Any) -> DriverSubmission | StepRun:
    """Return the way to a cluster."""
    from airflow_provider_ernest.clusters.emr.spec import EMR

    if handle.kind == EMR:
        from airflow_provider_ernest.clusters.emr.steps import StepRun

        return StepRun(handle, request, clients=aws_clients(handle.aws_conn_id, handle.region), log=log)
    return DriverSubmission(_hook(handle, request), request, web_url=handle.web_url)


class DriverSubmission:
    """A run by spark-submit, whose driver is a child of this task or on the cluster."""

    def __init__(self, hook: ErnestSubmitHook, request: RunRequest, *, web_url: str | None) -> None:
        self.waited_seconds = 0.0  # for executors that other runs held
        self._hook = hook
        self._request = request
        self._web_url = web_url

    def run(self) -> None:
        """Submit it and wait for its end. Must be called from the task's main thread."""
        from airflow_provider_ernest.spark.runs import RunWatch

        with RunWatch(
            self._request,
            web_url=self._web_url,
            end=self._hook.end,
            log=self._hook.log,
            driver_has_begun=lambda: self._hook.driver_has_begun,
        ) as watch:
            try:
                self._hook.run(self._request.application)
            except SampleRunError as error:
                if watch.ended_because:
                    raise SampleRunError(f"The run was ended: {watch.ended_because}.") from error
                raise
        self.waited_seconds = watch.waited_seconds

    def end(self) -> list[int]:
        """End the driver, and with it the application. May be repeated, and called in a signal handler."""
        return self._hook.end()


def _hook(handle: ClusterHandle, request: RunRequest) -> ErnestSubmitHook:
    from airflow_provider_ernest.clusters.existing import EXISTING
    from airflow_provider_ernest.operators.spark_submit import driver_properties
    from airflow_provider_ernest.operators.task_context import cluster_secret
    from airflow_provider_ernest.spark.remote_driver import require_observable_driver
    from airflow_provider_ernest.spark.sizing import event_log_conf
    from airflow_provider_ernest.spark.submit import CLIENT, ErnestSubmitHook, deploy_mode_of

    if handle.kind == EXISTING and deploy_mode_of(str(handle.spark_conn_id), request.options) != CLIENT:
        return _remote_hook(handle, request)
    target: dict[str, Any] = {"spark_conn_id": handle.spark_conn_id}
    if handle.kind != EXISTING:
        target = {"master_url": handle.master_url, "secret": cluster_secret(handle)}
    hook = ErnestSubmitHook(
        conf={
            **driver_properties(handle, request.conf),
            **request.sized_conf(),
            **event_log_conf(str(request.directory)),
        },
        application_args=list(request.application_args),
        name=request.name,
        options=request.options,
        **target,
    )
    require_observable_driver(hook, event_logs=None)
    return hook


def _remote_hook(handle: ClusterHandle, request: RunRequest) -> ErnestSubmitHook:
    """The way to a cluster that runs the driver, too: nothing of this host's is told to it."""
    from airflow_provider_ernest.spark.remote_driver import (
        RemoteDriverHook,
        as_hadoop_reads,
        require_observable_driver,
    )
    from airflow_provider_ernest.spark.sizing import event_log_conf
    from airflow_provider_ernest.spark.submit import DRIVER_HOST

    event_logs = str(handle.directory)
    own = {name: value for name, value in handle.spark_conf().items() if name != DRIVER_HOST}
    hook = RemoteDriverHook(
        owner=f"ernest-{request.owner}",
        event_logs=event_logs,
        directory=request.directory,
        spark_conn_id=str(handle.spark_conn_id),
        conf={**own, **request.conf, **request.sized_conf(), **event_log_conf(as_hadoop_reads(event_logs))},
        application_args=list(request.application_args),
        name=request.name,
        options=request.options,
    )
    require_observable_driver(hook, event_logs=handle.directory)
    return hook
