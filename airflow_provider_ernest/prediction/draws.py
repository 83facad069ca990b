"""Draws of coefficients from the weighted hypotheses of `evidence`, which follow the runs continuously.

Processors round otherwise. Random draws that are accepted or rejected turn a sixteenth digit that differs
into other draws, and so into other figures. Here draws stand at fixed places, coefficients follow through
inverse distributions, and weights say how probable it is that none of them is negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri_exp

from airflow_provider_ernest.numbers import FloatArray, IntArray
from airflow_provider_ernest.prediction.evidence import Evidence

DRAWS = 500
"""Places in the whole of the hypotheses: the error from so few is a twentieth of the uncertainty."""

SHARED = 0.1
"""Of the distance between two places: so near to a border between two hypotheses, a place belongs to both."""

NEGLIGIBLE = 1e-9
"""The share of a hypothesis that no figure shows."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """k draws of coefficients with the positions, shape (k,), of the hypotheses that they come from.

    Attributes:
        weights: of the draws, shape (k,), with sum 1.
        places: which of the `DRAWS` places in the whole each belongs to, ascending, shape (k,).
        coefficients: seconds per unit of each term, shape (k, p), none negative.
        inclusion: the probability of each term to be in, shape (p,).
    """

    weights: FloatArray
    places: IntArray
    counting: IntArray
    outside: IntArray
    discrepancy: IntArray
    noise: IntArray
    coefficients: FloatArray
    inclusion: FloatArray


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
    """Which hypotheses are at even places in the whole of their weights.

    A place has a width, and is shared by those that it reaches into. Where weights change a little, so do the
    shares, and no place goes from one hypothesis to another at once.

    Returns:
        The places, the positions of the hypotheses there, and their shares of it, shape (k,) each.
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
    """Coefficients from normal distributions cut off at 0, one term after the other (Geweke 1991).

    Args:
        means: of m distributions, shape (m, p).
        factors: Cholesky factors of their precisions, shape (m, p, p).
        subsets: which terms are in, shape (m, p); the others are 0.
        quantiles: where in the distribution of each term, given those after it, shape (m, p); None for means.

    Returns:
        The coefficients, shape (m, p), and the logarithms of the probabilities, shape (m,), that each is
        not negative, given those after it.
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
