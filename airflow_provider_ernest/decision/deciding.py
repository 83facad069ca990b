"""The decision: the best value that keeps to a deadline or a budget (Ernest, section 6.3), or what is asked.

`decide` is the only way in, for operators, pages and command line alike. It chooses over all types of
machines that are offered. A configuration counts as keeping to the goal where it does so with the probability
asked for; of those that do, the best by its predicted seconds and dollars is taken (see `goals.preference`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import airflow_provider_ernest.words as words
from airflow_provider_ernest.decision.goals import Goal, cheapest_that_meets, fastest, on_pareto_front
from airflow_provider_ernest.decision.mixed import mixed_alternatives, mixed_billing
from airflow_provider_ernest.decision.offers import Forecast, Offer
from airflow_provider_ernest.documents.decisions import Alternative, Configuration, Decision, Reachable
from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import raised
from airflow_provider_ernest.prediction.predict import no_prediction
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.settings.goal import BEST_VALUE, FAIL, MOST_PROBABLE

OTHERWISE = "ask for less confidence, allow other numbers of machines, or train on another instance type."

AS_PROBABLE = 0.01
"""Probabilities are means over some hundred draws: within this share of the highest they are equal."""

LEAST_DIFFERENCE = 1e-4
"""Of dollars or seconds, as a share: nobody sees figures differ that are nearer."""

DIGITS = 3
"""Of a limit that is proposed: more would be told of by no model."""

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
        return sorted(feasible, key=Goal(self.goal).preference)[1 : 1 + most]


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


def _nothing_offered() -> InvalidParameterError:
    return InvalidParameterError(
        "offers", [], "is empty", remedy="Offer each type of machine once, with the model of that type."
    )


def _instead(choice: Choice, goal: Goal, error: ErnestError, fallback: Decision | None) -> Decision | None:
    """What the goal says of where nothing can be chosen: a decision with a loud warning, or none."""
    surest = error.most_probable if isinstance(error, InfeasibleGoalError) else None
    if goal.stated.reaction == MOST_PROBABLE and surest is not None:
        return _decision_on(surest, choice, goal, fallback_reason=error.message)
    if goal.stated.reaction == FAIL or fallback is None:
        return None
    machines = words.machines(fallback.config.machines)
    taken = f"The stated fallback of {machines} was taken: {error.message}"
    return replace(
        fallback,
        alternatives=choice.alternatives,
        fallback_reason=error.message,
        warnings=(taken, *choice.warnings),
    )


def _considered(goal: Goal, offered: Offered) -> tuple[Choice, list[Forecast]]:
    """All that may be chosen, with seconds, dollars, and the probability of keeping to the goal.

    And the forecasts of what could be predicted.

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
    forecasts: list[Forecast] = []
    alternatives: list[Alternative] = []
    left_out: dict[str, ErnestError] = {}
    for offer in offered.offers:
        try:
            forecast = offer.forecast(scale=goal.scale, iterations=goal.iterations)
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
    front = on_pareto_front([(each.seconds, each.cost) for each in alternatives])
    choice = Choice(
        goal=goal.stated,
        offers=tuple(forecast.offer for forecast in forecasts),
        alternatives=tuple(
            replace(
                each,
                is_pareto=is_pareto,
                feasible=each.feasible and not (goal.stated.only_in_memory and each.memory_shortage),
            )
            for each, is_pareto in zip(alternatives, front, strict=True)
        ),
        left_out=left_out,
        warnings=(
            *offered.warnings,
            *(f"{name} is not among the choices: {error.message}" for name, error in left_out.items()),
        ),
    )
    return choice, forecasts


def _decision_on(
    chosen: Alternative, choice: Choice, goal: Goal, *, fallback_reason: str | None = None
) -> Decision:
    """The decision for one of the alternatives.

    The fallback's reason says why it is chosen although it does not keep to the goal.
    """
    offer = choice.offer_of(chosen)
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
        goal=goal.in_words,
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
        worth="" if fallback_reason else _worth(chosen, choice, goal),
    )


def _worth(chosen: Alternative, choice: Choice, goal: Goal) -> str:
    """Why the best value is not what has the least dollars, or seconds, and is sure enough; else empty."""
    is_time = goal.is_time
    least = (fastest if is_time else cheapest_that_meets)(choice.alternatives)
    if goal.objective != BEST_VALUE or least is None or None in (chosen.probability, least.probability):
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


def _alternatives(forecast: Forecast, goal: Goal) -> list[Alternative]:
    """The alternatives of one type, by number of machines."""
    offer, counts = forecast.offer, forecast.offer.counts
    startup, billing = offer.model.startup_seconds, offer.billing
    likely, nearly_certain = (
        [(float(low) + startup, float(high) + startup) for low, high in zip(*bounds, strict=True)]
        for bounds in (forecast.likely, forecast.nearly_certain)
    )
    probabilities: list[float | None] = [None] * len(counts)
    if goal.has_limits:
        limits = np.array([goal.limit_seconds(billing, count) for count in counts])
        probabilities = forecast.probability_within(limits - startup).tolist()
    all_seconds = [float(seconds) + startup for seconds in forecast.seconds]
    extrapolates, shortages = forecast.extrapolates, forecast.memory_shortages
    return [
        Alternative(
            machines=count,
            instance_type=offer.type_name,
            seconds=all_seconds[at],
            cost=billing.cost(machines=count, seconds=all_seconds[at]).total,
            feasible=goal.is_kept(probabilities[at]),
            likely_seconds=likely[at],
            nearly_certain_seconds=nearly_certain[at],
            extrapolates=extrapolates[at],
            probability=probabilities[at],
            memory_shortage=shortages[at],
        )
        for at, count in enumerate(counts)
    ]


