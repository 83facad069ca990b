"""What is believed of a job before a model is fitted to its runs.

By where these come from, and by what the jobs of one deployment tell about each other.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.evidence import Evidence, points_of
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.predict import observed_columns
from airflow_provider_ernest.prediction.terms import DICTIONARY, check_terms

PRODUCTION_NOISE_WEIGHTS = (0.25, 0.5, 1.5, 2.0, 1.0)
"""How much each level of `AveragingPrior.noise` is believed where there are past runs: days lie between
them, and others use the cluster, so that they scatter more than samples made one after the other. By the
defaults, intervals of 80 % from one past run held half of the next runs of real jobs
(docs/evidence/benchmarks.md)."""

FEW_SIZES = 2
PRODUCTION_EXECUTORS_OCTAVES = 0.5
PRODUCTION_DISCREPANCY_WEIGHTS = (0.25, 0.5, 1.5, 2.0)
"""Of past runs on so few numbers of executors nothing tells how time goes on from there: executors may share
their hosts. By the defaults, intervals of 80 % at numbers that no run had held 55 % of real runs
(docs/evidence/benchmarks.md); at those that runs had, nothing changes."""

NOISE_SECONDS = 0.7
"""Of real runs of Spark, whatever their length: processes start now sooner, now later. Of a bare list of
times nothing tells even their unit. Chosen between two corpora of short runs: with 0.5 intervals of 80 % hold
81 and 68 % of their runs, with 1.0 89 and 82 %."""


def prior_for(observations: Sequence[Observation], prior: AveragingPrior | None = None) -> AveragingPrior:
    """The prior for a job, knowing where its runs come from.

    Where all runs name their hosts or are past ones, Spark's event log counted their executors: then the
    driver takes no executor but some seconds of each run, and runs also scatter by `NOISE_SECONDS`. Samples
    are of the input that is asked about, so no other shape is to be feared of them, nor where rows are told.
    With a `prior` past runs change nothing; otherwise see `with_past_runs`.
    """
    known = prior or with_past_runs(AveragingPrior(), observations)
    known = replace(known, least_fixed_seconds=least_fixed_seconds(observations))
    counted = bool(observations) and all(run.hosts or run.from_history for run in observations)
    if counted:
        known = with_counted_executors(known)
        known = replace(known, noise_seconds=max(known.noise_seconds, NOISE_SECONDS))
    is_told = counted or any(run.row_width != 1.0 for run in observations)
    return replace(known, other_shape=0.0) if is_told else known


CONTENTION, SLOWED = 0.5, 0.9
"""Where executors were counted, the driver's share cannot be what slows more of them down: the probability
that their work grows with their number (so that a part does not spread), and that those beyond the observed
ones help less. Chosen with half of TPC-H's queries (docs/evidence/accuracy.md)."""


def with_counted_executors(prior: AveragingPrior) -> AveragingPrior:
    """The prior where Spark counted the executors: none is the driver's, and they slow each other down."""
    beliefs = [
        replace(each, probability=max(each.probability, CONTENTION)) if each.name == "scale" else each
        for each in prior.beliefs
    ]
    plateau = max(prior.plateau, SLOWED) if prior.plateau > 0 else 0.0
    return replace(prior, driver_share=0.0, beliefs=tuple(beliefs), plateau=plateau)


def least_fixed_seconds(observations: Sequence[Observation]) -> float:
    """What the driver took in each of a job's runs, whatever executors and data; 0 where logs do not tell it.

    Of an iterative job the driver's share may be that of each iteration, and then is nothing fixed.
    """
    told = [run.metrics.idle_seconds if run.metrics else None for run in observations]
    if any(run.iterations is not None for run in observations):
        return 0.0
    return min((0.0 if seconds is None else seconds for seconds in told), default=0.0)


def with_past_runs(prior: AveragingPrior, observations: Sequence[Observation]) -> AveragingPrior:
    """The prior as the past runs among a job's runs change it.

    Past runs scatter more than samples, those of one or two numbers of executors tell less of others than
    designed runs (which allows for plateaus, too), and they are runs of production: see `with_production`.
    """
    past = [run for run in observations if run.from_history]
    if not past:
        return prior
    known = replace(prior, noise=AveragingPrior.noise, noise_weights=PRODUCTION_NOISE_WEIGHTS)
    if len({run.executors for run in observations}) <= FEW_SIZES:
        known = replace(
            known,
            executors_octaves=PRODUCTION_EXECUTORS_OCTAVES,
            discrepancy=AveragingPrior.discrepancy,
            discrepancy_weights=PRODUCTION_DISCREPANCY_WEIGHTS,
            plateau=0.0,
        )
    return with_production(known, past)


# What production runs change in what is believed of a job before the coefficients of its model are.
#
# Training makes runs of one configuration one after the other, so they count by their median alone: they say
# little of how runs on other days differ. Production runs do. How far they lie from the mean of their
# configuration does not depend on where that lies, so it is evidence of its own on the noise: each level
# that the prior considers is weighed by how well it explains these distances.
#
# A sample has another shape than the whole more often than its size suggests. So what is deviated at the
# scales of the samples says less of production's, while runs of production go on telling of each other.
#
# Sample runs with the most data for each executor may have been short of memory, and a conspicuous one may
# have been disturbed; both then count for little. Production has more data than any sample and may well be
# conspicuous, but it is what predictions are for. So with production runs nothing is put down to memory, and
# hardly anything to a disturbance.

