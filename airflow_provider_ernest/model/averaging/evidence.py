"""How well each hypothesis about a job explains its runs.

A hypothesis says which terms the job has, whether the driver takes one of the machines, which points
do not belong to the others, how noisy runs are, and how far the job deviates from all terms. Given it,
the logarithms of run times are (to first order around a reference fit) linear in the coefficients with
Gaussian errors, so the coefficients' distribution and the probability of the runs have closed forms
(Bishop, Pattern Recognition and Machine Learning, section 3.5). All hypotheses are reckoned at once,
in arrays with one axis for each of the five questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.model.averaging.discrepancy import coordinates, correlation
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points
from airflow_provider_ernest.model.averaging.suspicion import suspicions
from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.terms import basis

OVERHEADS = frozenset({"log(machines)", "machines", "sqrt(machines)"})
"""Terms that no job consists of: a run does something besides."""

LEAST_WORKERS = 0.5
"""Where one machine has the driver and works too, its work is not done by nobody."""

REFINEMENTS = 4

USUAL_ERROR = 0.2
"""Of a run from the reference, on the logarithm: beyond it a run begins to count less."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The hypotheses with their probabilities, coefficients and errors.

    The axes are: d driver shares, r sets of points that do not belong to the others, g levels of
    discrepancy, k levels of noise, t subsets of the terms; n points, p terms.

    Attributes:
        points: the n points.
        driver_machines: machines that the driver takes, shape (d,).
        outside: the sets of points, shape (r, n).
        subsets: which terms are in, shape (t, p).
        log_probabilities: of the runs together with the hypothesis, without the factor for the
            coefficients not being negative; shape (d, r, g, k, t).
        means: of the scaled coefficients, shape (d, r, g, k, t, p).
        factors: Cholesky factors of their precisions, shape (d, r, g, k, t, p, p).
        lengths: what the coefficients were scaled with, shape (d, p).
        reference: seconds of the reference fit, shape (n,).
        deviations: logarithms of seconds over reference, shape (n,).
        precisions: inverse covariances of the errors, shape (r, g, k, n, n).
        columns: the terms' values at the points, shape (d, n, p).
    """

    points: Points
    driver_machines: FloatArray
    outside: NDArray[np.bool_]
    subsets: NDArray[np.bool_]
    log_probabilities: FloatArray
    means: FloatArray
    factors: FloatArray
    lengths: FloatArray
    reference: FloatArray
    deviations: FloatArray
    precisions: FloatArray
    columns: FloatArray


def weigh(points: Points, terms: tuple[str, ...], prior: AveragingPrior) -> Evidence:
    """Reckon all hypotheses for the points.

    Args:
        points: n points, at least one.
        terms: names of p terms.
        prior: see `AveragingPrior`.
    """
    drivers = driver_machines(points, prior)
    columns = [term_columns(terms, points, driver) for driver in drivers]
    reference = _reference(columns[-1], points.seconds)
    deviations = np.log(points.seconds / reference)
    outside, outside_probabilities = suspicions(points, columns[-1], prior)
    precisions, log_determinants = _errors(points, np.array(outside), prior)
    subsets, log_subsets = _subsets(terms, prior)
    parts = [
        _posterior(column / reference[:, None], 1.0 + deviations, precisions, subsets, terms, prior)
        for column in columns
    ]
    likelihoods, means, factors, lengths = (np.array(part) for part in zip(*parts, strict=True))
    shares = np.array([prior.driver_share if driver else 1 - prior.driver_share for driver in drivers])
    log_prior = (
        np.log(shares / shares.sum())[:, None, None, None, None]
        + np.log(outside_probabilities)[:, None, None, None]
        + _log_weights(prior.discrepancy_weights)[:, None, None]
        + _log_weights(prior.noise_weights)[:, None]
        + log_subsets
    )
    return Evidence(
        points=points,
        driver_machines=drivers,
        outside=np.array(outside),
        subsets=subsets,
        log_probabilities=likelihoods - log_determinants[..., None] + log_prior,
        means=means,
        factors=factors,
        lengths=lengths,
        reference=reference,
        deviations=deviations,
        precisions=precisions,
        columns=np.array(columns),
    )


def term_columns(terms: tuple[str, ...], points: Points, driver_machines: float) -> FloatArray:
    """The terms' values at the points where the driver takes so many machines, shape (n, p)."""
    workers = np.maximum(points.workers - driver_machines, LEAST_WORKERS)
    return basis(terms, machines=points.machines, scale=points.scale, workers=workers)


def driver_machines(points: Points, prior: AveragingPrior) -> FloatArray:
    """The numbers of machines that the driver may take; none where a run had a single machine."""
    if prior.driver_share == 0 or points.machines.min() < 2:
        return np.array([0.0])
    return np.array([1.0]) if prior.driver_share == 1 else np.array([0.0, 1.0])


