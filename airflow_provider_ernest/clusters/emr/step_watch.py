"""Following a step of a job flow to its end."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.emr import job_flows
from airflow_provider_ernest.exceptions import ClusterLostError, SampleRunError

if TYPE_CHECKING:
    import threading

    from airflow_provider_ernest.spark.run_watch import RunLimits

_LOST_STATES = ("CANCELLED", "INTERRUPTED", "CANCEL_PENDING")


class StepWatch:
    """Waits for the end of a step, bounded.

    Args:
        emr: a boto3 client of EMR.
        job_flow_id: whose step it is.
        step_id: EMR's id of it.
        limits: how long it may wait for those before it, and how long it may take then.
        deadline: when it must have ended, in seconds since the epoch, even if EMR does not answer any more.
        ending: set by whoever wants to end the run.
        log: the logger that progress goes to.
        poll_seconds: between two questions for its state.
    """

    def __init__(
        self,
        emr: Any,
        *,
        job_flow_id: str,
        step_id: str,
        limits: RunLimits,
        deadline: float,
        ending: threading.Event,
        log: Any,
        poll_seconds: float,
    ) -> None:
        self._emr = emr
        self._job_flow_id = job_flow_id
        self._step_id = step_id
        self._limits = limits
        self._deadline = deadline
        self._ending = ending
        self._log = log
        self._poll_seconds = poll_seconds
        self._state = ""
        self._added_at = time.monotonic()
        self._running_since: float | None = None

    def wait(self) -> float:
        """Wait until the step has completed; returns the seconds that it waited for those before it.

        Raises:
            SampleRunError: it failed, passed a limit, was cancelled, or is to be ended.
            ClusterLostError: its job flow has ended.
        """
        while True:
            if self._ending.is_set():
                raise SampleRunError("The run was ended: its task was killed.")
            step = self._describe()
            if step is not None:
                self._note_state(step["Status"]["State"])
                if self._state == "COMPLETED":
                    return _waited_seconds(step)
                self._require_alive(step)
            self._keep_limits()
            self._ending.wait(self._poll_seconds)

    def _describe(self) -> dict[str, Any] | None:
        """The step; None where EMR does not answer now."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answer = self._emr.describe_step(ClusterId=self._job_flow_id, StepId=self._step_id)
        except (BotoCoreError, ClientError) as error:
            if not job_flows.is_busy(error):
                raise
            return None
        step: dict[str, Any] = answer["Step"]
        return step

    def _note_state(self, state: str) -> None:
        if state == self._state:
            return
        self._log.info("Step %s: %s", self._step_id, state)
        self._state = state
        if state == "RUNNING":
            self._running_since = time.monotonic()

    def _require_alive(self, step: dict[str, Any]) -> None:
        if self._state == "FAILED":
            raise SampleRunError(
                f"Step {self._step_id} of job flow {self._job_flow_id} failed: {_why(step)}.",
                remedy="The driver's output is in the step's stderr there.",
            )
        if self._state in _LOST_STATES:
            job_flow = job_flows.describe(self._emr, self._job_flow_id)
            if job_flows.state_of(job_flow) not in job_flows.READY_STATES:
                raise lost_job_flow(job_flow)
            raise SampleRunError(f"Step {self._step_id} is {self._state}: {_why(step)}.")

    def _keep_limits(self) -> None:
        limits, now = self._limits, time.monotonic()
        if self._running_since is None:
            if now - self._added_at > limits.wait_seconds:
                raise SampleRunError(
                    f"The run was ended: its step did not begin within {limits.wait_seconds:.0f} s.",
                    remedy="EMR runs one step at a time: let fewer runs be active at once.",
                )
        elif limits.run_seconds is not None and now - self._running_since > limits.run_seconds:
            raise SampleRunError(
                f"The run was ended: it took longer than run_timeout_seconds={limits.run_seconds:.0f}."
            )
        if time.time() > self._deadline:
            until = datetime.fromtimestamp(self._deadline, UTC).isoformat(timespec="seconds")
            raise SampleRunError(
                f"The run was ended: step {self._step_id} of job flow {self._job_flow_id} had time until "
                f"{until}, and was {self._state or 'in a state that EMR did not tell'} when last heard of.",
                remedy="Raise time_to_live_seconds of the cluster, or make fewer or smaller sample runs.",
            )


def lost_job_flow(job_flow: dict[str, Any]) -> ClusterLostError:
    """The error of a job flow that has ended while it was needed, in EMR's words."""
    state, why = job_flows.state_of(job_flow), job_flows.why_changed(job_flow)
    return ClusterLostError(
        f"Job flow {job_flow['Id']} takes no steps, it is {state}: {why}.",
        remedy="Clear the task that starts the cluster to have it start anew.",
    )


def _waited_seconds(step: dict[str, Any]) -> float:
    timeline = step["Status"].get("Timeline", {})
    created, started = timeline.get("CreationDateTime"), timeline.get("StartDateTime")
    return max(0.0, (started - created).total_seconds()) if created and started else 0.0


def _why(step: dict[str, Any]) -> str:
    """What EMR tells of a step's end, and where its log lies."""
    details = step["Status"].get("FailureDetails") or {}
    reason = step["Status"].get("StateChangeReason") or {}
    told = [details.get("Reason"), details.get("Message"), reason.get("Message")]
    words = ": ".join(dict.fromkeys(str(one).rstrip(".") for one in told if one)) or "EMR tells no reason"
    return f"{words}; its log is {details['LogFile']}" if details.get("LogFile") else words
