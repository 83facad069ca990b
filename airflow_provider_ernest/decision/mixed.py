"""Clusters of several types of machines, by OptEx's formula with the figures of the types' models.

After Sidhanta, Golab, Mukhopadhyay, "OptEx: A Deadline-Aware Cost Optimization Model for Spark" (CCGrid
2016, arXiv:1603.07936), cost optimal cluster composition. Runs on several types at once are not observed.
What the types' models say of runs on one type alone is taken together::

    T_t(n) ~ F + C*n + W_t/n        for each type t

with one F and one C for all, and W_t the work by the type's own clock: the relative speeds come out of the
models. A mix of n_t machines then takes ``F + C*N + W/V``, N being all its machines and V their speed. The
formula's misfit to the models widens the interval of a mix, and where it does not fit there are no mixes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
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
from airflow_provider_ernest.settings.billing import HOUR_SECONDS, ON_DEMAND
from airflow_provider_ernest.settings.goal import BEST_VALUE, CHEAPEST, FASTEST

SURER = (0.9, 0.95, 0.99)  # confidences that are tried besides the one asked for

UNOBSERVED = "Extrapolated: no mix of types was tried, it goes by OptEx's formula"


def mixed_alternatives(forecasts: Sequence[Forecast], *, goal: Goal) -> tuple[Alternative, ...]:
    """The best clusters of at least two trained types that keep to a goal as surely as it asks for.

    By dollars, by seconds, or the best by each where the goal's objective is neither. All together have no
    more machines than the largest number that an offer allows. The search bills by the second; its result is
    billed as the offers say. There are none where one type is better, or the formula does not fit the models.
    """
    trained = [forecast for forecast in forecasts if not forecast.offer.is_extrapolated]
    job = mixed_job(trained, goal=goal) if len(trained) > 1 else None
    if job is None:
        return ()
    ends = [goal]
    if goal.objective not in (BEST_VALUE, CHEAPEST, FASTEST):
        ends = [Goal(replace(goal.stated, objective=end)) for end in (CHEAPEST, FASTEST)]
    found = {each.instance_type: each for end in ends if (each := _best(job, end))}
    return tuple(found.values())


def mixed_billing(offers: Sequence[Offer], composition: Sequence[Configuration]) -> Billing:
    """How a cluster of several types is paid for, per machine on average.

    One master, the dearest, and the training are paid once. All machines wait for the slowest to boot.
    """
    of_type = {offer.type_name: offer.billing for offer in offers}
    parts = [(of_type[part.instance_type], part.machines) for part in composition]
    machines = sum(count for _, count in parts)
    volume_price = max(billing.volume_price_per_gigabyte_month for billing, _ in parts)
    volumes_per_month = sum(
        count * billing.volume_gigabytes * billing.volume_price_per_gigabyte_month for billing, count in parts
    )
    return replace(
        max((billing for billing, _ in parts), key=lambda billing: billing.training_share),
        price_per_hour=sum(count * billing.price_per_hour for billing, count in parts) / machines,
        increment_seconds=max(billing.increment_seconds for billing, _ in parts),
        minimum_seconds=max(billing.minimum_seconds for billing, _ in parts),
        boot_seconds=max(billing.boot_seconds for billing, _ in parts),
        master_price_per_hour=max(billing.master_price_per_hour or 0.0 for billing, _ in parts),
        volume_gigabytes=volumes_per_month / volume_price / machines if volume_price else 0.0,
        volume_price_per_gigabyte_month=volume_price,
        market=" and ".join(sorted({billing.market or ON_DEMAND for billing, _ in parts})),
    )


def _best(job: MixedJob, goal: Goal) -> Alternative | None:
    """The best mix found that keeps to the goal; None where there is none."""
    # What is best also depends on how surely it keeps to the goal (see `Goal.preference`).
    surer = [level for level in SURER if level > goal.confidence] if goal.has_limits else []
    found = {counts for level in (goal.confidence, *surer) for counts in _found(job, goal, level)}
    mixes = [each for counts in found if (each := _alternative(job, goal, np.array(counts))).composition]
    return min((each for each in mixes if each.feasible), key=goal.preference, default=None)


def _found(job: MixedJob, goal: Goal, confidence: float) -> set[tuple[int, ...]]:
    """Compositions that may keep to the goal with this confidence."""
    # The spread depends on the number of machines. The search is made with the widest that any number has,
    # which is safe, with the narrowest, and with those of what is found.

    def search(spread: float) -> IntArray | None:
        return _search(job, goal, factor=math.exp(float(ndtri(confidence)) * spread))

    spreads = {job.log_spread(machines) for machines in range(1, job.most_machines + 1)}
    found = [counts for spread in (max(spreads), min(spreads)) if (counts := search(spread)) is not None]
    found += [again for counts in found if (again := search(job.log_spread(int(counts.sum())))) is not None]
    return {tuple(counts.tolist()) for counts in found}


def _search(job: MixedJob, goal: Goal, *, factor: float) -> IntArray | None:
    """The best numbers of machines, shape (k,), if a run takes `factor` times as long; None if none will do.

    Within a deadline alone, which only has to be shortened, the predicted dollars are minimised.
    """
    billings = [offer.billing for offer in job.offers]
    # A run waits for all of its machines.
    startup = max(offer.model.startup_seconds for offer in job.offers)
    waiting = startup + max(billing.boot_seconds for billing in billings)
    most_seconds = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    if most_seconds <= waiting:
        return None
    if goal.budget_dollars is None and not goal.is_time:
        most_seconds, factor = waiting + (most_seconds - waiting) / factor, 1.0
    most_cost = math.inf
    if goal.budget_dollars is not None:
        most_cost = goal.budget_dollars - max(billing.training_share for billing in billings)
    prices = [_per_second(billing) for billing in billings]
    masters = [
        _per_second(each, with_master=True) - price for each, price in zip(billings, prices, strict=True)
    ]
    problem = CompositionProblem(
        fixed_seconds=waiting + factor * job.fixed_seconds,
        sharing_seconds=factor * job.sharing_seconds,
        work_seconds=factor * float(job.work_seconds[0]),
        prices=np.array(prices),
        speeds=job.speeds,
        allowed=tuple(np.array(offer.counts, dtype=np.int64) for offer in job.offers),
        fixed_price=max(masters),
        most_machines=job.most_machines,
    )
    return best_counts(problem, most_seconds=most_seconds, most_cost=most_cost, fastest=goal.is_time)


def _per_second(billing: Billing, *, with_master: bool = False) -> float:
    """Dollars for a second of a machine with its volumes, and of a master where it is asked for."""
    plain = replace(
        billing,
        increment_seconds=1.0,
        minimum_seconds=0.0,
        boot_seconds=0.0,
        training_dollars=0.0,
        master_price_per_hour=billing.master_price_per_hour if with_master else 0.0,
    )
    return plain.cost(machines=1, seconds=HOUR_SECONDS).total / HOUR_SECONDS


def _alternative(job: MixedJob, goal: Goal, counts: IntArray) -> Alternative:
    parts = tuple(
        Configuration(machines=int(count), instance_type=offer.type_name)
        for offer, count in zip(job.offers, counts, strict=True)
        if count
    )
    machines, billing = int(counts.sum()), mixed_billing(job.offers, parts)
    offers = [offer for offer, count in zip(job.offers, counts, strict=True) if count]
    startup, run = max(offer.model.startup_seconds for offer in offers), job.run_seconds(counts)
    spread = job.log_spread(machines)
    scales = [(offer.model, goal.scale * offer.input_growth) for offer in offers]
    shortages = {memory_shortage(model, machines=machines, scale=scale) for model, scale in scales} - {""}
    unsupported = {extrapolation(model, machines=machines, scale=scale) for model, scale in scales} - {""}
    limit = goal.limit_seconds(billing, machines) - startup
    probability = None
    if goal.has_limits:
        probability = float(ndtr(math.log(limit / run) / spread)) if limit > 0 else 0.0

    def interval(level: float) -> tuple[float, float]:
        distance = float(ndtri(two_sided(level)[1])) * spread
        return startup + run * math.exp(-distance), startup + run * math.exp(distance)

    return Alternative(
        machines=machines,
        instance_type=" + ".join(f"{part.machines} {part.instance_type}" for part in parts),
        seconds=startup + run,
        cost=billing.cost(machines=machines, seconds=startup + run).total,
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
"""Of machines of each type: from fewer, what is fixed, what grows and what shrinks cannot be told apart."""

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
    # number of machines.
    log_spreads: tuple[FloatArray, ...]

    @property
    def speeds(self) -> FloatArray:
        """Relative to the first type, shape (k,)."""
        return np.asarray(self.work_seconds[0] / self.work_seconds)

    @property
    def most_machines(self) -> int:
        """Of all types together."""
        return max(offer.counts[-1] for offer in self.offers)

    def run_seconds(self, counts: IntArray) -> float:
        """Of a run on a composition, shape (k,), start-up excluded."""
        spread = float(self.work_seconds[0] / (self.speeds @ counts))
        return self.fixed_seconds + self.sharing_seconds * int(counts.sum()) + spread

    def log_spread(self, machines: int) -> float:
        """The deviation of log(seconds): the widest of the types' at the nearest number, with the misfit."""
        widest = max(
            float(spreads[np.argmin(np.abs(np.array(offer.counts) - machines))])
            for offer, spreads in zip(self.offers, self.log_spreads, strict=True)
        )
        return max(LEAST_SPREAD, math.hypot(widest, self.misfit))


