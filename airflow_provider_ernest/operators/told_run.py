"""How long a run took that another task made: as stated, by its event log, or as Airflow saw its task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.addresses import without_credentials
from airflow_provider_ernest.operators.rendered import optional_number, optional_whole_number
from airflow_provider_ernest.operators.timed_run import TimedRun, UntimedRunError, timed_by_log
from airflow_provider_ernest.spark.log_reading.log_names import ROLLED_PREFIX, is_rolled
from airflow_provider_ernest.spark.log_reading.places import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Context

    from airflow_provider_ernest.model.results import Decision

SUCCESS = "success"


@dataclass(frozen=True, kw_only=True)
class ToldRun:
    """What is told of a run.

    Attributes:
        seconds: from submission to end, a number or the text of one; None where nobody states it.
        machines: that it ran on, likewise.
        event_log: of it, or the folder that it is in.
        application_id: Spark's id of it.
        task_id: of the task that made it, in the same DAG run.
    """

    seconds: Any = None
    machines: Any = None
    event_log: str | None = None
    application_id: str | None = None
    task_id: str | None = None

    def timed(self, decision: Decision, *, context: Context, log: Any) -> TimedRun:
        """How the run went.

        Args:
            decision: that it ran by.
            context: of the task that asks.
            log: the logger that tells why the event log is not used.

        Raises:
            UntimedRunError: nobody knows, or the task was no such run.
            InvalidParameterError: a number is none.
        """
        seconds = optional_number("seconds", self.seconds)
        machines = optional_whole_number("machines", self.machines)
        logged = self._by_log(decision, machines, log) if self.event_log else None
        # Asked in any case: a run of a task that was skipped or has failed is none, whatever is told of it.
        of_task = self._of_task(context, log, is_needed=seconds is None and logged is None)
        if logged is not None:
            return logged if seconds is None else _with_seconds(logged, seconds)
        taken = of_task if seconds is None else seconds
        if taken is None or not taken > 0:
            raise UntimedRunError(
                "how long it took is not known: give its seconds, its event_log or its production_task_id"
            )
        return TimedRun(
            machines=machines or decision.config.machines, seconds=taken, application_id=self.application_id
        )

    def _by_log(self, decision: Decision, machines: int | None, log: Any) -> TimedRun | None:
        try:
            event_log = self._log()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            why = f"{type(error).__name__}: {without_credentials(str(error))}"
            log.warning("The event log %s cannot be used: %s", without_credentials(self.event_log or ""), why)
            return None
        if event_log is None:
            log.warning(
                "Which of the event logs in %s is that of this run cannot be told.",
                without_credentials(self.event_log or ""),
            )
            return None
        return timed_by_log(event_log, decision, machines=machines, log=log)

    def _log(self) -> Any:
        """The log; in a folder that of the application, or the only one; None where there is no one such."""
        place = place_of(self.event_log or "")
        if place.name.startswith(ROLLED_PREFIX) or not place.is_dir():
            return place
        logs = [path for path in place.iterdir() if not str(path.name).startswith(".")]
        if is_rolled(path.name for path in logs):
            return place
        if self.application_id:
            # Attempts and codecs follow the id, as in application_1_0001_1.lz4.
            begins = (f"{self.application_id}_", f"{self.application_id}.", f"{self.application_id}/")
            logs = [path for path in logs if f"{path.name.removeprefix(ROLLED_PREFIX)}/".startswith(begins)]
        return logs[0] if len(logs) == 1 else None

    def _of_task(self, context: Context, log: Any, *, is_needed: bool) -> float | None:
        """The seconds that Airflow saw the task run; None where it does not say, or is not asked.

        Raises:
            UntimedRunError: it is mapped, was skipped or has failed.
        """
        if not self.task_id:
            return None
        instance: Any = context["ti"]
        try:
            told = instance.get_task_breadcrumbs(instance.dag_id, instance.run_id)
            rows = [row for row in told if row.get("task_id") == self.task_id]
        # Not every version of Airflow has this call.
        except Exception as error:
            tell = log.warning if is_needed else log.info
            tell(
                "Airflow does not tell how long the task %s ran: %s: %s",
                self.task_id,
                type(error).__name__,
                error,
            )
            return None
        return _seconds_of(self.task_id, rows)


def _seconds_of(task_id: str, rows: list[Mapping[str, Any]]) -> float | None:
    if not rows:
        raise UntimedRunError(f"the task {task_id} has not ended in this run of the DAG, or there is none")
    if len(rows) > 1 or rows[0].get("map_index", -1) not in (-1, None):
        raise UntimedRunError(
            f"the task {task_id} is mapped: its {len(rows)} runs are not the one that was decided on"
        )
    state = str(rows[0].get("state"))
    if state != SUCCESS:
        raise UntimedRunError(f"the task {task_id} has ended as {state}")
    duration = rows[0].get("duration")
    return None if duration is None else float(duration)


def _with_seconds(logged: TimedRun, seconds: float) -> TimedRun:
    """With the whole time as it was stated, and the work's own as it was logged."""
    if logged.run_seconds is None or logged.run_seconds > seconds:
        return replace(logged, seconds=seconds, run_seconds=None, startup_seconds=None)
    return replace(logged, seconds=seconds, startup_seconds=seconds - logged.run_seconds)
