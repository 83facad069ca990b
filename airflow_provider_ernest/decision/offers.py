"""What may be chosen: executors of one type, the model of that type, and how they are paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.models import HistoryBasis, Model, Replays
from airflow_provider_ernest.documents.profiles import ReplayedAllocation
from airflow_provider_ernest.documents.surveys import BOTH, MODEL, REPLAY
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.prediction.numbers import FloatArray, positive_number, whole_number
from airflow_provider_ernest.prediction.predict import (
    ModelForecast,
    extrapolation,
    memory_shortage,
    require_time,
)
from airflow_provider_ernest.prediction.regression import Widening, two_sided
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BilledCost

# The probabilities of the two intervals that are told of a run.
LIKELY, NEARLY_CERTAIN = 0.8, 0.95

LIKELY_DEVIATIONS = float(ndtri(two_sided(LIKELY)[1]))

CLOSE = 1e-4  # so near on the logarithm are seconds that are looked for by their probability
WIDENED, MOST_WIDENINGS = 4.0, 12  # each time the search goes so many times as far


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Executors of one type that production may have.

    Raises:
        InvalidParameterError: a value cannot be.
    """

    model: Model  # of the job on that type
    executors: Sequence[int]  # the numbers to choose from
    billing: Billing
    input_growth: float = 1.0  # today's input by that which the model was trained for; scales are of today's
    # A run replayed under dynamic allocation at the scale that is asked for
    allocations: tuple[ReplayedAllocation, ...] = ()

    def __post_init__(self) -> None:
        for index, count in enumerate(self.executors):
            whole_number(f"executors[{index}]", count)
        if not self.counts:
            raise self._none_possible()
        positive_number("input_growth", self.input_growth)

    def _none_possible(self) -> InvalidParameterError:
        problem = "is empty" if not len(self.executors) else ""
        if max(self.executors, default=0) >= self.least_executors:
            known = " or ".join(map(str, sorted(self.observed)))
            problem = f"has only sizes of which nothing is known: runs had {known}, and none can be replayed"
            remedy = "Allow these sizes."
        else:
            problem = problem or "has too few slots: all tasks of a barrier stage of the job must run at once"
            remedy = f"Allow at least {words.counted(self.least_executors, self.unit)}."
        return InvalidParameterError("executors", list(self.executors), problem, remedy=remedy)

    @property
    def type_name(self) -> str:
        """The offered type."""
        return self.model.instance_type

    @property
    def unit(self) -> str:
        """What is counted, in words."""
        return words.unit(self.model.executors_per_machine)

    @property
    def counts(self) -> list[int]:
        """The numbers of executors that can run the job, each once, in ascending order."""
        possible = {int(count) for count in self.executors if count >= self.least_executors}
        basis = self.model.basis
        if basis is not None and not basis.is_determined and basis.replays is None:
            possible &= self.observed  # nothing tells of others
        return sorted(possible)

    @cached_property
    def observed(self) -> frozenset[int]:
        """The numbers of executors on which runs were made."""
        return frozenset(run.executors for run in self.model.observations)

    def source(self, count: int) -> str:
        """Where the prediction comes from; see `documents.surveys`."""
        share = self.model_share(count)
        return MODEL if share == 1.0 else BOTH if share else REPLAY

    def model_share(self, count: int) -> float:
        """How much of a prediction is the terms': all where runs were made, and half elsewhere."""
        # Of too few runs, or runs of one size, half where they were made, and nothing elsewhere.
        basis = self.model.basis
        if basis is None or basis.replays is None:
            return 1.0
        return 0.5 * ((count in self.observed) + basis.is_determined) if basis.is_modelled else 0.0

    @cached_property
    def least_executors(self) -> int:
        """On fewer Spark refuses a stage whose tasks must all run at once; 1 where no run had one."""
        told = ((run.executors, run.metrics) for run in self.model.observations if run.metrics)
        needs = [
            math.ceil(each.barrier_tasks * count / each.slots) for count, each in told if each.barrier_tasks
        ]
        return min(needs, default=1)

    def cost(self, *, executors: float, seconds: float) -> BilledCost | None:
        """What a run costs from its submission to its end; None where no price is known."""
        if self.billing.price_per_hour is None:
            return None
        return self.billing.cost(executors=executors, seconds=seconds)

    def forecast(self, *, scale: float, iterations: int | None = None) -> Forecast:
        """What its runs are predicted to take."""
        if (basis := self.model.basis) is not None:
            return HistoryForecast(self, basis, scale=scale, iterations=iterations)
        return Forecast(self, scale=scale, iterations=iterations)


