"""A job flow of Amazon EMR for the time of a training.

EMR has no token that makes RunJobFlow idempotent. So a job flow bears the name of the task that owns it,
and whatever bears that name is looked for before a start, after it, and at its end.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EMR, ClusterHandle, Machine
from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, code_of, explained, meaning_of, time_of
from airflow_provider_ernest.clusters.ec2.ending import from_signal_handler
from airflow_provider_ernest.clusters.ec2.identity import (
    CLUSTER_TAG,
    DEPLOYMENT_TAG,
    EXPIRY_TAG,
    SPEC_TAG,
    deployment_of,
    tag_value,
)
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    ErnestError,
    InvalidParameterError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec


# ---------------------------------------------------------------------------
# Finding job flows of EMR, and ending them so that it is sure.


LIVE_STATES = ("STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING")
"""The states of a job flow that costs money and is not on its way to its end."""
READY_STATES = ("WAITING", "RUNNING")
TOLD_AT = "ErnestToldAt"
"""Key of the time, by AWS's clock, at which a description was given; EMR itself has none of that name."""
END_SECONDS = 120.0
"""How long EMR may take to say that a job flow is ending."""

_JOB_FLOWS_PER_CALL = 10
_POLL_SECONDS = 2.0


def live_job_flows(emr: Any, is_wanted: Callable[[str], bool]) -> list[str]:
    """The ids of the job flows that have not been ended and have a name that is wanted, the newest first."""
    pages = emr.get_paginator("list_clusters").paginate(ClusterStates=list(LIVE_STATES))
    found = [one for page in pages for one in page["Clusters"] if is_wanted(one["Name"])]
    found.sort(key=lambda one: one["Status"]["Timeline"]["CreationDateTime"], reverse=True)
    return [one["Id"] for one in found]


def describe(emr: Any, job_flow_id: str) -> dict[str, Any]:
    """What EMR says of a job flow, ended ones included, for two months; and as `TOLD_AT` when it said so.

    Raises:
        ClusterError: EMR does not know it.
    """
    from botocore.exceptions import ClientError

    try:
        answer = emr.describe_cluster(ClusterId=job_flow_id)
    except ClientError as error:
        if code_of(error) != "InvalidRequestException":
            raise
        raise ClusterError(
            f"EMR in {emr.meta.region_name} knows no job flow {job_flow_id}.",
            remedy="Look whether connection and region are those that started it.",
        ) from error
    return {**answer["Cluster"], TOLD_AT: time_of(answer)}


def require_ours(job_flow: dict[str, Any]) -> str:
    """The name of the cluster that a job flow is, by name and tag.

    Args:
        job_flow: as `describe` tells it.

    Raises:
        InvalidParameterError: this package has not started it: whoever named it must not reach it by that.
    """
    name = tags_of(job_flow).get(CLUSTER_TAG, "")
    if name != job_flow.get("Name"):
        raise InvalidParameterError(
            "cluster",
            job_flow["Id"],
            "is no job flow that this package has started",
            remedy="Pass the output of the task that started the cluster unchanged.",
        )
    deployment_of(name)
    return name


def time_at_aws(emr: Any) -> datetime:
    """What time it is by AWS's clock; with time zone."""
    return time_of(emr.list_clusters(ClusterStates=["STARTING"]))


def state_of(job_flow: dict[str, Any]) -> str:
    """The state of a job flow as DescribeCluster tells it."""
    return str(job_flow["Status"]["State"])


def tags_of(job_flow: dict[str, Any]) -> dict[str, str]:
    """The tags of a job flow as DescribeCluster tells them."""
    return {tag["Key"]: tag.get("Value", "") for tag in job_flow.get("Tags", ())}


def expiry_of(job_flow: dict[str, Any]) -> datetime | None:
    """When a job flow expires by its tag; None where that does not tell."""
    try:
        expires_at = datetime.fromisoformat(tags_of(job_flow)[EXPIRY_TAG])
    except (KeyError, ValueError):
        return None
    return expires_at if expires_at.tzinfo else None


