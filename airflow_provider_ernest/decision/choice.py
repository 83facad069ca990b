"""The cheapest configuration within a deadline, or the fastest within a budget (Ernest, section 6.3).

Over all types of machines that are offered. A configuration counts as keeping to the goal where it does so
with the probability asked for; of those that do, the best by its predicted seconds and dollars per run that
keeps to it is taken (see `goals.Goal.preference`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from airflow_provider_ernest.decision.goals import TOLERANCE, Goal, on_pareto_front
from airflow_provider_ernest.decision.offers import Offer, OfferForecast
from airflow_provider_ernest.documents import Alternative, Configuration, Decision
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.words import machines as machines_in_words

LIKELY = 0.8
NEARLY_CERTAIN = 0.95

OTHERWISE = "ask for less confidence, allow other numbers of machines, or train on another instance type."

OUT_OF_ALL_REACH = 5e-4
"""Lower probabilities hang on single draws, and order nothing; they read as less than 0.1 %."""

AS_PROBABLE = 0.01
"""Probabilities are means over some hundred draws: within this share of the highest they are equal."""


def choose(
    offers: Offer | Sequence[Offer],
    *,
    goal: Goal,
    scale: float = 1.0,
    iterations: int | None = None,
    allow_mixed: bool = False,
    only_in_memory: bool = False,
    else_most_probable: bool = False,
) -> Decision:
    """Choose the machines of the production run.

    Start-up counts: it is part of what the deadline allows, and it is billed.

    Args:
        offers: what may be chosen, one for each type of machine.
        goal: a deadline, a budget, both or none, how surely to keep to it, and what is best.
        scale: the production input relative to the one that was sampled.
        iterations: of the production run, for iterative jobs; see `predict_seconds`.
        allow_mixed: consider clusters of several trained types, too; see `mixed`.
        only_in_memory: leave out machines that cannot hold the data in memory.
        else_most_probable: where none keeps to the goal, take the one that does so most probably.

    Returns:
        The decision with all alternatives, by type and number of machines.

    Raises:
        InvalidParameterError: a parameter cannot be.
        InfeasibleGoalError: no configuration keeps to the goal with the probability asked for; `best` is the
            best that can be reached, `most_probable` the alternative that keeps to it most probably.
    """
    alternatives = consider(
        offers,
        goal=goal,
        scale=scale,
        iterations=iterations,
        allow_mixed=allow_mixed,
        only_in_memory=only_in_memory,
    )
    try:
        return choose_among(alternatives, offers, goal=goal, only_in_memory=only_in_memory)
    except InfeasibleGoalError as error:
        if not else_most_probable or error.most_probable is None:
            raise
        return decide_on(error.most_probable, alternatives, offers, goal=goal, fallback_reason=error.message)


def consider(
    offers: Offer | Sequence[Offer],
    *,
    goal: Goal | None = None,
    scale: float = 1.0,
    iterations: int | None = None,
    allow_mixed: bool = False,
    only_in_memory: bool = False,
) -> tuple[Alternative, ...]:
    """All that may be chosen, with seconds, dollars, and the probability of keeping to the goal.

    The arguments are those of `choose`; without a goal all alternatives are feasible.
    """
    listed = _each_type_once(offers)
    alternatives = [
        alternative for offer in listed for alternative in _of_offer(offer, goal, scale, iterations)
    ]
    if allow_mixed and goal is not None:
        from airflow_provider_ernest.decision.mixed import mixed_alternatives

        alternatives += mixed_alternatives(listed, goal=goal, scale=scale, iterations=iterations)
    front = on_pareto_front([(each.seconds, each.cost) for each in alternatives])
    return tuple(
        replace(
            each,
            is_pareto=is_pareto,
            feasible=each.feasible and not (only_in_memory and each.memory_shortage),
        )
        for each, is_pareto in zip(alternatives, front, strict=True)
    )


def choose_among(
    alternatives: Sequence[Alternative],
    offers: Offer | Sequence[Offer],
    *,
    goal: Goal,
    only_in_memory: bool = False,
) -> Decision:
    """As `choose`, of the alternatives of these offers that were considered before.

    Raises:
        InfeasibleGoalError: see `choose`.
    """
    feasible = [each for each in alternatives if each.feasible]
    if not feasible:
        raise infeasible(
            goal, alternatives, boot_seconds=_longest_boot(offers), only_in_memory=only_in_memory
        )
    return decide_on(min(feasible, key=goal.preference), alternatives, offers, goal=goal)


def decide_on(
    chosen: Alternative,
    alternatives: Sequence[Alternative],
    offers: Offer | Sequence[Offer],
    *,
    goal: Goal,
    fallback_reason: str | None = None,
) -> Decision:
    """The decision for one of the alternatives of these offers.

    The fallback's reason says why it is chosen although it does not keep to the goal.
    """
    listed = _each_type_once(offers)
    offer = _offer_of(chosen, listed)
    model, billing, startup = offer.model, offer.billing, offer.model.startup_seconds
    models = [model]
    if chosen.composition:
        from airflow_provider_ernest.decision.mixed import mixed_billing

        billing = mixed_billing(listed, chosen.composition)
        names = {part.instance_type for part in chosen.composition}
        models = [each.model for each in listed if each.type_name in names]
        startup = max(each.startup_seconds for each in models)
    marks = [mark for mark in (chosen.extrapolates, chosen.memory_shortage) if mark]
    reasons = [fallback_reason] if fallback_reason else []
    doubts = dict.fromkeys(warning for each in models for warning in each.warnings)
    return Decision(
        config=Configuration(machines=chosen.machines, instance_type=chosen.instance_type),
        goal=goal.describe(),
        price_per_hour=billing.price_per_hour,
        predicted_seconds=chosen.seconds,
        run_seconds=chosen.seconds - startup,
        startup_seconds=startup,
        likely_seconds=chosen.likely_seconds,
        nearly_certain_seconds=chosen.nearly_certain_seconds,
        predicted_cost=chosen.cost,
        error_percent=model.validation.median_error_percent,
        max_error_percent=model.validation.max_error_percent,
        alternatives=tuple(alternatives),
        model_id=model.id,
        fallback_reason=fallback_reason,
        warnings=(*reasons, *marks, *doubts),
        probability=chosen.probability,
        confidence=goal.confidence if goal.has_limits else None,
        billing=billing,
        cost_parts=billing.cost(machines=chosen.machines, seconds=chosen.seconds),
        composition=chosen.composition,
    )


def _of_offer(offer: Offer, goal: Goal | None, scale: float, iterations: int | None) -> list[Alternative]:
    """The alternatives of one type, by number of machines."""
    forecast, counts = OfferForecast(offer, scale=scale, iterations=iterations), offer.counts
    startup = offer.model.startup_seconds
    likely, nearly_certain = (
        [(float(low) + startup, float(high) + startup) for low, high in zip(*bounds, strict=True)]
        for bounds in (forecast.interval(LIKELY), forecast.interval(NEARLY_CERTAIN))
    )
    probabilities: list[float | None] = [None] * len(counts)
    if goal is not None and goal.has_limits:
        limits = np.array([goal.limit_seconds(offer.billing, count) for count in counts])
        probabilities = forecast.probability_within(limits - startup).tolist()
    alternatives = []
    for position, count in enumerate(counts):
        seconds, probability = float(forecast.seconds[position]) + startup, probabilities[position]
        alternatives.append(
            Alternative(
                machines=count,
                instance_type=offer.type_name,
                seconds=seconds,
                cost=offer.billing.cost(machines=count, seconds=seconds).total,
                feasible=goal is None or is_sure(probability, goal),
                likely_seconds=likely[position],
                nearly_certain_seconds=nearly_certain[position],
                extrapolates=forecast.extrapolates(count),
                probability=probability,
                memory_shortage=forecast.memory_shortage(count),
            )
        )
    return alternatives


def is_sure(probability: float | None, goal: Goal) -> bool:
    """Whether a goal is kept as surely as was asked for; where it has no limits any way does."""
    if not goal.has_limits:
        return True
    return probability is not None and probability >= goal.confidence - TOLERANCE


def _each_type_once(offers: Offer | Sequence[Offer]) -> list[Offer]:
    listed = [offers] if isinstance(offers, Offer) else list(offers)
    names = [offer.type_name for offer in listed]
    if not listed or len(set(names)) < len(names):
        raise InvalidParameterError(
            "offers",
            names,
            "names a type of machine twice" if listed else "is empty",
            remedy="Offer each type of machine once, with the model of that type.",
        )
    return listed


def _offer_of(alternative: Alternative, offers: Sequence[Offer]) -> Offer:
    """The offer that an alternative comes from; of a mix that of the type with most machines."""
    parts = alternative.composition or (
        Configuration(machines=alternative.machines, instance_type=alternative.instance_type),
    )
    main = max(parts, key=lambda part: part.machines)
    return next(offer for offer in offers if offer.type_name == main.instance_type)


def _longest_boot(offers: Offer | Sequence[Offer]) -> float:
    return max(float(offer.billing.boot_seconds) for offer in _each_type_once(offers))


def most_probable(alternatives: Sequence[Alternative], goal: Goal) -> Alternative:
    """The alternative that keeps to the goal most probably; of as probable ones the one it prefers.

    Where none has a chance worth the name, the one that comes nearest to the goal's limits.
    """
    highest = max(each.probability or 0.0 for each in alternatives)
    if highest < OUT_OF_ALL_REACH:
        return min(alternatives, key=lambda each: (_overshoot(each, goal), *goal.preference(each)))
    return min(
        (each for each in alternatives if (each.probability or 0.0) >= highest * (1 - AS_PROBABLE)),
        key=goal.preference,
    )


def _overshoot(alternative: Alternative, goal: Goal) -> float:
    """How many times the limit that is missed most is used up."""
    used = []
    if goal.deadline_seconds is not None:
        used.append(alternative.seconds / goal.deadline_seconds)
    if goal.budget_dollars is not None:
        used.append(alternative.cost / goal.budget_dollars)
    return max(used)


def infeasible(
    goal: Goal,
    alternatives: Sequence[Alternative],
    *,
    boot_seconds: float,
    only_in_memory: bool = False,
) -> InfeasibleGoalError:
    """The error that none keeps to the goal, with the best within reach and the most probable.

    There is at least one alternative; the boot is the longest of the types. With `only_in_memory`, those that
    cannot hold the data in memory were left out.
    """
    fastest_of_all = min(each.seconds for each in alternatives)
    if only_in_memory:
        alternatives = [each for each in alternatives if not each.memory_shortage]
    if not alternatives:
        return InfeasibleGoalError(
            "None of the allowed machines can hold the data in memory.",
            best=fastest_of_all,
            remedy="Allow more machines, or types with more memory, or leave out only_in_memory.",
        )
    surest = most_probable(alternatives, goal)
    none = "No allowed configuration" + (" that holds the data in memory" if only_in_memory else "")
    missed, best, remedy = _best_within_reach(goal, alternatives, boot_seconds)
    return InfeasibleGoalError(
        f"{none} {missed}. The most probable is {_told(surest)}: "
        f"{probability_in_words(surest.probability or 0.0)}.",
        best=best,
        remedy=f"{remedy}, {OTHERWISE}",
        most_probable=surest,
    )


def _best_within_reach(
    goal: Goal, alternatives: Sequence[Alternative], boot_seconds: float
) -> tuple[str, float, str]:
    """What is missed and what can be had, in words; that figure; and what else to ask for."""
    asked = f"with a probability of {100 * goal.confidence:.10g} %"
    budget = f"{goal.budget_dollars:,.10g} $" if goal.budget_dollars is not None else ""
    if goal.deadline_seconds is None:
        cheapest = min(alternatives, key=lambda each: (each.cost, each.seconds))
        missed = f"costs at most {budget} {asked}: the cheapest is {_told(cheapest)}"
        return missed, cheapest.cost, "Raise the budget"
    fastest = min(alternatives, key=lambda each: (each.seconds, each.cost))
    missed = (
        f"ends within {goal.deadline_seconds:,.10g} s{f' for at most {budget}' if budget else ''} {asked}: "
    )
    missed += f"the fastest is {_told(fastest)}"
    if boot_seconds:
        missed += f" after a boot of {boot_seconds:,.10g} s"
    return missed, fastest.seconds, "Extend the deadline" + (", raise the budget" if budget else "")


def _told(alternative: Alternative) -> str:
    if alternative.composition:
        machines = alternative.instance_type
    else:
        machines = f"{machines_in_words(alternative.machines)} of {alternative.instance_type}"
    return f"{machines} with {alternative.seconds:,.1f} s for {alternative.cost:,.4g} $"


def probability_in_words(probability: float) -> str:
    """As a percentage; what is not certain is never called so."""
    if 0.9995 <= probability < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < probability < OUT_OF_ALL_REACH else f"{100 * probability:.1f} %"
