"""What a model predicts and would choose; ``ernest choose`` and ``ernest report`` use the same code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_ernest.decision.deciding import Choice, Offered, decide
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.decisions import Alternative, Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import (
    ErnestError,
    InfeasibleGoalError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.learning.freshness import DRIFTING, Lineage
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import ModelForecast, check_method, no_prediction
from airflow_provider_ernest.prediction.terms import check_terms
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.billing import no_price
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.settings.goal import CHEAPEST
from airflow_provider_ernest.store.catalogue import CatalogueEntry, entry_of
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.answer import Answer, Asked, Replay, answer_of, latest_seconds, replays_of
from airflow_provider_ernest.views.loaded import OtherType, Readable, other_types, visible_of_job
from airflow_provider_ernest.views.outcomes import ShownDecision, shown_decision, standing_of
from airflow_provider_ernest.views.prediction_request import PredictionRequest, in_bounds
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import count, unit

MOST_CONFIGURATIONS = 100
"""Averaging weighs about a hundred hypotheses by a matrix of all distinct configurations each. A fit with its
prediction takes 0.4 s and 0.03 GB for 100 of them on one core, half a second and 0.1 GB for 200, and memory
grows by the square. One request may fit `MOST_TYPES` other models, too, and an API server answers dozens of
requests at once."""


def _check_model(model: Model) -> None:
    """Raise FitError if a model cannot predict, or is too large for a page."""
    if not model.observations:
        raise no_prediction(model, "it has no observations", remedy="Train it again.")
    configurations = len({run.configuration for run in model.observations})
    if model.method == AVERAGING and configurations > MOST_CONFIGURATIONS:
        raise no_prediction(
            model,
            f"its runs have {count(configurations)} configurations, and a page can wait for "
            f"{count(MOST_CONFIGURATIONS)}",
            remedy="Ask it on the command line, with ernest choose.",
        )
    try:
        check_method(model.method)
        check_terms([term.name for term in model.terms])
    except InvalidParameterError as error:
        raise no_prediction(
            model,
            f"this version of the package cannot compute it ({error.message.rstrip('.')})",
            remedy="Upgrade airflow-provider-ernest where the API server runs, or train the model again.",
        ) from error


RUNNERS_UP = 3

NO_PRICE = "The price is not known. Give the dollars for one {unit} and hour."


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A run on a number of machines, from submission to end."""

    executors: int
    seconds: float  # predicted, start-up included
    likely_seconds: tuple[float, float]  # what it lies between with 80 % probability
    nearly_certain_seconds: tuple[float, float]  # the same with 95 %
    # the seconds that each term explains, and the start-up where there is one; they add up
    parts: dict[str, float]
    extrapolates: str  # why the observations do not support it, empty where they do


def _chosen(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    of_job: Sequence[CatalogueEntry],
    readable: Readable,
) -> tuple[Choice, dict[str, str]]:
    """The choice, and the types that are left out of it."""
    _check_model(model)
    price = request.price_per_hour
    offers = [_offer(model, price, request)]
    skipped: dict[str, str] = {}
    for other in other_types(store, model, of_job, readable) if price is not None else ():
        try:
            offers.append(_comparable(other, model, request, of_job))
        except ErnestError as error:
            skipped[other.entry.instance_type] = str(error)
    choice = decide(request.goal(), Offered(offers=offers), iterations=request.iterations)
    skipped |= {name: str(error) for name, error in choice.left_out.items()}
    _raise_what_hinders(choice, model)
    return choice, dict(sorted(skipped.items()))


def _raise_what_hinders(choice: Choice, model: Model) -> None:
    """Raise an error of the model's own type, unless it is an infeasible goal."""
    error = choice.left_out.get(model.instance_type, choice.error)
    if error is not None and not isinstance(error, InfeasibleGoalError):
        raise error


