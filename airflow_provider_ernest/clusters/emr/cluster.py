"""Job flows of Amazon EMR: started for a training, ended for certain, and found where nobody ended them.

EMR has no token that makes RunJobFlow idempotent. So a job flow bears the name of the task that owns it,
and whatever bears that name is looked for before a start, after it, and at its end.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ernest.clusters.base import EMR, ClusterHandle
from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, code_of, explained, meaning_of, time_of
from airflow_provider_ernest.clusters.ec2.ending import from_signal_handler
from airflow_provider_ernest.clusters.ec2.identity import (
    CLUSTER_TAG,
    DEPLOYMENT_TAG,
    EXPIRY_TAG,
    SPEC_TAG,
    Attempt,
    deployment_of,
    tag_value,
)
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    ErnestError,
    InvalidParameterError,
)
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec

log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

ClientMaker = Callable[[str], Any]
"""Makes a boto3 client of a service by its name, in the region of the job flow."""

LIVE_STATES = ("STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING")
"""The states of a job flow that costs money and is not on its way to its end."""
READY_STATES = ("WAITING", "RUNNING")
START_POLL_SECONDS = 15.0
"""Between two questions for a starting job flow's state; EMR throttles those who ask more often."""
END_SECONDS = 120.0
"""How long EMR may take to say that a job flow is ending."""
ROLE = "emr"
"""What the role tag says of job flows and of the machines that inherit it."""

_END_POLL_SECONDS = 2.0
_SLICE_SECONDS = 0.25
_JOB_FLOWS_PER_CALL = 10
_NAME_PREFIX = "ernest-"
_JOB_FLOW_ID = re.compile(r"j-[0-9A-Z]+")


