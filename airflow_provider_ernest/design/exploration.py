"""Learning by production: the next run takes another size where that is worth more than it costs, and safe.

Runs of one size tell little of others. A run on another size tells, and costs only the difference: nothing,
where the size turns out to be cheaper. Which size, if any, is asked as of sample runs (`preposterior`): what
production is expected to save by what the run tells, against its extra dollars. Only sizes are asked about
that keep the deadline as probably as the goal wants, and near to those that were tried, for nothing is known
of far ones. So it goes on step by step, and ends where no run is worth what it costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

import airflow_provider_ernest.words as words
from airflow_provider_ernest.decision.deciding import Offered, decide
from airflow_provider_ernest.decision.goals import HOPELESS, TOLERANCE, Goal
from airflow_provider_ernest.decision.offers import (
    LIKELY,
    Forecast,
    Offer,
    doublings_from_runs,
    replayed_seconds,
)
from airflow_provider_ernest.design.preposterior import MISSED, Play, Production, Worth, spread
from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.decisions import (
    Decision,
    DecisionRecord,
    ProductionRun,
    SizeExploration,
)
from airflow_provider_ernest.prediction.averaging import DRAWS, TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.predict import fitted, observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.regimes import effective_executors
from airflow_provider_ernest.prediction.regression import mixture_quantiles, two_sided
from airflow_provider_ernest.prediction.terms import Runs
from airflow_provider_ernest.settings import Exploration, SizingGoal
from airflow_provider_ernest.settings.goal import DYNAMIC, MOST_PROBABLE

BoolArray: TypeAlias = NDArray[np.bool_]

FURTHEST = 2.0  # so many times, or so many times fewer than, executors that were tried
AHEAD = 3  # explorations that are looked ahead: what one alone cannot change, two or three may
MOST_SIZES = 8  # are played through: the others are between them

MONTHS = 3
"""So long a better size goes on saving, until data or code have changed too much."""

LEAST_SHARE = 0.005
"""The decision is clear where knowing more saves less than this share of what runs cost."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What explorations came to so far."""

    spent_dollars: float = 0.0  # on explorations in this month
    was_late: bool = False  # the last run explored, and missed its deadline

    @classmethod
    def of(
        cls,
        runs: Sequence[tuple[ProductionRun, DecisionRecord]],
        today: date,
        not_recorded: Sequence[DecisionRecord] = (),
    ) -> Standing:
        """By production runs with the decisions that they ran by, oldest first.

        Explorations whose runs are not recorded, as of runs that failed, count as dear as they might be.
        """

        def is_this_month(at: str) -> bool:
            moment = time_of(at)
            return moment is not None and (moment.year, moment.month) == (today.year, today.month)

        spent, was_late = 0.0, False
        for record in not_recorded:
            exploration = record.decision.exploration
            if exploration and is_this_month(record.at):
                spent += exploration.most_extra_dollars or 0.0
        for run, record in runs:
            exploration = record.decision.exploration
            explored = exploration is not None and exploration.executors is not None
            was_late = explored and record.latest_seconds is not None and run.seconds > record.latest_seconds
            if exploration and is_this_month(run.at):
                spent += exploration.spent(run.cost)
        return cls(spent_dollars=spent, was_late=was_late)


def not_recorded(decision: Decision, records: Sequence[DecisionRecord]) -> SizeExploration | None:
    """Why nothing is explored after decisions without a recorded run; None where none of them explored.

    What they cost, and whether they were late, is not known.
    """
    for record in records:
        before = record.decision.exploration
        if before is not None and before.executors is not None:
            why = f"the run that explored {before.executors} on {record.at[:10]} is not recorded"
            return _none(decision.config.executors, f"{why}; put a RecordRunOperator behind production")
    return None


def within_tried(goal: SizingGoal, offer: Offer) -> Offer:
    """The offer's sizes from the least to the most that were tried: others are explored first."""
    tried = sorted(offer.observed)
    allowed = [each for each in goal.executors if tried and tried[0] <= each <= tried[-1]]
    return replace(offer, executors=allowed or goal.executors)


