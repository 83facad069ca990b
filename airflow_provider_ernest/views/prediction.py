"""What a model predicts and would choose, by the same code as ``ernest choose`` and ``ernest report``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.decision.choice import choose_among, consider
from airflow_provider_ernest.decision.goals import Goal, on_pareto_front
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.decision.same_cost import SameCost, same_cost
from airflow_provider_ernest.documents import Alternative, Decision, Model
from airflow_provider_ernest.exceptions import (
    ErnestError,
    FitError,
    InfeasibleGoalError,
    InvalidParameterError,
)
from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl
from airflow_provider_ernest.prediction.predict import contributions_of_runs
from airflow_provider_ernest.prediction.predictors import check_method
from airflow_provider_ernest.prediction.terms import check_terms
from airflow_provider_ernest.settings import AVERAGING, CONFIDENCE
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import OtherType, Readable, other_types
from airflow_provider_ernest.views.prediction_request import MOST_COMPUTED, PredictionRequest, in_bounds
from airflow_provider_ernest.views.records import ShownDecision, shown_decision
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import whole

MOST_CONFIGURATIONS = 100
"""Averaging weighs about a hundred hypotheses by a matrix of all distinct configurations each. At 100 of
them a fit with its prediction was measured to take 0.4 s and 0.03 GB on one core, at 200 half a second and
0.1 GB, and memory grows by the square. One request may fit `MOST_TYPES` other models besides, and an API
server answers dozens of requests at once."""

MOST_NUMBERS = 200_000
"""In the matrix of the terms of runs or answers, whatever the method: its copies take some 0.02 GB then."""


@contextmanager
def computing(model: Model) -> Iterator[None]:
    """Do what a prediction needs, with errors that a reader can make something of.

    Raises:
        FitError: the model has nothing to predict from, or too much for a page, or the computation fails.
    """
    try:
        _refuse_what_cannot_be(model)
        yield
    except ErnestError:
        raise
    except (ArithmeticError, ValueError, LookupError) as error:
        raise cannot_predict(model, f"the computation failed ({error})") from error


def _refuse_what_cannot_be(model: Model) -> None:
    if not model.observations:
        raise cannot_predict(model, "it has no observations", remedy="Train it again.")
    rows, terms = max(len(model.observations), MOST_COMPUTED), len(model.terms)
    if rows * terms > MOST_NUMBERS:
        raise cannot_predict(
            model,
            f"it has {whole(len(model.observations))} runs and {whole(terms)} terms, more than a page can "
            "wait for",
            remedy="Ask it on the command line, with ernest choose.",
        )
    try:
        check_method(model.method)
        check_terms([term.name for term in model.terms])
    except InvalidParameterError as error:
        raise cannot_predict(
            model,
            f"this version of the package cannot compute it ({error.message.rstrip('.')})",
            remedy="Upgrade airflow-provider-ernest where the API server runs, or train the model again.",
        ) from error
    configurations = len({(run.machines, run.scale) for run in model.observations})
    if model.method == AVERAGING and configurations > MOST_CONFIGURATIONS:
        raise cannot_predict(
            model,
            f"its runs have {whole(configurations)} configurations, and a page can wait for "
            f"{whole(MOST_CONFIGURATIONS)}",
            remedy="Ask it on the command line, with ernest choose.",
        )


def cannot_predict(
    model: Model,
    why: str,
    *,
    remedy: str = "Ask for a scale and machines nearer to its runs, or train it again.",
) -> FitError:
    """The error that says so of the model."""
    return FitError(
        f"Model {model.id} of {model.job!r} on {model.instance_type} cannot predict here: {why}.",
        remedy=remedy,
    )


START_UP = "start-up"
"""The name of that part of a run among the names of the terms."""

ANY_PRICE = 1.0
"""Where none is known, what follows from it is not shown."""

BEYOND = "its times or costs are beyond all measure"


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """A run on a number of machines, from submission to end.

    Attributes:
        machines: the number.
        seconds: predicted, start-up included.
        likely_seconds: what it lies between with 80 % probability.
        nearly_certain_seconds: the same with 95 %.
        parts: the seconds that each term explains, and the start-up where there is one; they add up.
        extrapolates: why the observations do not support it, empty where they do.
    """

    machines: int
    seconds: float
    likely_seconds: tuple[float, float]
    nearly_certain_seconds: tuple[float, float]
    parts: dict[str, float]
    extrapolates: str


@dataclass(frozen=True, kw_only=True)
class Considered:
    """What may be chosen for a job.

    The curve is of the model that was asked, the rest of all types of machines: empty where the price of its
    machines is not known. Skipped types are not compared.
    """

    curve: tuple[CurvePoint, ...]
    offers: tuple[Offer, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    skipped: tuple[SkippedType, ...] = ()


def all_considered(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> Considered:
    """What the model predicts, and what there is to choose from at known prices; see `prediction`."""
    with computing(model):
        own, alternatives = _offered(model, request.price_per_hour, request)
        curve = curve_of(model, alternatives, scale=request.scale, iterations=request.iterations)
    if not all(math.isfinite(part) for point in curve for part in point.parts.values()):
        raise cannot_predict(model, BEYOND)
    if request.price_per_hour is None:
        return Considered(curve=curve)
    offers, told, skipped = [own], [*alternatives], []
    for other in other_types(store, model, entries, readable):
        reason = _incomparable(other, model)
        if not reason and other.model is not None:
            try:
                with computing(other.model):
                    offer, more = _offered(other.model, other.price_per_hour, request)
            except ErnestError as error:
                reason = str(error)
            else:
                offers.append(offer)
                told += more
        if reason:
            skipped.append(SkippedType(instance_type=other.entry.instance_type, reason=reason))
    front = on_pareto_front([(each.seconds, each.cost) for each in told])
    return Considered(
        curve=curve,
        offers=tuple(offers),
        alternatives=tuple(
            replace(each, is_pareto=is_pareto) for each, is_pareto in zip(told, front, strict=True)
        ),
        skipped=tuple(skipped),
    )


def curve_of(
    model: Model, alternatives: Sequence[Alternative], *, scale: float, iterations: int | None
) -> tuple[CurvePoint, ...]:
    """What was considered of the model's type, with where its time goes."""
    counts = [each.machines for each in alternatives]
    parts = contributions_of_runs(model, machines=counts, scale=scale, iterations=iterations)
    start_up = {START_UP: model.startup_seconds} if model.startup_seconds > 0 else {}
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


