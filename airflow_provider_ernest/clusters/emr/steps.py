"""Sample runs as steps of a job flow of EMR, which somebody else starts and ends."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, explained, meaning_of, time_of
from airflow_provider_ernest.clusters.emr.spec import (
    EMR,
    UPLOAD_REMEDY,
    EmrJobFlow,
    require_remote,
    step_switches,
)
from airflow_provider_ernest.eventlog.files import IN_PROGRESS_SUFFIX
from airflow_provider_ernest.exceptions import (
    ClusterLostError,
    ClusterStartError,
    InvalidParameterError,
    SampleRunError,
)
from airflow_provider_ernest.settings.job import DEFAULT_FACTOR, LEAST_OVERHEAD_MEGABYTES
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.spark.runs import RunRequest
from airflow_provider_ernest.spark.sizing import event_log_conf
from airflow_provider_ernest.words import duration

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

READY_STATES = ("WAITING", "RUNNING")
_COMING_STATES = ("STARTING", "BOOTSTRAPPING", *READY_STATES)
START_POLL_SECONDS = 15.0
"""Between two questions for a starting job flow's state; EMR throttles those who ask more often."""

_MEGABYTES_PER_GIGABYTE = 1024
_YARN_SHARE = 0.75
_APPLICATION_MASTER_MEGABYTES = 1024


def look_up(spec: EmrJobFlow, *, emr: Any, aws_conn_id: str | None = None) -> ClusterHandle:
    """Wait until a job flow takes steps, and tell its machines.

    The name in the handle is the job flow's id, the directory where event logs are written.

    Raises:
        InvalidParameterError: EMR does not know it, or it is not as stated, or runs several steps at once.
        MissingResourceError: a permission is missing.
        ClusterStartError: it does not become ready; with what EMR says of it.
        ClusterLostError: it has fewer machines than stated.
        ClusterError: EMR does not answer.
    """
    with explained(f"look up the job flow {spec.job_flow_id} of EMR in {emr.meta.region_name}"):
        job_flow = _wait_until_ready(emr, spec)
        _require(spec, job_flow)  # first: EMR lists no groups of a job flow that has fleets
        cores = running_instances(emr, job_flow.id, "CORE")
        masters = running_instances(emr, job_flow.id, "MASTER")
        _require_machines(spec, job_flow, cores)
        types = {spec.instance_type, *(one["InstanceType"] for one in masters)}
        rooms = executor_rooms(emr, spec.release_label, types)
    room = rooms[spec.instance_type]
    worker = replace(
        room,
        cores=spec.cores_per_machine or room.cores,
        memory_megabytes=spec.memory_megabytes_per_machine or room.memory_megabytes,
        price_per_hour=spec.price_per_hour,
    )
    expires_at = job_flow.as_of + timedelta(seconds=spec.time_to_live_seconds)
    return ClusterHandle(
        kind=EMR,
        name=job_flow.id,
        master_url="yarn",
        machines=tuple(_identified(worker, one) for one in cores),
        instance_type=spec.instance_type,
        cores_per_machine=worker.cores,
        expires_at=expires_at.isoformat(timespec="seconds"),
        directory=spec.event_log_uri.rstrip("/"),
        python=spec.python,
        aws_conn_id=aws_conn_id,
        region=emr.meta.region_name,
        master=_identified(rooms[masters[0]["InstanceType"]], masters[0]) if masters else None,
    )


def _wait_until_ready(emr: Any, spec: EmrJobFlow) -> JobFlow:
    name, state, began = str(spec.job_flow_id), "", time.monotonic()
    while True:
        waited = time.monotonic() - began
        job_flow = unless_busy(lambda: describe(emr, name))
        if job_flow is not None:
            if job_flow.state != state:
                state = job_flow.state
                log.info("Job flow %s: %s after %s", name, state, duration(round(waited)))
            if state in READY_STATES:
                return job_flow
            if state not in _COMING_STATES:
                raise ClusterStartError(f"Job flow {name} ended before it was ready: {job_flow.why}.")
        if waited >= spec.start_timeout_seconds:
            raise ClusterStartError(
                f"Job flow {name} was not ready after {duration(round(waited))} (last: {state or 'none'}).",
                remedy="Raise start_timeout_seconds, or look at the bootstrap actions' logs.",
            )
        time.sleep(START_POLL_SECONDS)