def next_exploration(
    asked: Exploration,
    *,
    goal: SizingGoal,
    decision: Decision,
    offer: Offer,
    standing: Standing,
    runs_per_month: float | None,
    today: date,
    iterations: int | None = None,
) -> SizeExploration:
    """The size that the next production run takes instead of the decided one, or a sentence why none.

    Args:
        asked: within which limits, without templates.
        goal: of production, without templates.
        decision: what was decided for the run by the offer `within_tried`, on its type.
        offer: the executors of that type that production may have, and what is known of them.
        standing: what explorations came to so far.
        runs_per_month: of production, by its history; None where that does not tell.
        today: the date of the run.
        iterations: of the production run, for iterative jobs.
    """
    decided, offer = decision.config.executors, _with_terms(offer)
    left = float(asked.dollars_per_month) - standing.spent_dollars
    per_month = float(asked.runs_per_month or runs_per_month or 0.0)
    why_none = _not_now(asked, standing, today)
    if not why_none:
        why_none = _not_from(decision, goal, offer, per_month)
    if why_none:
        return _none(decided, why_none)
    outlook = _Outlook(Goal(goal, iterations=iterations), offer, decided)
    near, is_safe, why_none = outlook.near(left)
    if why_none:
        return _none(decided, why_none)
    worth = outlook.play(near, is_safe, per_month).best(AHEAD, now=outlook.now)
    return outlook.told(worth, int(near[worth.runs[0]]), per_month)


def _none(decided: int, why: str, value: float | None = None) -> SizeExploration:
    return SizeExploration(instead_of=decided, reason=f"No exploration: {why}.", value=value)


def _not_now(asked: Exploration, standing: Standing, today: date) -> str:
    """Why no run explores today, whatever there is to learn; empty where one may."""
    if day := asked.excludes(today):
        return f"{day} is excluded"
    if standing.was_late:
        return "the last run explored and missed its deadline, so this one keeps the decided size"
    if standing.spent_dollars >= asked.dollars_per_month:
        spent, limit = words.dollars(standing.spent_dollars), words.dollars(asked.dollars_per_month)
        return f"{spent} are spent of the {limit} for this month"
    return ""


def _not_from(decision: Decision, goal: SizingGoal, offer: Offer, per_month: float) -> str:
    """Why nothing can be explored from a decision; empty where it can."""
    if decision.fallback_reason or decision.composition or goal.allocation == DYNAMIC:
        return "it starts only from a fixed number of executors of one type that keeps to the goal"
    if offer.billing.price_per_hour is None:
        return "what an executor costs is not known; state price_per_hour"
    if not per_month:
        return "the history does not tell how often the job runs; state runs_per_month"
    return ""


