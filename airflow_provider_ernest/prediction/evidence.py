"""How well each hypothesis about a job explains its runs.

A hypothesis says which terms the job has, whether the driver takes one of the executors, which points do not
belong to the others, how noisy runs are, and how far the job deviates from all terms. Given a hypothesis, the
logarithms of run times are (to first order around a reference fit) linear in the coefficients with Gaussian
errors. So the distribution of the coefficients and the probability of the runs have closed forms (Bishop,
Pattern Recognition and Machine Learning, section 3.5). All hypotheses are computed at once, one axis a
question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.documents.models import LONG_RUN_SECONDS, AveragingPrior
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray, seconds_of_runs
from airflow_provider_ernest.prediction.regression import non_negative_least_squares, shared_least_squares
from airflow_provider_ernest.prediction.terms import ObservedColumns, Runs, basis

# A job may deviate from every sum of terms: smoothly, by some per cent, over doublings. The deviation is a
# Gaussian process on the logarithm of the time, over the logarithms of executors and scale. Near the observed
# runs it takes up what the terms leave. Away from them it returns to 0 with its full standard deviation, so
# intervals widen there. A part of the deviation belongs to one executor count alone: how partitions fill
# slots, which hosts executors share, whether the data fits into their memory. Samples seldom show that;
# production does.


def shared_deviation(prior: AveragingPrior, these: FloatArray, those: FloatArray) -> FloatArray:
    """Correlation of the deviations at two sets of executors and scale, (n, 2) and (q, 2), shape (n, q)."""
    distances = (np.log2(these)[:, None] - np.log2(those)[None]) / (
        prior.executors_octaves,
        prior.scale_octaves,
    )
    smooth = np.exp(-0.5 * (distances**2).sum(axis=-1))
    own = prior.own_deviation
    return np.asarray((1.0 - own) * smooth + own * same_executors(these, those), dtype=np.float64)


OWN_SCALE_OCTAVES = 0.25
"""Doublings of the scale over which an executor count's own deviation changes; from night to night it is
less."""


def same_executors(these: FloatArray, those: FloatArray) -> FloatArray:
    """Correlation of the executor counts' own deviations, (n, q); arguments as in `shared_deviation`."""
    are_same = these[:, None, 0] == those[None, :, 0]
    octaves = np.log2(these[:, None, 1] / those[None, :, 1]) / OWN_SCALE_OCTAVES
    return np.asarray(are_same * np.exp(-0.5 * octaves**2), dtype=np.float64)


# Runs of one configuration count as one point: their median, so that a straggler does no harm. If their times
# fall into groups, as with inputs of two shapes, the median is that of the larger group and far off for the
# others. Their mean on the logarithm is never that far off.

ALIKE = 1.25  # if runs of one configuration differ by more, they did different work or were disturbed
STRAGGLING_SHARE = 0.2
"""The share of a configuration's runs at either end, at least one run, that may be disturbed."""

SURE_REPETITIONS = 3
"""From this many runs of a configuration on, the median is of an undisturbed one unless most were disturbed.
"""