def _offered(
    model: Model, price: float | None, request: PredictionRequest
) -> tuple[Offer, tuple[Alternative, ...]]:
    # Without a price nothing can be chosen, but all the rest can be shown.
    billing = request.billing_at(ANY_PRICE if price is None else price)
    offer = Offer(model=model, machines=request.counts(), billing=billing)
    goal = goal_of(request) if price is not None else None
    alternatives = consider(offer, goal=goal, scale=request.scale, iterations=request.iterations)
    if not all(map(_is_finite, alternatives)):
        raise cannot_predict(model, BEYOND)
    return offer, alternatives


def _incomparable(other: OtherType, model: Model) -> str:
    """Why another type cannot be offered beside the model's; empty where it can."""
    if other.model is None:
        return "Its newest model cannot be read."
    if other.price_per_hour is None:
        return "What its machines cost is not known. Choose by its model once, with a price."
    if in_bounds(other.price_per_hour) is None:
        return "The price known of its machines is beyond all measure. Choose by its model with another."
    if model.artifact_sha256 and other.model.artifact_sha256 not in (None, model.artifact_sha256):
        return "Its newest model is of another JAR or .py file. Train it again with this one."
    return ""


def _is_finite(each: Alternative) -> bool:
    return all(map(math.isfinite, (each.seconds, each.cost, *(each.nearly_certain_seconds or ()))))


@dataclass(frozen=True, kw_only=True)
class SecondOpinion:
    """What another model, learned from the same runs, says of the choice.

    Attributes:
        alpha: the share of the work that spreads over the machines.
        machines: that were chosen of the model's type; null where none were.
        seconds: on these, from submission to end.
        problem: why it cannot tell; empty where it can.
    """

    alpha: float | None = None
    machines: int | None
    seconds: float | None = None
    problem: str = ""