def mixed_job(forecasts: Sequence[Forecast], *, goal: Goal) -> MixedJob | None:
    """The terms of OptEx that fit the models of trained types best, with their relative errors squared.

    They are fitted at the offered numbers of machines, and at the observed ones where these are too few. None
    where they still are, or the formula does not fit.
    """
    fitted = []
    for each in forecasts:
        offer = each.offer
        if len(offer.counts) < FEWEST_NUMBERS:
            observed = (run.machines for run in offer.model.observations)
            wider = replace(offer, machines=[*offer.counts, *observed])
            each = wider.forecast(scale=goal.scale, iterations=goal.iterations)
        fitted.append(each)
    if any(len(forecast.seconds) < FEWEST_NUMBERS for forecast in fitted):
        return None
    rows = []
    for position, forecast in enumerate(fitted):
        machines = np.array(forecast.offer.counts, dtype=np.float64)
        columns = np.zeros((len(machines), 2 + len(fitted)))
        columns[:, 0], columns[:, 1], columns[:, 2 + position] = 1.0, machines, 1.0 / machines
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


# Whole numbers of machines of several types, searched exactly.
#
# A composition matters only through its number of machines, price and speed. One that has no more machines,
# is no dearer and no slower than another stays so whatever is added to both: the other need not be followed
# further. The search adds machines in packs of 1, 2, 4, ..., which make up every number. After each pack it
# keeps the compositions that no other beats in this way, and of them those that can still come within the
# goal at no more than a composition already known, were all that is left to add as cheap as its cheapest
# type. Five types with up to 100 machines each have 10^10 compositions, of which a few thousand are looked at
# as a rule, and two million at worst, where all types are worth their price to within one per cent.


