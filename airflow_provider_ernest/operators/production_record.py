"""Record a finished production run, and let its model learn from it.

`Recording.record` is the flow: how the run went (`timed_here` if this task submitted it, else `StatedRun`),
its record beside the prediction, the model's update or mark, the run's profile. The event log is read once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.decisions import (
    Alternative,
    ClusterBandwidth,
    DecisionRecord,
    ProductionRun,
)
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.documents.runs import RunConditions
from airflow_provider_ernest.eventlog.files import ROLLED_PREFIX, is_rolled
from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.find_model import artifact_hash
from airflow_provider_ernest.operators.recording import (
    keep,
    keep_marks,
    keep_profile,
    median_bandwidth,
    network_capacity,
    record_in_time,
)
from airflow_provider_ernest.operators.task_context import origin_of
from airflow_provider_ernest.places import place_of
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings.values import optional_document, optional_number, optional_whole_number
from airflow_provider_ernest.spark.observing import TimedRun, time_run
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.words import duration, machines, signed_percentage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow.sdk import Context

    from airflow_provider_ernest.documents.decisions import Decision
    from airflow_provider_ernest.eventlog.tables import EventLog
    from airflow_provider_ernest.spark.submit import SubmittedRun

FIND_MODEL = "find_model"
"""The task that looks at code and conditions first, in the group of the task that decides."""


class UntimedRunError(Exception):
    """How long a run took is unknown, so it cannot be recorded."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What to record: parameters of `RecordRunOperator`, with the context and logger of the task."""

    decision: Any
    context: Context
    log: Any
    application: str | None = None
    submit_options: Mapping[str, Any] = field(default_factory=dict)
    cluster: Any = None
    store: str | None = None
    learn: bool = True
    on_stale: Any = ()
    profile: bool = True

    def record(self, timed: Callable[[Decision], TimedRun]) -> ProductionRun | None:
        """Record a successful run in the store and as XCom ``production_run``, and learn from it.

        Never fails, because the run is done: failures are warnings. `timed` tells how the run went; it raises
        `UntimedRunError` if that is unknown.
        """
        try:
            decided = optional_document("decision", self.decision)
            if decided is None:
                raise UntimedRunError("its decision has left no record to read")
            record = DecisionRecord.from_dict(decided)
            run = timed(record.decision)
            production = self._production(run, record)
            self._log_run(production)
            self.context["ti"].xcom_push(key="production_run", value=production.to_dict())
            if not production.job:
                raise MissingResourceError(
                    "Its decision names no job.", remedy="Give the ChooseConfigOperator a job."
                )
        except UntimedRunError as untimed:
            self.log.warning("This production run is not recorded: %s.", untimed)
            return None
        # Anybody may write XComs, and any backend may keep them.
        except Exception as error:
            self.log.warning("This production run is not recorded: %s: %s", type(error).__name__, error)
            return None
        if keep(production, store=self.store, what="This production run", log=self.log):
            self._learn(production, record)
            # Last, because a profile may take long and continue in the background.
            if self.profile and run.log is not None:
                cores = production.conditions.cores_per_machine if production.conditions else None
                keep_profile(
                    production,
                    run.log,
                    job=production.job,
                    artifact_sha256=production.artifact_sha256,
                    iterations=record.iterations,
                    capacity=network_capacity(cores, production.bandwidth),
                    store=self.store,
                    log=self.log,
                )
        return production

    def _production(self, run: TimedRun, record: DecisionRecord) -> ProductionRun:
        decision = record.decision
        return ProductionRun(
            **new_stamp(),
            job=record.job,
            instance_type=record.instance_type,
            machines=run.machines,
            scale=record.scale,
            seconds=run.seconds,
            run_seconds=run.run_seconds,
            startup_seconds=run.startup_seconds,
            **_predicted(run.machines, decision),
            cost=_cost(decision, machines=run.machines, seconds=run.seconds),
            model_id=decision.model_id,
            decision_id=record.id,
            artifact_sha256=self._code(record),
            application_id=run.application_id,
            event_log=without_credentials(run.event_log) if run.event_log else None,
            origin=origin_of(self.context),
            conditions=self._conditions(record, run.spark),
            bandwidth=self._bandwidth(),
        )

    def _log_run(self, production: ProductionRun) -> None:
        self.log.info("The run took %s on %s.", duration(production.seconds), machines(production.machines))
        if production.predicted_seconds is not None:
            self.log.info(
                "Predicted: %s (error %s).",
                duration(production.predicted_seconds),
                signed_percentage(production.error_percent),
            )
        if production.is_unusual:
            self.log.warning("That is outside the 95 % range.")

    def _code(self, record: DecisionRecord) -> str | None:
        # Taken after the run, so as not to delay or hinder it.
        if not self.application:
            found = self._found(record, "artifact_sha256")
            return str(found) if found else None
        try:
            return artifact_hash(self.application, self.submit_options, log=self.log)
        except MissingResourceError as error:
            self.log.warning("The hash of the application cannot be taken: %s", error)
            return None

    def _conditions(self, record: DecisionRecord, spark: str | None) -> RunConditions | None:
        """As found at the beginning of this DAG run, with Spark's version from the run's log."""
        found = self._found(record, "conditions")
        of_type = found.get(record.instance_type) if isinstance(found, dict) else None
        conditions = RunConditions.from_dict(of_type) if of_type else RunConditions()
        # Releases of services, such as emr-7.5.0, cannot be compared with a version.
        if spark and (conditions.spark is None or conditions.spark[0].isdigit()):
            conditions = replace(conditions, spark=spark)
        return None if conditions == RunConditions() else conditions

    def _found(self, record: DecisionRecord, key: str) -> Any:
        """An XCom of `FIND_MODEL`, if the decision was made in this DAG run; else None."""
        origin, instance = record.origin, self.context["ti"]
        if origin is None or (origin.dag_id, origin.run_id) != (instance.dag_id, instance.run_id):
            return None
        group, _, _ = origin.task_id.rpartition(".")
        try:
            return instance.xcom_pull(task_ids=f"{group}.{FIND_MODEL}" if group else FIND_MODEL, key=key)
        # XComs are kept by any backend.
        except Exception as error:
            self.log.info("What was found at the beginning of the run cannot be read: %s", error)
            return None

    def _bandwidth(self) -> ClusterBandwidth | None:
        from airflow_provider_ernest.clusters.base import ClusterHandle

        try:
            given = optional_document("cluster", self.cluster)
            return median_bandwidth(ClusterHandle.from_dict(given).machines) if given else None
        # The run is done, and its record is worth more than a figure in it.
        except Exception as error:
            self.log.warning("The bandwidth of the cluster's machines is not recorded: %s", error)
            return None

    def _learn(self, production: ProductionRun, record: DecisionRecord) -> None:
        """Test the model that predicted a run, and let it learn from it or mark it.

        The newest model of the same lineage learns: a new one is saved beside it. If the runs show that the
        lineage no longer holds, it is marked once for each cause, so that the next DAG run makes sample runs.
        """
        if production.model_id is None or record.decision.composition:
            return
        marks: list[ModelMark] = []

        def follow() -> None:
            from airflow_provider_ernest.learning.production import lesson_of

            store = ModelStore(store_root(self.store))
            lesson = lesson_of(store, production, record, may_learn=self.learn)
            if lesson.told:
                self.log.info("%s", lesson.told)
            marks.extend([lesson.mark] if lesson.mark else ())

        record_in_time(follow, what="What the model learns from this run", log=self.log)
        keep_marks(marks, store=self.store, callbacks=self.on_stale, context=self.context, log=self.log)