class Forecast:
    """What the runs of an offer are predicted to take, by ascending number of executors, start-up excluded.

    The scale is the production input relative to today's; see `prediction.predict.ModelForecast`. Impossible
    times are refused.
    """

    def __init__(self, offer: Offer, *, scale: float, iterations: int | None) -> None:
        self.offer = offer
        self.scale = scale * offer.input_growth
        self._model = ModelForecast(
            offer.model, executors=offer.counts, scale=self.scale, iterations=iterations
        )
        self.seconds = self._predicted()  # shape (n,)
        # Of each of the n sizes the most executors, and its allocation where that is dynamic.
        self.sizes: list[tuple[int, ReplayedAllocation | None]] = [(count, None) for count in offer.counts]

    def _predicted(self) -> FloatArray:
        with np.errstate(over="ignore"):  # what no number holds is infinite, and refused
            seconds = self._model.seconds
        require_time(seconds, self.offer.counts, scale=self.scale, instance_type=self.offer.type_name)
        return seconds

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """What the runs lie between with probability `level`, shape (n,) each."""
        return self._model.interval(level)

    def probability_within(self, limits: FloatArray) -> FloatArray:
        """The probability that the runs take no longer than so many seconds, shape (n,)."""
        return self._model.probability_within(limits)

    @cached_property
    def likely(self) -> tuple[FloatArray, FloatArray]:
        """The interval of `LIKELY`."""
        return self.interval(LIKELY)

    @cached_property
    def nearly_certain(self) -> tuple[FloatArray, FloatArray]:
        """The interval of `NEARLY_CERTAIN`."""
        return self.interval(NEARLY_CERTAIN)

    @property
    def extrapolates(self) -> list[str]:
        """For each number of executors why the observations do not support it; empty where they do."""
        offer = self.offer
        return [extrapolation(offer.model, executors=count, scale=self.scale) for count in offer.counts]

    @property
    def memory_shortages(self) -> list[str]:
        """For each number of executors why they cannot hold the data; empty where they can, or may."""
        offer = self.offer
        return [memory_shortage(offer.model, executors=count, scale=self.scale) for count in offer.counts]

    def seconds_kept_within(self, confidence: float) -> FloatArray:
        """The least seconds that runs stay within with this probability, shape (n,), a little rounded up."""
        # By halving what `probability_within` says, so that a goal of just these seconds is kept.
        # Above a half the upper bound of an interval is nearly all there is to find.
        start = self.interval(2 * confidence - 1)[1] if confidence > 0.5 else self.seconds
        return self._halved(confidence, start)

    def _halved(self, confidence: float, start: FloatArray) -> FloatArray:
        low = high = np.log(start)
        width = np.full_like(low, CLOSE)
        for _ in range(MOST_WIDENINGS):
            is_low = self.probability_within(np.exp(low)) < confidence
            is_high = self.probability_within(np.exp(high)) >= confidence
            if is_low.all() and is_high.all():
                break
            low, high = np.where(is_low, low, low - width), np.where(is_high, high, high + width)
            width = WIDENED * width
        while (high - low).max() > 2 * CLOSE:
            middle = (low + high) / 2
            is_kept = self.probability_within(np.exp(middle)) >= confidence
            low, high = np.where(is_kept, low, middle), np.where(is_kept, middle, high)
        return np.asarray(np.exp(high), dtype=np.float64)


# Under dynamic allocation: see `clarity.replay_dynamic`.

ALLOCATION_SPREAD = 0.05
"""Standard deviation of the logarithm of what dynamic allocation makes of a run's time, as replayed."""

_DEVIATIONS = ndtri((np.arange(7) + 0.5) / 7)  # as probable as each other


