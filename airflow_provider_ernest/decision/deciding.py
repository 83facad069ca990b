"""The decision: the best value that keeps to a deadline or a budget (Ernest, section 6.3), or what is asked.

`decide` is the only way in, for operators, pages and command line alike. It chooses over all types of
machines that are offered. A configuration counts as keeping to the goal where it does so with the probability
asked for; of those that do, the best by its predicted seconds and dollars is taken (see `goals.preference`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from airflow_provider_ernest import words
from airflow_provider_ernest.decision.candidates import (
    WithinReach,
    cheapest_that_meets,
    fastest,
    within_reach,
)
from airflow_provider_ernest.decision.goals import (
    counts_seconds,
    describe,
    is_sure,
    limit_seconds,
    objective_of,
    on_pareto_front,
    preference,
)
from airflow_provider_ernest.decision.mixed import mixed_alternatives, mixed_billing
from airflow_provider_ernest.decision.offers import LIKELY, NEARLY_CERTAIN, Offer
from airflow_provider_ernest.documents.decisions import Alternative, Configuration, Decision, Reachable
from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.prediction.predict import no_prediction
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.settings.goal import BEST_VALUE, FAIL, MOST_PROBABLE

OTHERWISE = "ask for less confidence, allow other numbers of machines, or train on another instance type."

AS_PROBABLE = 0.01
"""Probabilities are means over some hundred draws: within this share of the highest they are equal."""

LEAST_DIFFERENCE = 1e-4
"""Of dollars or seconds, as a share: nobody sees figures differ that are nearer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What a decision may choose from.

    Attributes:
        offers: one for each type of machine.
        warnings: of what is not among them, and why, each a sentence.
        error: why there are none; None where there are.
        fallback: the decision for the configuration that the user has stated for where nothing can be chosen,
            but for the reason; None where none is stated.
    """

    offers: Sequence[Offer] = ()
    warnings: tuple[str, ...] = ()
    error: ErnestError | None = None
    fallback: Decision | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What came of a goal: what was considered, and the decision, or why there is none.

    Attributes:
        goal: what was asked for.
        offers: that could be predicted.
        alternatives: all that was considered, by type and number of machines, then the mixed ones.
        left_out: by type the error of an offer beside others that could not be predicted.
        warnings: of what was not considered.
        decision: None where there is none.
        error: why nothing could be chosen that keeps to the goal, also where something else was decided on
            then; of an `InfeasibleGoalError` `best` is the best that can be reached, and `most_probable` the
            alternative that keeps to the goal most probably.
    """

    goal: SizingGoal
    offers: tuple[Offer, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    left_out: Mapping[str, ErnestError] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    decision: Decision | None = None
    error: ErnestError | None = None

    def required(self) -> Decision:
        """The decision.

        Raises:
            ErnestError: there is none; what was not considered is logged.
        """
        if self.decision is not None:
            return self.decision
        for warning in self.warnings:
            _log.warning("%s", warning)
        raise self.error or _nothing_offered()

    def offer_of(self, alternative: Alternative) -> Offer:
        """The offer that an alternative comes from; of a mix that of the type with most machines."""
        own = Configuration(machines=alternative.machines, instance_type=alternative.instance_type)
        main = max(alternative.composition or (own,), key=lambda part: part.machines)
        return next(offer for offer in self.offers if offer.type_name == main.instance_type)

    def runners_up(self, most: int) -> list[Alternative]:
        """What keeps to the goal and would have been chosen next."""
        feasible = (each for each in self.alternatives if each.feasible)
        return sorted(feasible, key=preference(self.goal))[1 : 1 + most]


def decide(goal: SizingGoal, offered: Offered, *, iterations: int | None = None) -> Choice:
    """Choose the machines of production; where that is impossible do what the goal says.

    Start-up counts: it is part of what the deadline allows, and it is billed.

    Args:
        goal: what is asked for, without templates. The offers say which machines there are.
        offered: what may be chosen.
        iterations: of the production run, for iterative jobs; see `predict_seconds`.

    Raises:
        InvalidParameterError: a parameter cannot be; no fallback helps there.
    """
    best = preference(goal)
    choice = Choice(goal=goal, warnings=offered.warnings)
    try:
        if offered.error is not None:
            raise offered.error
        choice = _considered(goal, offered, iterations)
        feasible = [each for each in choice.alternatives if each.feasible]
        if not feasible:
            raise _infeasible(choice, iterations)
        return replace(choice, decision=_decision_on(min(feasible, key=best), choice))
    except InvalidParameterError:
        raise
    except ErnestError as error:
        return replace(choice, decision=_instead(choice, error, offered.fallback), error=error)


def _nothing_offered() -> InvalidParameterError:
    return InvalidParameterError(
        "offers", [], "is empty", remedy="Offer each type of machine once, with the model of that type."
    )


def _instead(choice: Choice, error: ErnestError, fallback: Decision | None) -> Decision | None:
    """What the goal says of where nothing can be chosen: a decision with a loud warning, or none."""
    goal = choice.goal
    surest = error.most_probable if isinstance(error, InfeasibleGoalError) else None
    if goal.reaction == MOST_PROBABLE and surest is not None:
        return _decision_on(surest, choice, fallback_reason=error.message)
    if goal.reaction == FAIL or fallback is None:
        return None
    machines = words.machines(fallback.config.machines)
    taken = f"The stated fallback of {machines} was taken: {error.message}"
    return replace(
        fallback,
        alternatives=choice.alternatives,
        fallback_reason=error.message,
        warnings=(taken, *choice.warnings),
    )


def _considered(goal: SizingGoal, offered: Offered, iterations: int | None) -> Choice:
    """All that may be chosen, with seconds, dollars, and the probability of keeping to the goal.

    Raises:
        InvalidParameterError: a type is offered twice, or none is.
        ErnestError: nothing that is offered can be predicted.
    """
    names = [offer.type_name for offer in offered.offers]
    if not names:
        raise _nothing_offered()
    if len(set(names)) < len(names):
        raise InvalidParameterError(
            "offers",
            names,
            "names a type of machine twice",
            remedy="Offer each type of machine once, with the model of that type.",
        )
    offers: list[Offer] = []
    alternatives: list[Alternative] = []
    left_out: dict[str, ErnestError] = {}
    for offer in offered.offers:
        try:
            alternatives += _alternatives(offer, goal, iterations)
            offers.append(offer)
        except ErnestError as error:
            left_out[offer.type_name] = error
        except (ArithmeticError, ValueError) as error:
            left_out[offer.type_name] = no_prediction(offer.model, f"the computation failed ({error})")
    if not offers:
        raise next(iter(left_out.values()))
    if goal.allow_mixed:
        alternatives += mixed_alternatives(offers, goal=goal, iterations=iterations)
    front = on_pareto_front([(each.seconds, each.cost) for each in alternatives])
    return Choice(
        goal=goal,
        offers=tuple(offers),
        alternatives=tuple(
            replace(
                each,
                is_pareto=is_pareto,
                feasible=each.feasible and not (goal.only_in_memory and each.memory_shortage),
            )
            for each, is_pareto in zip(alternatives, front, strict=True)
        ),
        left_out=left_out,
        warnings=(
            *offered.warnings,
            *(f"{name} is not among the choices: {error.message}" for name, error in left_out.items()),
        ),
    )


def _decision_on(chosen: Alternative, choice: Choice, *, fallback_reason: str | None = None) -> Decision:
    """The decision for one of the alternatives.

    The fallback's reason says why it is chosen although it does not keep to the goal.
    """
    goal, offer = choice.goal, choice.offer_of(chosen)
    model, billing, startup = offer.model, offer.billing, offer.model.startup_seconds
    models = [model]
    if chosen.composition:
        billing = mixed_billing(choice.offers, chosen.composition)
        names = {part.instance_type for part in chosen.composition}
        models = [each.model for each in choice.offers if each.type_name in names]
        startup = max(each.startup_seconds for each in models)
    marks = [mark for mark in (chosen.extrapolates, chosen.memory_shortage) if mark]
    reasons = [fallback_reason] if fallback_reason else []
    doubts = dict.fromkeys(warning for each in models for warning in each.warnings)
    return Decision(
        config=Configuration(machines=chosen.machines, instance_type=chosen.instance_type),
        goal=describe(goal),
        price_per_hour=billing.price_per_hour,
        predicted_seconds=chosen.seconds,
        run_seconds=chosen.seconds - startup,
        startup_seconds=startup,
        likely_seconds=chosen.likely_seconds,
        nearly_certain_seconds=chosen.nearly_certain_seconds,
        predicted_cost=chosen.cost,
        error_percent=model.validation.median_error_percent,
        max_error_percent=model.validation.max_error_percent,
        alternatives=choice.alternatives,
        model_id=model.id,
        fallback_reason=fallback_reason,
        warnings=(*choice.warnings, *reasons, *marks, *doubts),
        probability=chosen.probability,
        confidence=goal.confidence if goal.has_limits else None,
        billing=billing,
        cost_parts=billing.cost(machines=chosen.machines, seconds=chosen.seconds),
        composition=chosen.composition,
        worth="" if fallback_reason else _worth(chosen, choice),
    )


def _worth(chosen: Alternative, choice: Choice) -> str:
    """Why the best value is not what has the least dollars, or seconds, and is sure enough; else empty."""
    goal = choice.goal
    is_time = counts_seconds(goal)
    least = (fastest if is_time else cheapest_that_meets)(choice.alternatives)
    if objective_of(goal) != BEST_VALUE or least is None or None in (chosen.probability, least.probability):
        return ""
    figure, more = (chosen.seconds, chosen.seconds - least.seconds)
    if not is_time:
        figure, more = (chosen.cost, chosen.cost - least.cost)
    if more <= LEAST_DIFFERENCE * figure:
        return ""
    told = words.duration(more) if is_time else words.dollars(more)
    plain = f"the {'fastest' if is_time else 'cheapest'} ({_on(least)})"
    low = words.probability(least.probability or 0.0, chosen.probability)
    high = words.probability(chosen.probability or 0.0)
    if low == high:  # both over 99.9 %
        return ""
    return f"Best value: for {told} more than {plain} the chance rises from {low} to {high}."


def _alternatives(offer: Offer, goal: SizingGoal, iterations: int | None) -> list[Alternative]:
    """The alternatives of one type, by number of machines."""
    forecast, counts = offer.forecast(scale=goal.scale, iterations=iterations), offer.counts
    startup = offer.model.startup_seconds
    likely, nearly_certain = (
        [(float(low) + startup, float(high) + startup) for low, high in zip(*bounds, strict=True)]
        for bounds in (forecast.interval(LIKELY), forecast.interval(NEARLY_CERTAIN))
    )
    probabilities: list[float | None] = [None] * len(counts)
    if goal.has_limits:
        limits = np.array([limit_seconds(goal, offer.billing, count) for count in counts])
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
                feasible=is_sure(probability, goal),
                likely_seconds=likely[position],
                nearly_certain_seconds=nearly_certain[position],
                extrapolates=forecast.extrapolates(count),
                probability=probability,
                memory_shortage=forecast.memory_shortage(count),
            )
        )
    return alternatives


