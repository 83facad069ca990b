"""Clusters of several types of machines, by OptEx's formula with the figures of the types' models.

After Sidhanta, Golab, Mukhopadhyay, "OptEx: A Deadline-Aware Cost Optimization Model for Spark" (CCGrid
2016, arXiv:1603.07936), cost optimal cluster composition. Runs on several types at once are not observed.
What the types' models say of runs on one type alone is taken together::

    T_t(n) ~ F + C*n + W_t/n        for each type t

with one F and one C for all, and W_t the work by the type's own clock: the relative speeds come out of the
models. A mix of n_t executors then takes ``F + C*N + W/V``, N being all its executors and V their speed. The
formula's misfit to the models widens the interval of a mix, and where it does not fit there are no mixes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.decision.goals import TOLERANCE, Goal
from airflow_provider_ernest.decision.offers import LIKELY, NEARLY_CERTAIN, Forecast, Offer
from airflow_provider_ernest.documents.decisions import Alternative, Configuration
from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.predict import extrapolation, memory_shortage
from airflow_provider_ernest.prediction.regression import non_negative_least_squares, two_sided
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import HOUR_SECONDS, MONTH_SECONDS, ON_DEMAND
from airflow_provider_ernest.settings.goal import BEST_VALUE, CHEAPEST, FASTEST

MOST_LOOKED_AT = 16
"""Of two types so many mixes are compared exactly: their disks and ties are not looked at before."""

UNOBSERVED = "Extrapolated: no mix of types was tried, it goes by OptEx's formula"


def mixed_alternatives(forecasts: Sequence[Forecast], *, goal: Goal) -> tuple[Alternative, ...]:
    """The best cluster of two types that keeps to a goal as surely as it asks for.

    By dollars, by seconds, or the best by each where the goal's objective is neither. Both types together
    have no more executors than the largest number that an offer allows. There are none where one type is
    better, or the formula does not fit the models. More than two types are seldom better than two: of so many
    executors with so much speed together, the cheapest need no third type but for whole numbers.
    """
    job = mixed_job(forecasts, goal=goal) if len(forecasts) > 1 else None
    if job is None:
        return ()
    ends = [goal]
    if goal.objective not in (BEST_VALUE, CHEAPEST, FASTEST):
        ends = [Goal(replace(goal.stated, objective=end)) for end in (CHEAPEST, FASTEST)]
    found = {each.instance_type: each for end in ends if (each := _best(job, end))}
    return tuple(found.values())


def _best(job: MixedJob, goal: Goal) -> Alternative | None:
    """The best mix that keeps to the goal; None where there is none, or one type alone is better."""
    found = [
        _alternative(
            job, goal, {position: count for position, count in zip(pair, counts, strict=True) if count}
        )
        for pair in itertools.combinations(range(len(job.offers)), 2)
        for counts in _promising(job, goal, pair).tolist()
    ]
    best = min((each for each in found if each.feasible), key=goal.preference, default=None)
    return best if best and best.composition else None


def _promising(job: MixedJob, goal: Goal, pair: tuple[int, int]) -> IntArray:
    """The numbers of executors, shape (n, 2), that keep to the goal, the best first; see `MOST_LOOKED_AT`.

    All may be of one type.
    """
    offers = [job.offers[each] for each in pair]
    counts = np.stack(np.meshgrid(*([0, *offer.counts] for offer in offers)), axis=-1).reshape(-1, 2)[1:]
    counts = counts[counts.sum(axis=1) <= job.most_machines]
    executors, billings = counts.sum(axis=1), [offer.billing for offer in offers]
    run = job.fixed_seconds + job.sharing_seconds * executors + 1 / (counts @ (1 / job.work_seconds[[*pair]]))
    # A run waits for all of its executors.
    waiting = max(offer.model.startup_seconds for offer in offers)
    waiting += max(each.boot_seconds for each in billings)
    prices, masters = zip(*map(_rates, billings), strict=True)
    rates = counts @ np.array(prices) + max(masters)
    increment = max(each.increment_seconds for each in billings)
    least = max(each.minimum_seconds for each in billings)
    training = max(each.training_share for each in billings)
    best = seconds = waiting + run
    if not goal.is_time:
        best = rates * np.maximum(least, increment * np.ceil(seconds / increment - TOLERANCE)) + training
    if goal.has_limits:
        limits = np.full(len(counts), math.inf)
        if goal.deadline_seconds is not None:
            limits = np.minimum(limits, goal.deadline_seconds * (1 + TOLERANCE))
        if goal.budget_dollars is not None:
            paid = (goal.budget_dollars * (1 + TOLERANCE) - training) / rates
            paid = np.where(paid < least * (1 - TOLERANCE), 0.0, paid)
            limits = np.minimum(limits, increment * np.floor(paid / increment + TOLERANCE))
        spreads = np.array([job.log_spread(count) for count in range(job.most_machines + 1)])
        left = np.maximum(limits - waiting, np.finfo(np.float64).tiny)
        probability = ndtr(np.log(left / run) / spreads[executors])
        kept = probability >= goal.confidence - TOLERANCE
        counts, best = counts[kept], best[kept]
        if goal.objective == BEST_VALUE:  # as in `Goal.preference`
            best = best / probability[kept]
    order = np.argsort(best, kind="stable")
    return np.asarray(counts[order[:MOST_LOOKED_AT]], dtype=np.int64)


def mixed_billing(offers: Sequence[Offer], composition: Sequence[Configuration]) -> Billing:
    """How a cluster of several types is paid for, per executor on average.

    One master, the dearest, and the training are paid once. All machines wait for the slowest to boot.
    """
    of_type = {offer.type_name: offer.billing for offer in offers}
    parts = [(of_type[part.instance_type], part.executors) for part in composition]
    executors = sum(count for _, count in parts)
    volume_price = max(billing.volume_price_per_gigabyte_month for billing, _ in parts)
    volumes_per_month = sum(
        count * billing.volume_gigabytes * billing.volume_price_per_gigabyte_month for billing, count in parts
    )
    return replace(
        max((billing for billing, _ in parts), key=lambda billing: billing.training_share),
        price_per_hour=sum(count * billing.price_per_hour for billing, count in parts) / executors,
        increment_seconds=max(billing.increment_seconds for billing, _ in parts),
        minimum_seconds=max(billing.minimum_seconds for billing, _ in parts),
        boot_seconds=max(billing.boot_seconds for billing, _ in parts),
        master_price_per_hour=max(billing.master_price_per_hour or 0.0 for billing, _ in parts),
        volume_gigabytes=volumes_per_month / volume_price / executors if volume_price else 0.0,
        volume_price_per_gigabyte_month=volume_price,
        market=" and ".join(sorted({billing.market or ON_DEMAND for billing, _ in parts})),
    )


def _rates(billing: Billing) -> tuple[float, float]:
    """Dollars for a second of an executor with its volumes, and of the master with its own."""
    volumes = billing.volume_gigabytes * billing.volume_price_per_gigabyte_month / MONTH_SECONDS
    master = billing.master_price_per_hour
    return billing.price_per_hour / HOUR_SECONDS + volumes, master / HOUR_SECONDS + volumes if master else 0.0


def _alternative(job: MixedJob, goal: Goal, counts: dict[int, int]) -> Alternative:
    """So many executors, by the position of their type."""
    offers = [job.offers[position] for position in counts]
    parts = tuple(
        Configuration(executors=count, instance_type=offer.type_name)
        for offer, count in zip(offers, counts.values(), strict=True)
    )
    executors, billing = sum(counts.values()), mixed_billing(offers, parts)
    startup, run = max(offer.model.startup_seconds for offer in offers), job.run_seconds(counts)
    spread = job.log_spread(executors)
    scales = [(offer.model, goal.scale * offer.input_growth) for offer in offers]
    shortages = {memory_shortage(model, executors=executors, scale=scale) for model, scale in scales} - {""}
    unsupported = {extrapolation(model, executors=executors, scale=scale) for model, scale in scales} - {""}
    limit = goal.limit_seconds(billing, executors) - startup
    probability = None
    if goal.has_limits:
        probability = float(ndtr(math.log(limit / run) / spread)) if limit > 0 else 0.0

    def interval(level: float) -> tuple[float, float]:
        distance = float(ndtri(two_sided(level)[1])) * spread
        return startup + run * math.exp(-distance), startup + run * math.exp(distance)

    return Alternative(
        executors=executors,
        instance_type=" + ".join(f"{part.executors} {part.instance_type}" for part in parts),
        seconds=startup + run,
        cost=billing.cost(executors=executors, seconds=startup + run).total,
        feasible=goal.is_kept(probability),
        likely_seconds=interval(LIKELY),
        nearly_certain_seconds=interval(NEARLY_CERTAIN),
        extrapolates="; ".join([UNOBSERVED, *sorted(unsupported)]),
        probability=probability,
        memory_shortage="; ".join(sorted(shortages)),
        composition=parts if len(parts) > 1 else (),
    )


MOST_MISFIT = 0.15
"""Root of the mean squared relative error of the formula against the models, from which on it is not used."""

FEWEST_NUMBERS = 3
"""Of executors of each type: from fewer, what is fixed, what grows and what shrinks cannot be told apart."""

LEAST_SPREAD = 1e-6  # models of exact runs have no scatter, which nothing could be divided by


@dataclass(frozen=True, kw_only=True)
class MixedJob:
    """What the models of k types say of a job, in the terms of OptEx."""

    offers: tuple[Offer, ...]  # the types, which all were trained
    fixed_seconds: float  # F
    sharing_seconds: float  # C
    work_seconds: FloatArray  # W_t of each type, shape (k,)
    misfit: float  # root of the mean squared relative error of the formula
    # For each type the widest standard deviation of log(seconds) that its intervals speak of, by ascending
    # number of executors.
    log_spreads: tuple[FloatArray, ...]

    @property
    def most_machines(self) -> int:
        """Of all types together."""
        return max(offer.counts[-1] for offer in self.offers)

    def run_seconds(self, counts: Mapping[int, int]) -> float:
        """Of a run on so many executors by the position of their type, start-up excluded."""
        speed = sum(count / float(self.work_seconds[position]) for position, count in counts.items())
        return self.fixed_seconds + self.sharing_seconds * sum(counts.values()) + 1.0 / speed

    def log_spread(self, executors: int) -> float:
        """The deviation of log(seconds): the widest of the types' at the nearest number, with the misfit."""
        widest = max(
            float(spreads[np.argmin(np.abs(np.array(offer.counts) - executors))])
            for offer, spreads in zip(self.offers, self.log_spreads, strict=True)
        )
        return max(LEAST_SPREAD, math.hypot(widest, self.misfit))