class _Outlook:
    """What is believed of the q sizes of an offer."""

    def __init__(self, goal: Goal, offer: Offer, decided: int) -> None:
        self.goal, self.offer, self.now = goal, offer, offer.counts.index(decided)
        self.tried = sorted(offer.observed) or [decided]
        self.forecast = offer.forecast(scale=goal.scale, iterations=goal.iterations)
        self.draws = _as_forecast(self.forecast, _draws(offer, self.forecast, goal))
        executors, startup = np.array(offer.counts, dtype=np.float64), offer.model.startup_seconds
        self.production = Production.of(
            goal,
            offer.billing,
            executors=executors,
            startup_seconds=startup,
            log_seconds=(self.draws.means, self.draws.spreads),
        )
        self.kept = np.ones_like(executors)  # the probability that a run keeps to the goal, (q,)
        if goal.has_limits:
            limits = np.array([goal.limit_seconds(offer.billing, count) for count in offer.counts])
            self.kept = self.forecast.probability_within(np.maximum(limits - startup, HOPELESS))
        # What a run is expected to cost, (q,).
        self.dollars: FloatArray = self.draws.weights @ self.production.costs

    @cached_property
    def most_extra_dollars(self) -> FloatArray:
        """What a run costs at most with 90 %, beyond what is expected of one on the decided size, (q,)."""
        slow = (self.forecast.likely[1] + self.offer.model.startup_seconds).tolist()
        costs = [
            self.offer.billing.cost(executors=count, seconds=seconds).of_the_run
            for count, seconds in zip(self.offer.counts, slow, strict=True)
        ]
        return np.asarray(np.maximum(0.0, np.array(costs) - self.dollars[self.now]), dtype=np.float64)

    def near(self, left: float) -> tuple[IntArray, BoolArray, str]:
        """Positions of the untried sizes near those that were tried, which are safe today; if none, why.

        Safe is what keeps the goal as probably as asked, and costs no more than so many dollars with 90 %.
        """
        counts, tried = np.array(self.offer.counts), np.array(self.tried)
        apart = np.abs(np.log(counts[:, None] / tried)).min(axis=1)
        is_near = (apart <= np.log(FURTHEST) + TOLERANCE) & ~np.isin(counts, tried)
        is_near &= [not shortage for shortage in self.forecast.memory_shortages]
        near = spread(np.flatnonzero(is_near), MOST_SIZES)
        is_kept = self.kept[near] >= self.goal.confidence - TOLERANCE
        extra = self.most_extra_dollars[near]
        is_safe = is_kept & (extra <= left)
        why = ""
        if not near.size:
            why = "all sizes near those that were tried were tried, too"
        elif not is_kept.any():
            asked = words.confidence(self.goal.confidence)
            why = f"as far as is known, no size that was not tried yet keeps the goal in {asked} of runs"
        elif not is_safe.any():
            least = words.dollars(float(extra[is_kept].min()))
            why = f"another size may cost {least} more, and {words.dollars(left)} are left for this month"
        return near, is_safe, why

    def play(self, near: IntArray, is_safe: BoolArray, per_month: float) -> Play:
        """What comes of runs on sizes near those that were tried; only safe ones may come first."""
        counts, of = np.array(self.offer.counts), self.production
        dear = of.costs * (1.0 + MISSED * (1.0 - of.kept))  # a run that comes too late has bought nothing
        # What lies between sizes that were tried may be chosen.
        least, most = (
            pick(np.append(bound(self.tried), counts[near]), bound(self.tried))
            for pick, bound in ((np.minimum, min), (np.maximum, max))
        )
        return Play(
            goal=self.goal,
            weights=self.draws.weights,
            places=self.draws.places,
            production=of,
            run_means=self.draws.means[:, near],
            run_spreads=self.draws.spreads[:, near],
            costs=self.draws.weights @ (dear[:, near] - dear[:, [self.now]]),
            expected_runs=MONTHS * per_month,
            may_be_first=is_safe,
            opened=(counts >= least[:, None]) & (counts <= most[:, None]),
        )

    def told(self, worth: Worth, at: int, per_month: float) -> SizeExploration:
        """The exploration that is worth most, or that none is worth it."""
        decided, usual = self.offer.counts[self.now], float(self.dollars[self.now])
        size, value = words.counted(self.offer.counts[at], self.offer.unit), max(0.0, worth.gain)
        is_clear = value < LEAST_SHARE * MONTHS * per_month * usual
        if is_clear or not worth.is_worth:
            told = f"what a run on {size} tells would probably save {words.dollars(value)} in {MONTHS} months"
            cost = f"{told} and cost {words.dollars(sum(worth.costs))}, missed deadlines included"
            return _none(decided, f"the decision is clear, {told}" if is_clear else cost, value)
        extra, most = float(self.dollars[at]) - usual, float(self.most_extra_dollars[at])
        startup = self.offer.model.startup_seconds
        low, high = (float(bound[at]) + startup for bound in self.forecast.likely)
        expected = f"{words.dollars(abs(extra))} {'more' if extra > 0 else 'less'}"
        kept = f" It keeps the goal with {words.probability(self.kept[at])}." if self.goal.has_limits else ""
        return SizeExploration(
            executors=self.offer.counts[at],
            instead_of=decided,
            reason=(
                f"This run explores {size} instead of {decided}, to tell whether they take "
                f"{words.duration_range((low, high))}, as is likely. To know more is worth "
                f"{words.dollars(value)} in {MONTHS} months. The run probably costs {expected}, and at most "
                f"{words.dollars(most)} more in 90 % of cases.{kept}"
            ),
            value=value,
            usual_dollars=usual,
            extra_dollars=extra,
            most_extra_dollars=most,
        )


def _with_terms(offer: Offer) -> Offer:
    """The offer, with other sizes than those of the runs, also where these were of one and have no replay.

    What is usual for Spark jobs tells too little to decide by, and enough to look further.
    """
    basis = offer.model.basis
    if basis is None or basis.replays is not None or not basis.is_modelled:
        return offer
    return replace(offer, model=replace(offer.model, basis=None))


class _Draws(NamedTuple):
    """k draws of what q sizes take."""

    weights: FloatArray  # (k,)
    places: IntArray  # to which they belong, (k,); see `Play`
    means: FloatArray  # of log(seconds) without start-up, (k, q)
    spreads: FloatArray