class EmrCluster:
    """The job flow of a task, to be started.

    Args:
        spec: what to start.
        identity: the task that owns it.
        client: makes the boto3 clients.
        aws_conn_id: the Airflow connection behind `client`, for the handle.
        poll_seconds: between two looks at its state.
    """

    def __init__(
        self,
        spec: EmrClusterSpec,
        identity: ClusterIdentity,
        *,
        client: ClientMaker,
        aws_conn_id: str | None = None,
        poll_seconds: float = START_POLL_SECONDS,
    ) -> None:
        self.spec = spec
        self.identity = identity
        self.name = identity.cluster_name
        self._client = client
        self._aws_conn_id = aws_conn_id
        self._poll_seconds = poll_seconds
        # The job flow that this process has started or taken over: known before EMR lists or describes it.
        self._job_flow_id: str | None = None
        # A plain attribute: threading.Event takes a lock that the thread which a signal interrupts may hold.
        self._is_unwanted = False

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
        emr = self._emr  # without a client nothing can be started, nor ended
        try:
            with explained("start a job flow of EMR"):
                types = {self.spec.instance_type, self.spec.type_of_master}
                rooms = executor_rooms(emr, self.spec.release_label, types)
                self._job_flow_id = self._adopt() or self._run()
                return self._handle(self._wait_until_ready(self._job_flow_id), rooms)
        except BaseException as error:
            self._end_failed_start(error)
            raise

    def terminate(self) -> str:
        """End the job flow, and all others of the same name. Repeatable. Returns what was done, for the log.

        Raises:
            ClusterError: it would not end, or AWS does not answer.
            MissingResourceError: a permission is missing.
        """
        self._is_unwanted = True
        with explained("end a job flow of EMR"):
            # Before anything that EMR may refuse: it throttles early, and may not list or describe it yet.
            request_end(self._emr, self._own)
            alive = list(dict.fromkeys([*self._own, *self._namesakes()]))
            if not alive:
                return "nothing to do, no job flow of it is alive"
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
            alive = self._own or self._namesakes()
            request_end(self._emr, alive)
            log.info("Asked EMR to end %s", ", ".join(alive) or "nothing, since nothing is alive")
        except Exception as failure:
            log.warning("The job flow of the abandoned task could not be ended at once: %s", failure)

    @property
    def _emr(self) -> Any:
        return self._client("emr")

    @property
    def _own(self) -> list[str]:
        return [self._job_flow_id] if self._job_flow_id else []

    def _namesakes(self) -> list[str]:
        return live_job_flows(self._emr, self.name.__eq__)

    def _adopt(self) -> str | None:
        """Take over the job flow of an earlier try, if one will do; end all others."""
        kept = None
        digest, least_seconds = _digest_of(self.spec), self.spec.time_to_live_seconds / 2
        for one in self._namesakes():
            job_flow = describe(self._emr, one)
            will_do = job_flow.tags.get(SPEC_TAG) == digest and job_flow.seconds_left > least_seconds
            if kept is None and will_do:
                kept = one
                log.info("Taking over job flow %s, which an earlier try has started", one)
            else:
                log.info("Ending job flow %s, which an earlier try has started", one)
                end(self._emr, [one])
        return kept

    def _run(self) -> str:
        now = time_of(self._emr.list_clusters(ClusterStates=["STARTING"]))  # whatever it lists
        expires_at = now + timedelta(seconds=self.spec.time_to_live_seconds)
        request = _job_flow_request(self.spec, self.identity, expires_at)
        self._require_wanted()
        self._job_flow_id = job_flow_id = str(self._emr.run_job_flow(**request)["JobFlowId"])
        # Killed meanwhile: whoever ended the cluster could not see it yet.
        self._require_wanted()
        log.info("EMR starts job flow %s (%s)", job_flow_id, self.name)
        twins = [one for one in self._namesakes() if one != job_flow_id]
        if twins:
            log.warning("Ending %s: a repeated request has started more than one job flow", ", ".join(twins))
            end(self._emr, twins)
        return job_flow_id

    def _wait_until_ready(self, job_flow_id: str) -> JobFlow:
        state = ""
        began = time.monotonic()
        while True:
            waited = time.monotonic() - began
            self._require_wanted()
            job_flow = unless_busy(lambda: describe(self._emr, job_flow_id))
            if job_flow is not None:
                if job_flow.state != state:
                    state = job_flow.state
                    log.info("Job flow %s: %s after %s", job_flow_id, state, duration(round(waited)))
                if state in READY_STATES:
                    return job_flow
                if not job_flow.is_alive:
                    raise ClusterStartError(
                        f"Job flow {job_flow_id} ended before it was ready: {job_flow.why}."
                    )
            if waited >= self.spec.start_timeout_seconds:
                raise ClusterStartError(
                    f"Job flow {job_flow_id} was not ready after {duration(round(waited))} "
                    f"(last: {state or 'none'}).",
                    remedy="Raise start_timeout_seconds, or look at the bootstrap actions' logs.",
                )
            self._pause()

    def _pause(self) -> None:
        until = time.monotonic() + self._poll_seconds
        while not self._is_unwanted and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))

    def _require_wanted(self) -> None:
        if self._is_unwanted:
            raise ClusterStartError(f"EMR cluster {self.name} was ended while it started.")

    def _end_failed_start(self, error: BaseException) -> None:
        """End what was started; where that fails, too, the first error passes on nevertheless.

        Raises:
            ClusterError: instead of an error that another attempt cannot help: the next attempt finds the
                job flow that may live on. After a failed setup no teardown comes.
        """
        try:
            log.info("The start of EMR cluster %s failed: %s", self.name, self.terminate())
        except Exception as failure:
            own = self._job_flow_id
            log.error(
                "A JOB FLOW MAY BE LEFT RUNNING: %s of cluster %s. %s", own or "any", self.name, failure
            )
            if own and isinstance(error, ErnestError) and not error.retryable:
                raise ClusterError(
                    f"Job flow {own} may live on: it could not be ended. "
                    f"What had failed before: {error.message}",
                    remedy=f"{error.remedy} Where no other attempt comes, end it in EMR's console.".lstrip(),
                ) from error

    def _handle(self, job_flow: JobFlow, rooms: Mapping[str, Machine]) -> ClusterHandle:
        """Its name is the job flow's id, its directory where event logs are written."""
        spec, emr = self.spec, self._emr
        room = rooms[spec.instance_type]
        worker = replace(
            room,
            cores=spec.cores_per_machine or room.cores,
            memory_megabytes=spec.memory_megabytes_per_machine or room.memory_megabytes,
            price_per_hour=spec.price_per_hour,
        )
        workers = running_instances(emr, job_flow.id, "CORE")
        if len(workers) < spec.machines:
            raise ClusterStartError(
                f"Job flow {job_flow.id} has {len(workers)} core instances; asked for were {spec.machines}."
            )
        masters = running_instances(emr, job_flow.id, "MASTER")
        expires_at = job_flow.expires_at
        return ClusterHandle(
            kind=EMR,
            name=job_flow.id,
            master_url="yarn",
            machines=tuple(_identified(worker, one) for one in workers),
            instance_type=spec.instance_type,
            cores_per_machine=worker.cores,
            expires_at=expires_at.isoformat(timespec="seconds") if expires_at else None,
            directory=spec.event_log_uri.rstrip("/"),
            python=spec.python,
            aws_conn_id=self._aws_conn_id,
            region=emr.meta.region_name,
            master=_identified(rooms[spec.type_of_master], masters[0]) if masters else None,
        )