def _curve(choice: Choice, model: Model, iterations: int | None) -> tuple[CurvePoint, ...]:
    """The configurations of the model's type, with the parts of their times."""
    alternatives = [each for each in choice.alternatives if each.instance_type == model.instance_type]
    counts = [each.executors for each in alternatives]
    forecast = ModelForecast(model, executors=counts, scale=choice.goal.scale, iterations=iterations)
    parts = forecast.contributions()
    start_up = {"start-up": model.startup_seconds} if model.startup_seconds > 0 else {}
    return tuple(
        view_of(
            CurvePoint,
            each,
            likely_seconds=each.likely_seconds or (each.seconds, each.seconds),
            nearly_certain_seconds=each.nearly_certain_seconds or (each.seconds, each.seconds),
            parts={**of_terms, **start_up},
        )
        for each, of_terms in zip(alternatives, parts, strict=True)
    )


def _offer(model: Model, price_per_hour: float | None, request: PredictionRequest) -> Offer:
    return Offer(model=model, executors=request.counts(), billing=request.billing_at(price_per_hour))


def _comparable(
    other: OtherType, model: Model, request: PredictionRequest, of_job: Sequence[CatalogueEntry]
) -> Offer:
    """The offer of another type; raises MissingResourceError or FitError if it cannot be offered."""
    if other.model is None:
        raise MissingResourceError("Its newest model cannot be read.")
    if other.price_per_hour is None:
        raise MissingResourceError(
            "Its price is not known.", remedy="Choose by its model once, with a price."
        )
    if in_bounds(other.price_per_hour) is None:
        raise MissingResourceError(
            "The known price is too high or too low to be true.", remedy="Choose by its model with another."
        )
    if model.artifact_sha256 and other.model.artifact_sha256 not in (None, model.artifact_sha256):
        raise MissingResourceError(
            "Its newest model is of another JAR or .py file.", remedy="Train it again with this one."
        )
    if Lineage(other.entry, of_job).state().name == DRIFTING:
        raise MissingResourceError("Its predictions no longer hold.", remedy="Train it again.")
    _check_model(other.model)
    return _offer(other.model, other.price_per_hour, request)


@dataclass(frozen=True, kw_only=True)
class SecondOpinion:
    """What another model, learned from the same runs, says of the choice."""

    alpha: float  # the share of the work that spreads over the machines
    executors: int | None
    seconds: float | None