class DynamicForecast(Forecast):
    """What runs are predicted to take under each of the offer's allocations.

    That of a run with the maximum of executors all the time, times what the replay says that it takes longer
    where they come and go.
    """

    def __init__(self, fixed: Forecast) -> None:
        offer = self.offer = fixed.offer
        self.scale, self._fixed = fixed.scale, fixed
        if not offer.allocations:
            raise MissingResourceError(
                f"Bounds of dynamic allocation are chosen by replaying a run of {offer.model.job!r} on "
                f"{offer.type_name}: there is neither a profile of one nor an event log to be read.",
                remedy='Let a sample run or a production run leave a profile, or state allocation="fixed".',
            )
        kept = [each for each in offer.allocations if each.bounds.maximum in offer.counts]
        self._places = [offer.counts.index(each.bounds.maximum) for each in kept]
        times = np.array([each.seconds / each.fixed_seconds for each in kept])
        self.sizes = [(each.bounds.maximum, each) for each in kept]
        own = fixed.seconds[self._places]
        self.seconds = np.asarray(own * times, dtype=np.float64)
        self._times = self.seconds / own

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """See `Forecast`."""
        seconds = self._fixed.seconds
        low, high = (np.log(bound / seconds)[self._places] for bound in self._fixed.interval(level))
        further = float(ndtri(two_sided(level)[1])) * ALLOCATION_SPREAD
        return (
            np.asarray(self.seconds * np.exp(-np.hypot(low, further)), dtype=np.float64),
            np.asarray(self.seconds * np.exp(np.hypot(high, further)), dtype=np.float64),
        )

    def probability_within(self, limits: FloatArray) -> FloatArray:
        """See `Forecast`."""
        found, places = np.zeros(len(self.sizes)), np.array(self._places)
        # Of each number of executors the first allocation, then the second of each, and so on.
        ranks = np.array([self._places[:at].count(place) for at, place in enumerate(self._places)])
        for deviation in _DEVIATIONS:
            times = self._times * np.exp(deviation * ALLOCATION_SPREAD)
            of_fixed = np.asarray(limits) / times
            for rank in range(int(ranks.max()) + 1):
                these = ranks == rank
                asked = np.ones_like(self._fixed.seconds)
                asked[places[these]] = of_fixed[these]
                found[these] += self._fixed.probability_within(asked)[places[these]]
        return found / len(_DEVIATIONS)

    @property
    def extrapolates(self) -> list[str]:
        """See `Forecast`."""
        told = self._fixed.extrapolates
        return [told[place] for place in self._places]

    @property
    def memory_shortages(self) -> list[str]:
        """See `Forecast`."""
        told = self._fixed.memory_shortages
        return [told[place] for place in self._places]


# Offers from runs that were made before anybody asked; see `history.sizes`.