def most_probable(alternatives: Sequence[Alternative], goal: Goal) -> Alternative:
    """The alternative that keeps to the goal most probably; of as probable ones the one it prefers.

    Where none has a chance worth the name, the one that comes nearest to the goal's limits.
    """
    highest = max(each.probability or 0.0 for each in alternatives)
    if highest < 1 - words.ALMOST_ONE:  # it hangs on single draws, and orders nothing
        return min(alternatives, key=lambda each: (_overshoot(each, goal), *goal.preference(each)))
    return min(
        (each for each in alternatives if (each.probability or 0.0) >= highest * (1 - AS_PROBABLE)),
        key=goal.preference,
    )


def _overshoot(alternative: Alternative, goal: Goal) -> float:
    """How many times the limit that is missed most is used up."""
    used: list[float] = []
    if goal.deadline_seconds is not None:
        used.append(alternative.seconds / goal.deadline_seconds)
    if goal.budget_dollars is not None:
        used.append(alternative.cost / goal.budget_dollars)
    return max(used)


def _infeasible(choice: Choice, goal: Goal, forecasts: Sequence[Forecast]) -> InfeasibleGoalError:
    """The error that none keeps to the goal, with the most probable and the nearest goals within reach."""
    alternatives, only_in_memory = choice.alternatives, goal.stated.only_in_memory
    fastest_of_all = min(each.seconds for each in alternatives)
    if only_in_memory:
        alternatives = tuple(each for each in alternatives if not each.memory_shortage)
    if not alternatives:
        return InfeasibleGoalError(
            "None of the allowed machines can hold the data in memory.",
            best=fastest_of_all,
            remedy="Allow more machines, or types with more memory, or leave out only_in_memory.",
        )
    surest = most_probable(alternatives, goal)
    none = "No allowed configuration" + (" that holds the data in memory" if only_in_memory else "")
    boot_seconds = max(float(offer.billing.boot_seconds) for offer in choice.offers)
    missed, best, remedy = _best_of_all(goal, alternatives, boot_seconds)
    nearest = within_reach(forecasts, alternatives, goal)
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


def _nearest_in_words(nearest: WithinReach, goal: Goal) -> str:
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
    goal: Goal, alternatives: Sequence[Alternative], boot_seconds: float
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


# What could be asked for instead of a goal out of reach.


@dataclass(frozen=True, kw_only=True)
class WithinReach:
    """The goals nearest to one that is out of reach. Mixes of types are not among what is looked at.

    Attributes:
        earliest_deadline: the shortest deadline, boot and start-up included, within the budget where there
            is one; None where the budget alone cannot be kept.
        least_budget: the smallest budget, within the deadline where there is one; None where the deadline
            alone cannot be kept.
    """

    earliest_deadline: Reachable | None = None
    least_budget: Reachable | None = None


@dataclass(frozen=True)
class _SureRun:
    """Machines with the deadline and the dollars that a run keeps as surely as was asked."""

    machines: int
    instance_type: str
    deadline: float
    dollars: float


def within_reach(
    forecasts: Sequence[Forecast], alternatives: Sequence[Alternative], goal: Goal
) -> WithinReach:
    """The nearest limits that some alternative keeps with the confidence that the goal asks for.

    Args:
        forecasts: of what could be predicted.
        alternatives: those of the offers that may be chosen; others are passed over.
        goal: with a deadline, a budget or both.
    """
    allowed = {(each.instance_type, each.machines) for each in alternatives}
    runs = [
        run
        for forecast in forecasts
        for run in _sure_runs(forecast, goal.confidence)
        if (run.instance_type, run.machines) in allowed
    ]
    deadline = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    budget = math.inf if goal.budget_dollars is None else goal.budget_dollars
    in_time = [(run, run.dollars) for run in runs if run.deadline <= deadline]
    return WithinReach(
        earliest_deadline=_least(
            [(run, run.deadline) for run in runs if run.dollars <= budget], is_time=True
        ),
        least_budget=_least(in_time, is_time=False),
    )


def _sure_runs(forecast: Forecast, confidence: float) -> list[_SureRun]:
    offer = forecast.offer
    sure = forecast.seconds_kept_within(confidence) + offer.model.startup_seconds
    return [
        _SureRun(
            machines=machines,
            instance_type=offer.type_name,
            deadline=seconds + float(offer.billing.boot_seconds),  # from the launch of the machines on
            dollars=offer.billing.cost(machines=machines, seconds=seconds).total,
        )
        for machines, seconds in zip(offer.counts, sure.tolist(), strict=True)
    ]


def _least(runs: Sequence[tuple[_SureRun, float]], *, is_time: bool) -> Reachable | None:
    """The run with the least of a figure; of equal ones that on fewer machines."""
    if not runs:
        return None
    run, limit = min(runs, key=lambda each: (each[1], each[0].machines))
    limit = raised(limit, digits=DIGITS)
    if is_time and limit >= words.HOUR:
        limit = float(words.MINUTE * math.ceil(limit / words.MINUTE))
    return Reachable(limit=limit, machines=run.machines, instance_type=run.instance_type)
