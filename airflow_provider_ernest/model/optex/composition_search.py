"""Whole numbers of machines of several types, searched exactly (for `composition` and `mixed`).

A composition matters only through its number of machines, price and speed. One that has no more
machines, is no dearer and no slower than another stays so whatever is added to both: the other need not
be followed further. The search adds machines in packs of 1, 2, 4, ..., which make up every number. After
each pack it keeps the compositions that no other beats in this way, and of them those that can still come
within the goal at no more than a composition already known, were all that is left to add as cheap as its
cheapest type. Five types with up to 100 machines each have 10^10 compositions: in trials with random
prices, speeds and goals a few thousand of them were looked at as a rule, and two million at worst, where
all types were worth their price to within one per cent.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.goals import TOLERANCE
from airflow_provider_ernest.model.parameters import FloatArray, IntArray

SEGMENTS = 64
"""Pieces that the speed still to be added is cut into for the bound on the cost; more are tighter, slower."""

RESOLUTION = 1e-9
"""Prices and speeds that differ by less than this share of the smallest are equal."""

MOST_OF_A_PAIR = 128
"""As many numbers of each type are combined to begin with."""


@dataclass(frozen=True, kw_only=True)
class CompositionProblem:
    """The job and the k types of machines in numbers.

    Attributes:
        fixed_seconds: of a run, whatever its machines.
        sharing_seconds: for each machine.
        work_seconds: spread over the machines by their speed.
        prices: dollars per second of a machine of each type, shape (k,).
        speeds: relative to that which `work_seconds` is of, shape (k,).
        allowed: the numbers of machines that each type may have besides none, ascending.
        fixed_price: dollars per second of what there is one of, such as a master.
        most_machines: of all types together; None for no such limit.
    """

    fixed_seconds: float
    sharing_seconds: float
    work_seconds: float
    prices: FloatArray
    speeds: FloatArray
    allowed: tuple[IntArray, ...]
    fixed_price: float = 0.0
    most_machines: int | None = None

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
        if self.most_machines is None:
            return counts
        return np.asarray(counts[counts.sum(axis=1) <= self.most_machines])


def best_counts(
    problem: CompositionProblem, *, most_seconds: float, most_cost: float, fastest: bool
) -> IntArray | None:
    """The numbers of machines of the cheapest or the fastest composition within both bounds, shape (k,).

    Of equally good ones the faster (the cheaper, for the fastest), then the one with fewer machines.

    Args:
        problem: the job and the types.
        most_seconds: that the run may take; may be infinite.
        most_cost: that it may cost; may be infinite.
        fastest: whether the fastest is wanted, not the cheapest.

    Returns:
        None where no composition keeps within the bounds.
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

    Where each type may have any number up to its most, and there is no limit for all together and no fixed
    price, the fastest and the cheapest of all are among them. The fastest takes the fastest types first,
    whatever its number of machines. The cheapest is one machine: of the types in any composition, the one
    with most speed for its price costs less alone. All pairs of types are there because the best
    composition seldom has more.
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
    # Of the speeds from the least that the deadline asks for to all that there is, piece by piece: price
    # and sharing are bounded by the lower end of a piece, the work that spreads by the upper.
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
    """Positions of the compositions that no other beats: with no more machines, no dearer, no slower.

    Without sharing, and without a limit, the number of machines does not matter, and is left out.
    """
    counted = problem.sharing_seconds > 0 or problem.most_machines is not None
    machines = counts.sum(axis=1) * counted
    # Whole multiples of the resolution, so that sums which differ by rounding alone are equal.
    price, speed = (
        np.rint(counts @ (column / (column.min() * RESOLUTION)))
        for column in (problem.prices, problem.speeds)
    )
    order = np.lexsort((counts.sum(axis=1), -speed, price, machines))
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