def seconds_left(job_flow: dict[str, Any]) -> float:
    """Seconds until a job flow expires, by AWS's clock; 0 where its tag does not tell when.

    Args:
        job_flow: as `describe` tells it.
    """
    expires_at = expiry_of(job_flow)
    return (expires_at - job_flow[TOLD_AT]).total_seconds() if expires_at else 0.0


def why_changed(job_flow: dict[str, Any]) -> str:
    """Why a job flow came into its state, in EMR's words, and where its logs lie."""
    reason = job_flow["Status"].get("StateChangeReason") or {}
    told = [str(reason[part]) for part in ("Code", "Message") if reason.get(part)]
    logs = f"; logs below {job_flow['LogUri']}" if job_flow.get("LogUri") else ""
    return f"{': '.join(told) or 'EMR tells no reason'}{logs}"


def request_end(emr: Any, job_flow_ids: Sequence[str]) -> None:
    """Ask EMR to end job flows, without waiting."""
    for first in range(0, len(job_flow_ids), _JOB_FLOWS_PER_CALL):
        emr.terminate_job_flows(JobFlowIds=list(job_flow_ids[first : first + _JOB_FLOWS_PER_CALL]))


def end(
    emr: Any,
    job_flow_ids: Sequence[str],
    *,
    wait_seconds: float = END_SECONDS,
    pause: Callable[[float], object] = time.sleep,
) -> None:
    """End job flows and wait until EMR says of each that it is ending: from then on nothing keeps it.

    Raises:
        ClusterError: one of them is still alive; its id is named.
    """
    request_end(emr, job_flow_ids)
    deadline = time.monotonic() + wait_seconds
    alive = list(job_flow_ids)
    while True:
        alive = _still_alive(emr, alive)
        if not alive:
            return
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"EMR was asked to end {', '.join(alive)}, and has not begun after {wait_seconds:.0f} s.",
                remedy="See whether somebody protected it from termination, and end it in EMR's console.",
            )
        pause(_POLL_SECONDS)


def is_busy(error: Exception) -> bool:
    """Whether AWS did not answer, or only asks to come again later: EMR throttles early."""
    return meaning_of(error) is Meaning.BUSY


def _still_alive(emr: Any, job_flow_ids: Iterable[str]) -> list[str]:
    from botocore.exceptions import BotoCoreError, ClientError

    alive = []
    for job_flow_id in job_flow_ids:
        try:
            if state_of(describe(emr, job_flow_id)) in LIVE_STATES:
                alive.append(job_flow_id)
        except (BotoCoreError, ClientError) as error:
            if not is_busy(error):
                raise
            alive.append(job_flow_id)
        except ClusterError:  # one that has just been started, which EMR does not describe yet
            alive.append(job_flow_id)
    return alive


# ---------------------------------------------------------------------------
# From a job flow that is ready to the handle that the sample runs get.


def handle_of(
    job_flow: dict[str, Any],
    spec: EmrClusterSpec,
    *,
    rooms: dict[str, ExecutorRoom],
    client: Any,
    aws_conn_id: str | None,
) -> ClusterHandle:
    """The handle of a job flow. Its name is the job flow's id, its directory where event logs are written.

    Args:
        job_flow: as DescribeCluster tells it.
        spec: what was asked for.
        rooms: of the types of workers and master.
        client: a boto3 client of EMR.
        aws_conn_id: the Airflow connection of that.

    Raises:
        ClusterStartError: fewer core instances run than were asked for.
    """
    room = rooms[spec.instance_type]
    cores = spec.cores_per_machine or room.cores
    memory_megabytes = spec.memory_megabytes_per_machine or room.memory_megabytes
    workers = [
        _machine(instance, cores, memory_megabytes, spec.price_per_hour)
        for instance in running_instances(client, job_flow["Id"], "CORE")
    ]
    if len(workers) < spec.machines:
        raise ClusterStartError(
            f"Job flow {job_flow['Id']} has {len(workers)} core instances; asked for were {spec.machines}."
        )
    at_master = rooms[spec.type_of_master]
    masters = running_instances(client, job_flow["Id"], "MASTER")
    expires_at = expiry_of(job_flow)
    return ClusterHandle(
        kind=EMR,
        name=job_flow["Id"],
        master_url="yarn",
        machines=tuple(workers),
        instance_type=spec.instance_type,
        cores_per_machine=cores,
        expires_at=expires_at.isoformat(timespec="seconds") if expires_at else None,
        directory=spec.event_log_uri.rstrip("/"),
        python=spec.python,
        aws_conn_id=aws_conn_id,
        region=client.meta.region_name,
        master=_machine(masters[0], at_master.cores, at_master.memory_megabytes, None) if masters else None,
    )


