"""What the jobs of one deployment tell about each other.

Whether the driver takes a machine is a property of the deployment. So, largely, are the terms that jobs have
and whether they deviate from all terms, since jobs share storage and kind. The few runs of one job seldom
show it, so these probabilities are learned from all jobs together (empirical Bayes, by expectation
maximisation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.evidence import Evidence, points_of, weigh
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.predictors import observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.terms import DICTIONARY, check_terms

PRIOR_JOBS = 4.0  # how many jobs the prior counts for
STEPS = 20
NEVER_CERTAIN = 0.02  # however many jobs agree, the next one may be the first of another kind


@dataclass(frozen=True, kw_only=True)
class _Shares:
    """The learned probabilities: of the driver's share, of each term, and of any discrepancy."""

    driver: float
    terms: FloatArray
    deviating: float

    @classmethod
    def of(cls, prior: AveragingPrior, terms: tuple[str, ...]) -> _Shares:
        weights = np.array(prior.discrepancy_weights) / sum(prior.discrepancy_weights)
        return cls(
            driver=prior.driver_share,
            terms=np.array([prior.belief_in(name).probability for name in terms]),
            deviating=float(weights[_deviates(prior)].sum()),
        )


def pooled_prior(
    jobs: Sequence[Sequence[Observation]],
    *,
    terms: Sequence[str] = DICTIONARY,
    prior: AveragingPrior | None = None,
) -> AveragingPrior:
    """The prior, updated by the observations of a deployment's jobs.

    Jobs whose executors were counted say nothing of the driver.
    """
    before = prior or AveragingPrior()
    names = check_terms(terms)
    start = _Shares.of(before, names)
    evidences = [
        weigh(points_of(**observed_columns(runs)), names, prior_for(runs, before)) for runs in jobs if runs
    ]
    if not evidences:
        return before
    likelihoods = [
        _joint(evidence) - _log_prior(evidence, start, _deviates(before)) for evidence in evidences
    ]
    shares = start
    for _ in range(STEPS):
        shares = _step(evidences, likelihoods, shares, start, _deviates(before))
    return _with(before, names, shares)


def _deviates(prior: AveragingPrior) -> NDArray[np.bool_]:
    """Which levels of discrepancy are above 0, shape (g,)."""
    return np.array(prior.discrepancy) > 0


def _joint(evidence: Evidence) -> FloatArray:
    """Log probability of the runs with driver share, level of discrepancy and set of terms, (d, g, t)."""
    precisions = evidence.factors @ np.swapaxes(evidence.factors, -1, -2)
    deviations = np.sqrt(np.diagonal(np.linalg.inv(precisions), axis1=-2, axis2=-1))
    # An approximation of the probability that no coefficient is negative, as if they were independent.
    not_negative = np.where(evidence.subsets, log_ndtr(evidence.means / deviations), 0.0).sum(axis=-1)
    return np.asarray(logsumexp(evidence.log_probabilities + not_negative, axis=(1, 3)), dtype=np.float64)


def _taken(evidence: Evidence) -> NDArray[np.bool_] | None:
    """In which ways to count the driver takes a machine, shape (d,); None where that is not open."""
    taken = np.array([counting.driver_machines > 0 for counting in evidence.countings])
    return taken if len(np.unique(taken)) > 1 else None


def _log_prior(evidence: Evidence, shares: _Shares, deviates: NDArray[np.bool_]) -> FloatArray:
    """The learned part of the log prior probability, shape (d, g, t)."""
    taken = _taken(evidence)
    driver = np.zeros(len(evidence.countings))
    if taken is not None:
        driver = np.log(np.where(taken, shares.driver, 1 - shares.driver))
    level = np.log(np.where(deviates, shares.deviating, 1 - shares.deviating))
    sets = np.where(evidence.subsets, np.log(shares.terms), np.log1p(-shares.terms)).sum(axis=1)
    return np.asarray(driver[:, None, None] + level[:, None] + sets, dtype=np.float64)


def _step(
    evidences: Sequence[Evidence],
    likelihoods: Sequence[FloatArray],
    shares: _Shares,
    start: _Shares,
    deviates: NDArray[np.bool_],
) -> _Shares:
    """One step of expectation maximisation; the prior counts as `PRIOR_JOBS` jobs."""
    taken, asked = PRIOR_JOBS * start.driver, PRIOR_JOBS
    included, deviating = PRIOR_JOBS * start.terms, PRIOR_JOBS * start.deviating
    for evidence, likelihood in zip(evidences, likelihoods, strict=True):
        log_weights = likelihood + _log_prior(evidence, shares, deviates)
        weights = np.exp(log_weights - logsumexp(log_weights))
        included = included + weights.sum(axis=(0, 1)) @ evidence.subsets
        deviating += float(weights.sum(axis=(0, 2)) @ deviates)
        is_taken = _taken(evidence)
        if is_taken is not None:
            taken += float(weights[is_taken].sum())
            asked += 1
    jobs = len(evidences) + PRIOR_JOBS
    terms = np.clip(included / jobs, NEVER_CERTAIN, 1 - NEVER_CERTAIN)
    return _Shares(driver=taken / asked, terms=terms, deviating=deviating / jobs)


def _with(prior: AveragingPrior, terms: tuple[str, ...], shares: _Shares) -> AveragingPrior:
    beliefs = {belief.name: belief for belief in prior.beliefs}
    for name, probability in zip(terms, shares.terms, strict=True):
        beliefs[name] = replace(prior.belief_in(name), probability=float(probability))
    weights = np.array(prior.discrepancy_weights, dtype=np.float64)
    deviates = _deviates(prior)
    for levels, share in ((deviates, shares.deviating), (~deviates, 1 - shares.deviating)):
        weights[levels] *= share / weights[levels].sum() if levels.any() else 1.0
    return replace(
        prior,
        driver_share=shares.driver,
        beliefs=tuple(beliefs.values()),
        discrepancy_weights=tuple(weights.tolist()),
    )
