"""What knowing more is worth, for sample runs (`rounds`) and production runs on another size (`exploration`).

With the draws of what is believed of a job it is played through what a run may come to, what would be
believed then, and which executors would be chosen (preposterior analysis; Raiffa and Schlaifer, Applied
Statistical Decision Theory, 1961). What production is expected to save by the better choice, over its
expected runs, is what the run is worth. A run that changes no choice is worth nothing, however much it tells
of the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.decision.deciding import AS_PROBABLE
from airflow_provider_ernest.decision.goals import HOPELESS, TOLERANCE, Goal
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.goal import BALANCED, BEST_VALUE

OUTCOMES = 31
"""Of a run, as probable as one another, that are played through to choose among the runs. What the chosen one
is worth is told by one outcome of each draw: of many rough estimates the largest is too large."""

MISSED = 1.0
"""Production runs that a missed limit costs besides: a run that comes too late has bought nothing."""

LONG_RUN_SECONDS = 1e6  # at this length the increments in which machines are billed do not matter


def rates(billing: Billing, executors: FloatArray) -> FloatArray:
    """What so many executors cost a second, shape (n,)."""
    long = LONG_RUN_SECONDS
    costs = [billing.cost(executors=count, seconds=long).of_the_run for count in executors.tolist()]
    return np.asarray(np.array(costs) / (long + billing.boot_seconds), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Production:
    """What k draws say of production on q numbers of executors, shape (k, q) each."""

    kept: FloatArray  # the probability that a run keeps to its limits
    costs: FloatArray  # of a run
    figures: FloatArray  # what is to be little

    @cached_property
    def losses(self) -> FloatArray:
        """What is to be little, with what a missed limit costs."""
        return np.asarray(self.figures * (1.0 + MISSED * (1.0 - self.kept)), dtype=np.float64)

    @classmethod
    def of(
        cls,
        goal: Goal,
        billing: Billing,
        *,
        executors: FloatArray,
        startup_seconds: float,
        log_seconds: tuple[FloatArray, FloatArray],
    ) -> Production:
        """By mean and standard deviation of the logarithm of a run's seconds without start-up."""
        means, spreads = log_seconds
        limits = [goal.limit_seconds(billing, count) for count in executors.tolist()]
        allowed = np.maximum(np.array(limits) - startup_seconds, HOPELESS)
        kept = ndtr((np.log(allowed) - means) / spreads) if goal.has_limits else np.ones_like(means)
        seconds = billing.boot_seconds + startup_seconds + np.exp(means)
        costs = rates(billing, executors) * seconds
        figures = seconds if goal.is_time else costs * seconds if goal.objective == BALANCED else costs
        return cls(kept=kept, costs=costs, figures=figures)


@dataclass(frozen=True, kw_only=True)
class Worth:
    """The further runs that are worth most, or of those that are not worth their cost the nearest to it."""

    runs: Sequence[int]  # positions among those that may be made
    gain: float  # what production is expected to save by them together
    costs: Sequence[float]  # of each
    is_worth: bool  # they are expected to save more than they cost