def running_instances(client: Any, job_flow_id: str, group: str) -> list[dict[str, Any]]:
    """The running instances of a job flow's group, "CORE" or "MASTER"."""
    pages = client.get_paginator("list_instances").paginate(
        ClusterId=job_flow_id, InstanceGroupTypes=[group], InstanceStates=["RUNNING"]
    )
    return [instance for page in pages for instance in page["Instances"]]


def _machine(
    instance: dict[str, Any], cores: int, memory_megabytes: int, price_per_hour: float | None
) -> Machine:
    return Machine(
        worker_id="",
        host=instance.get("PrivateIpAddress", ""),
        cores=cores,
        memory_megabytes=memory_megabytes,
        instance_id=instance.get("Ec2InstanceId"),
        market="on-demand",
        price_per_hour=price_per_hour,
    )


# ---------------------------------------------------------------------------
# What EMR is asked for: the arguments of RunJobFlow (Amazon EMR API Reference).


ROLE = "emr"
"""What the role tag says of job flows and of the machines that inherit it."""


def specification_digest(spec: EmrClusterSpec) -> str:
    """The same for the same specification, in any process: tells whether a job flow may be taken over."""
    text = json.dumps(spec.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def job_flow_request(
    spec: EmrClusterSpec, *, identity: ClusterIdentity, expires_at: datetime
) -> dict[str, Any]:
    """The request of a job flow.

    It stays alive without steps, since those come later, one for each sample run, and one at a time:
    runs at once would share machines that each of them takes for its own.
    """
    request: dict[str, Any] = {
        "Name": identity.cluster_name,
        "ReleaseLabel": spec.release_label,
        "LogUri": spec.log_uri,
        "Applications": [{"Name": name} for name in spec.applications],
        "Instances": _instances(spec),
        "ServiceRole": spec.service_role,
        "JobFlowRole": spec.job_flow_role,
        "VisibleToAllUsers": True,
        "StepConcurrencyLevel": 1,
        "AutoTerminationPolicy": {"IdleTimeout": spec.idle_timeout_seconds},
        "Tags": _tags(spec, identity, expires_at),
    }
    if spec.bootstrap_actions:
        request["BootstrapActions"] = [
            {
                "Name": action.name,
                "ScriptBootstrapAction": {"Path": action.path, "Args": list(action.arguments)},
            }
            for action in spec.bootstrap_actions
        ]
    if spec.configurations:
        request["Configurations"] = [dict(one) for one in spec.configurations]
    if spec.security_configuration:
        request["SecurityConfiguration"] = spec.security_configuration
    return request


def has_specification(job_flow: dict[str, Any], spec: EmrClusterSpec) -> bool:
    """Whether a job flow was asked for by this specification."""
    return tags_of(job_flow).get(SPEC_TAG) == specification_digest(spec)


def _instances(spec: EmrClusterSpec) -> dict[str, Any]:
    places = {
        "Ec2SubnetId": spec.subnet,
        "Ec2KeyName": spec.key_name,
        "EmrManagedMasterSecurityGroup": spec.master_security_group,
        "EmrManagedSlaveSecurityGroup": spec.core_security_group,
        "ServiceAccessSecurityGroup": spec.service_access_security_group,
    }
    return {
        "InstanceGroups": [
            _group("MASTER", spec.type_of_master, 1, spec),
            _group("CORE", spec.instance_type, spec.machines, spec),
        ],
        "KeepJobFlowAliveWhenNoSteps": True,
        "TerminationProtected": False,
        **{name: value for name, value in places.items() if value},
    }


def _group(role: str, instance_type: str, count: int, spec: EmrClusterSpec) -> dict[str, Any]:
    group: dict[str, Any] = {
        "Name": role.lower(),
        "InstanceRole": role,
        "InstanceType": instance_type,
        "InstanceCount": count,
        "Market": "ON_DEMAND",
    }
    if spec.ebs_gigabytes:
        volume = {"VolumeType": spec.ebs_volume_type, "SizeInGB": spec.ebs_gigabytes}
        group["EbsConfiguration"] = {
            "EbsBlockDeviceConfigs": [{"VolumeSpecification": volume, "VolumesPerInstance": 1}]
        }
    return group


def _tags(spec: EmrClusterSpec, identity: ClusterIdentity, expires_at: datetime) -> list[dict[str, str]]:
    ours = identity.tags(role=ROLE, expires_at=expires_at, specification=specification_digest(spec))
    tags = {**{name: tag_value(value) for name, value in spec.tags.items()}, **ours}
    return [{"Key": name, "Value": value} for name, value in tags.items()]


# ---------------------------------------------------------------------------
# What a type of machine offers to Spark's executors under EMR's YARN.


_MEGABYTES_PER_GIGABYTE = 1024
_YARN_SHARE = 0.75
_APPLICATION_MASTER_MEGABYTES = 1024
_EXECUTOR_OVERHEAD = 0.1
_LEAST_OVERHEAD_MEGABYTES = 384


@dataclass(frozen=True, kw_only=True)
class ExecutorRoom:
    """What one executor that fills a machine may take.

    Attributes:
        cores: vCPUs of the machine.
        memory_megabytes: heap of the executor.
    """

    cores: int
    memory_megabytes: int


def executor_rooms(emr: Any, release_label: str, names: set[str]) -> dict[str, ExecutorRoom]:
    """The room on machines of some types, by EMR's ListSupportedInstanceTypes.

    EMR gives YARN three quarters of a machine's memory, and more on large ones (Amazon EMR Release Guide,
    "Task configuration": yarn.nodemanager.resource.memory-mb). On one of the machines the application
    master takes 1 GB of it, and each executor has a tenth of its heap beside it
    (spark.executor.memoryOverheadFactor), at least 384 MB. What remains is more than half, so that no two
    executors of a run come to lie on one machine.

    Raises:
        InvalidParameterError: the release does not support a type.
    """
    found: dict[str, ExecutorRoom] = {}
    marker: dict[str, str] = {}
    while True:
        page = emr.list_supported_instance_types(ReleaseLabel=release_label, **marker)
        for facts in page["SupportedInstanceTypes"]:
            if facts["Type"] in names:
                found[facts["Type"]] = _room(facts)
        if not page.get("Marker") or names <= found.keys():
            break
        marker = {"Marker": page["Marker"]}
    for name in sorted(names - found.keys()):
        raise InvalidParameterError(
            "instance_type",
            name,
            f"is no type that {release_label} supports in {emr.meta.region_name}",
            remedy="`aws emr list-supported-instance-types --release-label` lists those that it does.",
        )
    return found


def _room(facts: dict[str, Any]) -> ExecutorRoom:
    yarn = _YARN_SHARE * facts["MemoryGB"] * _MEGABYTES_PER_GIGABYTE
    executor = yarn - _APPLICATION_MASTER_MEGABYTES
    heap = min(executor / (1 + _EXECUTOR_OVERHEAD), executor - _LEAST_OVERHEAD_MEGABYTES)
    return ExecutorRoom(cores=int(facts["VCPU"]), memory_megabytes=int(heap))


# ---------------------------------------------------------------------------


log = logging.getLogger(__name__)

_JOB_FLOW_ID = re.compile(r"j-[0-9A-Z]+")
_SLICE_SECONDS = 0.25
POLL_SECONDS = 15.0
"""Between two questions for a starting job flow's state; EMR throttles those who ask more often."""


@dataclass(frozen=True, kw_only=True)
class EmrLaunch:
    """What a start needs to know.

    Attributes:
        spec: what to start.
        identity: the task that owns it.
        aws_conn_id: the Airflow connection of the client, for those who get the handle.
        poll_seconds: between two questions for its state.
    """

    spec: EmrClusterSpec
    identity: ClusterIdentity
    aws_conn_id: str | None = None
    poll_seconds: float = POLL_SECONDS


class EmrCluster:
    """A job flow, as seen by whoever starts or ends it.

    Args:
        name: that it bears in EMR; None where only its id is known.
        client: makes a boto3 client of a service by its name, in the region where it runs.
        job_flow_id: where it is known.
        launch: what to start; None for a cluster that is only to be ended.
    """

    def __init__(
        self,
        *,
        name: str | None,
        client: Callable[[str], Any],
        job_flow_id: str | None = None,
        launch: EmrLaunch | None = None,
    ) -> None:
        self.name = name
        self.job_flow_id = job_flow_id
        self._client = client
        self._launch = launch
        # A plain attribute: threading.Event takes a lock that the thread which a signal interrupts may hold.
        self._is_unwanted = False

    @classmethod
    def to_start(
        cls,
        spec: EmrClusterSpec,
        *,
        identity: ClusterIdentity,
        client: Callable[[str], Any],
        aws_conn_id: str | None = None,
        poll_seconds: float = POLL_SECONDS,
    ) -> EmrCluster:
        """The cluster of a task, to be started."""
        launch = EmrLaunch(spec=spec, identity=identity, aws_conn_id=aws_conn_id, poll_seconds=poll_seconds)
        return cls(name=identity.cluster_name, client=client, launch=launch)

    @classmethod
    def from_handle(cls, handle: ClusterHandle, *, client: Callable[[str], Any]) -> EmrCluster:
        """The cluster that a handle stands for, to end it from another process.

        Raises:
            ClusterError: the handle is that of another kind of cluster.
            InvalidParameterError: its name is no id of a job flow.
        """
        if handle.kind != EMR:
            raise ClusterError(
                f"Cluster {handle.name} of kind {handle.kind!r} is no job flow of EMR.",
                remedy="Pass the output of the task that started the EMR cluster unchanged.",
            )
        if not _JOB_FLOW_ID.fullmatch(handle.name):
            raise InvalidParameterError(
                "cluster",
                handle.name,
                "is no id of a job flow of EMR",
                remedy="Pass the output of the task that started the cluster unchanged.",
            )
        return cls(name=None, client=client, job_flow_id=handle.name)

    def start(self) -> ClusterHandle:
        """Start the job flow and wait until it takes steps.

        One that an earlier try of the task has started is taken over if it was asked for by the same
        specification and has half of its time to live before it; any other is ended. What a failed start
        has started is ended.

        Raises:
            InvalidParameterError: EMR has no such type of machine, or refuses the request.
            MissingResourceError: a permission is missing.
            ClusterStartError: it did not become ready; with what EMR says of it.
            ClusterError: AWS does not answer, or what was started may live on.
        """
        launch = self._require_launch()
        self._client("emr")  # without a client nothing can be started, nor ended
        try:
            with explained("start a job flow of EMR"):
                return self._start(launch)
        except BaseException as error:
            self._end_failed_start(error)
            raise

    def terminate(self) -> str:
        """End the job flow, and all others of the same name. Repeatable, from any process.

        Returns:
            What was done, for the log.

        Raises:
            ClusterError: EMR does not know it, it would not end, or AWS does not answer.
            InvalidParameterError: of parameter ``cluster``: the job flow is not ours.
            MissingResourceError: a permission is missing.
        """
        self._is_unwanted = True
        with explained("end a job flow of EMR"):
            # Before anything that EMR may refuse: it throttles early, and may not list or describe it yet.
            request_end(self._emr, self._own)
            alive = self._alive()
            if not alive:
                return f"nothing to do, no job flow of it is alive{self._last_words()}"
            end(self._emr, alive)
        return f"ended {', '.join(alive)}"

    def abandon(self) -> None:
        """The same from another thread or a signal handler. Quick: nothing is waited for.

        What `start` is doing meanwhile fails at its next step, and ends what else it has started.
        """
        self._is_unwanted = True
        from_signal_handler(self._request_end)

    def _request_end(self) -> None:
        try:
            alive = self._own or self._live_namesakes()
            request_end(self._emr, alive)
            log.info("Asked EMR to end %s", ", ".join(alive) or "nothing, since nothing is alive")
        except Exception as failure:
            log.warning("The job flow of the abandoned task could not be ended at once: %s", failure)

    @property
    def _emr(self) -> Any:
        return self._client("emr")

    @property
    def _own(self) -> list[str]:
        """The job flow that this process has started: known before EMR lists or describes it."""
        return [self.job_flow_id] if self._launch and self.job_flow_id else []

    def _start(self, launch: EmrLaunch) -> ClusterHandle:
        spec = launch.spec
        rooms = executor_rooms(self._emr, spec.release_label, {spec.instance_type, spec.type_of_master})
        self.job_flow_id = self._adopt(launch) or self._run(launch)
        job_flow = self._wait_until_ready(launch, self.job_flow_id)
        return handle_of(job_flow, spec, rooms=rooms, client=self._emr, aws_conn_id=launch.aws_conn_id)

    def _end_failed_start(self, error: BaseException) -> None:
        """End what was started; where that fails, too, the first error passes on nevertheless.

        Raises:
            ClusterError: instead of an error that another attempt cannot help: the next attempt finds the
                job flow that may live on. After a failed setup no teardown comes.
        """
        try:
            log.info("The start of EMR cluster %s failed: %s", self.name, self.terminate())
        except Exception as failure:
            own = self.job_flow_id
            log.error(
                "A JOB FLOW MAY BE LEFT RUNNING: %s of cluster %s. %s", own or "any", self.name, failure
            )
            if own and isinstance(error, ErnestError) and not error.retryable:
                raise ClusterError(
                    f"Job flow {own} may live on: it could not be ended. "
                    f"What had failed before: {error.message}",
                    remedy=f"{error.remedy} Where no other attempt comes, end it in EMR's console.".lstrip(),
                ) from error

    def _require_launch(self) -> EmrLaunch:
        if self._launch is None:
            raise ClusterStartError(
                f"EMR cluster {self.job_flow_id} is known by its handle only, and cannot be started by that."
            )
        return self._launch

    def _alive(self) -> list[str]:
        """The live job flows of this cluster, the one that is known by its id among them."""
        alive = self._own
        if self.job_flow_id is not None and not alive:
            known = describe(self._emr, self.job_flow_id)
            self.name = require_ours(known)
            if state_of(known) in LIVE_STATES:
                alive.append(self.job_flow_id)
        named = self._live_namesakes()
        return alive + [one for one in named if one not in alive]

    def _live_namesakes(self) -> list[str]:
        return live_job_flows(self._emr, self.name.__eq__) if self.name else []

    def _last_words(self) -> str:
        if self.job_flow_id is None:
            return ""
        return f"; {self.job_flow_id} ended: {self._why()}"

    def _why(self) -> str:
        return why_changed(describe(self._emr, str(self.job_flow_id)))

    def _adopt(self, launch: EmrLaunch) -> str | None:
        kept = None
        least_seconds = launch.spec.time_to_live_seconds / 2
        for job_flow_id in self._live_namesakes():
            job_flow = describe(self._emr, job_flow_id)
            same = has_specification(job_flow, launch.spec)
            if kept is None and same and seconds_left(job_flow) > least_seconds:
                kept = job_flow_id
                log.info("Taking over job flow %s, which an earlier try has started", job_flow_id)
            else:
                log.info("Ending job flow %s, which an earlier try has started", job_flow_id)
                end(self._emr, [job_flow_id])
        return kept

    def _run(self, launch: EmrLaunch) -> str:
        expires_at = time_at_aws(self._emr) + timedelta(seconds=launch.spec.time_to_live_seconds)
        request = job_flow_request(launch.spec, identity=launch.identity, expires_at=expires_at)
        self._require_wanted()
        job_flow_id = str(self._emr.run_job_flow(**request)["JobFlowId"])
        self.job_flow_id = job_flow_id
        # Killed meanwhile: whoever ended the cluster could not see it yet.
        self._require_wanted()
        log.info("EMR starts job flow %s (%s)", job_flow_id, self.name)
        twins = [one for one in self._live_namesakes() if one != job_flow_id]
        if twins:
            log.warning("Ending %s: a repeated request has started more than one job flow", ", ".join(twins))
            end(self._emr, twins)
        return job_flow_id

    def _require_wanted(self) -> None:
        if self._is_unwanted:
            raise ClusterStartError(f"EMR cluster {self.name} was ended while it started.")

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self._is_unwanted and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))

    def _wait_until_ready(self, launch: EmrLaunch, job_flow_id: str) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        told = ""
        began = time.monotonic()
        while True:
            waited = time.monotonic() - began
            self._require_wanted()
            try:
                job_flow = describe(self._emr, job_flow_id)
            except (BotoCoreError, ClientError) as error:
                if not is_busy(error):
                    raise
            else:
                state = state_of(job_flow)
                if state != told:
                    log.info("Job flow %s: %s after %.0f s", job_flow_id, state, waited)
                    told = state
                if state in READY_STATES:
                    return job_flow
                if state not in LIVE_STATES:
                    why = why_changed(job_flow)
                    raise ClusterStartError(f"Job flow {job_flow_id} ended before it was ready: {why}.")
            if waited >= launch.spec.start_timeout_seconds:
                raise ClusterStartError(
                    f"Job flow {job_flow_id} was not ready after {waited:.0f} s (last: {told or 'none'}).",
                    remedy="Raise start_timeout_seconds, or look at the bootstrap actions' logs.",
                )
            self._pause(launch.poll_seconds)


