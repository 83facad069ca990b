"""Write records and marks beside the work, with short waits; tell `on_stale` callbacks of marks."""

from __future__ import annotations

import copy
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseNotifier

from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.decisions import ClusterBandwidth, ProductionRun
from airflow_provider_ernest.documents.profiles import PRODUCTION, SAMPLE, Capacity, ProfileRecord
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.task_context import in_time
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.store.store import ModelStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.documents.base import Record
    from airflow_provider_ernest.documents.models import ModelMark
    from airflow_provider_ernest.eventlog.tables import EventLog
    from airflow_provider_ernest.spark.machines import Machine

MOST_SECONDS = 30.0
"""Limit for writing a record: storage that does not answer must not hold the task up."""

MOST_TASKS = 500_000
"""Runs with more tasks are not profiled, to spare the worker's memory: twice as many took 700 MB."""

PROFILE_SECONDS = 180.0
"""Limit for profiling a run: three times what `MOST_TASKS` take on a slow core."""


def keep(*documents: Record, store: str | None, what: str, log: Any) -> bool:
    """Save documents in the model store; see `record_in_time`."""

    def save() -> None:
        model_store = ModelStore(store_root(store))
        for document in documents:
            model_store.save(document)

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
    store: str | None,
    log: Any,
) -> None:
    """Profile a run by its event log and save the profile. Failures are warnings: the run itself is done."""
    if len(event_log.task_columns) > MOST_TASKS:
        log.warning("Why the run took this long is not known: it has more than %d tasks.", MOST_TASKS)
        return

    def profile() -> None:
        from airflow_provider_ernest.clarity.profile import profile_run

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
        ModelStore(store_root(store)).save(record)
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


def keep_marks(
    marks: Sequence[ModelMark], *, store: str | None, callbacks: Any, context: Context, log: Any
) -> None:
    """Save new marks and call the callbacks, see `notify_stale`. Never fails the task."""
    if not marks:
        return
    for mark in marks:
        log.warning("STALE: the model %s of %r. %s", mark.model_id, mark.job, mark.reason)
    keep(*marks, store=store, what="That the model is stale", log=log)
    notify_stale(callbacks, context=context, marks=marks, log=log)


def notify_stale(callbacks: Any, *, context: Context, marks: Sequence[ModelMark], log: Any) -> None:
    """Call each callback for each mark. An exception of a callback is a warning and fails no task.

    The context has ``ernest_mark``, the `ModelMark`, so that a notifier's templates may say
    ``{{ ernest_mark.reason }}``. `callbacks` is one or a list: callables that take the context, or notifiers.
    """
    # A notifier may itself be iterable; only these types are lists of several.
    several = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    for mark in {mark.id: mark for mark in marks}.values():
        for callback in several:
            # Rendering replaces a notifier's templates, which the next mark needs again, and writes into its
            # context.
            told = copy.copy(callback) if isinstance(callback, BaseNotifier) else callback
            try:
                told({**context, "ernest_mark": mark})
            except Exception as error:
                log.warning(
                    "%s was not told that model %s is stale: %s: %s",
                    getattr(callback, "__qualname__", None) or type(callback).__qualname__,
                    mark.model_id,
                    type(error).__name__,
                    error,
                )