def timed_here(run: SubmittedRun | None, decision: Decision, *, ended_at: float, log: Any) -> TimedRun:
    """How a run went that this task submitted, and saw end at `ended_at`, seconds since the epoch.

    Raises:
        UntimedRunError: the time that passed here is not the run's.
    """
    if run is None:
        raise UntimedRunError("nothing was submitted")
    if run.untimed_because:
        raise UntimedRunError(run.untimed_because)
    event_log = run.event_log
    if event_log is None:
        log.info("No event log of this run is on this host.")
    machines = decision.config.machines
    read, timed = _by_log(event_log, submitted_at=run.submitted_at, machines=machines, log=log)
    if timed is None:
        log.info("The run's time is that of spark-submit.")
        timed = TimedRun(machines=machines, seconds=ended_at - run.submitted_at, log=read)
    return replace(
        timed,
        application_id=timed.application_id or run.application_id,
        event_log=str(event_log) if event_log else None,
    )


def _by_log(
    event_log: Any, *, submitted_at: float | None, machines: int, log: Any
) -> tuple[EventLog | None, TimedRun | None]:
    """An event log, and how the run went by it; None, with a warning, for what cannot be used."""
    if event_log is None:
        return None, None
    try:
        read = read_run(event_log)
    # The libraries behind object stores raise errors of their own.
    except Exception as error:
        _warn_unusable(event_log, error, log)
        return None, None
    try:
        timed = time_run(read, submitted_at=submitted_at, machines=machines)
    # An application may have written anything into the folder.
    except Exception as error:
        log.warning("The event log of %s cannot be used: %s", read.application_id, error)
        return read, None
    for lost in read.lost:
        log.warning("The run lost %s; its time is recorded all the same.", lost)
    return read, timed