FURTHER_LEVELS = {0.32: 0.25, 0.64: 0.12, 1.28: 0.06}
"""Levels of noise that are considered besides once runs were repeated, with their weights: at these, a run
takes half or twice the usual time, or ten times as long as another where only one of two inputs fits into
memory. Sample runs on idle machines are never like that."""

SCALE_OCTAVES = 1.0
"""Doublings of the scale over which a job's deviation from its terms changes, once production is known."""

OWN_DEVIATION = 0.1
"""The share of its deviation from all terms that each number of executors has of its own, once production is
known: what came again and again on so many executors will come on them again, whatever others say."""

LEAST_LOG_WEIGHT = -50.0
"""A level that is so much less credible than the best is out; and all weights can be taken back."""

DISTURBED_TOGETHER = 2
"""Runs that would have to be disturbed independently, where one contradicts the others: a sample that was, as
happens, and production that was, too. More of them would make a disturbed sample run unthinkable."""


def with_production(prior: AveragingPrior, runs: Sequence[Observation]) -> AveragingPrior:
    """The prior as production runs change it; a configuration that ran once says nothing of the noise."""
    if not runs:
        return prior
    changed = replace(
        prior,
        memory_cut=(),
        scale_octaves=min(prior.scale_octaves, SCALE_OCTAVES),
        own_deviation=max(prior.own_deviation, OWN_DEVIATION),
        disturbed_run=prior.disturbed_run**DISTURBED_TOGETHER,
    )
    if not _distances(runs)[1]:
        return changed
    further = {level: weight for level, weight in FURTHER_LEVELS.items() if level not in prior.noise}
    levels, weights = (*prior.noise, *further), (*prior.noise_weights, *further.values())
    return _weighed(changed, levels, weights, runs, sign=1.0)


def without_production(prior: AveragingPrior, runs: Sequence[Observation]) -> AveragingPrior:
    """What the prior was before `with_production`, but for what no run weighs (`memory_cut` and the like)."""
    if not runs:
        return prior
    before = replace(prior, disturbed_run=prior.disturbed_run ** (1.0 / DISTURBED_TOGETHER))
    if not _distances(runs)[1]:
        return before
    before = _weighed(before, prior.noise, prior.noise_weights, runs, sign=-1.0)
    weights = {
        level: weight
        for level, weight in zip(before.noise, before.noise_weights, strict=True)
        if level not in FURTHER_LEVELS
    }
    return replace(before, noise=tuple(weights), noise_weights=tuple(weights.values()))


def _weighed(
    prior: AveragingPrior,
    levels: Sequence[float],
    weights: Sequence[float],
    runs: Sequence[Observation],
    *,
    sign: float,
) -> AveragingPrior:
    squares, freedom = _distances(runs)
    logs = [-freedom * math.log(level) - squares / (2.0 * level**2) for level in levels]
    factors = [math.exp(sign * max(each - max(logs), LEAST_LOG_WEIGHT)) for each in logs]
    changed = tuple(weight * factor for weight, factor in zip(weights, factors, strict=True))
    return replace(prior, noise=tuple(levels), noise_weights=changed)


def _distances(runs: Sequence[Observation]) -> tuple[float, int]:
    """Of log(seconds) from their configurations' means: the sum of squares, and the degrees of freedom."""
    logs: defaultdict[tuple[int, float, float], list[float]] = defaultdict(list)
    for run in runs:
        logs[run.configuration].append(math.log(run.seconds))
    squares = sum((value - fmean(values)) ** 2 for values in logs.values() for value in values)
    return squares, sum(len(values) - 1 for values in logs.values())


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
        Evidence(points_of(**observed_columns(runs)), names, prior_for(runs, before)) for runs in jobs if runs
    ]
    if not evidences:
        return before
    likelihoods = [_joint(evidence) - _log_prior(evidence, start) for evidence in evidences]
    shares = start
    for _ in range(STEPS):
        shares = _step(evidences, likelihoods, shares, start)
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
    """In which ways to count the driver takes an executor, shape (d,); None where that is not open."""
    taken = np.array([counting.driver_executors > 0 for counting in evidence.countings])
    return taken if len(np.unique(taken)) > 1 else None


def _log_prior(evidence: Evidence, shares: _Shares) -> FloatArray:
    """The learned part of the log prior probability, shape (d, g, t)."""
    taken = _taken(evidence)
    driver = np.zeros(len(evidence.countings))
    if taken is not None:
        driver = np.log(np.where(taken, shares.driver, 1 - shares.driver))
    level = np.log(np.where(evidence.deviates, shares.deviating, 1 - shares.deviating))
    sets = np.where(evidence.subsets, np.log(shares.terms), np.log1p(-shares.terms)).sum(axis=1)
    return np.asarray(driver[:, None, None] + level[:, None] + sets, dtype=np.float64)


def _step(
    evidences: Sequence[Evidence], likelihoods: Sequence[FloatArray], shares: _Shares, start: _Shares
) -> _Shares:
    """One step of expectation maximisation; the prior counts as `PRIOR_JOBS` jobs."""
    taken, asked = PRIOR_JOBS * start.driver, PRIOR_JOBS
    included, deviating = PRIOR_JOBS * start.terms, PRIOR_JOBS * start.deviating
    for evidence, likelihood in zip(evidences, likelihoods, strict=True):
        log_weights = likelihood + _log_prior(evidence, shares)
        weights = np.exp(log_weights - logsumexp(log_weights))
        included = included + weights.sum(axis=(0, 1)) @ evidence.subsets
        deviating += float(weights.sum(axis=(0, 2)) @ evidence.deviates)
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
