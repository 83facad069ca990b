"""The record of a production run: what it took beside what was predicted of it, kept in the model store."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_provider_ernest.addresses import without_credentials
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.model.bottlenecks import PRODUCTION
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
from airflow_provider_ernest.model.run_profile import Capacity
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.operators.learned_model import follow_up
from airflow_provider_ernest.operators.locations import store_root
from airflow_provider_ernest.operators.origins import origin_of
from airflow_provider_ernest.operators.production_conditions import (
    bandwidth_of,
    code_of,
    conditions_of,
)
from airflow_provider_ernest.operators.profile_record import keep_profile
from airflow_provider_ernest.operators.recording import record_in_time
from airflow_provider_ernest.operators.rendered import optional_document, optional_text
from airflow_provider_ernest.operators.timed_run import TimedRun, UntimedRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow.sdk import Context

    from airflow_provider_ernest.model.results import Decision


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What is to be recorded, as the operators' parameters tell.

    Attributes:
        decision: the `DecisionRecord` document that the run went by.
        application: that ran; None to take the hash that was found before the run.
        submit_options: further arguments of `SparkSubmitHook`: py_files and jars belong to the code's hash.
        cluster: `ClusterHandle` document of the cluster that it ran on.
        store: root of the model store; None for the configured one.
        learn: whether the model is to learn from it.
        on_stale: who wants to know where the model no longer speaks for the job.
        profile: whether to keep where the run's time went.
    """

    decision: Any
    application: str | None = None
    submit_options: Mapping[str, Any] = field(default_factory=dict)
    cluster: Any = None
    store: Any = None
    learn: bool = True
    on_stale: Any = ()
    profile: bool = True


def record_production(
    timed: Callable[[Decision], TimedRun], *, recording: Recording, context: Context, log: Any
) -> ProductionRun | None:
    """Record a run that has succeeded, in the store and as XCom ``production_run``, and learn from it.

    Nothing fails: the run is done, and what hinders its record is a warning. See `record_in_time`, too.

    Args:
        timed: tells how the run went; raises an `UntimedRunError` that says why where nobody knows.
        recording: what is to be recorded, and where.
        context: of the task that records it.
        log: the logger that the warnings go to.

    Returns:
        The record; None where there is none.
    """
    try:
        decided = optional_document("decision", recording.decision)
        if decided is None:
            log.warning("This production run is not recorded: its decision has left no record to read.")
            return None
        record = DecisionRecord.from_dict(decided)
        timed_run = timed(record.decision)
        production = _production(timed_run, record, recording=recording, context=context, log=log)
        _tell(production, log)
        context["ti"].xcom_push(key="production_run", value=production.to_dict())
        if not production.job:
            raise MissingResourceError(
                "Its decision names no job.", remedy="Give the ChooseConfigOperator a job."
            )
    except UntimedRunError as untimed:
        log.warning("This production run is not recorded: %s.", untimed)
        return None
    # XComs are anybody's, and may be kept by any backend.
    except Exception as error:
        log.warning("This production run is not recorded: %s: %s", type(error).__name__, error)
        return None
    saved: list[Any] = []
    store = optional_text(recording.store)
    record_in_time(
        lambda: saved.append(ModelStore(store_root(store)).save_production(production)),
        what="This production run",
        log=log,
    )
    if saved:
        follow_up(
            production,
            record,
            learns=recording.learn,
            on_stale=recording.on_stale,
            store=store,
            context=context,
            log=log,
        )
        # Last, for a profile may take long, and go on beside what comes after it.
        if recording.profile:
            _profile(production, timed_run.event_log, record, recording=recording, log=log)
    return production


def _production(
    timed: TimedRun, record: DecisionRecord, *, recording: Recording, context: Context, log: Any
) -> ProductionRun:
    decision = record.decision
    prediction = prediction_for(timed.machines, decision)
    now = datetime.now(UTC)
    return ProductionRun(
        production_id=new_id(now),
        recorded_at=now.isoformat(),
        job=record.job,
        instance_type=record.instance_type,
        machines=timed.machines,
        scale=record.scale,
        seconds=timed.seconds,
        run_seconds=timed.run_seconds,
        startup_seconds=timed.startup_seconds,
        predicted_seconds=prediction.seconds,
        likely_seconds=prediction.likely,
        nearly_certain_seconds=prediction.nearly_certain,
        cost=cost_of(decision, machines=timed.machines, seconds=timed.seconds),
        model_id=decision.model_id,
        decision_id=record.decision_id,
        artifact_sha256=code_of(
            recording.application, recording.submit_options, record=record, context=context, log=log
        ),
        application_id=timed.application_id,
        event_log=without_credentials(timed.event_log) if timed.event_log else None,
        origin=origin_of(context),
        conditions=conditions_of(record, spark=timed.spark, context=context, log=log),
        bandwidth=bandwidth_of(recording.cluster, log=log),
    )


def _profile(
    production: ProductionRun,
    event_log: str | None,
    record: DecisionRecord,
    *,
    recording: Recording,
    log: Any,
) -> None:
    bandwidth = production.bandwidth
    network = bandwidth.network_gigabytes_per_second if bandwidth else None
    cores = production.conditions.cores_per_machine if production.conditions else None
    keep_profile(
        event_log,
        job=production.job,
        instance_type=production.instance_type,
        purpose=PRODUCTION,
        scale=production.scale,
        iterations=record.iterations,
        capacity=Capacity(cores=cores, network_gigabytes_per_second=network, source="measured")
        if cores and network
        else None,
        artifact_sha256=production.artifact_sha256,
        store=optional_text(recording.store),
        origin=production.origin,
        log=log,
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


def _tell(production: ProductionRun, log: Any) -> None:
    log.info("The run took %.1f s on %d machines.", production.seconds, production.machines)
    if production.predicted_seconds is not None:
        log.info("Predicted were %.1f s: %+.1f %%.", production.predicted_seconds, production.error_percent)
    if production.is_unusual:
        log.warning("That is outside the interval that was nearly certain (95 %).")
