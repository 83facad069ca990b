"""What a model predicts and would choose, by the same code as ``ernest choose`` and ``ernest report``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.decision.goals import Goal, on_pareto_front
from airflow_provider_ernest.documents import Alternative, Billing, Decision, Model
from airflow_provider_ernest.exceptions import (
    ErnestError,
    FitError,
    InfeasibleGoalError,
    InvalidParameterError,
)
from airflow_provider_ernest.numbers import number_not_negative, positive_number, whole_number
from airflow_provider_ernest.settings import CONFIDENCE
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import OtherType, Readable, other_types

if TYPE_CHECKING:
    from airflow_provider_ernest.decision.offers import Offer
    from airflow_provider_ernest.views.report.contents import Prediction


# ---------------------------------------------------------------------------
# What a model is asked on its page, checked before anything is computed.


MOST_MACHINES = 1_000_000
WIDEST_SPAN = 1_000
MOST_RUNS = 1_000_000_000
"""So many runs may share the training."""

MOST_COMPUTED = 200
"""As many numbers of machines as a picture can tell apart."""

LARGEST = 1e9
"""No price, deadline, budget or scale above it, or below its inverse, is meant."""


def _sensible(name: str, value: float | None) -> None:
    """Refuse numbers with which nothing can be reckoned: none above 0, or beyond all measure."""
    if value is None:
        return
    positive_number(name, value)
    if not 1 / LARGEST <= value <= LARGEST:
        raise InvalidParameterError(
            name, value, "is beyond all measure", remedy=f"Give {1 / LARGEST:g} to {LARGEST:g}."
        )


NOT_PRICES = Billing(price_per_hour=1.0)
"""What is billed where nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class BilledTerms:
    """What is billed besides the hours of the machines; the names are those of `Billing`.

    Attributes:
        expected_runs: production runs that share `training_dollars`; None to leave these out.

    Raises:
        InvalidParameterError: a number is below 0, or beyond all measure.
    """

    increment_seconds: float = NOT_PRICES.increment_seconds
    minimum_seconds: float = NOT_PRICES.minimum_seconds
    boot_seconds: float = NOT_PRICES.boot_seconds
    master_price_per_hour: float = NOT_PRICES.master_price_per_hour
    volume_gigabytes: float = NOT_PRICES.volume_gigabytes
    volume_price_per_gigabyte_month: float = NOT_PRICES.volume_price_per_gigabyte_month
    training_dollars: float = NOT_PRICES.training_dollars
    expected_runs: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be reckoned."""
        _sensible("increment_seconds", self.increment_seconds)
        if self.expected_runs is not None:
            whole_number("expected_runs", self.expected_runs)
        for name in BILLED_NUMBERS:
            number_not_negative(name, getattr(self, name))
            if getattr(self, name):
                _sensible(name, getattr(self, name))

    def at(self, price_per_hour: float) -> Billing:
        """The same for machines of a price."""
        terms = {name: getattr(self, name) for name in BILLED_NUMBERS}
        if self.expected_runs is None:
            terms["training_dollars"] = 0.0
        return Billing(
            price_per_hour=price_per_hour,
            increment_seconds=self.increment_seconds,
            expected_runs=self.expected_runs or 1,
            **terms,
        )


BILLED_NUMBERS = (
    "minimum_seconds",
    "boot_seconds",
    "master_price_per_hour",
    "volume_gigabytes",
    "volume_price_per_gigabyte_month",
    "training_dollars",
)
"""Those of `BilledTerms` that may be 0."""

ONLY_MACHINES = BilledTerms()


@dataclass(frozen=True, kw_only=True)
class PredictionRequest:
    """What a model is asked.

    Attributes:
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs; None for those trained with.
        deadline_seconds: to be kept, or None.
        budget_dollars: to be kept, or None.
        confidence: with what probability.
        objective: "cheapest", "fastest" or "balanced"; None for the cheapest within the deadline or the
            fastest within the budget. A function's path is never taken from an address.
        price_per_hour: dollars for one machine of the model's type and hour; None where not known.
        billed: what is billed besides, for machines of any type.
        min_machines: the fewest machines.
        max_machines: the most, at most `WIDEST_SPAN` numbers of machines in all.

    Raises:
        InvalidParameterError: a number is not above 0, or beyond all measure.
    """

    scale: float = 1.0
    iterations: int | None = None
    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    confidence: float = CONFIDENCE
    objective: str | None = None
    price_per_hour: float | None = None
    billed: BilledTerms = ONLY_MACHINES
    min_machines: int = 1
    max_machines: int = 1

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be reckoned."""
        for name in ("scale", "deadline_seconds", "budget_dollars", "price_per_hour"):
            _sensible(name, getattr(self, name))
        if self.iterations is not None:
            whole_number("iterations", self.iterations)

    def counts(self) -> list[int]:
        """The numbers of machines to compute: all, or at most `MOST_COMPUTED` of them.

        Then they are spread evenly by ratio, so that no small number is missed: from 12 to 16 machines a
        run changes as much as from 120 to 160.

        Raises:
            InvalidParameterError: they are not between 1 and `MOST_MACHINES`, in the wrong order, or more
                than `WIDEST_SPAN`.
        """
        least = whole_number("min_machines", self.min_machines)
        most = whole_number("max_machines", self.max_machines)
        if most > MOST_MACHINES:
            raise InvalidParameterError(
                "max_machines", most, "is no size of a cluster", remedy=f"Ask for {MOST_MACHINES:,} at most."
            )
        if most < least:
            raise InvalidParameterError(
                "max_machines", most, f"is less than min_machines={least}", remedy="Exchange the two."
            )
        span = most - least
        if span >= WIDEST_SPAN:
            raise InvalidParameterError(
                "max_machines",
                most,
                f"is {span + 1:,} numbers of machines with min_machines={least}",
                remedy=f"Ask for at most {WIDEST_SPAN:,}, up to {least + WIDEST_SPAN - 1:,} machines.",
            )
        if span < MOST_COMPUTED:
            return list(range(least, most + 1))
        steps = MOST_COMPUTED - 1
        return sorted({round(least * (most / least) ** (step / steps)) for step in range(steps + 1)})

    def left_out(self) -> str:
        """That not all numbers of machines were considered, in a sentence; empty where all were."""
        considered, allowed = len(self.counts()), self.max_machines - self.min_machines + 1
        if considered == allowed:
            return ""
        return f"Of {allowed:,} numbers of machines {considered:,} were considered, evenly spread by ratio."

    def goal(self) -> Goal | None:
        """What is to be kept and what is best; None without a deadline, a budget and an objective.

        Raises:
            InvalidParameterError: there are both limits and no objective, or what is no confidence.
        """
        if self.deadline_seconds is None and self.budget_dollars is None and self.objective is None:
            return None
        return Goal(
            deadline_seconds=self.deadline_seconds,
            budget_dollars=self.budget_dollars,
            confidence=self.confidence,
            objective=self.objective,
        )


