"""The predictor: an average over all sets of terms, weighted by how well each explains the runs.

A few runs seldom tell which terms a job has. So the predictor weighs every set of terms (Bayesian model
averaging; Hoeting et al. 1999) and every other hypothesis of `evidence`, draws coefficients from the weighted
whole, and predicts with all draws: the median is the prediction, the spread the interval. Each draw is a sum
of non-negative terms, so the parts of a prediction are still seconds of something.

The figures follow the runs continuously. Processors round differently, and random draws that are accepted
or rejected would turn a different sixteenth digit into other draws, and so into other figures. Here draws
stand at fixed places, coefficients follow through inverse distributions, and weights say how probable it is
that none of them is negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri, ndtri_exp

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.evidence import (
    POINTS_LEFT,
    POINTS_TO_SUSPECT,
    Evidence,
    Points,
    memory_cuts,
    noise_variance,
    points_of,
    same_executors,
    shared_deviation,
    ways_to_count,
)
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.regression import (
    mixture_probabilities,
    mixture_quantiles,
    nearest,
    non_negative_least_squares,
    two_sided,
)
from airflow_provider_ernest.prediction.terms import (
    DICTIONARY,
    ObservedColumns,
    RunColumns,
    Runs,
    check_terms,
    iteration_factors,
)
from airflow_provider_ernest.words import duration as seconds_in_words
from airflow_provider_ernest.words import input_share

LEAST_POINTS = 3  # fixed and spreading work fit any two points; only a third one tests them
MOST_TERMS = 8  # each term doubles the sets of terms; with eight a fit takes about a second


class TermAveraging:
    """Run time as a sum of terms, without knowing which terms there are.

    The p terms are those over whose subsets to average; see `terms.DICTIONARY`. The prior is what is believed
    before the runs; None for `AveragingPrior()`.

    Example:
        A job with 10 s of fixed work and 200 s of work that spreads, observed on small samples:

        >>> import numpy as np
        >>> executors = np.array([1, 2, 4, 8, 2, 8])
        >>> scale = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
        >>> seconds = 10 + 200 * scale / executors
        >>> averaging = TermAveraging().fit(executors=executors, scale=scale, seconds=seconds)
        >>> bool(abs(averaging.predict(executors=16, scale=1.0)[0] / 22.5 - 1) < 0.1)
        True
        >>> low, high = averaging.interval(executors=16, scale=1.0, level=0.95)
        >>> bool(low[0] < 22.5 < high[0])
        True
    """

    # After `fit`:
    coefficients_: FloatArray  # mean seconds per unit of each term, (p,), none negative
    probabilities_: FloatArray  # that each term is part of the model, (p,)
    driver_share_: float  # the probability that one of the executors does no work
    kink_: tuple[
        float, float
    ]  # the likeliest executors beyond which more helped little, and if any did: 0 to 1
    noise_: float  # mean relative standard deviation of a single run that is as long as the observed ones
    disturbed_: FloatArray  # the probability that each run does not belong to the others, (runs,)
    apart_: NDArray[np.bool_]  # runs that were left out because they contradict the others, (runs,)
    posterior_: Posterior  # the draws that all predictions are made with

    def __init__(self, *, terms: Sequence[str] = DICTIONARY, prior: AveragingPrior | None = None) -> None:
        self.terms = terms
        self.prior = prior

    def fit(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Weigh the hypotheses by the runs.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0.
            TooFewObservationsError: there are fewer than three distinct configurations.
            FitError: all runs had the same number of executors, or they contradict each other.
        """
        points = self._points(runs)
        if len(points.seconds) < LEAST_POINTS:
            raise TooFewObservationsError(
                f"{len(points.seconds)} distinct configurations say too little about a job.",
                remedy=f"Observe at least {LEAST_POINTS} pairs of executors and scale, better 5 to 8.",
            )
        if len(np.unique(points.executors)) == 1:
            raise FitError(
                f"All runs were of one size, {int(points.executors[0])}: how the time changes with it "
                "cannot be told.",
                remedy="Observe runs of at least one other size.",
            )
        return self._fit(points, wrong_points(points, check_terms(self.terms), self._prior))

    def fit_undetermined(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Like `fit`, but with any runs, as for cross-validation: the prior decides what they leave open."""
        points = self._points(runs)
        try:
            wrong = wrong_points(points, check_terms(self.terms), self._prior)
        except FitError:
            wrong = np.zeros(len(points.seconds), dtype=bool)
        return self._fit(points, wrong)

    def predict(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Median seconds of the runs that `terms.Runs` describes, shape (n,)."""
        return np.asarray(self.posterior_.quantiles(Runs(**runs), (0.5,))[0], dtype=np.float64)

    def interval(self, *, level: float, **runs: Unpack[RunColumns]) -> tuple[FloatArray, FloatArray]:
        """Seconds between which a single run lies with probability `level`, 0 to 1, shape (n,) each."""
        low, high = self.posterior_.quantiles(Runs(**runs), two_sided(level))
        return low, high

    def probability_within(self, *, limits: FloatArray, **runs: Unpack[RunColumns]) -> FloatArray:
        """The probability that a single run takes no longer than `limits` (seconds above 0), shape (n,)."""
        posterior = self.posterior_
        log_seconds, spreads = posterior.log_seconds(Runs(**runs))
        log_limits = np.log(np.asarray(limits, dtype=np.float64))
        return mixture_probabilities(log_seconds, spreads, log_limits, weights=posterior.draws.weights)

    def contributions(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Seconds of each prediction by term, shape (n, p), by each term's mean share over the draws."""
        posterior = self.posterior_
        parts = posterior.parts(Runs(**runs))
        shares = posterior.mean(parts / np.maximum(parts.sum(axis=-1, keepdims=True), NO_TIME))
        return np.asarray(shares * self.predict(**runs)[:, None], dtype=np.float64)

    def _points(self, runs: ObservedColumns) -> Points:
        names = check_terms(self.terms)
        if len(names) > MOST_TERMS:
            raise InvalidParameterError(
                "terms", names, f"are {len(names)}", remedy=f"Average over at most {MOST_TERMS} terms."
            )
        return points_of(**runs)

    @property
    def _prior(self) -> AveragingPrior:
        return self.prior or AveragingPrior()

    def _fit(self, points: Points, wrong: NDArray[np.bool_]) -> Self:
        self.posterior_ = Posterior(points.at(~wrong), terms=check_terms(self.terms), prior=self._prior)
        posterior, evidence, draws = self.posterior_, self.posterior_.evidence, self.posterior_.draws
        self.coefficients_ = posterior.mean(draws.coefficients)
        self.probabilities_ = draws.inclusion
        takes = np.array([counting.driver_executors for counting in evidence.countings])
        self.driver_share_ = float(posterior.mean(takes[draws.counting]))
        self.kink_ = self._likeliest_kink()
        as_long = np.array([np.median(points.seconds)])
        self.noise_ = float(posterior.mean(np.sqrt(posterior.noise_variance(as_long)))[0])
        disturbed = wrong.astype(np.float64)
        disturbed[~wrong] = posterior.mean(evidence.outside[draws.outside])
        self.disturbed_, self.apart_ = disturbed[points.point_of_run], wrong[points.point_of_run]
        return self

    def _likeliest_kink(self) -> tuple[float, float]:
        draws, countings = self.posterior_.draws, self.posterior_.evidence.countings
        shares = np.bincount(draws.counting, weights=draws.weights, minlength=len(countings))
        kinks = np.array([counting.kink.most_workers for counting in countings])
        shares[np.isinf(kinks)] = 0.0
        return float(kinks[shares.argmax()]), float(shares.sum())


# Whether the runs can be runs of one job, and if not, which of them is wrong.
#
# A run that ended much too early with exit code 0 is not noise: least squares would fit it and call the
# others disturbed. So before anything is weighed, one question is asked without any distribution: by what
# factor does the nearest sum of terms miss the run that it describes worst? Real jobs stay far below
# `MOST_DISAGREEMENT`, even noisy ones and those that no term describes well. Above it, the wrong run is the
# one without which all others agree, if there is exactly one. Otherwise nobody can tell.

MOST_DISAGREEMENT = 2.0
"""The factor by which the nearest sum of terms may miss; two runs then differ by four times what any job
explains."""

MOST_DISAGREEMENT_OF_FEW = 1.5
"""The same below `POINTS_TO_SUSPECT` points: terms fit few points easily, whatever their times."""

CLEARLY_WORSE = 1.25
"""A run is wrong if the others agree without it and, without any other run, still miss by at least this
factor and three times as much on the logarithm."""

TIGHT = 1e-6  # relative: a point whose error is this close to the largest is one of those that determine it


def wrong_points(points: Points, terms: tuple[str, ...], prior: AveragingPrior) -> NDArray[np.bool_]:
    """The points that contradict the others, shape (n,); none if all agree.

    A point with several runs is no mistake, however badly the terms describe it. A FitError says so where it
    cannot be told which points are wrong.
    """
    columns = [counting.columns(terms, points.runs) for counting in ways_to_count(points, prior)]
    every = np.ones(len(points.seconds), dtype=bool)
    if _agree(columns, points.seconds, every):
        return ~every
    suspects = _tight(columns, points.seconds)
    wrong = _wrong_one(columns, points, suspects)
    if wrong is not None:
        return np.asarray((np.arange(len(every)) == wrong) & ~points.told_again, dtype=np.bool_)
    for short_of_memory, _ in zip(memory_cuts(points), prior.memory_cut, strict=False):
        if _decide(columns, points, ~short_of_memory):
            return short_of_memory
    raise contradiction(points, suspects or range(len(every)))


def _wrong_one(columns: Sequence[FloatArray], points: Points, suspects: Sequence[int]) -> int | None:
    """The suspect without which the others agree; None if there is none, or it may be another."""
    if not suspects:
        return None
    left: list[tuple[float, int]] = []
    for suspect in suspects:
        rest = np.arange(len(points.seconds)) != suspect
        left.append((disagreement([each[rest] for each in columns], points.seconds[rest]), suspect))
    (least, wrong), *others = sorted(left)
    if not _decide(columns, points, np.arange(len(points.seconds)) != wrong):
        return None
    clearly = max(CLEARLY_WORSE, least**3)
    return wrong if all(each >= clearly for each, _ in others) else None


def disagreement(columns: Sequence[FloatArray], seconds: FloatArray) -> float:
    """The factor of `nearest` for the way of counting that suits the points best."""
    return min(nearest(each, seconds)[1] for each in columns)


def _agree(columns: Sequence[FloatArray], seconds: FloatArray, which: NDArray[np.bool_]) -> bool:
    """Whether the points can be runs of one job."""
    is_few = which.sum() < POINTS_TO_SUSPECT
    limit = MOST_DISAGREEMENT_OF_FEW if is_few else MOST_DISAGREEMENT
    kept = [each[which] for each in columns]
    # Any sum of terms that is near enough will do, and least squares takes a hundredth of the time.
    for each in kept:
        shares = each / seconds[which, None]
        explained = shares @ non_negative_least_squares(shares, np.ones(len(shares)))
        if np.max(np.maximum(explained, 1.0 / np.maximum(explained, np.finfo(float).tiny))) <= limit:
            return True
    return disagreement(kept, seconds[which]) <= limit


def _decide(columns: Sequence[FloatArray], points: Points, rest: NDArray[np.bool_]) -> bool:
    """Whether the rest of the points agree, and are enough to say so."""
    is_enough = rest.sum() >= POINTS_LEFT and len(np.unique(points.executors[rest])) > 1
    return bool(is_enough) and _agree(columns, points.seconds, rest)


def _tight(columns: Sequence[FloatArray], seconds: FloatArray) -> list[int]:
    """The points that determine the error of the nearest sum of terms."""
    tight: set[int] = set()
    for each in columns:
        coefficients, factor = nearest(each, seconds)
        errors = np.maximum(each @ coefficients / seconds, np.finfo(float).tiny)
        tight |= set(np.flatnonzero(np.maximum(errors, 1.0 / errors) >= factor * (1.0 - TIGHT)).tolist())
    return sorted(tight)


def contradiction(points: Points, suspects: Sequence[int]) -> FitError:
    """The error that names the contradicting points."""
    named = "; ".join(
        f"size {int(points.executors[each])}, {input_share(points.scale[each])} of the input, "
        f"{seconds_in_words(points.seconds[each])}"
        for each in suspects
    )
    return FitError(
        "The runs contradict each other: no sum of the model's terms comes near all of them. Wrong is one of "
        f"these, as far as can be told: {named}.",
        remedy="Look at them: a run that ended early or was held up says nothing of the job. Leave it out, "
        "or observe it again; more runs tell a wrong one more surely.",
    )


DRAWS = 500  # places in the whole of the hypotheses: the error from so few is a twentieth of the uncertainty
SHARED = 0.1
"""Of the distance between two places: so near to a border between two hypotheses, a place belongs to both."""

NEGLIGIBLE = 1e-9  # the share of a hypothesis that no figure shows


class Draws:
    """k draws of coefficients, none negative, at even places in the whole of the hypotheses.

    A hypothesis weighs by how well it explains the runs and by how probable it is that it needs no negative
    term. How probable that is for a draw is known only when it is made; it is guessed from typical
    coefficients of its hypothesis first, and what the guess was off by is the draw's own weight.
    """

    def __init__(self, evidence: Evidence) -> None:
        terms = evidence.subsets.shape[1]
        means, factors = evidence.means.reshape(-1, terms), evidence.factors.reshape(-1, terms, terms)
        subsets = np.broadcast_to(evidence.subsets, evidence.means.shape).reshape(-1, terms)
        _, guessed = _none_negative(means, factors, subsets)
        log_weights = evidence.log_probabilities.ravel() + guessed
        # Which of the `DRAWS` places each belongs to, ascending, (k,).
        self.places, positions, overlaps = _places(np.exp(log_weights - log_weights.max()))
        scaled, found = _none_negative(
            means[positions], factors[positions], subsets[positions], evenly_spread(DRAWS, terms)[self.places]
        )
        weights = overlaps * np.exp(found - guessed[positions])
        self.weights = weights / weights.sum()  # (k,)
        axes = np.unravel_index(positions, evidence.log_probabilities.shape)
        self.counting, self.outside, self.discrepancy, self.noise, _ = axes
        # Seconds per unit of each term, (k, p), and the probability of each term to be in, (p,).
        self.coefficients = evidence.least + scaled / evidence.lengths[self.counting]
        self.inclusion = np.maximum(self.weights @ subsets[positions], evidence.least > 0)


def _places(weights: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Even places in the whole of the weights, the hypotheses there, and their shares of it, shape (k,) each.

    A place has a width, and is shared by those that it reaches into. Where weights change a little, so do the
    shares, and no place goes from one hypothesis to another at once.
    """
    weights = np.where(weights < NEGLIGIBLE * weights.sum(), 0.0, weights)
    ends = np.cumsum(weights / weights.sum()) * DRAWS
    lower, upper = np.arange(DRAWS) + 0.5 - SHARED / 2, np.arange(DRAWS) + 0.5 + SHARED / 2
    first, last = np.searchsorted(ends, lower), np.minimum(np.searchsorted(ends, upper), len(ends) - 1)
    counts = last - first + 1
    places = np.repeat(np.arange(DRAWS), counts)
    positions = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts - first, counts)
    begins = np.append(0.0, ends)[positions]
    overlaps = np.minimum(ends[positions], upper[places]) - np.maximum(begins, lower[places])
    kept = overlaps > 0
    return places[kept], positions[kept], overlaps[kept]


def evenly_spread(count: int, dimensions: int) -> FloatArray:
    """Points that fill a unit cube evenly, shape (count, dimensions); so do any that follow each other.

    Multiples of powers of a generalised golden ratio (Roberts 2018, The Unreasonable Effectiveness of
    Quasirandom Sequences).
    """
    ratio = brentq(lambda ratio: ratio ** (dimensions + 1) - ratio - 1.0, 1.0, 2.0)
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0, dtype=np.float64)


def _none_negative(
    means: FloatArray, factors: FloatArray, subsets: NDArray[np.bool_], quantiles: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Coefficients, (m, p), from normal distributions cut off at 0, one term after the other (Geweke 1991).

    And the log probabilities, (m,), that each is not negative, given those after it. The factors are Cholesky
    factors of the precisions, (m, p, p). Terms that are not in the subsets, (m, p), are 0. Quantiles are
    where in the distribution of each term, given those after it, (m, p); None for means.
    """
    deviations, log_probabilities = np.zeros_like(means), np.zeros(len(means))
    for term in reversed(range(means.shape[1])):
        length = factors[:, term, term]
        shift = (factors[:, term + 1 :, term] * deviations[:, term + 1 :]).sum(axis=1)
        least = shift - means[:, term] * length
        log_above = log_ndtr(-least)
        if quantiles is None:
            normal = np.exp(-0.5 * least**2 - log_above) / np.sqrt(2.0 * np.pi)
        else:
            normal = -ndtri_exp(np.log(quantiles[:, term]) + log_above)
        is_in = subsets[:, term]
        deviations[:, term] = np.where(is_in, (np.maximum(normal, least) - shift) / length, 0.0)
        log_probabilities += np.where(is_in, log_above, 0.0)
    return np.where(subsets, np.maximum(means + deviations, 0.0), 0.0), log_probabilities


# What no run could show: executors beyond the observed ones that help less, and inputs of other shapes.
#
# Beyond the observed executors time falls more slowly than any sum of terms says: executors get into each
# other's way (TPC-H's query 9 on 100 executors has three times the work that it has on 2), tasks run out, or
# the driver or a shared store is the limit. So some draws get less and less of each further executor. Inputs
# much larger than all observed ones may consist of other rows. Smaller ones do not tell that, so each draw
# gets a place beyond which it is so; how near follows from how far the runs lie apart: a job seen over many
# doublings may be trusted for a few more.

LOST_SPREAD = 0.4
"""What is lost of each doubling of the executors, of 1 that it would gain: the standard deviation of a
half-normal. Chosen with half of TPC-H's queries (docs/evidence/accuracy.md)."""

OCTAVES_OF_ONE = 0.25
"""Doublings that a single input counts for as having been observed."""

STEEPNESS = 3.0  # near the observed range hardly anything changes, far from it nearly everything may
FURTHEST_OCTAVES = 60.0  # further than any input: such a draw sees no change at all
SEED = 1


class Unseen:
    """What each of k draws, by its place, says of runs beyond the observed ones, independent of all else."""

    def __init__(self, points: Points, prior: AveragingPrior, *, places: IntArray) -> None:
        generator = np.random.default_rng(SEED)
        even = (np.arange(DRAWS) + 0.5) / DRAWS
        beyond, larger, smaller = (generator.permutation(even)[places] for _ in range(3))
        self._most_workers = float(points.workers.max())
        least_scale, most_scale = float(points.scale.min()), float(points.scale.max())
        scales = float(np.log2(most_scale / least_scale))
        # Of each doubling beyond, the share that still speeds up work that spreads, (k,).
        lost = np.where(beyond < prior.plateau, beyond / max(prior.plateau, NO_TIME), 0.0)
        self._gained = 1.0 - np.minimum(LOST_SPREAD * ndtri((1.0 + lost) / 2.0), 1.0)
        # Larger and smaller inputs may be of another shape than those observed, (k,).
        self._most_scale = most_scale * np.exp2(octaves_until(larger, prior.other_shape, seen=scales))
        self._least_scale = least_scale / np.exp2(octaves_until(smaller, prior.other_shape, seen=scales))
        self._shape_spread = prior.other_shape_spread

    def busy(self, workers: FloatArray, *, draws: NDArray[np.bool_]) -> FloatArray:
        """What n numbers of executors are worth by those of the draws, (k,), that a mask names, (m, n)."""
        beyond = np.maximum(workers / self._most_workers, 1.0)
        worth = self._most_workers * beyond ** self._gained[draws, None]
        return np.asarray(np.minimum(workers, worth), dtype=np.float64)

    def variance(self, scale: FloatArray) -> FloatArray:
        """Of log(seconds) by the shape of inputs of n scales, by draw, shape (k, n)."""
        is_other = (scale > self._most_scale[:, None]) | (scale < self._least_scale[:, None])
        return np.asarray(is_other * self._shape_spread**2, dtype=np.float64)


def octaves_until(even: FloatArray, probability: float, *, seen: float) -> FloatArray:
    """How many doublings beyond `seen` ones a change comes, at quantiles (`even`) of its distribution, (k,).

    With the probability there is one at all, half of these within as many doublings as were seen. The place
    is log-logistic: heavy-tailed, and the same whatever the unit.
    """
    octaves = np.full(len(even), FURTHEST_OCTAVES)
    comes = even < probability
    quantiles = even[comes] / probability if probability > 0 else even[comes]
    times = (quantiles / (1.0 - quantiles)) ** (1.0 / STEEPNESS)
    octaves[comes] = np.minimum((OCTAVES_OF_ONE + seen) * times, FURTHEST_OCTAVES)
    return octaves


NO_TIME = np.finfo(float).tiny
"""Seconds of a run by a draw whose terms are all 0 there: it weighs next to nothing but needs a logarithm."""

SMALLEST_SHARE = 0.05
"""A draw's terms never explain less of a point than this: the logarithm must stay finite."""


class Posterior:
    """k draws from the hypotheses about a job with p terms, given its n points."""

    def __init__(self, points: Points, *, terms: tuple[str, ...], prior: AveragingPrior) -> None:
        self.terms = terms
        self.prior = prior
        self.evidence = Evidence(points, terms, prior)
        self.draws = Draws(self.evidence)
        self.unseen = Unseen(points, prior, places=self.draws.places)

    def mean(self, of_draws: FloatArray | NDArray[np.bool_]) -> FloatArray:
        """The mean of what the draws say, shape (k, ...), by their weights."""
        return np.asarray(np.tensordot(self.draws.weights, of_draws, axes=1), dtype=np.float64)

    def quantiles(self, runs: Runs, probabilities: tuple[float, ...]) -> FloatArray:
        """Seconds that single runs stay below with m probabilities, shape (m, q); infinite beyond numbers."""
        means, spreads = self.log_seconds(runs)
        is_finite = np.isfinite(means).all(axis=0)
        found = np.full((len(probabilities), means.shape[1]), np.inf)
        found[:, is_finite] = mixture_quantiles(
            means[:, is_finite], spreads[:, is_finite], probabilities, weights=self.draws.weights
        )
        return np.asarray(np.exp(found), dtype=np.float64)

    def parts(self, runs: Runs) -> FloatArray:
        """Seconds of each draw, run and term, shape (k, q, p)."""
        executors, scale, workers, width = runs.columns()
        coefficients = self.draws.coefficients * iteration_factors(self.terms, runs.iteration_ratio)
        columns = np.empty((len(coefficients), len(executors), len(self.terms)))
        for position, counting in enumerate(self.evidence.countings):
            these = self.draws.counting == position
            busy = self.unseen.busy(workers, draws=these)
            of_each = np.broadcast_arrays(executors, scale, width, busy)[:3]
            of_draws = Runs(
                executors=of_each[0].ravel(),
                scale=of_each[1].ravel(),
                workers=busy.ravel(),
                row_width=of_each[2].ravel(),
            )
            values = counting.columns(self.terms, of_draws)
            columns[these] = values.reshape(*busy.shape, len(self.terms))
        return np.asarray(columns * coefficients[:, None, :], dtype=np.float64)

    def log_seconds(self, runs: Runs) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the logarithm of a single run's seconds, by draw and run: (k, q)."""
        executors, scale, *_ = runs.columns()
        points, asked = self.evidence.points, np.column_stack([executors, scale])
        together = shared_deviation(self.prior, points.configurations, asked)
        again = points.told_again[:, None] * same_executors(points.configurations, asked)
        # What each draw's terms leave of the logarithms of the points' seconds, (k, n).
        shares = self.evidence.columns[self.draws.counting] / self.evidence.reference[:, None]
        explained = np.einsum("knp,kp->kn", shares, self.draws.coefficients)
        residuals = self.evidence.deviations - np.log(np.maximum(explained, SMALLEST_SHARE))
        deviation, variance = np.zeros((2, len(residuals), len(executors)))
        hypotheses = np.column_stack([self.draws.outside, self.draws.discrepancy, self.draws.noise])
        for outside, discrepancy, noise in np.unique(hypotheses, axis=0):
            these = (hypotheses == (outside, discrepancy, noise)).all(axis=1)
            level = self.prior.discrepancy[discrepancy] ** 2
            # What does not belong to the others and was told again is not disturbed: there it is so.
            apart = self.prior.disturbed_spread**2 * self.evidence.outside[outside][:, None] * again
            shared = level * together + apart
            weights = self.evidence.precisions[outside, discrepancy, noise] @ shared
            deviation[these] = residuals[these] @ weights
            left = level + apart.max(axis=0) - (shared * weights).sum(axis=0)
            variance[these] = np.maximum(left, 0.0)
        mean = np.log(np.maximum(self.parts(runs).sum(axis=-1), NO_TIME)) + deviation
        variance += self.noise_variance(np.exp(mean)) + self.unseen.variance(scale)
        return mean, np.sqrt(variance)

    def noise_variance(self, seconds: FloatArray) -> FloatArray:
        """Of log(seconds) of single runs, by draw, shape (k, q); the seconds are of shape (q,) or (k, q)."""
        levels = self.evidence.points.noise_levels(self.prior)[self.draws.noise]
        return noise_variance(levels[:, None], seconds, self.prior)
