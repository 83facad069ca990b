"""A job flow of Amazon EMR for the time of a training.

EMR has no token that makes RunJobFlow idempotent. So a job flow bears the name of the task that owns it,
and whatever bears that name is looked for before a start, after it, and at its end.
"""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EMR
from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.ec2.guarding import from_signal_handler
from airflow_provider_ernest.clusters.emr import job_flows
from airflow_provider_ernest.clusters.emr.handle import handle_of
from airflow_provider_ernest.clusters.emr.instance_types import executor_rooms
from airflow_provider_ernest.clusters.emr.request import has_specification, job_flow_request
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    ErnestError,
    InvalidParameterError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec

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
            job_flows.request_end(self._emr, self._own)
            alive = self._alive()
            if not alive:
                return f"nothing to do, no job flow of it is alive{self._last_words()}"
            job_flows.end(self._emr, alive)
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
            job_flows.request_end(self._emr, alive)
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
            known = job_flows.describe(self._emr, self.job_flow_id)
            self.name = job_flows.require_ours(known)
            if job_flows.state_of(known) in job_flows.LIVE_STATES:
                alive.append(self.job_flow_id)
        named = self._live_namesakes()
        return alive + [one for one in named if one not in alive]

    def _live_namesakes(self) -> list[str]:
        return job_flows.live_job_flows(self._emr, self.name.__eq__) if self.name else []

    def _last_words(self) -> str:
        if self.job_flow_id is None:
            return ""
        return f"; {self.job_flow_id} ended: {self._why()}"

    def _why(self) -> str:
        return job_flows.why_changed(job_flows.describe(self._emr, str(self.job_flow_id)))

    def _adopt(self, launch: EmrLaunch) -> str | None:
        kept = None
        least_seconds = launch.spec.time_to_live_seconds / 2
        for job_flow_id in self._live_namesakes():
            job_flow = job_flows.describe(self._emr, job_flow_id)
            same = has_specification(job_flow, launch.spec)
            if kept is None and same and job_flows.seconds_left(job_flow) > least_seconds:
                kept = job_flow_id
                log.info("Taking over job flow %s, which an earlier try has started", job_flow_id)
            else:
                log.info("Ending job flow %s, which an earlier try has started", job_flow_id)
                job_flows.end(self._emr, [job_flow_id])
        return kept

    def _run(self, launch: EmrLaunch) -> str:
        expires_at = job_flows.time_at_aws(self._emr) + timedelta(seconds=launch.spec.time_to_live_seconds)
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
            job_flows.end(self._emr, twins)
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
                job_flow = job_flows.describe(self._emr, job_flow_id)
            except (BotoCoreError, ClientError) as error:
                if not job_flows.is_busy(error):
                    raise
            else:
                state = job_flows.state_of(job_flow)
                if state != told:
                    log.info("Job flow %s: %s after %.0f s", job_flow_id, state, waited)
                    told = state
                if state in job_flows.READY_STATES:
                    return job_flow
                if state not in job_flows.LIVE_STATES:
                    why = job_flows.why_changed(job_flow)
                    raise ClusterStartError(f"Job flow {job_flow_id} ended before it was ready: {why}.")
            if waited >= launch.spec.start_timeout_seconds:
                raise ClusterStartError(
                    f"Job flow {job_flow_id} was not ready after {waited:.0f} s (last: {told or 'none'}).",
                    remedy="Raise start_timeout_seconds, or look at the bootstrap actions' logs.",
                )
            self._pause(launch.poll_seconds)