def _draws(offer: Offer, forecast: Forecast, goal: Goal) -> _Draws:
    """Of past runs those of the terms and of the replay, each with its share of a size that was not tried.

    A replay is off by a factor for each doubling from where runs were made, another in each draw, and to one
    side: see `replayed_spreads`.
    """
    basis = offer.model.basis
    replays = None if basis is None else basis.replays
    if basis is None or replays is None:
        return _of_terms(offer, forecast, goal)
    deviates = ndtri((np.random.default_rng(0).permutation(DRAWS) + 0.5) / DRAWS)
    said = np.log(replayed_seconds(replays, offer.counts, scale=forecast.scale))
    off = replays.spread * doublings_from_runs(replays, offer.counts)
    means = said + np.maximum(deviates, 0.0)[:, None] * off
    places = np.arange(DRAWS)
    replayed = _Draws(np.full(DRAWS, 1.0 / DRAWS), places, means, np.full_like(means, replays.noise))
    if not (basis.is_modelled and basis.is_determined):
        return replayed
    terms = _of_terms(offer, forecast, goal)
    half = replayed._replace(weights=replayed.weights / 2, places=places + terms.places[-1] + 1)
    both = zip(terms._replace(weights=terms.weights / 2), half, strict=True)
    return _Draws(*(np.concatenate(each) for each in both))


def _of_terms(offer: Offer, forecast: Forecast, goal: Goal) -> _Draws:
    model, observed = offer.model, offer.model.observations
    predictor = fitted(model)
    if not isinstance(predictor, TermAveraging):  # other methods have one set of coefficients, and no draws
        predictor = TermAveraging(prior=prior_for(observed)).fit_undetermined(**observed_columns(observed))
    executors = np.array(offer.counts, dtype=np.float64)
    scale = np.full_like(executors, forecast.scale)
    ratio = (
        goal.iterations / model.trained_iterations if goal.iterations and model.trained_iterations else 1.0
    )
    workers = effective_executors(observed, executors=executors, scale=scale)
    posterior = predictor.posterior_
    asked = Runs(executors=executors, scale=scale, workers=workers, iteration_ratio=ratio)
    return _Draws(posterior.draws.weights, posterior.draws.places, *posterior.log_seconds(asked))


def _as_forecast(forecast: Forecast, draws: _Draws) -> _Draws:
    """The draws, moved and widened so that their median and 80 % range are those that the forecast says.

    A forecast also knows what terms leave out: data that the memory cannot hold, what production runs said
    of intervals, inputs that differ by the day.
    """
    lower, upper = two_sided(LIKELY)
    means, spreads, weights = draws.means, draws.spreads, draws.weights
    low, median, high = mixture_quantiles(means, spreads, (lower, 0.5, upper), weights=weights)
    said_low, said_high = forecast.likely
    wider = np.log(said_high / said_low) / np.maximum(high - low, TOLERANCE)
    return draws._replace(means=np.log(forecast.seconds) + (means - median) * wider, spreads=spreads * wider)


def explored(
    decision: Decision,
    exploration: SizeExploration,
    *,
    goal: SizingGoal,
    offer: Offer,
    iterations: int | None = None,
) -> Decision:
    """The decision of the run: the explored size, with what is predicted of it, or the decided one."""
    if exploration.executors is None:
        return replace(decision, exploration=exploration)
    of_size = replace(goal, allowed_executors=(exploration.executors,), on_failure=MOST_PROBABLE)
    offered = Offered(offers=[replace(_with_terms(offer), executors=(exploration.executors,))])
    own = decide(of_size, offered, iterations=iterations).required()
    return replace(
        own,
        warnings=(exploration.reason, *own.warnings),
        alternatives=(*decision.alternatives, *own.alternatives),
        basis=decision.basis,
        exploration=exploration,
    )


def what_it_told(run: ProductionRun, explored: Decision, after: Decision) -> str:
    """What a run that explored told, by the decision that it ran by and the next one; empty of other runs."""
    exploration = explored.exploration
    if exploration is None or exploration.executors is None:
        return ""
    size = words.executors(run.executors, executors_per_machine=explored.config.executors_per_machine)
    as_said = "outside what was likely" if run.is_unlikely else "as was likely"
    more = exploration.spent(run.cost)
    cost = f"{words.dollars(more)} more than" if more else "no more than"
    before, now, usual = exploration.instead_of, after.config.executors, exploration.usual_dollars
    follows = f"The decision stays at {before}."
    if now != before:
        follows = f"The decision goes from {before} to {now}."
        if usual and after.predicted_cost is not None:
            share = after.predicted_cost / usual - 1.0
            dearer = f"{words.as_percent(abs(share))} {'more' if share > 0 else 'less'}"
            follows = f"The decision goes from {before} to {now}, which probably costs {dearer} a run."
    return (
        f"The run that explored {size} took {words.duration(run.seconds)}, {as_said} "
        f"({words.duration_range(explored.likely_seconds)}), and cost {cost} one on {before}. {follows}"
    )
