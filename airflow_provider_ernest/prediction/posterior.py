"""Draws of coefficients from the weighted hypotheses of `evidence`, and what they predict.

The figures follow the runs continuously. Processors round differently, and random draws that are accepted
or rejected would turn a different sixteenth digit into other draws, and so into other figures. Here draws
stand at fixed places, coefficients follow through inverse distributions, and weights say how probable it is
that none of them is negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri_exp

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.evidence import (
    Evidence,
    Points,
    noise_variance,
    same_machines,
    shared_deviation,
    weigh,
)
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.regression import mixture_quantiles
from airflow_provider_ernest.prediction.terms import Runs, iteration_factors

DRAWS = 500  # places in the whole of the hypotheses: the error from so few is a twentieth of the uncertainty
SHARED = 0.1
"""Of the distance between two places: so near to a border between two hypotheses, a place belongs to both."""

NEGLIGIBLE = 1e-9  # the share of a hypothesis that no figure shows


@dataclass(frozen=True, kw_only=True)
class Draws:
    """k draws of coefficients with the positions, shape (k,), of the hypotheses that they come from."""

    weights: FloatArray  # (k,), with sum 1
    places: IntArray  # which of the `DRAWS` places in the whole each belongs to, ascending, (k,)
    counting: IntArray
    outside: IntArray
    discrepancy: IntArray
    noise: IntArray
    coefficients: FloatArray  # seconds per unit of each term, (k, p), none negative
    inclusion: FloatArray  # the probability of each term to be in, (p,)


def draw(evidence: Evidence) -> Draws:
    """Coefficients at even places in the whole of the hypotheses, none negative.

    A hypothesis weighs by how well it explains the runs and by how probable it is that it needs no negative
    term. How probable that is for a draw is known only when it is made; it is guessed from typical
    coefficients of its hypothesis first, and what the guess was off by is the draw's own weight.
    """
    terms = evidence.subsets.shape[1]
    means, factors = evidence.means.reshape(-1, terms), evidence.factors.reshape(-1, terms, terms)
    subsets = np.broadcast_to(evidence.subsets, evidence.means.shape).reshape(-1, terms)
    _, guessed = _none_negative(means, factors, subsets)
    log_weights = evidence.log_probabilities.ravel() + guessed
    places, positions, overlaps = _places(np.exp(log_weights - log_weights.max()))
    scaled, found = _none_negative(
        means[positions], factors[positions], subsets[positions], evenly_spread(DRAWS, terms)[places]
    )
    weights = overlaps * np.exp(found - guessed[positions])
    weights /= weights.sum()
    counting, outside, discrepancy, noise, _ = np.unravel_index(positions, evidence.log_probabilities.shape)
    return Draws(
        weights=weights,
        places=places,
        counting=counting,
        outside=outside,
        discrepancy=discrepancy,
        noise=noise,
        coefficients=evidence.least + scaled / evidence.lengths[counting],
        inclusion=np.maximum(weights @ subsets[positions], evidence.least > 0),
    )


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


# What no run could show: plateaus beyond the observed machines, other shapes beyond the observed inputs.
#
# Times stop falling where tasks run out, or where the driver or a shared store is the limit. Inputs much
# larger than all observed ones may consist of other rows. Runs on fewer machines, or on smaller inputs, tell
# neither. So each draw gets a place beyond which it is so, and predictions further out are made with it. How
# near these places are follows from how far the runs lie apart: a job seen over many doublings may be trusted
# for a few more.

OCTAVES_OF_ONE = 0.25
"""Doublings that a single number of machines, or a single input, counts for as having been observed."""

STEEPNESS = 3.0  # near the observed range hardly anything changes, far from it nearly everything may
FURTHEST_OCTAVES = 60.0  # further than any cluster or input: such a draw sees no change at all
SEED = 1


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """From where on each of k draws follows another law, shape (k,) each."""

    most_workers: FloatArray  # beyond these, more machines do no work that spreads
    least_scale: FloatArray  # smaller inputs may be of another shape than those observed
    most_scale: FloatArray  # larger ones, too
    shape_spread: float  # the standard deviation of log(seconds) of an input of another shape

    def variance(self, scale: FloatArray) -> FloatArray:
        """Of log(seconds) by the shape of inputs of n scales, by draw, shape (k, n)."""
        is_other = (scale > self.most_scale[:, None]) | (scale < self.least_scale[:, None])
        return np.asarray(is_other * self.shape_spread**2, dtype=np.float64)


def unseen(points: Points, prior: AveragingPrior, *, places: IntArray) -> Unseen:
    """What it says of each of the draws' places, shape (k,), is independent of the others and of all else."""
    generator = np.random.default_rng(SEED)
    even = (np.arange(DRAWS) + 0.5) / DRAWS
    beyond, larger, smaller = (generator.permutation(even)[places] for _ in range(3))
    least_workers, most_workers = float(points.workers.min()), float(points.workers.max())
    least_scale, most_scale = float(points.scale.min()), float(points.scale.max())
    scales = float(np.log2(most_scale / least_scale))
    return Unseen(
        most_workers=most_workers
        * np.exp2(octaves_until(beyond, prior.plateau, seen=float(np.log2(most_workers / least_workers)))),
        most_scale=most_scale * np.exp2(octaves_until(larger, prior.other_shape, seen=scales)),
        least_scale=least_scale / np.exp2(octaves_until(smaller, prior.other_shape, seen=scales)),
        shape_spread=prior.other_shape_spread,
    )