@dataclass(frozen=True, kw_only=True)
class Points:
    """Distinct configurations that were run, as columns of shape (n,)."""

    executors: FloatArray
    workers: FloatArray  # executors that shared the work that spreads
    scale: FloatArray
    row_width: FloatArray  # see `terms.Runs`
    seconds: FloatArray  # median over the repetitions; for divided ones their mean on the logarithm
    repetitions: IntArray  # runs that each point stands for
    agreeing: NDArray[np.bool_]  # its runs took about the same time; False for a single run
    # they differ by more than `ALIKE` even without the `STRAGGLING_SHARE` at either end: none is typical
    divided: NDArray[np.bool_]
    least_noise: float  # least standard deviation of log(seconds) of single runs; see `_least_noise`
    replay_variance: FloatArray  # of log(seconds), beside the runs' noise: means over what is replayed
    point_of_run: IntArray  # for each run the position of its point, shape (runs,)

    @property
    def noise_factors(self) -> FloatArray:
        """The variance of each point's noise, relative to a single run's.

        1/sqrt(k) for the median of k runs: consecutive ones share disturbances, divided ones do not.
        """
        powers = np.where(self.divided, -1.0, -0.5)
        return np.asarray(self.repetitions.astype(np.float64) ** powers, dtype=np.float64)

    @property
    def runs(self) -> Runs:
        """The points as runs that are asked about."""
        return Runs(
            executors=self.executors, scale=self.scale, workers=self.workers, row_width=self.row_width
        )

    @property
    def configurations(self) -> FloatArray:
        """Executors and scale, shape (n, 2)."""
        return np.column_stack([self.executors, self.scale])

    @property
    def told_again(self) -> NDArray[np.bool_]:
        """Whether several runs confirm a point, so that it is no mistake."""
        return np.asarray(self.agreeing | (self.repetitions >= SURE_REPETITIONS), dtype=np.bool_)

    def noise_levels(self, prior: AveragingPrior) -> FloatArray:
        """Relative noise of single runs by each level of the prior, no less than they show, shape (k,)."""
        return np.asarray(np.maximum(prior.noise, self.least_noise), dtype=np.float64)

    def at(self, which: NDArray[np.bool_]) -> Points:
        """The points where the mask of shape (n,) is true, and their runs."""
        positions = np.cumsum(which) - 1
        kept = ("point_of_run", "least_noise")
        columns = {name: column[which] for name, column in vars(self).items() if name not in kept}
        return replace(self, **columns, point_of_run=positions[self.point_of_run[which[self.point_of_run]]])


def points_of(**runs: Unpack[ObservedColumns]) -> Points:
    """The distinct configurations of runs, in ascending order."""
    made = Runs(
        executors=runs["executors"],
        scale=runs["scale"],
        workers=runs.get("workers"),
        row_width=runs.get("row_width", 1.0),
    )
    executors, scale, workers, row_width = made.columns()
    seconds = seconds_of_runs(runs["seconds"], executors.size)
    configurations, point_of_run, repetitions = np.unique(
        np.column_stack([executors, scale, workers, row_width]),
        axis=0,
        return_inverse=True,
        return_counts=True,
    )
    point_of_run = point_of_run.ravel()
    errors = np.zeros(executors.size) + np.asarray(runs.get("replay_errors", 0.0), dtype=np.float64)
    of_points = [np.sort(seconds[point_of_run == point]) for point in range(len(configurations))]
    return Points(
        executors=configurations[:, 0],
        scale=configurations[:, 1],
        workers=configurations[:, 2],
        row_width=configurations[:, 3],
        seconds=np.array([_middle(times) for times in of_points]),
        agreeing=np.array([len(times) > 1 and times[-1] <= ALIKE * times[0] for times in of_points]),
        divided=np.array([_is_divided(times) for times in of_points]),
        repetitions=repetitions,
        least_noise=_least_noise(of_points),
        # Replays share what they are wrong about: more of them make it no less.
        replay_variance=np.bincount(point_of_run, weights=errors**2) / repetitions,
        point_of_run=point_of_run,
    )


def _is_divided(ascending: FloatArray) -> bool:
    ends = max(1, int(STRAGGLING_SHARE * len(ascending)))
    inner = ascending[ends:-ends]
    return len(inner) > 1 and bool(inner[-1] > ALIKE * inner[0])


