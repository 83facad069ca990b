"""What tasks record beside their work: documents, profiles, marks, production runs.

Nothing here fails a task, and nothing waits long: `Recording.record` is the flow of a production run.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from airflow.sdk import BaseNotifier, Context

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay_dynamic import replayed_at_fixed_sizes
from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.documents.base import Record, new_stamp
from airflow_provider_ernest.documents.decisions import (
    Alternative,
    ClusterBandwidth,
    Configuration,
    Decision,
    DecisionRecord,
    ProductionRun,
)
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.documents.profiles import PRODUCTION, SAMPLE, Capacity, ProfileRecord
from airflow_provider_ernest.documents.runs import Observation, ReplayedSize, RunConditions
from airflow_provider_ernest.eventlog.run_facts import Sizes, has_dynamic_allocation, read_run
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import ErnestError, MissingResourceError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.learning.production import lesson_of
from airflow_provider_ernest.operators.task_context import (
    artifact_hash,
    in_time,
    origin_of,
    pushed_conditions,
)
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings.values import optional_document
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.spark.runs import TimedRun, time_run
from airflow_provider_ernest.spark.submit import SubmittedRun
from airflow_provider_ernest.words import duration, signed_percentage

FIND_MODEL = "find_model"
"""The task that looks at code and conditions first, in the group of the task that decides."""

MOST_SECONDS = 30.0
"""Limit for writing a record: storage that does not answer must not hold the task up."""

MOST_TASKS = 500_000
"""Runs with more tasks are not profiled, to spare the worker's memory: twice as many took 700 MB."""

PROFILE_SECONDS = 180.0
"""Limit for profiling a run: three times what `MOST_TASKS` take on a slow core."""


class UntimedRunError(Exception):
    """How long a run took is unknown, so it cannot be recorded."""


def keep(*documents: Record, what: str, log: Any) -> bool:
    """Save documents in the model store; see `record_in_time`."""

    def save() -> None:
        store = model_store()
        for document in documents:
            store.save(document)

    return record_in_time(save, what=what, log=log)


def record_in_time(write: Callable[[], object], *, what: str, log: Any) -> bool:
    """Write a record; returns whether that is done. Else a warning begins with `what`.

    After `MOST_SECONDS` the task goes on; the writing does too, while the task's process lives.
    """

    def run() -> bool:
        try:
            write()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            log.warning("%s is not recorded: %s: %s", what, type(error).__name__, error)
            return False
        return True

    try:
        return in_time(run, most_seconds=MOST_SECONDS)
    except TimeoutError:
        log.warning(
            "%s is not recorded yet: the model store has not answered for %g s. The task goes on without it.",
            what,
            MOST_SECONDS,
        )
        return False


def keep_profile(
    run: Observation | ProductionRun,
    event_log: EventLog,
    *,
    job: str,
    artifact_sha256: str | None,
    iterations: int | None,
    capacity: Capacity | None,
    log: Any,
) -> None:
    """Profile a run by its event log and save the profile. Failures are warnings: the run itself is done."""
    if len(event_log.task_columns) > MOST_TASKS:
        log.warning("Why the run took this long is not known: it has more than %d tasks.", MOST_TASKS)
        return

    def profile() -> None:
        made = profile_run(
            event_log, scale=run.scale, iterations=iterations, capacity=capacity, event_log=run.event_log
        )
        if run.startup_seconds is not None:
            # Its task measured the start-up from the submission; an event log begins when the driver is up.
            longer = run.startup_seconds - made.startup_seconds
            initialisation = max(0.0, made.phases.initialisation_seconds + longer)
            made = replace(
                made,
                startup_seconds=run.startup_seconds,
                phases=replace(made.phases, initialisation_seconds=initialisation),
            )
        record = ProfileRecord(
            **new_stamp(),
            profile=made,
            job=job,
            instance_type=run.instance_type,
            purpose=SAMPLE if isinstance(run, Observation) else PRODUCTION,
            artifact_sha256=artifact_sha256,
            origin=run.origin,
        )
        model_store().save(record)
        log.info("%s", made.headline)

    try:
        in_time(profile, most_seconds=PROFILE_SECONDS)
    except TimeoutError:
        log.warning(
            "Why the run took this long is not known: the profile of its event log %s is not made after "
            "%g s. The task goes on without it; see `ernest analyze`.",
            without_credentials(run.event_log or ""),
            PROFILE_SECONDS,
        )
    # An application may write anything into its log, and the run is done and paid for.
    except Exception as error:
        why = without_credentials(str(error))
        log.warning("Why the run took this long is not known: %s: %s", type(error).__name__, why)


def network_capacity(cores: int | None, bandwidth: ClusterBandwidth | None) -> Capacity | None:
    """The measured capacity of a machine; None if its cores or its network's bandwidth are unknown."""
    network = bandwidth.network_gigabytes_per_second if bandwidth else None
    if not cores or not network:
        return None
    return Capacity(cores=cores, network_gigabytes_per_second=network, source="measured")


