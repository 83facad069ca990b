"""The decision: the best value that keeps to a deadline or a budget (Ernest, section 6.3), or what is asked.

`decide` is the only way in, for operators, pages and command line alike. It chooses over all types of
machines that are offered. A configuration counts as keeping to the goal where it does so with the
probability asked for; of those that do, the best by its predicted seconds and dollars is taken (see
`Goal.preference`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

import airflow_provider_ernest.words as words
from airflow_provider_ernest.decision.goals import Goal, cheapest_that_meets, fastest, on_pareto_front
from airflow_provider_ernest.decision.mixed import mixed_alternatives, mixed_billing
from airflow_provider_ernest.decision.offers import DynamicForecast, Forecast, Offer
from airflow_provider_ernest.documents.decisions import Alternative, Decision, Reachable
from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import raised
from airflow_provider_ernest.prediction.predict import no_prediction
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.settings.goal import BEST_VALUE, DYNAMIC, FAIL, MOST_PROBABLE

AS_PROBABLE = 0.01
"""Probabilities are means over some hundred draws: within this share of the highest they are equal."""

LEAST_DIFFERENCE = 1e-4  # dollars or seconds that differ by a smaller share look equal to everybody
DIGITS = 3  # of a limit that is proposed: no model knows more

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What a decision may choose from."""

    offers: Sequence[Offer] = ()  # one for each type of machine
    warnings: tuple[str, ...] = ()  # sentences: what is not among them, and why
    error: ErnestError | None = None  # why there are none
    fallback: Decision | None = None  # the stated one, still without its reason; None where none is stated


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What came of a goal: what was considered, and the decision, or why there is none."""

    goal: SizingGoal
    offers: tuple[Offer, ...] = ()  # that could be predicted
    alternatives: tuple[Alternative, ...] = ()  # all considered, by type and number, then the mixes
    left_out: Mapping[str, ErnestError] = field(default_factory=dict)  # by type: offers without a prediction
    warnings: tuple[str, ...] = ()  # what was not considered
    decision: Decision | None = None
    # Why nothing keeps to the goal, also where something else was decided on then.
    error: ErnestError | None = None

    def required(self) -> Decision:
        """The decision; where there is none, its error is raised, and what was not considered is logged."""
        if self.decision is not None:
            return self.decision
        for warning in self.warnings:
            _log.warning("%s", warning)
        raise self.error or _bad_offers([])

    def offer_of(self, alternative: Alternative) -> Offer:
        """The offer that an alternative comes from; of a mix that of the type with most executors."""
        main = max(alternative.composition or (alternative.config,), key=lambda part: part.executors)
        return next(offer for offer in self.offers if offer.type_name == main.instance_type)

    def runners_up(self, most: int) -> list[Alternative]:
        """What keeps to the goal and would have been chosen next."""
        feasible = (each for each in self.alternatives if each.feasible)
        return sorted(feasible, key=Goal(self.goal).preference)[1 : 1 + most]


def decide(goal: SizingGoal, offered: Offered, *, iterations: int | None = None) -> Choice:
    """Choose the executors of production; where that is impossible do what the goal says.

    Start-up counts: it is part of what the deadline allows, and it is billed. The goal has no templates; the
    iterations are the production run's, see `predict_seconds`.

    Raises:
        InvalidParameterError: a parameter cannot be; no fallback helps there.
    """
    choice = Choice(goal=goal, warnings=offered.warnings)
    asked = Goal(goal, iterations=iterations)
    try:
        if offered.error is not None:
            raise offered.error
        choice, forecasts = _considered(asked, offered)
        feasible = [each for each in choice.alternatives if each.feasible]
        if not feasible:
            raise _infeasible(choice, asked, forecasts)
        return replace(choice, decision=_decision_on(min(feasible, key=asked.preference), choice, asked))
    except InvalidParameterError:
        raise
    except ErnestError as error:
        return replace(choice, decision=_instead(choice, asked, error, offered.fallback), error=error)


def _bad_offers(names: Sequence[str]) -> InvalidParameterError:
    return InvalidParameterError(
        "offers",
        names,
        "names a type of machine twice" if names else "is empty",
        remedy="Offer each type of machine once, with the model of that type.",
    )


def _instead(choice: Choice, goal: Goal, error: ErnestError, fallback: Decision | None) -> Decision | None:
    """What the goal says of where nothing can be chosen: a decision with a loud warning, or none."""
    surest = error.most_probable if isinstance(error, InfeasibleGoalError) else None
    if goal.stated.reaction == MOST_PROBABLE and surest is not None:
        return _decision_on(surest, choice, goal, fallback_reason=error.message)
    if goal.stated.reaction == FAIL or fallback is None:
        return None
    return replace(
        fallback,
        alternatives=choice.alternatives,
        fallback_reason=error.message,
        warnings=(f"The stated fallback of {fallback.config} was taken: {error.message}", *choice.warnings),
    )


def _considered(goal: Goal, offered: Offered) -> tuple[Choice, list[Forecast]]:
    """All that may be chosen, and the forecasts of the offers that could be predicted; at least one."""
    names = [offer.type_name for offer in offered.offers]
    if not names or len(set(names)) < len(names):
        raise _bad_offers(names)
    forecasts: list[Forecast] = []
    alternatives: list[Alternative] = []
    left_out: dict[str, ErnestError] = {}
    for offer in offered.offers:
        try:
            forecast = _forecast(offer, goal)
            alternatives += _alternatives(forecast, goal)
            forecasts.append(forecast)
        except ErnestError as error:
            left_out[offer.type_name] = error
        except (ArithmeticError, ValueError) as error:
            left_out[offer.type_name] = no_prediction(offer.model, f"the computation failed ({error})")
    if not forecasts:
        raise next(iter(left_out.values()))
    if goal.stated.allow_mixed:
        alternatives += mixed_alternatives(forecasts, goal=goal)
    front = on_pareto_front([(each.seconds, each.expense) for each in alternatives])
    choice = Choice(
        goal=goal.stated,
        offers=tuple(forecast.offer for forecast in forecasts),
        alternatives=tuple(
            replace(each, is_pareto=is_pareto) for each, is_pareto in zip(alternatives, front, strict=True)
        ),
        left_out=left_out,
        warnings=(
            *offered.warnings,
            *(f"{name} is not among the choices: {error.message}" for name, error in left_out.items()),
        ),
    )
    return choice, forecasts


def _forecast(offer: Offer, goal: Goal) -> Forecast:
    if goal.stated.allocation != DYNAMIC:
        return offer.forecast(scale=goal.scale, iterations=goal.iterations)
    if maxima := {each.bounds.maximum for each in offer.allocations}.intersection(offer.counts):
        offer = replace(offer, executors=sorted(maxima))
    return DynamicForecast(offer.forecast(scale=goal.scale, iterations=goal.iterations))


def _alternatives(forecast: Forecast, goal: Goal) -> list[Alternative]:
    """The alternatives of one type, by number of executors."""
    offer, (executors, allocations) = forecast.offer, zip(*forecast.sizes, strict=True)
    startup, billing = offer.model.startup_seconds, offer.billing
    likely, nearly_certain = (
        [(float(low) + startup, float(high) + startup) for low, high in zip(*bounds, strict=True)]
        for bounds in (forecast.likely, forecast.nearly_certain)
    )
    means = [
        each and each.mean_within(seconds=float(seconds), startup_seconds=startup)
        for each, seconds in zip(allocations, forecast.seconds, strict=True)
    ]
    paid = [count if mean is None else mean for count, mean in zip(executors, means, strict=True)]
    probabilities: list[float | None] = [None] * len(executors)
    if goal.has_limits:
        limits = np.array([goal.limit_seconds(billing, count) for count in paid])
        probabilities = forecast.probability_within(limits - startup).tolist()
    all_seconds = [float(seconds) + startup for seconds in forecast.seconds]
    costs = [
        offer.cost(executors=count, seconds=seconds) for count, seconds in zip(paid, all_seconds, strict=True)
    ]
    extrapolates, shortages = forecast.extrapolates, forecast.memory_shortages
    return [
        Alternative(
            executors=count,
            instance_type=offer.type_name,
            executors_per_machine=offer.model.executors_per_machine,
            seconds=all_seconds[at],
            cost=cost.total if cost else None,
            feasible=goal.is_kept(probabilities[at]),
            likely_seconds=likely[at],
            nearly_certain_seconds=nearly_certain[at],
            extrapolates=extrapolates[at],
            probability=probabilities[at],
            memory_shortage=shortages[at],
            bounds=allocations[at] and allocations[at].bounds,
            mean_executors=means[at],
        )
        for at, (count, cost) in enumerate(zip(executors, costs, strict=True))
    ]


def _decision_on(
    chosen: Alternative, choice: Choice, goal: Goal, *, fallback_reason: str | None = None
) -> Decision:
    """The decision for an alternative, with the reason if it is chosen though it misses the goal."""
    offer = choice.offer_of(chosen)
    models, billing = [offer.model], offer.billing
    if chosen.composition:
        billing = mixed_billing(choice.offers, chosen.composition)
        names = {part.instance_type for part in chosen.composition}
        models = [each.model for each in choice.offers if each.type_name in names]
    startup = max(each.startup_seconds for each in models)
    marks = [mark for mark in (chosen.extrapolates, chosen.memory_shortage) if mark]
    reasons = [fallback_reason] if fallback_reason else []
    doubts = dict.fromkeys(warning for each in models for warning in each.warnings)
    return Decision(
        config=chosen.config,
        goal=goal.in_words,
        price_per_hour=billing.price_per_hour,
        predicted_seconds=chosen.seconds,
        run_seconds=chosen.seconds - startup,
        startup_seconds=startup,
        likely_seconds=chosen.likely_seconds,
        nearly_certain_seconds=chosen.nearly_certain_seconds,
        predicted_cost=chosen.cost,
        error_percent=offer.model.validation.median_error_percent,
        max_error_percent=offer.model.validation.max_error_percent,
        alternatives=choice.alternatives,
        model_id=offer.model.id,
        fallback_reason=fallback_reason,
        warnings=(*choice.warnings, *reasons, *marks, *doubts),
        probability=chosen.probability,
        confidence=goal.confidence if goal.has_limits else None,
        billing=billing,
        cost_parts=None
        if billing.price_per_hour is None
        else billing.cost(executors=chosen.paid_executors, seconds=chosen.seconds),
        composition=chosen.composition,
        bounds=chosen.bounds,
        basis=offer.model.known_by,
        worth="" if fallback_reason else _worth(chosen, choice, goal),
    )


def _worth(chosen: Alternative, choice: Choice, goal: Goal) -> str:
    """What a best value buys that is not the cheapest (or fastest) of the sure ones; empty where it is."""
    least = (fastest if goal.is_time else cheapest_that_meets)(choice.alternatives)
    if goal.objective != BEST_VALUE or least is None or None in (chosen.probability, least.probability):
        return ""
    if goal.is_time:
        figure, more = chosen.seconds, chosen.seconds - least.seconds
    else:
        figure, more = chosen.expense, chosen.expense - least.expense
    low = words.probability(least.probability or 0.0, chosen.probability)
    high = words.probability(chosen.probability or 0.0)
    if more <= LEAST_DIFFERENCE * figure or low == high:  # both over 99.9 %
        return ""
    plain = f"the {'fastest' if goal.is_time else 'cheapest'} ({_on(least)})"
    told = words.duration(more) if goal.is_time else _expense(chosen, more)
    return f"Best value: for {told} more than {plain} the chance rises from {low} to {high}."


def most_probable(alternatives: Sequence[Alternative], goal: Goal) -> Alternative:
    """The alternative that keeps to the goal most probably, or the nearest where none has a chance."""

    def overshoot(each: Alternative) -> float:
        """How many times the limit that is missed most is used up."""
        used = (each.seconds, goal.deadline_seconds), (each.expense, goal.budget_dollars)
        return max(float(figure / limit) for figure, limit in used if limit is not None)

    highest = max(each.probability or 0.0 for each in alternatives)
    if highest < 1 - words.ALMOST_ONE:  # it hangs on single draws, and orders nothing
        return min(alternatives, key=lambda each: (overshoot(each), *goal.preference(each)))
    return min(
        (each for each in alternatives if (each.probability or 0.0) >= highest * (1 - AS_PROBABLE)),
        key=goal.preference,
    )


# What is told of a goal out of reach, and what could be asked for instead.


def _infeasible(choice: Choice, goal: Goal, forecasts: Sequence[Forecast]) -> InfeasibleGoalError:
    """The error that none keeps to the goal, with the most probable and the nearest goals within reach."""
    surest = most_probable(choice.alternatives, goal)
    boot = max(offer.billing.boot_seconds for offer in choice.offers)
    missed, best, remedy = _missed(goal, choice.alternatives, boot)
    earliest, least = _within_reach(forecasts, goal)
    chance = words.probability(surest.probability or 0.0, goal.confidence)
    likely = "Also most" if surest is best else "Most"
    told = f" ({chance})" if surest is best else f": {_told(surest)} ({chance})"
    instead = possible(earliest, least, goal)
    return InfeasibleGoalError(
        f"No allowed configuration {missed}. {likely} likely to meet the goal{told}.{instead}",
        remedy=f"{remedy}, ask for less confidence, allow other sizes, or train on another instance type.",
        most_probable=surest,
        earliest_deadline=earliest,
        least_budget=least,
    )


def possible(earliest: Reachable | None, least: Reachable | None, goal: Goal | SizingGoal) -> str:
    """The limits that could be asked for instead; empty where changing one of two would not do."""
    limits = [
        f"a {name} of {told(nearest.limit)} ({_on(nearest)})"
        for name, told, stated, nearest in (
            ("deadline", words.duration, goal.deadline_seconds, earliest),
            ("budget", words.dollars, goal.budget_dollars, least),
        )
        if stated is not None and nearest is not None
    ]
    return f" Possible: {' or '.join(limits)}." if limits else ""


def _missed(goal: Goal, alternatives: Sequence[Alternative], boot: float) -> tuple[str, Alternative, str]:
    """What is missed and what comes nearest, in words; that one; and what else to ask for."""
    asked = f"in {words.confidence(goal.confidence)} of runs"
    budget = words.dollars(goal.budget_dollars) if goal.budget_dollars is not None else ""
    if goal.deadline_seconds is None:
        cheapest = min(alternatives, key=lambda each: (each.expense, each.seconds))
        return f"costs at most {budget} {asked}. Cheapest: {_told(cheapest)}", cheapest, "Raise the budget"
    quickest = min(alternatives, key=lambda each: (each.seconds, each.expense))
    missed = f"ends within {words.duration(goal.deadline_seconds)}"
    missed += f" for at most {budget} {asked}" if budget else f" {asked}"
    missed += f". Fastest: {_told(quickest)}"
    if boot:
        missed += f" after {words.duration(boot)} to boot"
    return missed, quickest, "Extend the deadline" + (", raise the budget" if budget else "")


def _told(alternative: Alternative) -> str:
    paid = "" if alternative.cost is None else f" for {words.dollars(alternative.cost)}"
    return f"{_on(alternative)}, {words.duration(alternative.seconds)}{paid}"


def _expense(of: Alternative, amount: float) -> str:
    """An amount of `Alternative.expense` in words."""
    if of.cost is not None:
        return words.dollars(amount)
    return f"{words.number(amount)} {words.unit(of.executors_per_machine)}-hours"


def _on(found: Reachable | Alternative) -> str:
    if isinstance(found, Alternative) and found.bounds is not None:
        return str(found.bounds)
    if isinstance(found, Alternative) and found.composition:
        return found.instance_type
    return words.executors(
        found.executors, found.instance_type, executors_per_machine=found.executors_per_machine
    )


def _within_reach(forecasts: Sequence[Forecast], goal: Goal) -> tuple[Reachable | None, Reachable | None]:
    """The earliest deadline and the least budget that can be kept as surely as asked; None where none can.

    Each within the other limit, the deadline with boot and start-up. Mixes of types are not looked at.
    """
    in_time: list[Reachable] = []
    affordable: list[Reachable] = []
    for forecast in forecasts:
        offer = forecast.offer
        sure = forecast.seconds_kept_within(goal.confidence) + offer.model.startup_seconds
        for (count, allocation), seconds in zip(forecast.sizes, sure.tolist(), strict=True):
            deadline = seconds + offer.billing.boot_seconds  # from the launch of the machines on
            mean = allocation.mean_within(seconds=seconds, startup_seconds=0.0) if allocation else count
            cost = offer.cost(executors=mean, seconds=seconds)
            on = partial(
                Reachable,
                executors=count,
                instance_type=offer.type_name,
                executors_per_machine=offer.model.executors_per_machine,
            )
            if cost and (goal.deadline_seconds is None or deadline <= goal.deadline_seconds):
                in_time.append(on(limit=cost.total))
            if goal.budget_dollars is None or (cost and cost.total <= goal.budget_dollars):
                affordable.append(on(limit=deadline))
    return _least(affordable, is_time=True), _least(in_time, is_time=False)


def _least(found: Sequence[Reachable], *, is_time: bool) -> Reachable | None:
    """The least limit, of equal ones that on fewer executors, rounded up as people read it."""
    least = min(found, key=lambda each: (each.limit, each.executors), default=None)
    if least is None:
        return None
    limit = raised(least.limit, digits=DIGITS)
    if is_time and limit >= words.HOUR:
        limit = float(words.MINUTE * math.ceil(limit / words.MINUTE))
    return replace(least, limit=limit)