def _require(spec: EmrJobFlow, job_flow: JobFlow) -> None:
    """Refuse a job flow whose sample runs would share machines, or that is not as stated."""
    described = job_flow.description
    at_once, release = described.get("StepConcurrencyLevel", 1), described.get("ReleaseLabel")
    if described.get("InstanceCollectionType") == "INSTANCE_FLEET":
        raise InvalidParameterError(
            "job_flow_id", job_flow.id, "has instance fleets", remedy="Use instance groups, of one type each."
        )
    if at_once > 1:
        raise InvalidParameterError(
            "job_flow_id",
            job_flow.id,
            f"runs {at_once} steps at once: sample runs would share machines, and take longer for it",
            remedy="Set its StepConcurrencyLevel to 1.",
        )
    if release != spec.release_label:
        raise InvalidParameterError(
            "release_label", spec.release_label, f"is not that of job flow {job_flow.id}, which is {release}"
        )


def _require_machines(spec: EmrJobFlow, job_flow: JobFlow, cores: list[dict[str, Any]]) -> None:
    if others := {one["InstanceType"] for one in cores} - {spec.instance_type}:
        raise InvalidParameterError(
            "instance_type",
            spec.instance_type,
            f"is not what job flow {job_flow.id} has: {', '.join(sorted(others))}",
            remedy="State its type, all core instances of one type: a model is one of a type.",
        )
    if len(cores) < spec.machines:
        raise ClusterLostError(
            f"Job flow {job_flow.id} has {len(cores)} core instances, and machines={spec.machines}."
        )


@dataclass(frozen=True)
class JobFlow:
    """A job flow, as EMR describes it, for two months after its end."""

    description: Mapping[str, Any]
    """DescribeCluster's."""
    as_of: datetime
    """When EMR gave it, by AWS's clock; with time zone."""

    @property
    def id(self) -> str:
        """EMR's."""
        return str(self.description["Id"])

    @property
    def state(self) -> str:
        """EMR's word."""
        return str(self.description["Status"]["State"])

    @property
    def why(self) -> str:
        """Why it came into its state, in EMR's words, and where its logs lie."""
        reason = self.description["Status"].get("StateChangeReason") or {}
        words = ": ".join(str(reason[part]) for part in ("Code", "Message") if reason.get(part))
        logs = f"; logs below {self.description['LogUri']}" if self.description.get("LogUri") else ""
        return f"{words or 'EMR tells no reason'}{logs}"


def describe(emr: Any, job_flow_id: str) -> JobFlow:
    """What EMR says of a job flow."""
    answer = emr.describe_cluster(ClusterId=job_flow_id)
    return JobFlow(answer["Cluster"], time_of(answer))


def unless_busy(ask: Callable[[], _Answer]) -> _Answer | None:
    """The answer; None where AWS does not answer, or asks to come again later: EMR throttles early."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return ask()
    except (BotoCoreError, ClientError) as error:
        if meaning_of(error) is not Meaning.BUSY:
            raise
        return None


def running_instances(emr: Any, job_flow_id: str, group: str) -> list[dict[str, Any]]:
    """The running instances of a job flow's group, "CORE" or "MASTER"."""
    pages = emr.get_paginator("list_instances").paginate(
        ClusterId=job_flow_id, InstanceGroupTypes=[group], InstanceStates=["RUNNING"]
    )
    return [instance for page in pages for instance in page["Instances"]]


def _identified(machine: Machine, instance: Mapping[str, Any]) -> Machine:
    return replace(
        machine,
        host=instance.get("PrivateIpAddress", ""),
        instance_id=instance.get("Ec2InstanceId"),
        market="spot" if instance.get("Market") == "SPOT" else "on-demand",
    )


