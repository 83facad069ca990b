"""What the jobs of one deployment tell about each other.

Whether the driver takes a machine is a property of the deployment, and which terms jobs have is largely
one (the same storage, the same kind of jobs); the few runs of one job seldom show either. Both
probabilities are learned from all jobs together (empirical Bayes, by expectation maximisation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr, logsumexp

from airflow_provider_ernest.model.averaging.evidence import Evidence, weigh
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points, merge_repetitions
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import FloatArray, machines_and_scale, positive_column
from airflow_provider_ernest.model.terms import DICTIONARY, check_terms

PRIOR_JOBS = 4.0
"""How many jobs the prior counts for."""

STEPS = 20

NEVER_CERTAIN = 0.02
"""However many jobs agree, the next one may be the first of another kind."""


def pooled_prior(
    jobs: Sequence[Sequence[Observation]],
    *,
    terms: Sequence[str] = DICTIONARY,
    prior: AveragingPrior | None = None,
) -> AveragingPrior:
    """The prior with the driver's share and the terms' probabilities as the jobs of a deployment show them.

    Args:
        jobs: the observations of each job.
        terms: names of the terms that the jobs may have.
        prior: what is believed before.
    """
    before = prior or AveragingPrior()
    names = check_terms(terms)
    evidences = [weigh(_points(runs), names, before) for runs in jobs if runs]
    if not evidences:
        return before
    inclusion = np.array([before.belief_in(name).probability for name in names])
    share = before.driver_share
    likelihoods = [_likelihoods(evidence, before, names) for evidence in evidences]
    for _ in range(STEPS):
        share, inclusion = _step(evidences, likelihoods, before, names, share, inclusion)
    beliefs = {belief.name: belief for belief in before.beliefs}
    for name, probability in zip(names, inclusion, strict=True):
        beliefs[name] = replace(before.belief_in(name), probability=float(probability))
    return replace(before, driver_share=share, beliefs=tuple(beliefs.values()))


def _points(runs: Sequence[Observation]) -> Points:
    machines, scale = machines_and_scale(
        machines=[run.machines for run in runs], scale=[run.scale for run in runs]
    )
    seconds = positive_column("seconds", [run.seconds for run in runs])
    return merge_repetitions(machines=machines, scale=scale, seconds=seconds, workers=machines)


def _likelihoods(evidence: Evidence, prior: AveragingPrior, names: tuple[str, ...]) -> FloatArray:
    """Log probability of the runs for each driver share and set of terms, shape (d, t)."""
    precisions = evidence.factors @ np.swapaxes(evidence.factors, -1, -2)
    deviations = np.sqrt(np.diagonal(np.linalg.inv(precisions), axis1=-2, axis2=-1))
    # About the probability that no coefficient is negative, as if they were independent.
    not_negative = np.where(evidence.subsets, log_ndtr(evidence.means / deviations), 0.0).sum(axis=-1)
    inclusion = np.array([prior.belief_in(name).probability for name in names])
    joint = logsumexp(evidence.log_probabilities + not_negative, axis=(1, 2, 3))
    return np.asarray(joint - _log_prior(evidence, prior.driver_share, inclusion), dtype=np.float64)


def _log_prior(evidence: Evidence, share: float, inclusion: FloatArray) -> FloatArray:
    """Log prior probability of each driver share and set of terms, shape (d, t)."""
    taken = evidence.driver_machines > 0
    both = len(taken) == 2
    driver = np.log(np.where(taken, share, 1 - share)) if both else np.zeros(1)
    sets = np.where(evidence.subsets, np.log(inclusion), np.log1p(-inclusion)).sum(axis=1)
    return np.asarray(driver[:, None] + sets, dtype=np.float64)


def _step(
    evidences: Sequence[Evidence],
    likelihoods: Sequence[FloatArray],
    before: AveragingPrior,
    names: tuple[str, ...],
    share: float,
    inclusion: FloatArray,
) -> tuple[float, FloatArray]:
    """The driver's share and the terms' probabilities that follow from those before."""
    taken, asked = PRIOR_JOBS * before.driver_share, PRIOR_JOBS
    included = PRIOR_JOBS * np.array([before.belief_in(name).probability for name in names])
    for evidence, likelihood in zip(evidences, likelihoods, strict=True):
        log_weights = likelihood + _log_prior(evidence, share, inclusion)
        weights = np.exp(log_weights - logsumexp(log_weights))
        included += weights.sum(axis=0) @ evidence.subsets
        if len(evidence.driver_machines) == 2:
            taken += float(weights[1].sum())
            asked += 1
    probabilities = included / (len(evidences) + PRIOR_JOBS)
    return taken / asked, np.clip(probabilities, NEVER_CERTAIN, 1 - NEVER_CERTAIN)