def octaves_until(even: FloatArray, probability: float, *, seen: float) -> FloatArray:
    """How many doublings beyond `seen` ones a change comes, at quantiles of its distribution, shape (k,).

    With the probability there is one at all, half of these within as many doublings as were seen. The place
    is log-logistic: heavy-tailed, and the same whatever the unit.

    Args:
        even: the quantiles, each above 0 and below 1.
        probability: of any change, below 1.
        seen: doublings between the least and the most that was observed.
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
        self.evidence = weigh(points, terms, prior)
        self.draws = draw(self.evidence)
        self.unseen = unseen(points, prior, places=self.draws.places)

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
        machines, scale, workers, width = runs.columns()
        coefficients = self.draws.coefficients * iteration_factors(self.terms, runs.iteration_ratio)
        columns = np.empty((len(coefficients), len(machines), len(self.terms)))
        for position, counting in enumerate(self.evidence.countings):
            these = self.draws.counting == position
            busy = np.minimum(workers, self.unseen.most_workers[these, None])
            of_each = np.broadcast_arrays(machines, scale, width, busy)[:3]
            columns[these] = counting.columns(
                self.terms,
                machines=of_each[0].ravel(),
                scale=of_each[1].ravel(),
                workers=busy.ravel(),
                row_width=of_each[2].ravel(),
            ).reshape(*busy.shape, len(self.terms))
        return np.asarray(columns * coefficients[:, None, :], dtype=np.float64)

    def log_seconds(self, runs: Runs) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the logarithm of a single run's seconds, by draw and run: (k, q)."""
        machines, scale, *_ = runs.columns()
        points, asked = self.evidence.points, np.column_stack([machines, scale])
        together = shared_deviation(self.prior, points.configurations, asked)
        again = points.told_again[:, None] * same_machines(points.configurations, asked)
        # What each draw's terms leave of the logarithms of the points' seconds, (k, n).
        shares = self.evidence.columns[self.draws.counting] / self.evidence.reference[:, None]
        explained = np.einsum("knp,kp->kn", shares, self.draws.coefficients)
        residuals = self.evidence.deviations - np.log(np.maximum(explained, SMALLEST_SHARE))
        deviation, variance = np.zeros((2, len(residuals), len(machines)))
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
        levels = np.array(self.prior.noise)[self.draws.noise]
        return noise_variance(levels[:, None], seconds, self.prior)
