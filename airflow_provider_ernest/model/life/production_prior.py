"""What production runs change in what is believed of a job before the coefficients of its model are.

How much runs scatter: in training, runs of one configuration are made one after the other, and count by their
median alone, for on the same machines at the same hour they tell little of how runs on other days differ.
Production runs do tell that. How far they lie from the mean of their configuration does not depend on where
that lies, so it is evidence of its own on the noise: each level that the prior considers is weighed by how
well it explains these distances.

What may be explained away: of sample runs, those with the most data for each machine may have been short of
memory, and a conspicuous one may have been disturbed; both then count for little. Production has more data
than any sample and may well be conspicuous, but it is what predictions are for. So with production runs
nothing is put down to memory, and what has come twice is hardly put down to a disturbance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.documents import Observation

FURTHER_LEVELS = {0.32: 0.25, 0.64: 0.12}
"""Levels of noise that are considered besides once runs were repeated, with their weights: at these, a run
takes half or twice the usual time. Sample runs on idle machines are never like that."""

LEAST_LOG_WEIGHT = -50.0
"""A level that is so much less credible than the best is out; and all weights can be taken back."""

MOST_DISTURBED = 2
"""Runs that are taken to be disturbed independently; more of them would make a disturbed sample run
unthinkable."""


def with_production(prior: AveragingPrior, runs: Sequence[Observation]) -> AveragingPrior:
    """The prior as production runs change it.

    Args:
        prior: as it was before any of them.
        runs: production runs; on the noise, those of a configuration that ran once say nothing.
    """
    if not runs:
        return prior
    changed = replace(prior, memory_cut=(), disturbed_run=prior.disturbed_run ** _disturbed_together(runs))
    if not _distances(runs)[1]:
        return changed
    further = {level: weight for level, weight in FURTHER_LEVELS.items() if level not in prior.noise}
    levels, weights = (*prior.noise, *further), (*prior.noise_weights, *further.values())
    return _weighed(changed, levels, weights, runs, sign=1.0)


def without_production(prior: AveragingPrior, runs: Sequence[Observation]) -> AveragingPrior:
    """What the prior was before `with_production` with these runs; only `memory_cut` stays empty."""
    if not runs:
        return prior
    before = replace(prior, disturbed_run=prior.disturbed_run ** (1.0 / _disturbed_together(runs)))
    if not _distances(runs)[1]:
        return before
    before = _weighed(before, prior.noise, prior.noise_weights, runs, sign=-1.0)
    own = [
        (level, weight)
        for level, weight in zip(before.noise, before.noise_weights, strict=True)
        if level not in FURTHER_LEVELS
    ]
    return replace(
        before, noise=tuple(level for level, _ in own), noise_weights=tuple(weight for _, weight in own)
    )


def _disturbed_together(runs: Sequence[Observation]) -> int:
    """How many runs would have to be disturbed for the most frequent configuration to be."""
    return min(MOST_DISTURBED, max(map(len, _by_configuration(runs).values())))


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
    groups = _by_configuration(runs).values()
    squares = sum((value - fmean(values)) ** 2 for values in groups for value in values)
    return squares, sum(len(values) - 1 for values in groups)


def _by_configuration(runs: Sequence[Observation]) -> dict[tuple[int, float], list[float]]:
    """log(seconds) of the runs, by machines and scale."""
    logs: defaultdict[tuple[int, float], list[float]] = defaultdict(list)
    for run in runs:
        logs[run.machines, run.scale].append(math.log(run.seconds))
    return logs