def most_probable(alternatives: Sequence[Alternative], goal: SizingGoal) -> Alternative:
    """The alternative that keeps to the goal most probably; of as probable ones the one it prefers.

    Where none has a chance worth the name, the one that comes nearest to the goal's limits.
    """
    best = preference(goal)
    highest = max(each.probability or 0.0 for each in alternatives)
    if highest < 1 - words.ALMOST_ONE:  # it hangs on single draws, and orders nothing
        return min(alternatives, key=lambda each: (_overshoot(each, goal), *best(each)))
    return min(
        (each for each in alternatives if (each.probability or 0.0) >= highest * (1 - AS_PROBABLE)),
        key=best,
    )


def _overshoot(alternative: Alternative, goal: SizingGoal) -> float:
    """How many times the limit that is missed most is used up."""
    used: list[float] = []
    if goal.deadline_seconds is not None:
        used.append(alternative.seconds / goal.deadline_seconds)
    if goal.budget_dollars is not None:
        used.append(alternative.cost / goal.budget_dollars)
    return max(used)


def _infeasible(choice: Choice, iterations: int | None) -> InfeasibleGoalError:
    """The error that none keeps to the goal, with the most probable and the nearest goals within reach."""
    goal, alternatives = choice.goal, choice.alternatives
    fastest_of_all = min(each.seconds for each in alternatives)
    if goal.only_in_memory:
        alternatives = tuple(each for each in alternatives if not each.memory_shortage)
    if not alternatives:
        return InfeasibleGoalError(
            "None of the allowed machines can hold the data in memory.",
            best=fastest_of_all,
            remedy="Allow more machines, or types with more memory, or leave out only_in_memory.",
        )
    surest = most_probable(alternatives, goal)
    none = "No allowed configuration" + (" that holds the data in memory" if goal.only_in_memory else "")
    boot_seconds = max(float(offer.billing.boot_seconds) for offer in choice.offers)
    missed, best, remedy = _best_of_all(goal, alternatives, boot_seconds)
    nearest = within_reach(choice.offers, alternatives, goal, iterations=iterations)
    chance = words.probability(surest.probability or 0.0, goal.confidence)
    likely = "Also most" if surest is best else "Most"
    told = f" ({chance})" if surest is best else f": {_told(surest)} ({chance})"
    return InfeasibleGoalError(
        f"{none} {missed}. {likely} likely to meet the goal{told}.{_nearest_in_words(nearest, goal)}",
        best=best.seconds if goal.deadline_seconds is not None else best.cost,
        remedy=f"{remedy}, {OTHERWISE}",
        most_probable=surest,
        within_reach=nearest,
    )


