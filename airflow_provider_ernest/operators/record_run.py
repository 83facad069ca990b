"""The record of a production run that another operator made, beside what was predicted of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.settings.values import (
    Number,
    optional_number,
    optional_text,
    optional_whole_number,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.decisions import Decision
    from airflow_provider_ernest.spark.runs import TimedRun


_MOST_LOOKED_INTO = 200
"""Event logs in a folder that are opened to find a run's, the newest first."""


class RecordRunOperator(EmitsLineage, BaseOperator):
    """Record what a production run took beside what was predicted, whatever operator ran it.

    .. code-block:: python

        production = SparkSubmitOperator(task_id="production", conf=ernest.job_conf(), ...)
        record = RecordRunOperator(
            task_id="record_run", decision=ernest.decision, production_task_id="production",
            application="job.py"
        )
        ernest >> production >> record

    An `ErnestSparkSubmitOperator` with a decision records by itself.

    The run's time comes, in this order, from `seconds`; from Spark's event log (the work's own time plus the
    predicted start-up, or a longer one that the log shows); or from Airflow's duration of the last try of
    `production_task_id`. A task that is mapped, was skipped or failed is not recorded.

    The record, a `ProductionRun` document, is stored, returned, and pushed as ``production_run``. Then the
    model learns: a new one is fitted to the sample runs and to production, and saved beside it. If production
    misses the model's intervals more often than chance allows (see `learning.freshness`), the model is marked
    as stale instead, the `on_stale` callbacks are called, and the next DAG run makes sample runs again.

    Never fails the task: whatever prevents the record is a warning.

    Args:
        decision: `DecisionRecord` document that the run went by, ``ernest.decision``, also as JSON text.
        production_task_id: the task in the same DAG run that ran production, with its group's id; None if
            `seconds` or `event_log` are given.
        application: path of the JAR or .py file that ran; None to take the hash from the `FindModelOperator`.
        submit_options: what it was submitted with: py_files and jars belong to its hash.
        seconds: from submission to end, a number or a template.
        executors: that it ran on; None for those in the event log, or else those decided on.
        event_log: Spark's event log of the run, or its folder: a path or any URL of Airflow's object storage.
        application_id: Spark's id of the run, to find its log in a folder with others; not needed if
            production got `job_conf`, by which its log names the task.
        on_stale: callables or Airflow notifiers, called if the model no longer holds for the job.
    """

    template_fields: Sequence[str] = (
        "decision",
        "production_task_id",
        "application",
        "submit_options",
        "seconds",
        "executors",
        "event_log",
        "application_id",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#d5e4f7"

    def __init__(
        self,
        *,
        decision: Any,
        production_task_id: str | None = None,
        application: str | None = None,
        submit_options: Mapping[str, Any] | None = None,
        seconds: Number | None = None,
        executors: Number | None = None,
        event_log: str | None = None,
        application_id: str | None = None,
        on_stale: Any = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.decision = decision
        self.production_task_id = production_task_id
        self.application = application
        self.submit_options = submit_options
        self.seconds = seconds
        self.executors = executors
        self.event_log = event_log
        self.application_id = application_id
        self.on_stale = on_stale

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Return the record; None if there is none."""
        from airflow_provider_ernest.operators.recording import Recording

        production = Recording(
            decision=self.decision,
            application=optional_text(self.application),
            submit_options=self.submit_options or {},
            on_stale=self.on_stale,
            context=context,
            log=self.log,
        ).record(lambda decision: self._timed(decision, context))
        self.add_lineage(*([production] if production else ()))
        return production.to_dict() if production is not None else None

    def _timed(self, decision: Decision, context: Context) -> TimedRun:
        """How the run went; numbers may be texts. An `UntimedRunError` if nothing tells, or it was no run."""
        from airflow_provider_ernest.operators.recording import UntimedRunError
        from airflow_provider_ernest.spark.runs import TimedRun

        seconds = optional_number("seconds", self.seconds)
        executors = optional_whole_number("executors", self.executors)
        logged = self._logged(decision, executors, context) if optional_text(self.event_log) else None
        # Always asked: a task that was skipped or failed made no run, whatever is stated of it.
        task_id = optional_text(self.production_task_id)
        of_task = self._of_task(task_id, context) if task_id else None
        if logged is not None and seconds is not None:
            # The whole time as stated, that of the work itself as logged.
            work = logged.run_seconds if (logged.run_seconds or 0.0) <= seconds else None
            startup = None if work is None else seconds - work
            return replace(logged, seconds=seconds, run_seconds=work, startup_seconds=startup)
        if logged is not None:
            return logged
        taken = of_task if seconds is None else seconds
        if taken is None or not taken > 0:
            raise UntimedRunError(
                "how long it took is not known: give its seconds, its event_log or its production_task_id"
            )
        return TimedRun(
            executors=executors or decision.config.executors,
            seconds=taken,
            application_id=optional_text(self.application_id),
        )

    def _logged(self, decision: Decision, executors: int | None, context: Context) -> TimedRun | None:
        # The log begins with the driver, not with the submission: the predicted start-up counts, unless the
        # log shows a longer one.
        from airflow_provider_ernest.operators.recording import timed_by_log
        from airflow_provider_ernest.operators.task_context import owner_of

        application_id = optional_text(self.application_id)
        task_id = optional_text(self.production_task_id)
        began_at = getattr(context.get("dag_run"), "start_date", None)
        event_log = _log_in(
            str(self.event_log),
            application_id,
            owner=owner_of(context, task_id=task_id) if task_id else None,
            since=began_at.timestamp() if began_at else 0.0,
        )
        asked = executors or decision.config.executors
        timed = timed_by_log(event_log, submitted_at=None, executors=asked, log=self.log)
        if timed is None:
            return None
        if application_id and timed.application_id != application_id:
            self.log.warning("The event log is of %s, not of %s.", timed.application_id, application_id)
            return None
        startup = max(timed.startup_seconds or 0.0, decision.startup_seconds or 0.0)
        return replace(
            timed,
            executors=executors or timed.executors,
            seconds=startup + (timed.run_seconds or 0.0),
            startup_seconds=startup,
            event_log=str(event_log),
        )

    def _of_task(self, task_id: str, context: Context) -> float | None:
        """Airflow's duration of a task in this DAG run; None if unknown."""
        from airflow_provider_ernest.operators.recording import UntimedRunError

        instance: Any = context["ti"]
        try:
            ended = instance.get_task_breadcrumbs(instance.dag_id, instance.run_id)
            rows = [row for row in ended if row.get("task_id") == task_id]
        # Not every version of Airflow has this call.
        except Exception as error:
            what = "Airflow does not tell how long the task %s ran: %s: %s"
            self.log.warning(what, task_id, type(error).__name__, error)
            return None
        if not rows:
            raise UntimedRunError(f"the task {task_id} has not ended in this DAG run, or does not exist")
        if len(rows) > 1 or rows[0].get("map_index", -1) not in (-1, None):
            raise UntimedRunError(
                f"the task {task_id} is mapped: its {len(rows)} runs are not the one that was decided on"
            )
        if rows[0].get("state") != "success":
            raise UntimedRunError(f"the task {task_id} ended as {rows[0].get('state')}")
        duration = rows[0].get("duration")
        return None if duration is None else float(duration)


def _log_in(event_log: str, application_id: str | None, *, owner: str | None, since: float) -> Any:
    """The event log at a place, or in a folder: the application's, that of a task (`owner`), or the only one.

    Of the logs that were written to `since` then, the newest one of the task is that of its last try.
    """
    from airflow_provider_ernest.eventlog.files import application_of_name, is_rolled
    from airflow_provider_ernest.eventlog.reading import property_of
    from airflow_provider_ernest.places import place_of
    from airflow_provider_ernest.spark.sizing import TASK_PROPERTY

    try:
        place = place_of(event_log)
        inside = {str(each.place.name): each for each in place.entries()}
    # It is a file, or cannot be read; then whoever reads it says why.
    except Exception:
        return event_log
    inside = {name: each for name, each in inside.items() if not name.startswith(".")}
    found = [each.place for each in inside.values()]
    if application_id:
        found = [inside[name].place for name in inside if application_of_name(name) == application_id]
    elif owner and len(inside) > 1 and not is_rolled(inside):
        times = [(each.modified_at or math.inf, each.place) for each in inside.values()]
        newest = sorted((each for each in times if each[0] >= since), key=lambda each: -each[0])
        places = (place for _, place in newest[:_MOST_LOOKED_INTO])
        found = [next((each for each in places if property_of(each, TASK_PROPERTY) == owner), place)]
    return found[0] if len(found) == 1 else place