SEGMENTS = 64
"""Pieces that the speed still to be added is cut into for the bound on the cost; more are tighter, slower."""

RESOLUTION = 1e-9  # prices and speeds that differ by less than this share of the smallest are equal
MOST_OF_A_PAIR = 128  # as many numbers of each type are combined to begin with


@dataclass(frozen=True, kw_only=True)
class CompositionProblem:
    """The job and the k types of machines in numbers."""

    fixed_seconds: float  # of a run, whatever its machines
    sharing_seconds: float  # for each machine
    work_seconds: float  # spread over the machines by their speed
    prices: FloatArray  # dollars per second of a machine of each type, shape (k,)
    speeds: FloatArray  # relative to that which `work_seconds` is of, shape (k,)
    allowed: tuple[IntArray, ...]  # the numbers of machines that each type may have besides none, ascending
    fixed_price: float  # dollars per second of what there is one of, such as a master
    most_machines: int  # of all types together

    def seconds(self, machines: FloatArray, speed: FloatArray) -> FloatArray:
        """Of runs on so many machines with so much speed together; the speed must be above 0."""
        return self.fixed_seconds + self.sharing_seconds * machines + self.work_seconds / speed

    def seconds_and_cost(self, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Of compositions that have machines, shape (n, k)."""
        seconds = self.seconds(counts.sum(axis=1).astype(np.float64), counts @ self.speeds)
        return seconds, seconds * self.price(counts)

    def price(self, counts: IntArray) -> FloatArray:
        """Dollars per second of compositions, shape (n, k)."""
        return np.asarray(self.fixed_price + counts @ self.prices)

    def of_allowed_size(self, counts: IntArray) -> IntArray:
        """Those of the compositions, shape (n, k), that have no more than `most_machines`."""
        return np.asarray(counts[counts.sum(axis=1) <= self.most_machines])


def best_counts(
    problem: CompositionProblem, *, most_seconds: float, most_cost: float, fastest: bool
) -> IntArray | None:
    """The numbers of machines of the cheapest or the fastest composition within both bounds, shape (k,).

    Of equally good ones the faster (the cheaper, for the fastest), then the one with fewer machines. None
    where no composition keeps within the bounds, which may be infinite.
    """
    seconds, cost = problem.seconds_and_cost(starting_compositions(problem))
    met = (seconds <= most_seconds * (1 + TOLERANCE)) & (cost <= most_cost * (1 + TOLERANCE))
    if fastest:
        most_seconds = float(seconds[met].min(initial=most_seconds))
    else:
        most_cost = float(cost[met].min(initial=most_cost))
    counts = compositions_within(problem, most_seconds=most_seconds, most_cost=most_cost)
    if not len(counts):
        return None
    seconds, cost = problem.seconds_and_cost(counts)
    first, second = (seconds, cost) if fastest else (cost, seconds)
    # Sums are not exact: what differs by less than the tolerance is equal.
    equal = np.flatnonzero(first <= first.min() * (1 + TOLERANCE))
    equal = equal[second[equal] <= second[equal].min() * (1 + TOLERANCE)]
    return np.asarray(counts[equal[np.argmin(counts[equal].sum(axis=1))]])


def starting_compositions(problem: CompositionProblem) -> IntArray:
    """Compositions to begin with, shape (n, k): they tell how good the best is at least.

    The fastest takes the fastest types first, the cheapest is often one machine, and the best composition
    seldom has more than two types.
    """
    types = len(problem.allowed)
    found, before = [], np.zeros(types, dtype=np.int64)
    for kind in np.argsort(-problem.speeds, kind="stable").tolist():
        allowed = problem.allowed[kind]
        fastest = np.tile(before, (len(allowed), 1))
        fastest[:, kind] = allowed
        alone = np.zeros_like(fastest)
        alone[:, kind] = allowed
        found += [fastest, alone]
        before = fastest[-1]
    for pair in itertools.combinations(range(types), 2):
        first, second = (_thinned(np.array([0, *problem.allowed[kind]])) for kind in pair)
        both = np.zeros((len(first) * len(second), types), dtype=np.int64)
        both[:, pair[0]], both[:, pair[1]] = np.repeat(first, len(second)), np.tile(second, len(first))
        found.append(both[1:])
    return problem.of_allowed_size(np.concatenate(found))


def _thinned(numbers: IntArray) -> IntArray:
    """At most `MOST_OF_A_PAIR` of the numbers, the first and the last among them."""
    if len(numbers) <= MOST_OF_A_PAIR:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, MOST_OF_A_PAIR).round().astype(np.int64)]


def compositions_within(problem: CompositionProblem, *, most_seconds: float, most_cost: float) -> IntArray:
    """The compositions within both bounds that no other beats in machines, price and speed, shape (n, k)."""
    most_seconds, most_cost = most_seconds * (1 + TOLERANCE), most_cost * (1 + TOLERANCE)
    # Poor value first: what is left to add is then the cheapest there is, which makes the bound close.
    order = np.argsort(-problem.prices / problem.speeds, kind="stable")
    steps = [(kind, sizes) for kind in order.tolist() for sizes in _steps(problem.allowed[kind])]
    counts = np.zeros((1, len(problem.allowed)), dtype=np.int64)
    for position, (kind, sizes) in enumerate(steps):
        added = np.repeat(counts, len(sizes), axis=0)
        added[:, kind] += np.tile(sizes, len(counts))
        counts = problem.of_allowed_size(np.concatenate([counts, added]))
        left = [(other, int(more.max())) for other, more in steps[position + 1 :]]
        counts = counts[_can_come_within(problem, counts, left, most_seconds, most_cost)]
        counts = counts[_unbeaten(problem, counts)]
    return counts


def _steps(allowed: IntArray) -> list[IntArray]:
    """Numbers to add one after the other, of each step one or none: they make up those allowed, no others."""
    if np.array_equal(allowed, allowed[0] * np.arange(1, len(allowed) + 1)):
        return [allowed[:1] * size for size in _packs(len(allowed))]
    return [allowed]


def _packs(most: int) -> list[int]:
    """Numbers of which some add up to each number from 0 to `most`, and to no other; large ones first."""
    sizes: list[int] = []
    while most:
        sizes.append(min(most, 2 ** len(sizes)))
        most -= sizes[-1]
    return sizes[::-1]


def _can_come_within(
    problem: CompositionProblem,
    counts: IntArray,
    left: list[tuple[int, int]],
    most_seconds: float,
    most_cost: float,
) -> IntArray:
    """Positions of the compositions that may come within both bounds when packs of what is left are added."""
    machines = counts.sum(axis=1).astype(np.float64)
    speed, price = counts @ problem.speeds, problem.price(counts)
    if not left:
        # Only the empty composition has no speed, and it is none.
        seconds = problem.seconds(machines, np.maximum(speed, problem.speeds.min()))
        return np.flatnonzero((machines > 0) & (seconds <= most_seconds) & (seconds * price <= most_cost))
    kinds = sorted({kind for kind, _ in left})
    dollars_per_speed = float((problem.prices[kinds] / problem.speeds[kinds]).min())
    fastest = float(problem.speeds[kinds].max())
    reachable = speed + sum(size * problem.speeds[kind] for kind, size in left)
    # Of the speeds from the least that the deadline asks for to all that there is, piece by piece: price and
    # sharing are bounded by the lower end of a piece, the work that spreads by the upper.
    spare = most_seconds - problem.seconds(machines, np.full_like(speed, np.inf))
    spare = np.maximum(spare, np.maximum(problem.work_seconds / reachable, np.finfo(float).tiny))
    least_speed = np.maximum(speed, problem.work_seconds / spare)
    hopeful = np.zeros(len(counts), dtype=bool)
    ends = np.linspace(0.0, 1.0, SEGMENTS + 1) ** 2
    for low, high in itertools.pairwise(ends.tolist()):
        added = least_speed - speed + (reachable - least_speed) * low
        upper = least_speed + (reachable - least_speed) * high
        seconds = problem.seconds(machines + added / fastest, upper)
        cost = (price + dollars_per_speed * added) * seconds
        hopeful |= (seconds <= most_seconds) & (cost <= most_cost)
    return np.flatnonzero(hopeful)


def _unbeaten(problem: CompositionProblem, counts: IntArray) -> IntArray:
    """Positions of the compositions that no other beats: with no more machines, no dearer, no slower."""
    machines = counts.sum(axis=1)
    # Whole multiples of the resolution, so that sums which differ by rounding alone are equal.
    price, speed = (
        np.rint(counts @ (column / (column.min() * RESOLUTION)))
        for column in (problem.prices, problem.speeds)
    )
    order = np.lexsort((-speed, price, machines))
    machines, price, speed = machines[order], price[order], speed[order]
    unbeaten = np.zeros(len(order), dtype=bool)
    # The staircase of those kept so far: the highest speed for each price.
    stairs_price, stairs_speed = np.array([-1.0]), np.array([-1.0])
    starts = np.flatnonzero(np.diff(machines, prepend=-1))
    for start, end in itertools.pairwise([*starts.tolist(), len(order)]):
        of_price, of_speed = price[start:end], speed[start:end]
        highest = stairs_speed[np.searchsorted(stairs_price, of_price, side="right") - 1]
        before = np.maximum.accumulate(np.concatenate([[-1.0], of_speed[:-1]]))
        kept = of_speed > np.maximum(highest, before)
        unbeaten[start:end] = kept
        all_price = np.concatenate([stairs_price, of_price[kept]])
        all_speed = np.concatenate([stairs_speed, of_speed[kept]])
        by_price = np.lexsort((-all_speed, all_price))
        all_price, all_speed = all_price[by_price], all_speed[by_price]
        rising = np.diff(np.maximum.accumulate(all_speed), prepend=-2.0) > 0
        stairs_price, stairs_speed = all_price[rising], all_speed[rising]
    return order[unbeaten]