def mixed_job(forecasts: Sequence[Forecast], *, goal: Goal) -> MixedJob | None:
    """The terms of OptEx that fit the models of trained types best, with their relative errors squared.

    They are fitted at the offered numbers of executors, and at the observed ones where these are too few.
    None where they still are, or the formula does not fit.
    """
    fitted = []
    for each in forecasts:
        offer = each.offer
        if len(offer.counts) < FEWEST_NUMBERS:
            observed = (run.executors for run in offer.model.observations)
            wider = replace(offer, executors=[*offer.counts, *observed])
            each = wider.forecast(scale=goal.scale, iterations=goal.iterations)
        fitted.append(each)
    if any(len(forecast.seconds) < FEWEST_NUMBERS for forecast in fitted):
        return None
    rows = []
    for position, forecast in enumerate(fitted):
        executors = np.array(forecast.offer.counts, dtype=np.float64)
        columns = np.zeros((len(executors), 2 + len(fitted)))
        columns[:, 0], columns[:, 1], columns[:, 2 + position] = 1.0, executors, 1.0 / executors
        rows.append(columns / forecast.seconds[:, None])
    relative = np.concatenate(rows)
    try:
        coefficients = non_negative_least_squares(relative, np.ones(len(relative)))
    except FitError:
        return None
    misfit = float(np.sqrt(np.mean((relative @ coefficients - 1.0) ** 2)))
    if misfit >= MOST_MISFIT or not (coefficients[2:] > 0).all():
        return None
    return MixedJob(
        offers=tuple(forecast.offer for forecast in forecasts),
        fixed_seconds=float(coefficients[0]),
        sharing_seconds=float(coefficients[1]),
        work_seconds=coefficients[2:],
        misfit=misfit,
        log_spreads=tuple(map(_log_spreads, forecasts)),
    )


def _log_spreads(forecast: Forecast) -> FloatArray:
    spreads = []
    for level, (low, high) in ((LIKELY, forecast.likely), (NEARLY_CERTAIN, forecast.nearly_certain)):
        distance = np.maximum(np.log(forecast.seconds / low), np.log(high / forecast.seconds))
        spreads.append(distance / ndtri(two_sided(level)[1]))
    return np.asarray(np.maximum(*spreads))