def in_bounds(value: float | None) -> float | None:
    """The scale, price, deadline or budget where it may be asked for; None where not."""
    # What is no number is in no bounds.
    return value if value is not None and 1 / LARGEST <= value <= LARGEST else None


def machines_in_bounds(least: int, most: int) -> tuple[int, int]:
    """The fewest and the most machines, as near to these as may be asked for."""
    least = min(max(1, least), MOST_MACHINES)
    return least, min(max(least, most), least + WIDEST_SPAN - 1, MOST_MACHINES)


# ---------------------------------------------------------------------------
# What an API server can compute of a model, and what it refuses.


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
    from airflow_provider_ernest.prediction.predictors import check_method
    from airflow_provider_ernest.prediction.terms import check_terms
    from airflow_provider_ernest.settings import AVERAGING

    if not model.observations:
        raise cannot_predict(model, "it has no observations", remedy="Train it again.")
    rows, terms = max(len(model.observations), MOST_COMPUTED), len(model.terms)
    if rows * terms > MOST_NUMBERS:
        raise cannot_predict(
            model,
            f"it has {len(model.observations):,} runs and {terms:,} terms, more than a page can wait for",
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
            f"its runs have {configurations:,} configurations, and a page can wait for {MOST_CONFIGURATIONS}",
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
        f"Model {model.model_id} of {model.job!r} on {model.instance_type} cannot predict here: {why}.",
        remedy=remedy,
    )


# ---------------------------------------------------------------------------
# All that may be chosen for a job: what the models of its types of machines say of each configuration.


ANY_PRICE = 1.0
"""Where none is known, what follows from it is not shown."""

BEYOND = "its times or costs are beyond all measure"


@dataclass(frozen=True, kw_only=True)
class Considered:
    """What may be chosen.

    Attributes:
        curve: of the model that was asked, by number of machines.
        offers: its type, and the others that it is compared with; empty where its price is not known.
        alternatives: of all of them.
        skipped: types that are not compared, each with the reason.
    """

    curve: tuple[Prediction, ...]
    offers: tuple[Offer, ...]
    alternatives: tuple[Alternative, ...]
    skipped: tuple[tuple[str, str], ...]