def _reference(columns: FloatArray, seconds: FloatArray) -> FloatArray:
    """Times about which the logarithm is made linear: a non-negative fit, so that noise does not weigh.

    Dividing by the measured seconds instead would make long runs weigh less for being long by chance.
    Runs far from the fit count less and less: one that took five times as long must not draw the
    reference away from the others, whose logarithms would then be bent.
    """
    reference, weights = seconds, np.ones_like(seconds)
    errors = np.zeros_like(seconds)
    for _ in range(1 + REFINEMENTS):
        rows = columns * (weights / reference)[:, None]
        coefficients = non_negative_least_squares(rows, weights * (1.0 + errors))
        reference = np.maximum(columns @ coefficients, 0.05 * seconds)
        errors = np.log(seconds / reference)
        weights = 1.0 / np.sqrt(1.0 + (errors / USUAL_ERROR) ** 2)
    return np.asarray(reference, dtype=np.float64)


def _errors(
    points: Points, outside: NDArray[np.bool_], prior: AveragingPrior
) -> tuple[FloatArray, FloatArray]:
    """Inverse covariances of the points' errors, (r, g, k, n, n), and half their log-determinants."""
    where = coordinates(prior, machines=points.machines, scale=points.scale)
    discrepancy = np.array(prior.discrepancy)[None, :, None, None, None] ** 2 * correlation(where, where)
    noise = points.noise_factors * np.array(prior.noise)[:, None] ** 2
    apart = (outside * prior.disturbed_spread**2)[:, None, None, :]
    covariances = (noise + apart)[..., None] * np.eye(len(where)) + discrepancy
    diagonal = np.diagonal(np.linalg.cholesky(covariances), axis1=-2, axis2=-1)
    return np.linalg.inv(covariances), np.log(diagonal).sum(axis=-1)


def _subsets(terms: tuple[str, ...], prior: AveragingPrior) -> tuple[NDArray[np.bool_], FloatArray]:
    """All sets of terms that a job can consist of, shape (t, p), and their log prior probabilities, (t,)."""
    work = np.array([term not in OVERHEADS for term in terms])
    if not work.any():
        work[:] = True
    every = np.array(list(product([False, True], repeat=len(terms))))
    subsets = every[(every & work).any(axis=1)]
    inclusion = np.array([prior.belief_in(term).probability for term in terms])
    return subsets, np.where(subsets, np.log(inclusion), np.log1p(-inclusion)).sum(axis=1)


def _posterior(
    rows: FloatArray,
    values: FloatArray,
    precisions: FloatArray,
    subsets: NDArray[np.bool_],
    terms: tuple[str, ...],
    prior: AveragingPrior,
) -> tuple[FloatArray, ...]:
    """Log likelihoods (r, g, k, t), means (r, g, k, t, p), factors (r, g, k, t, p, p) and lengths (p,).

    Args:
        rows: the terms as shares of the reference time, shape (n, p).
        values: the times as such shares, shape (n,).
        precisions: see `_errors`.
        subsets: see `_subsets`.
        terms: names of the p terms.
        prior: gives the widths of the coefficients' distribution.
    """
    lengths = np.sqrt((rows**2).mean(axis=0))
    lengths = np.where(lengths > 0, lengths, 1.0)
    scaled = rows / lengths
    seconds = np.array([prior.belief_in(term).largest_seconds or np.inf for term in terms])
    widths = np.minimum(prior.largest_share, seconds * lengths)
    together = subsets[:, :, None] & subsets[:, None, :]
    information = (scaled.T @ precisions @ scaled)[..., None, :, :] * together
    # Terms that are out get a precision of 1 of their own, which changes neither mean nor determinant.
    information += np.where(subsets, widths**-2.0, 1.0)[:, :, None] * np.eye(len(terms))
    weighted = precisions @ values
    pull = (weighted @ scaled)[..., None, :] * subsets
    factors = np.asarray(np.linalg.cholesky(information), dtype=np.float64)
    means = np.linalg.solve(information, pull[..., None])[..., 0]
    likelihoods = (
        0.5 * (pull * means).sum(axis=-1)
        - 0.5 * (weighted @ values)[..., None]
        - np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)
        # The half-normal prior of each term that is in: twice the normal one's density.
        + (subsets * np.log(2.0 / widths)).sum(axis=1)
    )
    result = (likelihoods, means, factors, lengths)
    return tuple(np.asarray(each, dtype=np.float64) for each in result)


def _log_weights(weights: tuple[float, ...]) -> FloatArray:
    values = np.array(weights)
    return np.asarray(np.log(values / values.sum()), dtype=np.float64)
