"""The record of a production run: what it took beside what was predicted of it, kept in the model store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.origins import origin_of
from airflow_provider_ernest.operators.recording import record_in_time
from airflow_provider_ernest.operators.rendered import optional_document, optional_text
from airflow_provider_ernest.spark.artifact import hash_where_readable
from airflow_provider_ernest.spark.observing import MeasuredRun, measure

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import Context

    from airflow_provider_ernest.model.results import Decision
    from airflow_provider_ernest.operators.submitted_run import SubmittedRun


def record_production(
    run: SubmittedRun | None,
    *,
    ended_at: float,
    decision: Any,
    application: str,
    store: Any,
    context: Context,
    log: Any,
) -> None:
    """Record a run that has succeeded, in the store and as XCom ``production_run``.

    Nothing fails: the run is done, and what hinders its record is a warning. See `record_in_time`, too.

    Args:
        run: as its task saw it.
        ended_at: when its task saw it end, seconds since the epoch.
        decision: the `DecisionRecord` document that it ran by.
        application: that ran.
        store: root of the model store; None for the configured one.
        context: of the task that ran it.
        log: the logger that the warnings go to.
    """
    try:
        decided = optional_document("decision", decision)
        if decided is None:
            log.warning("This production run is not recorded: its decision has left no record to read.")
            return
        record = DecisionRecord.from_dict(decided)
        untimed_because = run.untimed_because if run else "nothing was submitted"
        if run is None or untimed_because:
            log.warning("This production run is not recorded: %s.", untimed_because)
            return
        production = _production(
            run, record, ended_at=ended_at, application=application, context=context, log=log
        )
        _tell(production, log)
        context["ti"].xcom_push(key="production_run", value=production.to_dict())
        if not production.job:
            raise MissingResourceError(
                "Its decision names no job.", remedy="Give the ChooseConfigOperator a job."
            )
    # XComs are anybody's, and may be kept by any backend.
    except Exception as error:
        log.warning("This production run is not recorded: %s: %s", type(error).__name__, error)
        return
    record_in_time(
        lambda: ModelStore(store_root(optional_text(store))).save_production(production),
        what="This production run",
        log=log,
    )


def _production(
    run: SubmittedRun,
    record: DecisionRecord,
    *,
    ended_at: float,
    application: str,
    context: Context,
    log: Any,
) -> ProductionRun:
    decision, event_log = record.decision, run.event_log
    measured = _measured(event_log, run, decision.config.machines, log)
    machines = measured.machines if measured else decision.config.machines
    seconds = measured.seconds if measured else ended_at - run.submitted_at
    prediction = prediction_for(machines, decision)
    now = datetime.now(UTC)
    return ProductionRun(
        production_id=new_id(now),
        recorded_at=now.isoformat(),
        job=record.job,
        instance_type=record.instance_type,
        machines=machines,
        scale=record.scale,
        seconds=seconds,
        run_seconds=measured.run_seconds if measured else None,
        startup_seconds=measured.startup_seconds if measured else None,
        predicted_seconds=prediction.seconds,
        likely_seconds=prediction.likely,
        nearly_certain_seconds=prediction.nearly_certain,
        cost=cost_of(decision, machines=machines, seconds=seconds),
        model_id=decision.model_id,
        decision_id=record.decision_id,
        artifact_sha256=_hash(application, log),
        application_id=(measured.application_id if measured else None) or run.application_id,
        event_log=str(event_log) if event_log else None,
        origin=origin_of(context),
    )


def cost_of(decision: Decision, *, machines: int, seconds: float) -> float | None:
    """Dollars for a run on so many machines, billed as it was decided; None where no price is known.

    What the sample runs cost is left out: it was paid before, and the decision's part of it is an allotment.
    For a mix of types, of which it is not known which machine did what, there is no cost.

    Args:
        decision: that it ran by.
        machines: that it had.
        seconds: from submission to end.
    """
    if decision.composition:
        return None
    if decision.billing is not None:
        return decision.billing.cost(machines=machines, seconds=seconds).of_the_run
    price = decision.price_per_hour
    return None if price is None else machines * price * seconds / 3600.0


class Prediction(NamedTuple):
    """What a decision says of so many machines, in seconds; None where it says nothing."""

    seconds: float | None = None
    likely: tuple[float, float] | None = None
    nearly_certain: tuple[float, float] | None = None


def prediction_for(machines: int, decision: Decision) -> Prediction:
    """The prediction for the machines that a run really had, which need not be those decided on."""
    if machines == decision.config.machines:  # of a mix, too: it ran on the machines decided on
        return Prediction(
            decision.predicted_seconds, decision.likely_seconds, decision.nearly_certain_seconds
        )
    for other in decision.alternatives:
        is_of_type = other.instance_type == decision.config.instance_type and not other.composition
        if is_of_type and other.machines == machines:
            return Prediction(other.seconds, other.likely_seconds, other.nearly_certain_seconds)
    return Prediction()


def _measured(event_log: Path | None, run: SubmittedRun, machines: int, log: Any) -> MeasuredRun | None:
    """What the event log tells; None, and why, where there is none or it tells too little."""
    if event_log is None:
        log.info("No event log of this run is on this host: its time is that of spark-submit.")
        return None
    try:
        measured = measure(event_log, submitted_at=run.submitted_at, machines=machines)
    # It is whatever an application wrote into the folder.
    except Exception as error:
        log.warning("The event log %s cannot be used, the time is that of spark-submit: %s", event_log, error)
        return None
    for lost in measured.lost:
        log.warning("The run lost %s; its time is recorded all the same.", lost)
    return measured


def _hash(application: str, log: Any) -> str | None:
    """Taken after the run, which it thus neither delays nor hinders."""
    try:
        return hash_where_readable(application, log=log)
    except MissingResourceError as error:
        log.warning("The hash of the application cannot be taken: %s", error)
        return None


def _tell(production: ProductionRun, log: Any) -> None:
    log.info("The run took %.1f s on %d machines.", production.seconds, production.machines)
    if production.predicted_seconds is not None:
        log.info("Predicted were %.1f s: %+.1f %%.", production.predicted_seconds, production.error_percent)
    if production.is_unusual:
        log.warning("That is outside the interval that was nearly certain (95 %).")