class RunningJobFlow:
    """A job flow that is known by its handle, to be ended from another process.

    Raises:
        ClusterError: the handle is that of another kind of cluster.
        InvalidParameterError: its name is no id of a job flow.
    """

    def __init__(self, handle: ClusterHandle, *, client: ClientMaker) -> None:
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
        self.handle = handle
        self._client = client

    def terminate(self) -> str:
        """End the job flow, and all others of the same name. Repeatable. Returns what was done, for the log.

        Raises:
            ClusterError: EMR does not know it, it would not end, or AWS does not answer.
            InvalidParameterError: of parameter ``cluster``: the job flow is not ours.
            MissingResourceError: a permission is missing.
        """
        emr = self._client("emr")
        with explained("end a job flow of EMR"):
            job_flow = describe(emr, self.handle.name)
            name = job_flow.require_ours()
            own = [job_flow.id] if job_flow.is_alive else []
            alive = list(dict.fromkeys([*own, *live_job_flows(emr, name.__eq__)]))
            if not alive:
                return f"nothing to do, no job flow of it is alive; {job_flow.id} ended: {job_flow.why}"
            end(emr, alive)
        return f"ended {', '.join(alive)}"


def find_job_flows(emr: Any, *, deployment: str | None) -> tuple[JobFlow, ...]:
    """The live job flows that this package has started, the newest first.

    One request for each page of live job flows (ListClusters tells no tags), and one for each that has a
    name of ours. The tag decides: a name may be anyone's.

    Args:
        emr: a boto3 client, of the region to look through.
        deployment: whose; None for those of all deployments.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    prefix = _NAME_PREFIX if deployment is None else f"{_NAME_PREFIX}{deployment}-"
    with explained("look for job flows of EMR"):
        found = [describe(emr, one) for one in live_job_flows(emr, lambda name: name.startswith(prefix))]
    return tuple(
        one
        for one in found
        if one.is_alive and one.cluster_name and deployment in (None, one.tags.get(DEPLOYMENT_TAG))
    )


def reap_job_flows(emr: Any, *, deployment: str | None, dry_run: bool) -> tuple[JobFlow, ...]:
    """End the job flows whose time is over by AWS's clock, and make sure that they end; see `find_job_flows`.

    Returns:
        Those that were, or in a dry run would be, ended.

    Raises:
        ClusterError: one of them would not end, or AWS does not answer.
        MissingResourceError: a permission is missing.
    """
    expired = tuple(one for one in find_job_flows(emr, deployment=deployment) if one.is_expired)
    if expired and not dry_run:
        with explained("end job flows of EMR"):
            end(emr, [one.id for one in expired])
    return expired


@dataclass(frozen=True)
class JobFlow:
    """A job flow, as EMR describes it, for two months after its end.

    Attributes:
        description: DescribeCluster's.
        as_of: when EMR gave it, by AWS's clock; with time zone.
    """

    description: Mapping[str, Any]
    as_of: datetime

    @property
    def id(self) -> str:
        """EMR's."""
        return str(self.description["Id"])

    @property
    def state(self) -> str:
        """EMR's word."""
        return str(self.description["Status"]["State"])

    @property
    def is_alive(self) -> bool:
        """Whether it costs money and is not on its way to its end."""
        return self.state in LIVE_STATES

    @property
    def tags(self) -> dict[str, str]:
        """All of them, such as ernest:dag and ernest:run."""
        return {tag["Key"]: tag.get("Value", "") for tag in self.description.get("Tags", ())}

    @property
    def cluster_name(self) -> str:
        """Of the task that owns it, by its tag; empty where it has none."""
        return self.tags.get(CLUSTER_TAG, "")

    @property
    def expires_at(self) -> datetime | None:
        """By its tag; None where that cannot be read."""
        try:
            expires_at = datetime.fromisoformat(self.tags[EXPIRY_TAG])
        except (KeyError, ValueError):
            return None
        return expires_at if expires_at.tzinfo else None

    @property
    def is_expired(self) -> bool:
        """Whether it should have ended."""
        return self.expires_at is not None and self.expires_at <= self.as_of

    @property
    def seconds_left(self) -> float:
        """Until it expires; 0 where its tag does not tell when."""
        return (self.expires_at - self.as_of).total_seconds() if self.expires_at else 0.0

    @property
    def why(self) -> str:
        """Why it came into its state, in EMR's words, and where its logs lie."""
        reason = self.description["Status"].get("StateChangeReason") or {}
        words = ": ".join(str(reason[part]) for part in ("Code", "Message") if reason.get(part))
        logs = f"; logs below {self.description['LogUri']}" if self.description.get("LogUri") else ""
        return f"{words or 'EMR tells no reason'}{logs}"

    def require_ours(self) -> str:
        """The name of the cluster that it is, by name and tag.

        Raises:
            InvalidParameterError: this package has not started it, so nobody may reach it by naming it.
        """
        if self.cluster_name != self.description.get("Name"):
            raise InvalidParameterError(
                "cluster",
                self.id,
                "is no job flow that this package has started",
                remedy="Pass the output of the task that started the cluster unchanged.",
            )
        deployment_of(self.cluster_name)
        return self.cluster_name

    def to_dict(self) -> dict[str, Any]:
        """What commands show of it, as JSON-compatible builtins."""
        return {
            "id": self.id,
            "cluster_name": self.cluster_name,
            "state": self.state,
            "expires_at": self.expires_at.isoformat() if self.expires_at else None,
            "expired": self.is_expired,
            "tags": self.tags,
        }