# ---------------------------------------------------------------------------
# Finding and ending the job flows that nobody ended in time.


_NAME_PREFIX = "ernest-"


@dataclass(frozen=True, kw_only=True)
class FoundJobFlow:
    """A live job flow that bears this package's tags.

    Attributes:
        id: EMR's.
        cluster_name: of the task that owns it.
        state: EMR's word.
        expires_at: by its tag; None where that cannot be read.
        expired: it should have ended.
        tags: all of them, such as ernest:dag and ernest:run.
    """

    id: str
    cluster_name: str
    state: str
    expires_at: datetime | None
    expired: bool
    tags: dict[str, str]


def find_job_flows(emr: Any, *, deployment: str | None) -> tuple[FoundJobFlow, ...]:
    """The live job flows that this package has started, the newest first.

    One request for each page of live job flows (ListClusters tells no tags), and one for each that has a
    name of ours. The tag decides: a name may be anyone's.

    Args:
        emr: a boto3 client of EMR, of the region to look through.
        deployment: whose; None for those of all deployments.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    with explained("look for job flows of EMR"):
        return _find(emr, deployment)


def reap_job_flows(emr: Any, *, deployment: str | None, dry_run: bool) -> tuple[FoundJobFlow, ...]:
    """End the job flows whose time is over by AWS's clock, and make sure that they end.

    Args:
        emr: a boto3 client of EMR, of the region to look through.
        deployment: whose; None for those of all deployments.
        dry_run: only tell which ones would be ended.

    Returns:
        Those that were, or would be, ended.

    Raises:
        ClusterError: one of them would not end, or AWS does not answer.
        MissingResourceError: a permission is missing.
    """
    expired = tuple(one for one in find_job_flows(emr, deployment=deployment) if one.expired)
    if expired and not dry_run:
        with explained("end job flows of EMR"):
            end(emr, [one.id for one in expired])
    return expired


def _find(emr: Any, deployment: str | None) -> tuple[FoundJobFlow, ...]:
    found = []
    prefix = _NAME_PREFIX if deployment is None else f"{_NAME_PREFIX}{deployment}-"
    for one in live_job_flows(emr, lambda name: name.startswith(prefix)):
        job_flow = describe(emr, one)
        tags = tags_of(job_flow)
        state = state_of(job_flow)
        is_meant = deployment in (None, tags.get(DEPLOYMENT_TAG))
        if not is_meant or CLUSTER_TAG not in tags or state not in LIVE_STATES:
            continue
        expires_at = expiry_of(job_flow)
        found.append(
            FoundJobFlow(
                id=one,
                cluster_name=tags[CLUSTER_TAG],
                state=state,
                expires_at=expires_at,
                expired=expires_at is not None and expires_at <= job_flow[TOLD_AT],
                tags=tags,
            )
        )
    return tuple(found)