@dataclass(frozen=True, kw_only=True)
class Play:
    """What k draws say of production, and of n runs that may be made."""

    goal: Goal
    weights: FloatArray  # of the draws, (k,)
    places: IntArray  # to which they belong, ascending from 0, (k,): those of one place are one hypothesis
    production: Production
    run_means: FloatArray  # of the logarithms of the runs' seconds, (k, n)
    run_spreads: FloatArray  # their standard deviations
    costs: FloatArray  # what the runs are expected to cost, (n,)
    expected_runs: float  # of production, that a better choice is for
    # Which runs may be the first, (n,), and which sizes may be chosen without any and what each run adds to
    # them, (1 + n, q). None for all.
    may_be_first: NDArray[np.bool_] | None = None
    opened: NDArray[np.bool_] | None = None

    def best(self, ahead: int, *, now: int | None = None) -> Worth:
        """At most `ahead` runs that are worth most beyond their cost, or the one that comes nearest.

        `now` is the position of the size that is chosen without them, by default what the draws choose.
        """
        if now is None:
            now = int(self.choices(self.weights[None])[0])
        costs_now = self.production.costs[:, now]
        stake = float(np.exp(self.weights @ np.log(costs_now))) * self.expected_runs
        generator = np.random.default_rng(0)  # the same runs always give the same proposal
        few, every = self._truths(OUTCOMES), self._truths(self._all_places)
        by_few, by_every = self._before(few), self._before(every)
        chosen: list[int] = []
        offers: list[tuple[float, float, list[int]]] = []
        for _ in range(ahead):
            normal = self._normal(few, generator)
            after = [self._updated(by_few, run, few, normal) for run in range(len(self.costs))]
            saved = [self._saved(now, few, each, [*chosen, run]) for run, each in enumerate(after)]
            surplus = stake * np.array(saved) - self.costs
            if not chosen and self.may_be_first is not None:
                surplus = np.where(self.may_be_first, surplus, -np.inf)
            spent, run = float(self.costs[chosen].sum()), int(np.argmax(surplus))
            by_few, by_every = after[run], self._updated(by_every, run, every, self._normal(every, generator))
            chosen = [*chosen, run]
            gain = stake * self._saved(now, every, by_every, chosen)
            offers.append((gain - spent - float(self.costs[run]), gain, chosen))
        most, gain, runs = max(offers, key=lambda offer: offer[0])
        is_worth = most > 0
        if not is_worth:
            _, gain, runs = offers[0]
        return Worth(runs=runs, gain=gain, costs=self.costs[runs].tolist(), is_worth=is_worth)

    def _updated(self, log_weights: FloatArray, run: int, truths: IntArray, normal: FloatArray) -> FloatArray:
        """Log weights of the draws after each outcome of a run, shape (outcomes, k)."""
        means, spreads = self.run_means[:, run], self.run_spreads[:, run]
        outcomes = means[truths] + spreads[truths] * normal
        return np.asarray(
            log_weights - 0.5 * ((outcomes[:, None] - means) / spreads) ** 2 - np.log(spreads),
            dtype=np.float64,
        )

    def _saved(self, now: int, truths: IntArray, log_weights: FloatArray, runs: Sequence[int]) -> float:
        """The share of production that is saved by choosing anew by each row of weights, if its truth is."""
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        chosen = self.choices(weights / weights.sum(axis=1, keepdims=True), runs)
        losses = self.production.losses
        before, then = losses[truths, now], losses[truths, chosen]
        return float(np.average(1.0 - then / before, weights=self.weights[truths]))

    def choices(self, weights: FloatArray, runs: Sequence[int] = ()) -> IntArray:
        """The size that `decision.deciding` would choose by each row of weights, (s, k): shape (s,)."""
        figures = np.exp(weights @ np.log(self.production.figures))
        kept = weights @ self.production.kept
        if self.opened is not None:
            is_open = self.opened[0] | self.opened[1:][list(runs)].any(axis=0)
            kept, figures = np.where(is_open, kept, 0.0), np.where(is_open, figures, np.inf)
        # The best of those that are sure enough, otherwise of those that are about as probable as any.
        is_sure = kept >= self.goal.confidence - TOLERANCE
        highest = np.maximum(kept.max(axis=1, keepdims=True), HOPELESS)
        allowed = np.where(
            is_sure.any(axis=1, keepdims=True),
            is_sure,
            np.maximum(kept, HOPELESS) >= highest * (1 - AS_PROBABLE),
        )
        wanted = figures / np.maximum(kept, HOPELESS) if self.goal.objective == BEST_VALUE else figures
        return np.asarray(np.where(allowed, wanted, np.inf).argmin(axis=1), dtype=np.int64)

    @property
    def _all_places(self) -> int:
        return int(self.places[-1]) + 1

    def _truths(self, places: int) -> IntArray:
        """The draws of so many places, each of which is taken for the truth in turn."""
        even = np.asarray((np.arange(places) + 0.5) / places * self._all_places, dtype=np.int64)
        return np.flatnonzero(np.isin(self.places, even))

    def _before(self, truths: IntArray) -> FloatArray:
        """Log weights of the draws before any run, for each truth, shape (outcomes, k)."""
        # What a draw makes happen must not be explained by that draw: it is one of many, not the truth.
        is_itself = self.places[truths, None] == self.places
        return np.where(is_itself, -np.inf, np.log(np.maximum(self.weights, HOPELESS)))

    def _normal(self, truths: IntArray, generator: np.random.Generator) -> FloatArray:
        """Deviates of the truths' places, as probable as one another, in any order, shape (outcomes,)."""
        places, place_of_truth = np.unique(self.places[truths], return_inverse=True)
        even = (generator.permutation(len(places)) + 0.5) / len(places)
        return np.asarray(ndtri(even)[place_of_truth], dtype=np.float64)


def spread(values: IntArray, most: int) -> IntArray:
    """So many of sorted values, the first and the last among them."""
    if len(values) <= most:
        return values
    return values[np.unique(np.rint(np.linspace(0, len(values) - 1, most)).astype(np.int64))]