def second_opinion(
    model: Model, decision: Decision | None, *, scale: float, iterations: int | None
) -> SecondOpinion | None:
    """The share of the work that spreads, and the seconds on the machines that were chosen."""
    state = model.amdahl
    if state is None:
        return None
    opinion = SecondOpinion(machines=_machines(model, decision))
    try:
        other = ExtendedAmdahl(degree=state.degree, state=state)
        opinion = replace(opinion, alpha=other.alpha)
        if opinion.machines is not None and iterations in (None, model.trained_iterations):
            (seconds,) = other.predict(x=scale, processors=opinion.machines).tolist()
            opinion = replace(opinion, seconds=seconds + model.startup_seconds)
    except (ErnestError, ArithmeticError, ValueError) as error:
        problem = error.message if isinstance(error, ErnestError) else "It cannot be computed."
        opinion = replace(opinion, problem=problem)
    return opinion


def _machines(model: Model, decision: Decision | None) -> int | None:
    """What was chosen of the model's own type, which is all that it knows."""
    if decision is None or decision.composition or decision.config.instance_type != model.instance_type:
        return None
    return decision.config.machines


@dataclass(frozen=True, kw_only=True)
class OfferedType:
    """A type of machine that the choice is among."""

    instance_type: str
    model_id: str
    price_per_hour: float