def executor_rooms(emr: Any, release_label: str, types: Iterable[str]) -> dict[str, Machine]:
    """What one executor that fills a machine may take on some types, by EMR's ListSupportedInstanceTypes.

    EMR gives YARN three quarters of a machine's memory, and more on large ones (Amazon EMR Release Guide,
    "Task configuration": yarn.nodemanager.resource.memory-mb). On one of the machines the application
    master takes 1 GB of it, and each executor has a tenth of its heap beside it
    (spark.executor.memoryOverheadFactor), at least 384 MB. What remains is more than half, so that no two
    executors of a run come to lie on one machine.

    Raises:
        InvalidParameterError: the release does not support a type.
    """
    names = set(types)
    found: dict[str, Machine] = {}
    marker: dict[str, str] = {}
    while True:
        page = emr.list_supported_instance_types(ReleaseLabel=release_label, **marker)
        found |= {one["Type"]: _room(one) for one in page["SupportedInstanceTypes"] if one["Type"] in names}
        if not page.get("Marker") or names <= found.keys():
            break
        marker = {"Marker": page["Marker"]}
    if missing := sorted(names - found.keys()):
        raise InvalidParameterError(
            "instance_type",
            missing[0],
            f"is not a type that {release_label} supports in {emr.meta.region_name}",
            remedy="`aws emr list-supported-instance-types --release-label` lists those that it does.",
        )
    return found


def _room(facts: Mapping[str, Any]) -> Machine:
    yarn = _YARN_SHARE * facts["MemoryGB"] * _MEGABYTES_PER_GIGABYTE
    executor = yarn - _APPLICATION_MASTER_MEGABYTES
    heap = min(executor / (1 + DEFAULT_FACTOR), executor - LEAST_OVERHEAD_MEGABYTES)
    return Machine(cores=int(facts["VCPU"]), memory_megabytes=int(heap))


# A sample run as a step, from the application's upload to its event log.

POLL_SECONDS = 10.0
"""Between two questions for a step's state; EMR throttles those who ask more often."""

_LOST_STATES = ("CANCELLED", "INTERRUPTED", "CANCEL_PENDING")
_FOLDER_MARKERS = ("/", "_$folder$")


# The step may have waited for others: how much time it has left is known only when it begins. All that
# differs from step to step comes as arguments, which the shell does not read as its own language.
_UNTIL_DEADLINE = (
    'left=$(( $1 - $(date +%s) )); shift; [ "$left" -gt 0 ] || exit 124; '
    'exec timeout --kill-after=30 "$left" "$@"'
)


def step_arguments(request: RunRequest, *, conf: Mapping[str, str], deadline: float) -> list[str]:
    """The arguments of EMR's command-runner.jar that run spark-submit as a step.

    The driver runs on the master machine ("client"), so that the run's machines have its executors alone.
    `timeout` ends it even where nobody is left to cancel the step: EMR has no limit of its own for one. A
    step that begins after its deadline (seconds since the epoch) ends at once, with the exit code of
    `timeout`, 124.
    """
    return [
        *("bash", "-c", _UNTIL_DEADLINE, "until-deadline", str(int(deadline))),
        *("spark-submit", "--master", "yarn", "--deploy-mode", "client", "--name", request.name),
        *step_switches(request.options),
        *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
        request.application,
        *map(str, request.application_args),
    ]