def describe(emr: Any, job_flow_id: str) -> JobFlow:
    """What EMR says of a job flow.

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


def live_job_flows(emr: Any, is_wanted: Callable[[str], bool]) -> list[str]:
    """The ids of the job flows that have not been ended and have a name that is wanted, the newest first."""
    pages = emr.get_paginator("list_clusters").paginate(ClusterStates=list(LIVE_STATES))
    found = [one for page in pages for one in page["Clusters"] if is_wanted(one["Name"])]
    found.sort(key=lambda one: one["Status"]["Timeline"]["CreationDateTime"], reverse=True)
    return [one["Id"] for one in found]


def request_end(emr: Any, job_flow_ids: Sequence[str]) -> None:
    """Ask EMR to end job flows, without waiting."""
    for first in range(0, len(job_flow_ids), _JOB_FLOWS_PER_CALL):
        emr.terminate_job_flows(JobFlowIds=list(job_flow_ids[first : first + _JOB_FLOWS_PER_CALL]))


def end(emr: Any, job_flow_ids: Sequence[str], *, wait_seconds: float = END_SECONDS) -> None:
    """End job flows and wait until EMR says of each that it is ending: from then on nothing keeps it.

    Raises:
        ClusterError: one of them is still alive; its id is named.
    """
    request_end(emr, job_flow_ids)
    deadline = time.monotonic() + wait_seconds
    alive = list(job_flow_ids)
    while True:
        alive = [one for one in alive if _may_live(emr, one)]
        if not alive:
            return
        if time.monotonic() >= deadline:
            raise ClusterError(
                f"EMR was asked to end {', '.join(alive)}, and has not begun after "
                f"{duration(round(wait_seconds))}.",
                remedy="See whether somebody protected it from termination, and end it in EMR's console.",
            )
        time.sleep(_END_POLL_SECONDS)


def _may_live(emr: Any, job_flow_id: str) -> bool:
    try:
        job_flow = unless_busy(lambda: describe(emr, job_flow_id))
    except ClusterError:  # one that has just been started, which EMR does not describe yet
        return True
    return job_flow is None or job_flow.is_alive


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
        market="on-demand",
    )


def _digest_of(spec: EmrClusterSpec) -> str:
    """The same for the same specification, in any process: tells whether a job flow may be taken over."""
    return hashlib.sha256(json.dumps(spec.to_dict(), sort_keys=True).encode()).hexdigest()[:32]


def _job_flow_request(
    spec: EmrClusterSpec, identity: ClusterIdentity, expires_at: datetime
) -> dict[str, Any]:
    """The arguments of RunJobFlow (Amazon EMR API Reference).

    The job flow stays alive without steps, since those come later, one for each sample run, and one at a
    time: runs at once would share machines that each of them takes for its own.
    """
    attempt = Attempt.of_start(identity)
    ours = attempt.tags(role=ROLE, expires_at=expires_at, specification=_digest_of(spec))
    tags = {**{name: tag_value(value) for name, value in spec.tags.items()}, **ours}
    actions = [
        {"Name": one.name, "ScriptBootstrapAction": {"Path": one.path, "Args": list(one.arguments)}}
        for one in spec.bootstrap_actions
    ]
    optional = {
        "BootstrapActions": actions,
        "Configurations": [dict(one) for one in spec.configurations],
        "SecurityConfiguration": spec.security_configuration,
    }
    return {
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
        "Tags": [{"Key": name, "Value": value} for name, value in tags.items()],
        **{name: value for name, value in optional.items() if value},
    }


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


_MEGABYTES_PER_GIGABYTE = 1024
_YARN_SHARE = 0.75
_APPLICATION_MASTER_MEGABYTES = 1024
_EXECUTOR_OVERHEAD = 0.1
_LEAST_OVERHEAD_MEGABYTES = 384


def executor_rooms(emr: Any, release_label: str, names: set[str]) -> dict[str, Machine]:
    """What one executor that fills a machine may take on some types, by EMR's ListSupportedInstanceTypes.

    EMR gives YARN three quarters of a machine's memory, and more on large ones (Amazon EMR Release Guide,
    "Task configuration": yarn.nodemanager.resource.memory-mb). On one of the machines the application
    master takes 1 GB of it, and each executor has a tenth of its heap beside it
    (spark.executor.memoryOverheadFactor), at least 384 MB. What remains is more than half, so that no two
    executors of a run come to lie on one machine.

    Raises:
        InvalidParameterError: the release does not support a type.
    """
    found: dict[str, Machine] = {}
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


def _room(facts: Mapping[str, Any]) -> Machine:
    yarn = _YARN_SHARE * facts["MemoryGB"] * _MEGABYTES_PER_GIGABYTE
    executor = yarn - _APPLICATION_MASTER_MEGABYTES
    heap = min(executor / (1 + _EXECUTOR_OVERHEAD), executor - _LEAST_OVERHEAD_MEGABYTES)
    return Machine(cores=int(facts["VCPU"]), memory_megabytes=int(heap))