class HistoryForecast(Forecast):
    """What the terms and the replay of a model of past runs say, each with its share."""

    def __init__(self, offer: Offer, basis: HistoryBasis, *, scale: float, iterations: int | None) -> None:
        self._basis = basis
        self._modelled: Forecast | None = None
        if basis.is_modelled:
            self._modelled = Forecast(offer, scale=scale, iterations=iterations)
        super().__init__(offer, scale=scale, iterations=iterations)

    def _predicted(self) -> FloatArray:
        offer, basis = self.offer, self._basis
        self._shares = np.array([offer.model_share(count) for count in offer.counts])
        by_model = self._modelled.seconds if self._modelled else np.ones(len(offer.counts))
        self._replayed, self._spreads = by_model, np.ones((2, len(offer.counts)))  # below and above
        if replays := basis.replays:
            self._replayed = replayed_seconds(replays, offer.counts, scale=self.scale)
            own = np.array(replayed_spreads(replays, offer.counts, scale=self.scale))
            regimes = self._model.regimes
            widened = own * [each.widening for each in regimes]
            self._spreads = np.hypot(
                np.maximum(widened, [each.least_log_spread for each in regimes]), basis.input_noise
            )
        self._widening: Widening | None = None
        if self._modelled:  # as wide as if the inputs' noise were added to the model's intervals
            low, high = self._modelled.likely
            own = np.log(high / low) / (2 * LIKELY_DEVIATIONS)
            self._widening = Widening(
                factors=np.hypot(1.0, basis.input_noise / own), least_log_spreads=np.zeros_like(own)
            )
        clean = np.exp(self._shares * np.log(by_model) + (1 - self._shares) * np.log(self._replayed))
        return np.asarray(clean, dtype=np.float64)

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """See `Forecast`."""
        low, high = two_sided(level)
        return self._halved(low, self.seconds), self._halved(high, self.seconds)

    def probability_within(self, limits: FloatArray) -> FloatArray:
        """See `Forecast`."""
        startup = self.offer.model.startup_seconds

        def clean(seconds: FloatArray) -> FloatArray:  # what slows a run slows its start-up, too
            return np.maximum(limits + startup, 0.0) / (1.0 + startup / seconds)

        with np.errstate(divide="ignore"):
            distances = np.log(clean(self._replayed) / self._replayed)
            by_replay = ndtr(distances / np.where(distances < 0, *self._spreads))
        if self._modelled is None or self._widening is None:
            return np.asarray(by_replay, dtype=np.float64)
        seconds = self._modelled.seconds
        by_model = self._widening.probability_within(
            seconds, clean(seconds), self._modelled.probability_within
        )
        return np.asarray(self._shares * by_model + (1 - self._shares) * by_replay, dtype=np.float64)

    def seconds_kept_within(self, confidence: float) -> FloatArray:
        """See `Forecast`."""
        # From the prediction on, since an interval is looked for, too.
        return self._halved(confidence, self.seconds)

    def disagreement(self) -> str:
        """Where model and replay disagree; empty where they do not, or there is only one."""
        if self._modelled is None or self._basis.replays is None or not self._basis.is_determined:
            return ""
        lows, highs = self._modelled.likely
        below, above = np.exp(LIKELY_DEVIATIONS * self._spreads)
        is_apart = (self._replayed * above < lows) | (self._replayed / below > highs)
        apart = [
            (abs(float(np.log(said / seconds))), count, said, np.array([low, high]))
            for count, said, seconds, low, high in zip(
                *(np.array(each)[is_apart] for each in (self.offer.counts, self._replayed)),
                *(each[is_apart] for each in (self._modelled.seconds, lows, highs)),
                strict=True,
            )
        ]
        if not apart:
            return ""
        _, count, said, bounds = max(apart, key=lambda each: each[0])
        startup = self.offer.model.startup_seconds
        low, high = bounds + startup
        return (
            f"Model and replay disagree, most on {words.counted(count, self.offer.unit)}: the replay says "
            f"{words.duration(said + startup)}, the model {words.duration_range((low, high))}. "
            "One of them is wrong: the intervals hold both, and a run there tells which."
        )


def replayed_seconds(replays: Replays, counts: Sequence[int], *, scale: float) -> FloatArray:
    """Clean seconds of a replay, shape (n,), between what was replayed by logarithms.

    Beyond more executors gain nothing, fewer take as many times longer, and more input, too.
    """
    logs = np.log(replays.seconds)  # a row for each scale
    asked = np.log(counts)
    by_scale = np.array([np.interp(asked, np.log(replays.executors), row) for row in logs])
    found = np.array([np.interp(np.log(scale), np.log(replays.scales), column) for column in by_scale.T])
    beyond = np.maximum(1.0, replays.executors[0] / np.array(counts)) * max(1.0, scale / replays.scales[-1])
    return np.asarray(np.exp(found) * beyond, dtype=np.float64)


def doublings_from_runs(replays: Replays, counts: Sequence[int]) -> FloatArray:
    """How many doublings of the executors each lies above the nearest that ran, shape (n,); fewer below 0."""
    doublings = np.log2(np.array(counts)[:, None] / np.array(replays.met))
    nearest = np.abs(doublings).argmin(axis=1)[:, None]
    return np.asarray(np.take_along_axis(doublings, nearest, axis=1)[:, 0], dtype=np.float64)


def replayed_spreads(
    replays: Replays, counts: Sequence[int], *, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Standard deviations of log(seconds) of single runs below and above a replay, shape (n,) each.

    More executors than ran get into each other's way, of which a replayed run tells nothing: they take longer
    than the replay says, and hardly ever less (docs/evidence/accuracy.md). Fewer take less.
    """
    doublings, grown = doublings_from_runs(replays, counts), np.log2(scale)
    below, above = (np.hypot(np.maximum(side * doublings, 0.0), grown) for side in (-1.0, 1.0))
    return np.hypot(replays.noise, replays.spread * below), np.hypot(replays.noise, replays.spread * above)