def _least_noise(of_points: Sequence[FloatArray]) -> float:
    """What the runs of at least every second repeated configuration scatter by, if that is not one alone.

    So do the next ones, whatever is believed: they may have been on inputs of which nobody told what differs.
    """
    deviations = sorted(float(np.log(times).std(ddof=1)) for times in of_points if len(times) > 1)
    return deviations[(len(deviations) - 1) // 2] if len(deviations) > 1 else 0.0


def _middle(ascending: FloatArray) -> float:
    middle = np.exp(np.log(ascending).mean()) if _is_divided(ascending) else np.median(ascending)
    return float(middle)


POINTS_LEFT = 4  # points that must be left in the common regime; fewer tell nothing
POINTS_TO_SUSPECT = 6  # with fewer points a single one cannot be told from the shape of the whole
SUSPECTS = 2  # how many single points are suspected
ROUNDING_DIGITS = 6
"""Relative errors that differ by less may do so by rounding, which depends on the processor."""

MIN_SECONDS_SHARE = 1e-9


def suspicions(
    points: Points, columns: FloatArray, prior: AveragingPrior
) -> tuple[list[NDArray[np.bool_]], FloatArray]:
    """The h sets of points, masks (n,), that may not belong to the others, with their prior probabilities.

    The first set is empty. Then come the points with the most data for each executor (and those with the two
    most): when memory runs short, time grows out of proportion. Last the points that others predict worst.
    """
    none = np.zeros(len(points.seconds), dtype=bool)
    sets, probabilities = [none], [0.0]
    for mask, probability in zip(memory_cuts(points), prior.memory_cut, strict=False):
        if probability > 0:
            sets.append(mask)
            probabilities.append(probability)
    for suspect in _conspicuous(points.seconds, columns) if prior.disturbed_run > 0 else []:
        sets.append(np.arange(len(none)) == suspect)
        probabilities.append(prior.disturbed_run)
    probabilities[0] = max(1.0 - sum(probabilities), 0.05)
    return sets, np.array(probabilities) / sum(probabilities)


def memory_cuts(points: Points) -> list[NDArray[np.bool_]]:
    """The points with the most data for each executor, then those with the two most, and so on."""
    load = (points.scale / points.executors).round(12)
    levels = np.unique(load)[::-1]
    masks = [load >= levels[cut] for cut in range(len(levels) - 2)]
    return [mask for mask in masks if (~mask).sum() >= POINTS_LEFT]


def _conspicuous(seconds: FloatArray, columns: FloatArray) -> list[int]:
    """The points that the others predict worst, by relative error; of equal errors the first."""
    count = len(seconds)
    if count < POINTS_TO_SUSPECT:
        return []
    errors = np.empty(count)
    for left_out in range(count):
        rest = np.arange(count) != left_out
        coefficients = shared_least_squares(columns[rest] / seconds[rest, None], np.ones(count - 1))
        predicted = max(float(columns[left_out] @ coefficients), MIN_SECONDS_SHARE * seconds[left_out])
        errors[left_out] = abs(np.log(seconds[left_out] / predicted))
    worst = np.argsort(-errors.round(ROUNDING_DIGITS), kind="stable")[:SUSPECTS]
    return [int(position) for position in worst]


OVERHEADS = frozenset(
    {"log(executors)", "executors", "sqrt(executors)"}
)  # terms that no job consists of alone
FIXED = "1"  # the term of work that takes the same time on any executors and data
MOST_FIXED_SHARE = 0.9  # the share of the shortest run that may be known to be fixed
LEAST_RISING, MOST_PLATEAUS = 2, 2
"""Executor counts that must have helped before a kink is seen, and plateaus that are asked about."""

WORTH_BEYOND, COUNTS_WITHIN = 0.2, 6
"""What an executor beyond a kink is worth of another where executors share cores (hyper-threads) or the way
to memory, and from how many counts between the outermost ones on it is asked for."""

NEARER = 0.5  # share of the squared errors; an explanation that is hardly better may fit noise
LEAST_WORKERS = 0.5  # if one executor runs the driver and also works, its work is still done
REFINEMENTS = 4
USUAL_ERROR = 0.2  # error from the reference, on the logarithm, from which a run begins to count less


class Evidence:
    """All hypotheses about a job with these terms, by its points, of which there is at least one.

    Axes: d ways to count (see `Counting`), r sets of points that do not belong to the others, g levels of
    discrepancy, k levels of noise, t subsets of the terms; n points, p terms.
    """

    def __init__(self, points: Points, terms: tuple[str, ...], prior: AveragingPrior) -> None:
        self.points, self.countings = points, ways_to_count(points, prior)
        self.deviates = np.array(prior.discrepancy) > 0  # which levels of discrepancy, (g,)
        columns = [counting.columns(terms, points.runs) for counting in self.countings]
        usual = columns[_usual(self.countings)]
        self.columns = np.array(columns)  # the terms' values at the points, (d, n, p)
        self.least = _least(terms, prior, points.seconds)  # known seconds per unit of each term, (p,)
        self.reference = _reference(usual, points.seconds, self.least)  # seconds of the reference fit, (n,)
        self.deviations = np.log(points.seconds / self.reference)
        sets, set_probabilities = suspicions(points, usual, prior)
        self.outside = np.array(sets)  # (r, n)
        # Inverse covariances of the errors, (r, g, k, n, n).
        self.precisions, log_determinants = _errors(points, self.outside, prior)
        self.subsets, log_subsets = _subsets(terms, prior)  # which terms are in, (t, p)
        largest = _largest_seconds(terms, prior, points.seconds)
        parts = [
            _posterior(
                rows, 1.0 + self.deviations - rows @ self.least, self.precisions, self.subsets, largest, prior
            )
            for rows in (column / self.reference[:, None] for column in columns)
        ]
        # Means of the scaled coefficients, beyond `least`, (d, r, g, k, t, p), Cholesky factors of their
        # precisions, (d, r, g, k, t, p, p), and what they were scaled with, (d, p).
        likelihoods, self.means, self.factors, self.lengths = (
            np.array(part) for part in zip(*parts, strict=True)
        )
        shares = np.array([counting.weight for counting in self.countings])
        log_prior = (
            np.log(shares / shares.sum())[:, None, None, None, None]
            + np.log(set_probabilities)[:, None, None, None]
            + _log_weights(prior.discrepancy_weights)[:, None, None]
            + _log_weights(prior.noise_weights)[:, None]
            + log_subsets
        )
        # Of the runs with the hypothesis, without the factor for no negative coefficient, (d, r, g, k, t).
        self.log_probabilities = likelihoods - log_determinants[..., None] + log_prior


@dataclass(frozen=True, kw_only=True)
class Kink:
    """A number of executors beyond which each further one helps less."""

    most_workers: float = np.inf
    worth_beyond: float = 0.0  # of an executor beyond these

    def busy(self, workers: FloatArray) -> FloatArray:
        """What so many executors are worth, shape (n,)."""
        below = np.minimum(workers, self.most_workers)
        return np.asarray(below + self.worth_beyond * (workers - below), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Counting:
    """Which of the executors work, and how much of the data is work."""

    driver_executors: float  # that the driver takes, 0 or 1
    row_share: float  # of the work on a row of the target input, what grows with the data in a row
    weight: float  # how much it is believed; the weights of all ways need not add up to 1
    kink: Kink  # from which on executors help less

    def columns(self, terms: tuple[str, ...], runs: Runs) -> FloatArray:
        """The terms' values of n runs, shape (n, p)."""
        executors, scale, workers, row_width = runs.columns()
        working = np.maximum(self.kink.busy(workers) - self.driver_executors, LEAST_WORKERS)
        work = scale / row_width * (1.0 - self.row_share + self.row_share * row_width)
        return basis(terms, executors=executors, scale=work, workers=working)


def ways_to_count(points: Points, prior: AveragingPrior) -> tuple[Counting, ...]:
    """The ways to count that the points leave open.

    The driver takes no executor if a run had a single one. How work grows with the data in a row matters only
    if that differs. Only kinks that the runs show are asked about: a refuted hypothesis costs as much time as
    any other.
    """
    drivers = {0.0: 1 - prior.driver_share, 1.0: prior.driver_share}
    if points.executors.min() < 2:
        drivers = {0.0: 1.0}
    row_shares = dict(zip(prior.row_shares, prior.row_share_weights, strict=True))
    if np.all(points.row_width == 1.0):
        row_shares = {1.0: 1.0}
    seen = _seen_kinks(points) if prior.plateau_observed > 0 else []
    kinks = {kink: prior.plateau_observed / len(seen) for kink in seen}
    kinks[Kink()] = 1.0 - prior.plateau_observed
    return tuple(
        Counting(
            driver_executors=driver,
            row_share=row_share,
            kink=kink,
            weight=share * belief * chance,
        )
        for kink, chance in kinks.items()
        for row_share, belief in row_shares.items()
        for driver, share in drivers.items()
        if share > 0
    )


def _seen_kinks(points: Points) -> list[Kink]:
    """The last kinks to a plateau, and the best ones beyond which more are worth nothing or a part.

    If they explain the runs better than an overhead for each executor does: then times also stop falling, but
    the overhead goes on. Of few counts each smooth curve looks like some kink.
    """
    workers, scale = points.workers, points.scale
    squared = _squared_error(points, scale / workers, workers)
    asked = np.unique(workers)[LEAST_RISING - 1 : -1].tolist()
    if not asked or squared < len(workers) * 10.0 ** (-2 * ROUNDING_DIGITS):
        return []

    worths: tuple[float, ...] = (0.0, WORTH_BEYOND)
    if len(asked) < COUNTS_WITHIN:
        asked, worths = asked[-MOST_PLATEAUS:], worths[:1]
    errors = {
        kink: _squared_error(points, scale / kink.busy(workers))
        for kink in (Kink(most_workers=most, worth_beyond=worth) for most in asked for worth in worths)
    }
    kinks = {Kink(most_workers=most) for most in asked[-MOST_PLATEAUS:]}
    for worth in worths:
        kinks.add(min((kink for kink in errors if kink.worth_beyond == worth), key=errors.__getitem__))
    return [kink for kink in errors if kink in kinks and errors[kink] < NEARER * squared]


def _squared_error(points: Points, *columns: FloatArray) -> float:
    """Sum of relative squared errors of the points, explained by fixed work and columns of shape (n,)."""
    rows = np.column_stack([np.ones_like(points.seconds), *columns]) / points.seconds[:, None]
    explained = rows @ non_negative_least_squares(rows, np.ones(len(rows)))
    return float(((explained - 1.0) ** 2).sum())


def _usual(countings: Sequence[Counting]) -> int:
    """The position of the counting that runs are judged by before any is weighed: the middle share's last."""
    row_shares = sorted({counting.row_share for counting in countings})
    middle = row_shares[len(row_shares) // 2]
    return max(at for at, counting in enumerate(countings) if counting.row_share == middle)


def _least(terms: tuple[str, ...], prior: AveragingPrior, seconds: FloatArray) -> FloatArray:
    """Known least seconds per unit of each term, shape (p,), and never all of a point's time."""
    known = min(prior.least_fixed_seconds, MOST_FIXED_SHARE * float(seconds.min()))
    return np.array([known if term == FIXED else 0.0 for term in terms])


def _reference(columns: FloatArray, seconds: FloatArray, least: FloatArray) -> FloatArray:
    """Times around which the logarithm is linearised: a non-negative fit, so that noise does not weigh.

    Dividing by the measured seconds would make long runs weigh less for being long by chance. Runs far from
    the fit count less and less: an outlier of five times the time must not draw the reference away from the
    others.
    """
    reference, weights = seconds, np.ones_like(seconds)
    errors = np.zeros_like(seconds)
    for _ in range(1 + REFINEMENTS):
        rows = columns * (weights / reference)[:, None]
        coefficients = non_negative_least_squares(rows, weights * (1.0 + errors) - rows @ least)
        reference = np.maximum(columns @ (least + coefficients), 0.05 * seconds)
        errors = np.log(seconds / reference)
        weights = 1.0 / np.sqrt(1.0 + (errors / USUAL_ERROR) ** 2)
    return np.asarray(reference, dtype=np.float64)


def _errors(
    points: Points, outside: NDArray[np.bool_], prior: AveragingPrior
) -> tuple[FloatArray, FloatArray]:
    """Inverse covariances of the points' errors, (r, g, k, n, n), and half their log-determinants."""
    together = shared_deviation(prior, points.configurations, points.configurations)
    discrepancy = np.array(prior.discrepancy)[None, :, None, None, None] ** 2 * together
    levels = points.noise_levels(prior)[:, None]
    noise = points.noise_factors * noise_variance(levels, points.seconds, prior)
    noise = noise + points.replay_variance
    apart = (outside * prior.disturbed_spread**2)[:, None, None, :]
    covariances = (
        (noise + apart)[..., None] * np.eye(len(together)) + discrepancy + _of_other_rows(points, prior)
    )
    diagonal = np.diagonal(np.linalg.cholesky(covariances), axis1=-2, axis2=-1)
    inverse = np.asarray(np.linalg.inv(covariances), dtype=np.float64)
    return inverse, np.asarray(np.log(diagonal).sum(axis=-1), dtype=np.float64)


MOST_NOISE_OF_SECONDS = 0.2
"""Most of a run that `AveragingPrior.noise_seconds` are taken to be, so that the shortest runs still
count."""


def noise_variance(level: FloatArray, seconds: FloatArray, prior: AveragingPrior) -> FloatArray:
    """Variance of log(seconds) of single runs at a level of relative noise; broadcast."""
    shortest = max(prior.noise_seconds / MOST_NOISE_OF_SECONDS, np.finfo(float).tiny)
    return np.asarray(level**2 + (prior.noise_seconds / np.maximum(seconds, shortest)) ** 2, dtype=np.float64)


def _of_other_rows(points: Points, prior: AveragingPrior) -> FloatArray:
    """Covariance, (n, n), of the deviations of runs on wider or narrower rows than the target input's.

    A random walk over the doublings of the width, from 0 at the target's. Runs on rows of the same width
    deviate together, so even many of them tell little of other rows.
    """
    octaves = np.log2(points.row_width)
    shared = np.minimum(np.abs(octaves)[:, None], np.abs(octaves)[None]) * (octaves[:, None] * octaves > 0)
    return np.asarray(prior.row_discrepancy**2 * shared, dtype=np.float64)


def _subsets(terms: tuple[str, ...], prior: AveragingPrior) -> tuple[NDArray[np.bool_], FloatArray]:
    """All sets of terms that a job can consist of, shape (t, p), and their log prior probabilities, (t,)."""
    work = np.array([term not in OVERHEADS for term in terms])
    if not work.any():
        work[:] = True
    every = np.array(list(product([False, True], repeat=len(terms))))
    subsets = every[(every & work).any(axis=1)]
    inclusion = np.array([prior.belief_in(term).probability for term in terms])
    return subsets, np.where(subsets, np.log(inclusion), np.log1p(-inclusion)).sum(axis=1)


def _largest_seconds(terms: tuple[str, ...], prior: AveragingPrior, seconds: FloatArray) -> FloatArray:
    """About the largest coefficient of each term for a job of such times (n,), shape (p,)."""
    times_as_long = max(1.0, float(np.exp(np.log(seconds).mean())) / LONG_RUN_SECONDS)
    return np.array([times_as_long * (prior.belief_in(term).largest_seconds or np.inf) for term in terms])


def _posterior(
    rows: FloatArray,
    values: FloatArray,
    precisions: FloatArray,
    subsets: NDArray[np.bool_],
    largest_seconds: FloatArray,
    prior: AveragingPrior,
) -> tuple[FloatArray, ...]:
    """Log likelihoods (r, g, k, t), means (r, g, k, t, p), factors (r, g, k, t, p, p) and lengths (p,).

    The rows are the terms, (n, p), and the values the times, (n,), both as shares of the reference time.
    """
    lengths = np.sqrt((rows**2).mean(axis=0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    scaled = rows / lengths
    widths = np.minimum(prior.largest_share, largest_seconds * lengths)
    together = subsets[:, :, None] & subsets[:, None, :]
    information = (scaled.T @ precisions @ scaled)[..., None, :, :] * together
    # Terms that are out get a precision of 1 of their own, which changes neither mean nor determinant.
    information += np.where(subsets, widths**-2.0, 1.0)[:, :, None] * np.eye(len(widths))
    weighted = precisions @ values
    pull = (weighted @ scaled)[..., None, :] * subsets
    factors = np.asarray(np.linalg.cholesky(information), dtype=np.float64)
    means = np.linalg.solve(information, pull[..., None])[..., 0]
    likelihoods = (
        0.5 * (pull * means).sum(axis=-1)
        - 0.5 * (weighted @ values)[..., None]
        - np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
        # The half-normal prior of each term that is in: twice the density of the normal one.
        + (subsets * np.log(2.0 / widths)).sum(axis=1)
    )
    result = (likelihoods, means, factors, lengths)
    return tuple(np.asarray(each, dtype=np.float64) for each in result)


def _log_weights(weights: tuple[float, ...]) -> FloatArray:
    values = np.array(weights)
    return np.asarray(np.log(values / values.sum()), dtype=np.float64)