@dataclass(frozen=True, kw_only=True)
class SkippedType:
    """A type of machine that is not compared, and why."""

    instance_type: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a model predicts, and what would be chosen among all types of machines that it is offered with.

    Attributes:
        instance_type: the type that the curve is of.
        confidence: the probability with which the goal is to be kept.
        boot_seconds: from launch to submission, as asked.
        latest_seconds: the deadline from submission on: without the boot of the machines.
        out_of_reach: why there is no decision although there is a goal.
        most_probable: what keeps to a goal out of reach most probably.
        runners_up: what would have been chosen next.
        second_opinion: by the extended Amdahl model; null where the model has learned from no production run.
        offered_types: empty where the model's own price is not known.
    """

    instance_type: str
    scale: float
    iterations: int | None
    startup_seconds: float
    price_per_hour: float | None
    goal: str | None
    confidence: float
    boot_seconds: float
    latest_seconds: float | None
    curve: tuple[CurvePoint, ...]
    alternatives: tuple[Alternative, ...]
    decision: ShownDecision | None
    out_of_reach: str
    most_probable: Alternative | None
    runners_up: tuple[Alternative, ...]
    second_opinion: SecondOpinion | None
    offered_types: tuple[OfferedType, ...]
    skipped_types: tuple[SkippedType, ...]


RUNNERS_UP = 3

NO_PRICE = "What a machine costs is not known. Give the dollars for one machine and hour."


def goal_of(request: PredictionRequest) -> Goal | None:
    """What is to be kept and what is best; None without a deadline, a budget and an objective.

    Raises:
        InvalidParameterError: there are both limits and no objective, or what is no confidence.
    """
    if request.deadline_seconds is None and request.budget_dollars is None and request.objective is None:
        return None
    return view_of(Goal, request)


def prediction(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> Prediction:
    """The curve of seconds, what each configuration costs, and the choice.

    Without a price there is a curve, but neither costs nor choice. Other types of machines are offered by
    their newest models, at the prices last known of them; the choice is among all.

    Args:
        store: where the model lies.
        model: one that the reader may see; that is for the caller to make sure.
        request: what it is asked.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read; types of others are neither offered nor named.

    Raises:
        InvalidParameterError: the request cannot be.
        FitError: the model cannot predict: it has no runs, or terms that this version does not know.
        StoreError: the store cannot be read.
    """
    goal = goal_of(request)
    considered = all_considered(store, model, request, entries=entries, readable=readable)
    return _predicted(
        model,
        considered,
        goal,
        scale=request.scale,
        iterations=request.iterations,
        price_per_hour=request.price_per_hour,
        confidence=request.confidence,
        boot_seconds=request.billing.boot_seconds,
        left_out=request.left_out(),
    )


def prediction_alone(
    model: Model,
    *,
    machines: Sequence[int],
    scale: float = 1.0,
    iterations: int | None = None,
    billing: Billing | None = None,
    goal: Goal | None = None,
) -> Prediction:
    """The same of a model without a store: of its own type of machine only, at any numbers of machines.

    Args:
        model: the model.
        machines: numbers of machines, at least one.
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs; see `prediction.predict_seconds`.
        billing: what machines cost; None for neither costs nor choice.
        goal: a deadline or a budget, and how surely to keep it; needs `billing`.

    Raises:
        InvalidParameterError: a parameter cannot be, or there is a goal and no price.
    """
    if goal is not None and billing is None:
        raise InvalidParameterError(
            "price_per_hour",
            None,
            "is missing",
            remedy="A choice needs the dollars for one machine and hour.",
        )
    offer = Offer(model=model, machines=machines, billing=billing or Billing(price_per_hour=ANY_PRICE))
    alternatives = consider(offer, goal=goal, scale=scale, iterations=iterations)
    considered = Considered(curve=curve_of(model, alternatives, scale=scale, iterations=iterations))
    if billing is not None:
        considered = replace(considered, offers=(offer,), alternatives=alternatives)
    return _predicted(
        model,
        considered,
        goal,
        scale=scale,
        iterations=iterations,
        price_per_hour=billing.price_per_hour if billing else None,
        confidence=goal.confidence if goal else CONFIDENCE,
        boot_seconds=billing.boot_seconds if billing else 0.0,
    )


def _predicted(
    model: Model,
    considered: Considered,
    goal: Goal | None,
    *,
    scale: float,
    iterations: int | None,
    price_per_hour: float | None,
    confidence: float,
    boot_seconds: float,
    left_out: str = "",
) -> Prediction:
    decision, out_of_reach, most_probable = _chosen(considered, goal)
    return Prediction(
        instance_type=model.instance_type,
        scale=scale,
        iterations=iterations,
        startup_seconds=model.startup_seconds,
        price_per_hour=price_per_hour,
        goal=goal.describe() if goal else None,
        confidence=confidence,
        boot_seconds=boot_seconds,
        latest_seconds=goal.latest_seconds(boot_seconds) if goal else None,
        curve=considered.curve,
        alternatives=considered.alternatives,
        decision=shown_decision(decision, warnings=[left_out] if left_out else ()) if decision else None,
        out_of_reach=f"{out_of_reach} {left_out}".rstrip() if out_of_reach else "",
        most_probable=most_probable,
        runners_up=_runners_up(considered, goal, decision),
        second_opinion=second_opinion(model, decision, scale=scale, iterations=iterations),
        offered_types=tuple(
            OfferedType(
                instance_type=offer.type_name,
                model_id=offer.model.id,
                price_per_hour=offer.billing.price_per_hour,
            )
            for offer in considered.offers
        ),
        skipped_types=considered.skipped,
    )


def _chosen(considered: Considered, goal: Goal | None) -> tuple[Decision | None, str, Alternative | None]:
    """The decision; or why there is none although there is a goal, and what keeps to it most probably."""
    if goal is None:
        return None, "", None
    if not considered.offers:
        return None, NO_PRICE, None
    try:
        return choose_among(considered.alternatives, considered.offers, goal=goal), "", None
    except InfeasibleGoalError as error:
        return None, str(error), error.most_probable


def _runners_up(
    considered: Considered, goal: Goal | None, decision: Decision | None
) -> tuple[Alternative, ...]:
    """What would have been chosen next."""
    if goal is None or decision is None:
        return ()
    feasible: Iterable[Alternative] = (each for each in considered.alternatives if each.feasible)
    return tuple(sorted(feasible, key=goal.preference)[1 : 1 + RUNNERS_UP])


FEWEST_TYPES = 2


@dataclass(frozen=True, kw_only=True)
class TypesAtSameCost:
    """Types of machines at the same dollars per hour.

    Attributes:
        rates: ascending; empty where there are no two types with a common rate.
    """

    rates: tuple[SameCost, ...]
    skipped_types: tuple[SkippedType, ...]


def compared_at_same_cost(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> TypesAtSameCost:
    """What each type takes for some rates of dollars per hour that all can come to.

    The arguments and errors are those of `prediction`; without a price nothing is compared.
    """
    considered = all_considered(store, model, request, entries=entries, readable=readable)
    offers, alternatives = considered.offers, considered.alternatives
    enough = len(offers) >= FEWEST_TYPES
    rates = same_cost(offers, scale=request.scale, alternatives=alternatives) if enough else ()
    return TypesAtSameCost(rates=rates, skipped_types=considered.skipped)