def median_bandwidth(machines: Sequence[Machine]) -> ClusterBandwidth | None:
    """The median bandwidth of machines; None if none was probed."""
    probed = [machine.bandwidth for machine in machines if machine.bandwidth is not None]
    if not probed:
        return None
    network = [each.network_gigabytes_per_second for each in probed]
    known = [value for value in network if value is not None]
    return ClusterBandwidth(
        memory_gigabytes_per_second=median(each.memory_gigabytes_per_second for each in probed),
        network_gigabytes_per_second=median(known) if known else None,
    )


def keep_marks(marks: Sequence[ModelMark], *, callbacks: Any, context: Context, log: Any) -> None:
    """Save new marks and call each callback for each mark. Never fails the task.

    The context has ``ernest_mark``, the `ModelMark`, so that a notifier's templates may say
    ``{{ ernest_mark.reason }}``. `callbacks` is one or a list: callables that take the context, or notifiers.
    """
    if not marks:
        return
    for mark in marks:
        log.warning("STALE: the model %s of %r. %s", mark.model_id, mark.job, mark.reason)
    keep(*marks, what="That the model is stale", log=log)
    for mark in {mark.id: mark for mark in marks}.values():
        what = f"that model {mark.model_id} is stale"
        notify(callbacks, {**context, "ernest_mark": mark}, what=what, log=log)


def notify(callbacks: Any, context: Mapping[str, Any], *, what: str, log: Any) -> None:
    """Call each callback, a callable or a notifier, with the context; one that fails is a warning."""
    # A notifier may itself be iterable; only these types are lists of several.
    for callback in callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]:
        # Rendering replaces a notifier's templates, which the next call needs again, and writes into its
        # context.
        told = copy.copy(callback) if isinstance(callback, BaseNotifier) else callback
        try:
            told({**context})
        except Exception as error:
            log.warning(
                "%s was not told %s: %s: %s",
                getattr(callback, "__qualname__", None) or type(callback).__qualname__,
                what,
                type(error).__name__,
                error,
            )


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What to record of a production run: parameters of its operator, with the task's context and logger."""

    decision: Any
    context: Context
    log: Any
    application: str | None = None
    submit_options: Mapping[str, Any] = field(default_factory=dict)
    cluster: Any = None
    on_stale: Any = ()

    def record(self, timed: Callable[[Decision], TimedRun]) -> ProductionRun | None:
        """Record a successful run in the store and as XCom ``production_run``, and learn from it.

        Never fails, because the run is done: failures are warnings. `timed` tells how the run went; it raises
        `UntimedRunError` if that is unknown. The event log is read once.
        """
        try:
            decided = optional_document("decision", self.decision)
            if decided is None:
                raise UntimedRunError("its decision has left no record to read")
            record = DecisionRecord.from_dict(decided)
            run = timed(record.decision)
            production = self._production(run, record)
            self._log_run(production, record.decision.config)
            self.context["ti"].xcom_push(key="production_run", value=production.to_dict())
            if not production.job:
                raise UntimedRunError("its decision names no job: give the ChooseConfigOperator one")
        except UntimedRunError as untimed:
            self.log.warning("This production run is not recorded: %s.", untimed)
            return None
        # Anybody may write XComs, and any backend may keep them.
        except Exception as error:
            self.log.warning("This production run is not recorded: %s: %s", type(error).__name__, error)
            return None
        if keep(production, what="This production run", log=self.log):
            self._learn(production, record)
            # Last, because a profile may take long and continue in the background.
            if run.log is not None:
                cores = production.conditions.executor_cores if production.conditions else None
                keep_profile(
                    production,
                    run.log,
                    job=production.job,
                    artifact_sha256=production.artifact_sha256,
                    iterations=record.iterations,
                    capacity=network_capacity(cores, production.bandwidth),
                    log=self.log,
                )
        return production

    def _production(self, run: TimedRun, record: DecisionRecord) -> ProductionRun:
        decision, cluster = record.decision, optional_document("cluster", self.cluster)
        replayed, mean = self._replayed(run)
        return ProductionRun(
            **new_stamp(),
            job=record.job,
            instance_type=record.instance_type,
            executors=run.executors,
            scale=record.scale,
            seconds=run.seconds,
            run_seconds=run.run_seconds,
            startup_seconds=run.startup_seconds,
            **_predicted(run.executors, decision),
            cost=_cost(decision, executors=mean or run.executors, seconds=run.seconds),
            is_dynamic=decision.bounds is not None or mean is not None,
            replayed=replayed,
            model_id=decision.model_id,
            decision_id=record.id,
            artifact_sha256=self._code(record),
            application_id=run.application_id,
            event_log=without_credentials(run.event_log) if run.event_log else None,
            origin=origin_of(self.context),
            conditions=self._conditions(record, run.spark),
            bandwidth=median_bandwidth(ClusterHandle.from_dict(cluster).machines) if cluster else None,
        )

    def _replayed(self, run: TimedRun) -> tuple[ReplayedSize | None, float | None]:
        """A run under dynamic allocation on a fixed number of executors, and how many it had on average."""
        if run.log is None or not has_dynamic_allocation(run.log.properties) or run.seconds <= 0:
            return None, None
        mean = Sizes(run.log).executor_seconds / run.seconds
        try:
            return replayed_at_fixed_sizes(run.log)[0], mean
        except ErnestError as error:
            self.log.warning("The run teaches nothing, for it cannot be replayed: %s", error)
            return None, mean

    def _log_run(self, production: ProductionRun, decided: Configuration) -> None:
        on = replace(decided, executors=production.executors)
        self.log.info("The run took %s on %s.", duration(production.seconds), on)
        if production.predicted_seconds is not None:
            predicted, error = production.predicted_seconds, production.error_percent
            self.log.info("Predicted: %s (error %s).", duration(predicted), signed_percentage(error))
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
        conditions = pushed_conditions(self._found(record, "conditions"), record.instance_type)
        conditions = conditions or RunConditions()
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

    def _learn(self, production: ProductionRun, record: DecisionRecord) -> None:
        """Test the model that predicted a run, and let it learn from it or mark it.

        The newest model of the same lineage learns: a new one is saved beside it. If the runs show that the
        lineage no longer holds, it is marked once for each cause, so that the next DAG run makes sample runs.
        """
        if production.model_id is None or record.decision.composition:
            return
        marks: list[ModelMark] = []

        def follow() -> None:
            lesson = lesson_of(model_store(), production, record)
            if lesson.told:
                self.log.info("%s", lesson.told)
            marks.extend([lesson.mark] if lesson.mark else ())

        record_in_time(follow, what="What the model learns from this run", log=self.log)
        keep_marks(marks, callbacks=self.on_stale, context=self.context, log=self.log)