def _warn_unusable(event_log: Any, error: Exception, log: Any) -> None:
    address, why = without_credentials(str(event_log)), without_credentials(str(error))
    log.warning("The event log %s cannot be used: %s: %s", address, type(error).__name__, why)


@dataclass(frozen=True, kw_only=True)
class StatedRun:
    """A run that something else submitted, as the user states it; numbers may be texts.

    Attributes:
        seconds: from submission to end.
        event_log: the log, or the folder that it is in.
        task_id: of the task that made it, in the same DAG run.
    """

    seconds: Any = None
    machines: Any = None
    event_log: str | None = None
    application_id: str | None = None
    task_id: str | None = None

    def timed(self, decision: Decision, *, context: Context, log: Any) -> TimedRun:
        """Return how the run went.

        Raises:
            UntimedRunError: nothing tells, or the task made no such run.
        """
        seconds = optional_number("seconds", self.seconds)
        machines = optional_whole_number("machines", self.machines)
        logged = self._logged(decision, machines, log) if self.event_log else None
        # Always asked: a task that was skipped or failed made no run, whatever is stated of it.
        of_task = self._of_task(context, log, is_needed=seconds is None and logged is None)
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
            machines=machines or decision.config.machines, seconds=taken, application_id=self.application_id
        )

    def _logged(self, decision: Decision, machines: int | None, log: Any) -> TimedRun | None:
        # The log begins with the driver, not with the submission: the predicted start-up counts, unless the
        # log shows a longer one.
        try:
            event_log = self._log()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            _warn_unusable(self.event_log, error, log)
            return None
        if event_log is None:
            log.warning(
                "It is not known which of the event logs in %s is that of this run.",
                without_credentials(self.event_log or ""),
            )
            return None
        asked = machines or decision.config.machines
        _, timed = _by_log(event_log, submitted_at=None, machines=asked, log=log)
        if timed is None:
            return None
        startup = max(timed.startup_seconds or 0.0, decision.startup_seconds or 0.0)
        return replace(
            timed,
            machines=machines or timed.machines,
            seconds=startup + (timed.run_seconds or 0.0),
            startup_seconds=startup,
            event_log=str(event_log),
        )

    def _log(self) -> Any:
        """The log; in a folder the application's, or the only one; None if that is ambiguous."""
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
        """Airflow's duration of the task; None if it is unknown, or no task is named."""
        if not self.task_id:
            return None
        instance: Any = context["ti"]
        try:
            ended = instance.get_task_breadcrumbs(instance.dag_id, instance.run_id)
            rows = [row for row in ended if row.get("task_id") == self.task_id]
        # Not every version of Airflow has this call.
        except Exception as error:
            level = logging.WARNING if is_needed else logging.INFO
            what = "Airflow does not tell how long the task %s ran: %s: %s"
            log.log(level, what, self.task_id, type(error).__name__, error)
            return None
        if not rows:
            raise UntimedRunError(
                f"the task {self.task_id} has not ended in this run of the DAG, or does not exist"
            )
        if len(rows) > 1 or rows[0].get("map_index", -1) not in (-1, None):
            raise UntimedRunError(
                f"the task {self.task_id} is mapped: its {len(rows)} runs are not the one that was decided on"
            )
        state = str(rows[0].get("state"))
        if state != "success":
            raise UntimedRunError(f"the task {self.task_id} ended as {state}")
        duration = rows[0].get("duration")
        return None if duration is None else float(duration)


def _predicted(machines: int, decision: Decision) -> dict[str, Any]:
    """The prediction for the machines that a run really had, which may differ from those decided on."""
    of: Decision | Alternative | None = decision
    if machines != decision.config.machines:  # a mix, too, ran on the machines decided on
        instance_type = decision.config.instance_type
        same_type = (
            each
            for each in decision.alternatives
            if each.instance_type == instance_type and not each.composition
        )
        of = next((each for each in same_type if each.machines == machines), None)
    if of is None:
        return {}
    return {
        "predicted_seconds": of.seconds if isinstance(of, Alternative) else of.predicted_seconds,
        "likely_seconds": of.likely_seconds,
        "nearly_certain_seconds": of.nearly_certain_seconds,
    }


def _cost(decision: Decision, *, machines: int, seconds: float) -> float | None:
    """Dollars for a run, billed as decided; None if no price is known.

    Without the cost of the sample runs, which was paid before. None for a mix of types too: which machine did
    what is unknown.
    """
    if decision.composition:
        return None
    if decision.billing is not None:
        return decision.billing.cost(machines=machines, seconds=seconds).of_the_run
    price = decision.price_per_hour
    return None if price is None else machines * price * seconds / 3600.0