def all_considered(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> Considered:
    """What the model predicts, and what there is to choose from at the prices that are known.

    Args:
        store: where the models lie.
        model: one that the reader may see; that is for the caller to make sure.
        request: what it is asked.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read; types of others are neither offered nor named.

    Raises:
        InvalidParameterError: the request cannot be.
        FitError: the model cannot predict.
    """
    curve, own, alternatives = _of_model(model, request)
    if request.price_per_hour is None:
        return Considered(curve=curve, offers=(), alternatives=(), skipped=())
    offers, told, skipped = [own], [*alternatives], []
    for other in other_types(store, model, entries, readable):
        reason = _incomparable(other, model)
        if not reason:
            try:
                offer, more = _of_other(other, request)
            except ErnestError as error:
                reason = str(error)
            else:
                offers.append(offer)
                told += more
        if reason:
            skipped.append((other.entry.instance_type, reason))
    front = on_pareto_front([(each.seconds, each.cost) for each in told])
    return Considered(
        curve=curve,
        offers=tuple(offers),
        alternatives=tuple(
            replace(each, is_pareto=is_pareto) for each, is_pareto in zip(told, front, strict=True)
        ),
        skipped=tuple(skipped),
    )


def _of_model(
    model: Model, request: PredictionRequest
) -> tuple[tuple[Prediction, ...], Offer, tuple[Alternative, ...]]:
    from airflow_provider_ernest.views.report.contents import predictions_of

    # Without a price nothing can be chosen, but all the rest can be shown.
    with computing(model):
        offer, alternatives = _offered(model, request.price_per_hour, request)
        curve = predictions_of(model, alternatives, scale=request.scale, iterations=request.iterations)
    if not all(math.isfinite(part) for point in curve for part in point.parts.values()):
        raise cannot_predict(model, BEYOND)
    return curve, offer, alternatives


def _of_other(other: OtherType, request: PredictionRequest) -> tuple[Offer, tuple[Alternative, ...]]:
    assert other.model is not None
    with computing(other.model):
        return _offered(other.model, other.price_per_hour, request)


def _offered(
    model: Model, price: float | None, request: PredictionRequest
) -> tuple[Offer, tuple[Alternative, ...]]:
    from airflow_provider_ernest.decision.choice import consider
    from airflow_provider_ernest.decision.offers import Offer

    billing = request.billed.at(ANY_PRICE if price is None else price)
    offer = Offer(model=model, machines=request.counts(), billing=billing)
    goal = request.goal() if price is not None else None
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


# ---------------------------------------------------------------------------
# What the extended Amdahl model says of a choice: another model, learned from the same runs.


def second_opinion(
    model: Model, decision: Decision | None, *, scale: float, iterations: int | None
) -> dict[str, Any] | None:
    """The share of the work that spreads, and the seconds on the machines that were chosen.

    Args:
        model: with the other model's sums; nothing is said where it has none.
        decision: what was chosen; None where nothing was.
        scale: that was asked.
        iterations: likewise; it knows only those of the sample runs.

    Returns:
        None where there is no such model. ``problem`` says why it cannot tell.
    """
    state = model.amdahl
    if state is None:
        return None
    from airflow_provider_ernest.prediction.amdahl import ExtendedAmdahl

    machines = _machines(model, decision)
    told: dict[str, Any] = {"alpha": None, "machines": machines, "seconds": None, "problem": ""}
    try:
        other = ExtendedAmdahl(degree=state.degree, state=state)
        told["alpha"] = other.alpha
        if machines is not None and iterations in (None, model.trained_iterations):
            (seconds,) = other.predict(x=scale, processors=machines).tolist()
            told["seconds"] = seconds + model.startup_seconds
    except (ErnestError, ArithmeticError, ValueError) as error:
        told["problem"] = error.message if isinstance(error, ErnestError) else "It cannot be computed."
    return told


def _machines(model: Model, decision: Decision | None) -> int | None:
    """What was chosen of the model's own type, which is all that it knows."""
    if decision is None or decision.composition or decision.config.instance_type != model.instance_type:
        return None
    return decision.config.machines


# ---------------------------------------------------------------------------


RUNNERS_UP = 3

NO_PRICE = "What a machine costs is not known. Give the dollars for one machine and hour."


def prediction(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> dict[str, Any]:
    """The curve of seconds, what each configuration costs, and the choice.

    Without a price there is a curve, but neither costs nor choice. Other types of machines are offered by
    their newest models, at the prices last known of them; the choice is among all.

    Args:
        store: where the model lies.
        model: one that the reader may see; that is for the caller to make sure.
        request: what it is asked.
        entries: all of the catalogue, or those of the job.
        readable: whether a DAG may be read; types of others are neither offered nor named.

    Returns:
        For `JsonAnswer`.

    Raises:
        InvalidParameterError: the request cannot be.
        FitError: the model cannot predict: it has no runs, or terms that this version does not know.
        StoreError: the store cannot be read.
    """
    goal = request.goal()
    considered = all_considered(store, model, request, entries=entries, readable=readable)
    decision, out_of_reach, most_probable = _chosen(considered, goal)
    left_out = request.left_out()
    return {
        "instance_type": model.instance_type,
        "scale": request.scale,
        "iterations": request.iterations,
        "startup_seconds": model.startup_seconds,
        "price_per_hour": request.price_per_hour,
        "goal": goal.describe() if goal else None,
        "confidence": request.confidence,
        "boot_seconds": request.billed.boot_seconds,
        "latest_seconds": goal.latest_seconds(request.billed.boot_seconds) if goal else None,
        "curve": considered.curve,
        "alternatives": [_alternative(each) for each in considered.alternatives],
        "decision": _told(decision, left_out),
        "out_of_reach": f"{out_of_reach} {left_out}".rstrip() if out_of_reach else "",
        "most_probable": _alternative(most_probable) if most_probable else None,
        "runners_up": _runners_up(considered, goal, decision),
        "second_opinion": second_opinion(model, decision, scale=request.scale, iterations=request.iterations),
        "offered_types": [
            {
                "instance_type": offer.type_name,
                "model_id": offer.model.model_id,
                "price_per_hour": offer.billing.price_per_hour,
            }
            for offer in considered.offers
        ],
        "skipped_types": [{"instance_type": name, "reason": reason} for name, reason in considered.skipped],
    }


def _chosen(considered: Considered, goal: Goal | None) -> tuple[Decision | None, str, Alternative | None]:
    """The decision; or why there is none although there is a goal, and what keeps to it most probably."""
    from airflow_provider_ernest.decision.choice import choose_among

    if goal is None:
        return None, "", None
    if not considered.offers:
        return None, NO_PRICE, None
    try:
        return choose_among(considered.alternatives, considered.offers, goal=goal), "", None
    except InfeasibleGoalError as error:
        return None, str(error), error.most_probable


def _alternative(each: Alternative) -> dict[str, Any]:
    names = (
        "instance_type",
        "machines",
        "seconds",
        "cost",
        "likely_seconds",
        "nearly_certain_seconds",
        "feasible",
        "probability",
        "extrapolates",
        "memory_shortage",
        "is_pareto",
    )
    return {name: getattr(each, name) for name in names}


def _told(decision: Decision | None, left_out: str) -> dict[str, Any] | None:
    if decision is None:
        return None
    told = {key: value for key, value in decision.to_dict().items() if key != "alternatives"}
    return {**told, "warnings": [*([left_out] if left_out else []), *decision.warnings]}


def _runners_up(considered: Considered, goal: Goal | None, decision: Decision | None) -> list[dict[str, Any]]:
    """What would have been chosen next."""
    if goal is None or decision is None:
        return []
    feasible: Iterable[Alternative] = (each for each in considered.alternatives if each.feasible)
    return [_alternative(each) for each in sorted(feasible, key=goal.preference)[1 : 1 + RUNNERS_UP]]


# ---------------------------------------------------------------------------
# Types of machines at the same dollars per hour, as Ernest compares them (section 6.4).


FEWEST_TYPES = 2


def compared_at_same_cost(
    store: ModelStore,
    model: Model,
    request: PredictionRequest,
    *,
    entries: Sequence[CatalogueEntry],
    readable: Readable,
) -> dict[str, Any]:
    """What each type takes for some rates of dollars per hour that all can come to.

    The arguments and errors are those of `prediction_page.prediction`; without a price nothing is compared.

    Returns:
        For `JsonAnswer`.
    """
    from airflow_provider_ernest.decision.same_cost import same_cost

    considered = all_considered(store, model, request, entries=entries, readable=readable)
    offers, alternatives = considered.offers, considered.alternatives
    enough = len(offers) >= FEWEST_TYPES
    return {
        "rates": same_cost(offers, scale=request.scale, alternatives=alternatives) if enough else (),
        "skipped_types": [{"instance_type": name, "reason": reason} for name, reason in considered.skipped],
    }