def _nearest_in_words(nearest: WithinReach, goal: SizingGoal) -> str:
    """The limits that could be asked for instead; empty where changing one of two would not do."""
    deadline, budget = nearest.earliest_deadline, nearest.least_budget
    within = []
    if goal.deadline_seconds is not None and deadline is not None:
        within.append(f"a deadline of {words.duration(deadline.limit)} ({_on(deadline)})")
    if goal.budget_dollars is not None and budget is not None:
        within.append(f"a budget of {words.dollars(budget.limit)} ({_on(budget)})")
    return f" Possible: {' or '.join(within)}." if within else ""


def _on(found: Reachable | Alternative) -> str:
    if isinstance(found, Alternative) and found.composition:
        return found.instance_type
    return words.machines(found.machines, found.instance_type)


def _best_of_all(
    goal: SizingGoal, alternatives: Sequence[Alternative], boot_seconds: float
) -> tuple[str, Alternative, str]:
    """What is missed and what comes nearest, in words; that one; and what else to ask for."""
    asked = f"in {words.confidence(goal.confidence)} of runs"
    budget = words.dollars(goal.budget_dollars) if goal.budget_dollars is not None else ""
    if goal.deadline_seconds is None:
        cheapest = min(alternatives, key=lambda each: (each.cost, each.seconds))
        missed = f"costs at most {budget} {asked}. Cheapest: {_told(cheapest)}"
        return missed, cheapest, "Raise the budget"
    quickest = min(alternatives, key=lambda each: (each.seconds, each.cost))
    missed = f"ends within {words.duration(goal.deadline_seconds)}"
    missed += f" for at most {budget} {asked}" if budget else f" {asked}"
    missed += f". Fastest: {_told(quickest)}"
    if boot_seconds:
        missed += f" after {words.duration(boot_seconds)} to boot"
    return missed, quickest, "Extend the deadline" + (", raise the budget" if budget else "")


def _told(alternative: Alternative) -> str:
    return f"{_on(alternative)}, {words.duration(alternative.seconds)} for {words.dollars(alternative.cost)}"
