"""Draws from the weighted hypotheses: coefficients that are not negative, each with its hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.averaging.evidence import Evidence
from airflow_provider_ernest.model.least_squares import nearest
from airflow_provider_ernest.model.parameters import FloatArray, IntArray

DRAWS = 500
"""Kept draws: the error from drawing is a twentieth of the uncertainty that is drawn from."""

BATCH = 3_000
BATCHES = 8
SEED = 0
"""The same runs always give the same model."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """k draws of coefficients with the hypotheses that they come from.

    Attributes:
        driver: position of the number of machines that the driver takes, shape (k,).
        outside: position of the set of points that do not belong to the others, shape (k,).
        discrepancy: position of the level of discrepancy, shape (k,).
        noise: position of the level of noise, shape (k,).
        coefficients: seconds per unit of each term, shape (k, p), none negative.
        included: which terms are in, shape (k, p).
    """

    driver: IntArray
    outside: IntArray
    discrepancy: IntArray
    noise: IntArray
    coefficients: FloatArray
    included: FloatArray


def draw(evidence: Evidence) -> Draws:
    """Draw hypotheses by their weights, then coefficients; keep those of which none is negative.

    Rejecting negative coefficients after the draw gives each hypothesis its weight exactly: those
    that would need negative terms are rejected as often as that is so.
    """
    shape = evidence.log_probabilities.shape
    flat = evidence.log_probabilities.ravel()
    weights = np.exp(flat - flat.max())
    cumulated = np.cumsum(weights / weights.sum())
    terms = evidence.subsets.shape[1]
    means = evidence.means.reshape(-1, terms)
    factors = evidence.factors.reshape(-1, terms, terms)
    generator = np.random.default_rng(SEED)
    chosen: list[IntArray] = []
    drawn: list[FloatArray] = []
    for _ in range(BATCHES):
        positions, scaled = _batch(generator, cumulated, means, factors)
        scaled = np.where(evidence.subsets[positions % len(evidence.subsets)], scaled, 0.0)
        accepted = (scaled >= 0).all(axis=1)
        chosen.append(positions[accepted])
        drawn.append(scaled[accepted])
        if sum(map(len, chosen)) >= DRAWS:
            break
    if not any(map(len, chosen)):
        chosen.append(positions)
        drawn.append(_near_all(generator, evidence, positions))
    every = np.concatenate(chosen)
    kept = np.linspace(0, len(every) - 1, DRAWS).astype(np.int64)
    driver, outside, discrepancy, noise, subset = np.unravel_index(every[kept], shape)
    return Draws(
        driver=driver,
        outside=outside,
        discrepancy=discrepancy,
        noise=noise,
        coefficients=np.concatenate(drawn)[kept] / evidence.lengths[driver],
        included=evidence.subsets[subset].astype(np.float64),
    )


def _near_all(generator: np.random.Generator, evidence: Evidence, positions: IntArray) -> FloatArray:
    """Scaled coefficients where the runs contradict every hypothesis so much that all need negative terms.

    Those of the sum of terms that is off least at the run that it describes worst, as uncertain as it is off.
    """
    scaled, log_factors = [], []
    for columns, lengths in zip(evidence.columns, evidence.lengths, strict=True):
        coefficients, factor = nearest(columns, evidence.points.seconds)
        scaled.append(coefficients * lengths)
        log_factors.append(np.log(factor))
    driver, *_ = np.unravel_index(positions, evidence.log_probabilities.shape)
    spreads = np.array(log_factors)[driver] * generator.standard_normal(len(positions))
    return np.asarray(np.array(scaled)[driver] * np.exp(spreads)[:, None], dtype=np.float64)


def _batch(
    generator: np.random.Generator, cumulated: FloatArray, means: FloatArray, factors: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Hypotheses in the proportion of their weights, and scaled coefficients drawn from each."""
    quantiles = (np.arange(BATCH) + generator.random()) / BATCH
    positions = np.minimum(np.searchsorted(cumulated, quantiles), len(cumulated) - 1)
    normals = generator.standard_normal((BATCH, means.shape[1], 1))
    deviations = np.linalg.solve(np.swapaxes(factors[positions], 1, 2), normals)[..., 0]
    return positions, means[positions] + deviations