def timed_here(run: SubmittedRun | None, decision: Decision, *, ended_at: float, log: Any) -> TimedRun:
    """How a run went that this task submitted, and saw end at `ended_at`, seconds since the epoch.

    Raises:
        UntimedRunError: the time that passed here is not the run's.
    """
    if run is None:
        raise UntimedRunError("nothing was submitted")
    if run.untimed_because:
        raise UntimedRunError(run.untimed_because)
    event_log, wanted = run.event_log, decision.config.executors
    timed = None
    if event_log is None:
        log.info("No event log of this run is on this host.")
    else:
        timed = timed_by_log(event_log, submitted_at=run.submitted_at, executors=wanted, log=log)
    if timed is None:
        log.info("The run's time is that of spark-submit.")
        timed = TimedRun(executors=wanted, seconds=ended_at - run.submitted_at)
    return replace(
        timed,
        application_id=timed.application_id or run.application_id,
        event_log=str(event_log) if event_log else None,
    )


def timed_by_log(event_log: Any, *, submitted_at: float | None, executors: int, log: Any) -> TimedRun | None:
    """How a run went by its event log; None, with a warning, if the log cannot be used."""
    try:
        read = read_run(event_log)
        timed = time_run(read, submitted_at=submitted_at, executors=executors)
    # The libraries behind object stores raise errors of their own, and an application may have written
    # anything into the folder.
    except Exception as error:
        address, why = without_credentials(str(event_log)), without_credentials(str(error))
        log.warning("The event log %s cannot be used: %s: %s", address, type(error).__name__, why)
        return None
    for lost in read.lost:
        log.warning("The run lost %s; its time is recorded all the same.", lost)
    return timed


def _predicted(executors: int, decision: Decision) -> dict[str, Any]:
    """The prediction for the executors that a run really had, which may differ from those decided on."""
    of: Decision | Alternative | None = decision
    # A mix, too, ran on the executors decided on; bounds say nothing of how many came.
    if executors != decision.config.executors and decision.bounds is None:
        same = (decision.config.instance_type, executors, ())
        of = next(
            (
                each
                for each in decision.alternatives
                if (each.instance_type, each.executors, each.composition) == same
            ),
            None,
        )
    if of is None:
        return {}
    return {
        "predicted_seconds": of.seconds if isinstance(of, Alternative) else of.predicted_seconds,
        "likely_seconds": of.likely_seconds,
        "nearly_certain_seconds": of.nearly_certain_seconds,
    }


def _cost(decision: Decision, *, executors: float, seconds: float) -> float | None:
    """Dollars for a run, billed as decided; None if no price is known.

    Without the cost of the sample runs, which was paid before. None for a mix of types too: which executor
    did what is unknown.
    """
    if decision.composition:
        return None
    if decision.billing is not None and decision.billing.price_per_hour is not None:
        return decision.billing.cost(executors=executors, seconds=seconds).of_the_run
    price = decision.price_per_hour
    return None if price is None else executors * price * seconds / 3600.0