class StepRun:
    """Runs one application as a step, and brings its event log, which S3 shows when it is complete.

    Steps that an earlier try of the task has left behind are cancelled. `clients` gives boto3's client of a
    service, "emr" or "s3"; `poll_seconds` lie between two questions for the step's state.
    """

    def __init__(
        self,
        handle: ClusterHandle,
        request: RunRequest,
        *,
        clients: Callable[[str], Any],
        log: Any,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.waited_seconds = 0.0  # how long the step waited for those before it
        self._handle = handle
        self._request = request
        self._step_name = f"{request.name}-{request.owner}"
        self._clients = clients
        self._emr = clients("emr")
        self._log = log
        self._poll_seconds = poll_seconds
        self._step_id: str | None = None
        self._state = ""
        self._running_since: float | None = None
        self._ending = threading.Event()

    def run(self) -> None:
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
            deadline = self._require_ready()
            request, handle = self._request, self._handle
            require_remote("application", request.application, remedy=UPLOAD_REMEDY)
            folder = f"{request.directory.name}-{uuid.uuid4().hex[:8]}"
            event_logs = f"{handle.directory}/{handle.name}/{folder}"
            own = {**handle.spark_conf(), **request.conf, **request.sized_conf()}
            conf = {**own, **event_log_conf(event_logs)}
            arguments = step_arguments(request, conf=conf, deadline=deadline)
            s3 = self._clients("s3")
            bucket, key = _split(event_logs)
            # Spark refuses to log into a folder that does not exist.
            s3.put_object(Bucket=bucket, Key=f"{key}/", Body=b"")
            try:
                step_id = self._submit(arguments)
                self.waited_seconds = self._wait(step_id, deadline)
            except BaseException:
                self._end_after_failure()
                raise
            self._step_id = None
            fetched = fetch_event_log(s3, event_logs, request.directory)
            self._log.info("Event log %s, of %s", fetched, event_logs)

    def end(self) -> list[str]:
        """Cancel the step; returns its id if there was one to cancel. May be repeated."""
        self._ending.set()
        step_id, self._step_id = self._step_id, None
        if step_id is None:
            return []
        self._cancel([step_id])
        return [step_id]

    def _require_ready(self) -> float:
        """Refuse a job flow that has ended or lost machines; returns the step's deadline, since the epoch."""
        job_flow = describe(self._emr, self._handle.name)
        if job_flow.state not in READY_STATES:
            raise _lost(job_flow)
        alive = len(running_instances(self._emr, job_flow.id, "CORE"))
        if alive < self._request.executors:
            raise ClusterLostError(
                f"The run needs {self._request.executors} machines; job flow {job_flow.id} has {alive}.",
                remedy="Machines were lost: clear the task that starts the cluster to have it start anew.",
            )
        deadline, now = datetime.fromisoformat(str(self._handle.expires_at)).timestamp(), time.time()
        if deadline <= now:
            raise ClusterLostError(
                f"The time to live that was stated of job flow {job_flow.id} is over.",
                remedy="Raise time_to_live_seconds, or make fewer or smaller sample runs.",
            )
        limits = self._request.limits
        if limits.run_seconds is not None:
            deadline = min(deadline, now + limits.wait_seconds + limits.run_seconds)
        return deadline

    def _submit(self, arguments: list[str]) -> str:
        if self._ending.is_set():
            raise SampleRunError("The run was ended before it was submitted.")
        self._cancel_orphans()
        answer = self._emr.add_job_flow_steps(
            JobFlowId=self._handle.name,
            Steps=[
                {
                    "Name": self._step_name,
                    # The other runs need the job flow still.
                    "ActionOnFailure": "CONTINUE",
                    "HadoopJarStep": {"Jar": "command-runner.jar", "Args": arguments},
                }
            ],
        )
        self._step_id = step_id = str(answer["StepIds"][0])
        self._log.info("Step %s of job flow %s", step_id, self._handle.name)
        return step_id

    def _cancel_orphans(self) -> None:
        """Cancel what a try that was killed too hard has left behind: EMR runs one step at a time."""
        pages = self._emr.get_paginator("list_steps").paginate(
            ClusterId=self._handle.name, StepStates=["PENDING", "RUNNING"]
        )
        orphans = [step["Id"] for page in pages for step in page["Steps"] if step["Name"] == self._step_name]
        if orphans:
            self._log.warning(
                "Cancelling %s, which an earlier try of this run has left behind", ", ".join(orphans)
            )
            self._cancel(orphans)

    def _cancel(self, step_ids: list[str]) -> None:
        # The interrupt reaches the driver, which then gives its executors back.
        self._emr.cancel_steps(
            ClusterId=self._handle.name, StepIds=step_ids, StepCancellationOption="SEND_INTERRUPT"
        )

    def _end_after_failure(self) -> None:
        """Cancel what may still run; that it cannot be must not hide why."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self.end()
        except (BotoCoreError, ClientError) as error:
            self._log.warning("The step could not be cancelled: %s", error)

    def _wait(self, step_id: str, deadline: float) -> float:
        """Wait until the step has completed; returns the seconds that it waited for those before it."""
        added_at = time.monotonic()
        while True:
            if self._ending.is_set():
                raise SampleRunError("The run was ended: its task was killed.")
            ask = partial(self._emr.describe_step, ClusterId=self._handle.name, StepId=step_id)
            answer = unless_busy(ask)
            if answer is not None:
                step = answer["Step"]
                if step["Status"]["State"] != self._state:
                    self._state = step["Status"]["State"]
                    self._log.info("Step %s: %s", step_id, self._state)
                    if self._state == "RUNNING":
                        self._running_since = time.monotonic()
                if self._state == "COMPLETED":
                    times = step["Status"].get("Timeline", {})
                    created, began = times.get("CreationDateTime"), times.get("StartDateTime")
                    return max(0.0, (began - created).total_seconds()) if created and began else 0.0
                self._require_alive(step_id, step)
            self._keep_limits(added_at)
            if time.time() > deadline:
                until = datetime.fromtimestamp(deadline, UTC).isoformat(timespec="seconds")
                raise SampleRunError(
                    f"The run was ended: step {step_id} of job flow {self._handle.name} had time until "
                    f"{until}, and was {self._state or 'in an unknown state'} when last heard of.",
                    remedy="Raise time_to_live_seconds, or make fewer or smaller sample runs.",
                )
            self._ending.wait(self._poll_seconds)

    def _require_alive(self, step_id: str, step: dict[str, Any]) -> None:
        if self._state == "FAILED":
            raise SampleRunError(
                f"Step {step_id} of job flow {self._handle.name} failed: {_why(step)}.",
                remedy="The driver's output is in the step's stderr there.",
            )
        if self._state in _LOST_STATES:
            job_flow = describe(self._emr, self._handle.name)
            if job_flow.state not in READY_STATES:
                raise _lost(job_flow)
            raise SampleRunError(f"Step {step_id} is {self._state}: {_why(step)}.")

    def _keep_limits(self, added_at: float) -> None:
        limits, now = self._request.limits, time.monotonic()
        if self._running_since is None:
            if now - added_at > limits.wait_seconds:
                raise SampleRunError(
                    f"The run was ended: its step did not begin within {duration(limits.wait_seconds)}.",
                    remedy="EMR runs one step at a time: let fewer runs be active at once.",
                )
        elif limits.run_seconds is not None and now - self._running_since > limits.run_seconds:
            raise SampleRunError(
                f"The run was ended: it took longer than run_timeout_seconds={limits.run_seconds:.0f}."
            )


def _lost(job_flow: JobFlow) -> ClusterLostError:
    return ClusterLostError(
        f"Job flow {job_flow.id} takes no steps, it is {job_flow.state}: {job_flow.why}.",
        remedy="Clear the task that starts the cluster to have it start anew.",
    )


def _why(step: dict[str, Any]) -> str:
    """What EMR tells of a step's end, and where its log lies."""
    details = step["Status"].get("FailureDetails") or {}
    reason = step["Status"].get("StateChangeReason") or {}
    told = [details.get("Reason"), details.get("Message"), reason.get("Message")]
    words = ": ".join(dict.fromkeys(str(one).rstrip(".") for one in told if one)) or "EMR tells no reason"
    return f"{words}; its log is {details['LogFile']}" if details.get("LogFile") else words


def fetch_event_log(s3: Any, uri: str, directory: Path) -> Path:
    """Bring the event log of a run that has ended from its folder on S3, which only this run wrote to."""
    bucket, key = _split(uri)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{key}/")
    objects = [one for page in pages for one in page.get("Contents", ())]
    logs = [one for one in objects if not one["Key"].endswith(_FOLDER_MARKERS)]
    if not logs:
        raise SampleRunError(
            f"The application wrote no event log into {uri}.",
            remedy="It must be a Spark application and must not set spark.eventLog.* itself, and the "
            "instance profile of the machines must be allowed to write there.",
        )
    # A log that Spark has renamed at its end is the one that counts.
    chosen = max(logs, key=lambda one: (not one["Key"].endswith(IN_PROGRESS_SUFFIX), one["Key"]))
    target = directory / PurePosixPath(chosen["Key"]).name
    # Whoever looks for event logs passes over hidden files, such as a half of one.
    partial = directory / f".{target.name}.part"
    s3.download_file(bucket, chosen["Key"], str(partial))
    return partial.replace(target)


def _split(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").rstrip("/").partition("/")
    return bucket, key
