"""A sample run as a step of a job flow."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.emr import job_flows
from airflow_provider_ernest.clusters.emr.handle import running_instances
from airflow_provider_ernest.clusters.emr.orphaned_steps import cancel_orphans, step_name
from airflow_provider_ernest.clusters.emr.s3_files import fetch_event_log, make_folder, upload_application
from airflow_provider_ernest.clusters.emr.step_watch import StepWatch, lost_job_flow
from airflow_provider_ernest.clusters.emr.submit_arguments import is_remote, submit_arguments
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError, SampleRunError
from airflow_provider_ernest.spark.sizing import event_log_conf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.spark.run_watch import RunLimits

POLL_SECONDS = 10.0
"""Between two questions for a step's state; EMR throttles those who ask more often."""


@dataclass(frozen=True, kw_only=True)
class SparkStep:
    """What a step is to run.

    Attributes:
        name: of the application; the step's begins with it.
        machines: that the run needs.
        conf: Spark properties; where the event log goes is added.
        application_args: of the application.
        options: named as the arguments of SparkSubmitHook; see `submit_arguments.OPTIONS`.
        staging_uri: s3:// folder that a local application is uploaded to; None to refuse one.
    """

    name: str
    machines: int
    conf: Mapping[str, str]
    application_args: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    staging_uri: str | None = None


class StepRun:
    """Runs one application as a step, and brings its event log.

    There is no progress of a run to be watched: S3 shows an event log when it is complete.

    Args:
        handle: of the job flow.
        step: what to run.
        clients: gives boto3's client of a service, "emr" or "s3".
        directory: local folder for the event log, for this run only. Its path says which task the run
            belongs to: steps that an earlier try of that has left behind are cancelled.
        limits: how long the step may wait for those before it, and how long it may take then.
        log: the logger that progress goes to.
        poll_seconds: between two questions for the step's state.

    Attributes:
        waited_seconds: how long the step waited for those before it.
    """

    def __init__(
        self,
        *,
        handle: ClusterHandle,
        step: SparkStep,
        clients: Callable[[str], Any],
        directory: Path,
        limits: RunLimits,
        log: Any,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.waited_seconds = 0.0
        self._handle = handle
        self._step = step
        self._clients = clients
        self._emr = clients("emr")
        self._directory = directory
        self._limits = limits
        self._log = log
        self._poll_seconds = poll_seconds
        self._step_id: str | None = None
        self._ending = threading.Event()

    def run(self, application: str) -> None:
        """Submit the application, wait for its end and fetch its event log.

        Raises:
            InvalidParameterError: EMR's machines cannot read the application, an option is not known, or AWS
                refuses the request.
            MissingResourceError: a permission is missing.
            ClusterLostError: the job flow has ended, or has fewer machines than the run needs.
            ClusterError: AWS does not answer.
            SampleRunError: the step failed, took too long or was cancelled.
        """
        with explained("run a step of EMR"):
            self._run(application)

    def end(self) -> list[str]:
        """Cancel the step; returns its id if there was one to cancel. May be repeated."""
        self._ending.set()
        step_id, self._step_id = self._step_id, None
        if step_id is None:
            return []
        # The interrupt reaches the driver, which then gives its executors back.
        self._emr.cancel_steps(
            ClusterId=self._handle.name, StepIds=[step_id], StepCancellationOption="SEND_INTERRUPT"
        )
        return [step_id]

    def _run(self, application: str) -> None:
        deadline = self._require_ready()
        address = self._place(application)
        event_logs = (
            f"{self._handle.directory}/{self._handle.name}/{self._directory.name}-{uuid.uuid4().hex[:8]}"
        )
        arguments = submit_arguments(
            application=address,
            application_args=self._step.application_args,
            name=self._step.name,
            conf={**self._step.conf, **event_log_conf(event_logs)},
            options=self._step.options,
            deadline=deadline,
        )
        make_folder(self._clients("s3"), event_logs)
        try:
            self._submit(arguments)
            self.waited_seconds = self._watch(deadline).wait()
        except BaseException:
            self._end_after_failure()
            raise
        self._step_id = None
        fetched = fetch_event_log(self._clients("s3"), event_logs, self._directory)
        self._log.info("Event log %s, of %s", fetched, event_logs)

    def _require_ready(self) -> float:
        """Refuse a job flow that has ended or lost machines; returns the step's deadline, since the epoch."""
        job_flow = job_flows.describe(self._emr, self._handle.name)
        job_flows.require_ours(job_flow)
        if job_flows.state_of(job_flow) not in job_flows.READY_STATES:
            raise lost_job_flow(job_flow)
        alive = len(running_instances(self._emr, self._handle.name, "CORE"))
        if alive < self._step.machines:
            raise ClusterLostError(
                f"The run needs {self._step.machines} machines; job flow {self._handle.name} has {alive}.",
                remedy="Machines were lost: clear the task that starts the cluster to have it start anew.",
            )
        left = job_flows.seconds_left(job_flow)
        if left <= 0:
            raise ClusterLostError(
                f"The time to live of job flow {self._handle.name} is over.",
                remedy="Raise time_to_live_seconds, or make fewer or smaller sample runs.",
            )
        if self._limits.run_seconds is not None:
            left = min(left, self._limits.wait_seconds + self._limits.run_seconds)
        return time.time() + left

    def _place(self, application: str) -> str:
        if is_remote(application):
            return application
        if self._step.staging_uri is None:
            raise InvalidParameterError(
                "application",
                application,
                "is a local path, which the machines of EMR cannot read",
                remedy="Upload it and write s3://..., or set staging_uri to a folder on S3 to have it "
                "uploaded, or write local:///PATH for a file on the machines.",
            )
        return upload_application(self._clients("s3"), application, self._step.staging_uri)

    def _submit(self, arguments: list[str]) -> None:
        if self._ending.is_set():
            raise SampleRunError("The run was ended before it was submitted.")
        name = step_name(self._step.name, self._directory)
        cancel_orphans(self._emr, job_flow_id=self._handle.name, name=name, log=self._log)
        answer = self._emr.add_job_flow_steps(
            JobFlowId=self._handle.name,
            Steps=[
                {
                    "Name": name,
                    # The other runs need the job flow still.
                    "ActionOnFailure": "CONTINUE",
                    "HadoopJarStep": {"Jar": "command-runner.jar", "Args": arguments},
                }
            ],
        )
        self._step_id = str(answer["StepIds"][0])
        self._log.info("Step %s of job flow %s", self._step_id, self._handle.name)

    def _watch(self, deadline: float) -> StepWatch:
        return StepWatch(
            self._emr,
            job_flow_id=self._handle.name,
            step_id=str(self._step_id),
            limits=self._limits,
            deadline=deadline,
            ending=self._ending,
            log=self._log,
            poll_seconds=self._poll_seconds,
        )

    def _end_after_failure(self) -> None:
        """Cancel what may still run; that it cannot be must not hide why."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self.end()
        except (BotoCoreError, ClientError) as error:
            self._log.warning("The step could not be cancelled: %s", error)