def second_opinion(
    model: Model, decision: Decision | None, *, scale: float, iterations: int | None
) -> SecondOpinion | None:
    """What the extended Amdahl model says; None if it has not learned enough from production runs."""
    if model.amdahl is None:
        return None
    # It knows the model's own type only.
    is_own = decision and not decision.composition and decision.config.instance_type == model.instance_type
    executors, seconds = decision.config.executors if decision and is_own else None, None
    try:
        other = ExtendedAmdahl(degree=model.amdahl.degree, state=model.amdahl)
        if executors is not None and iterations in (None, model.trained_iterations):
            (predicted,) = other.predict(x=scale, processors=executors).tolist()
            seconds = predicted + model.startup_seconds
        return SecondOpinion(alpha=other.alpha, executors=executors, seconds=seconds)
    except (ErnestError, ArithmeticError, ValueError):
        return None


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a model predicts, and what would be chosen among all types of machines that it is offered with."""

    answer: Answer

    instance_type: str
    scale: float
    iterations: int | None
    startup_seconds: float
    price_per_hour: float | None
    goal: str | None
    confidence: float
    boot_seconds: float  # from launch to submission, as asked
    latest_seconds: float | None  # the deadline from submission on: without the boot of the machines
    curve: tuple[CurvePoint, ...]
    alternatives: tuple[Alternative, ...]
    decision: ShownDecision | None
    out_of_reach: str  # why there is no decision although there is a goal
    most_probable: Alternative | None  # what keeps to a goal out of reach most probably
    runners_up: tuple[Alternative, ...]
    # by the extended Amdahl model; null where the model has learned from no production run
    second_opinion: SecondOpinion | None
    offered_types: dict[str, str]  # those that the choice is among, with the ids of their models
    skipped_types: dict[str, str]  # those that are not compared, and why
    # what replay of runs says, of the model's type first, then of the job's others
    replays: tuple[Replay, ...]


def prediction(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> Prediction:
    """Return the curve of times, what each configuration costs, and the choice.

    Without a price there is a curve, but neither costs nor choice. Other types of machines are offered by
    their newest models, at their last known prices; those of DAGs that may not be read are not even named.
    The caller must make sure that the reader may see the model. The entries are the whole catalogue, or the
    job's part.

    Raises:
        InvalidParameterError: the request is invalid.
        FitError: the model has no runs, or terms that this version does not know.
        StoreError: the store cannot be read.
    """
    of_job = visible_of_job(entries, model.job, readable)
    choice, skipped = _chosen(store, model, request, of_job=of_job, readable=readable)
    return _predicted(
        model,
        choice,
        of_job=of_job,
        replays=replays_of(store, model, of_job=of_job, readable=readable),
        has_goal=request.has_goal,
        price_per_hour=request.price_per_hour,
        iterations=request.iterations,
        skipped=skipped,
    )


def prediction_alone(
    model: Model,
    *,
    executors: Sequence[int],
    scale: float = 1.0,
    iterations: int | None = None,
    billing: Billing | None = None,
    goal: SizingGoal | None = None,
) -> Prediction:
    """Return the prediction of a model without a store, and so of its own type only.

    There are no costs without `billing`, which a goal with a budget needs. The scale counts, and not the
    goal's own; for the iterations see `prediction.predict_seconds`.

    Raises:
        InvalidParameterError: a parameter is invalid, or there is a budget and no price.
    """
    if goal is not None and billing is None and goal.needs_price(types=1):
        raise no_price(model.instance_type)
    offer = Offer(model=model, executors=executors, billing=billing or Billing())
    asked = goal or SizingGoal(objective=CHEAPEST, allowed_executors=offer.counts)
    choice = decide(replace(asked, scale=scale), Offered(offers=(offer,)), iterations=iterations)
    _raise_what_hinders(choice, model)
    return _predicted(
        model,
        choice,
        has_goal=goal is not None,
        price_per_hour=billing.price_per_hour if billing else None,
        iterations=iterations,
        skipped={},
    )


def _predicted(
    model: Model,
    choice: Choice,
    *,
    has_goal: bool,
    price_per_hour: float | None,
    iterations: int | None,
    skipped: dict[str, str],
    of_job: Sequence[CatalogueEntry] = (),
    replays: tuple[Replay, ...] = (),
) -> Prediction:
    """What is shown of a choice: no decision without a goal, or a price where that needs one."""
    goal, is_priced = choice.goal, price_per_hour is not None
    is_answered = has_goal and (is_priced or not goal.needs_price(types=1))
    decision = choice.decision if is_answered else None
    error = choice.error if is_answered else None
    why = str(error) if error else NO_PRICE.format(unit=unit(model.executors_per_machine))
    asked = Asked(
        model=model,
        choice=choice,
        decision=decision,
        error=error,
        is_priced=is_priced,
        standings={each.type_name: standing_of(entry_of(each.model), of_job) for each in choice.offers},
        iterations=iterations,
    )
    return Prediction(
        answer=answer_of(asked, replays),
        instance_type=model.instance_type,
        scale=goal.scale,
        iterations=iterations,
        startup_seconds=model.startup_seconds,
        price_per_hour=price_per_hour,
        goal=Goal(goal).in_words if has_goal else None,
        confidence=goal.confidence,
        boot_seconds=choice.offers[0].billing.boot_seconds,
        latest_seconds=latest_seconds(choice),
        curve=_curve(choice, model, iterations),
        alternatives=choice.alternatives if is_priced else (),
        decision=shown_decision(decision) if decision else None,
        out_of_reach=" ".join([why, *choice.warnings]) if has_goal and decision is None else "",
        most_probable=error.most_probable if isinstance(error, InfeasibleGoalError) else None,
        runners_up=tuple(choice.runners_up(RUNNERS_UP)) if decision else (),
        second_opinion=second_opinion(model, decision, scale=goal.scale, iterations=iterations),
        offered_types={each.type_name: each.model.id for each in (choice.offers if is_priced else ())},
        skipped_types=skipped,
        replays=replays,
    )
