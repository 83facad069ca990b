"""Are the prior's constants chosen honestly? Each job is told with those that were chosen without it.

The constants of the prior were chosen with public traces at hand, and reported on them, too. Here each is
changed, one at a time, and of the defaults and all changes the best for all *other* jobs is taken: that with
the least mean interval score (Gneiting and Raftery 2007, section 6.2), on the logarithm, at 80 %. It is the
width of the interval, and ten times the distance of what lies outside: guesses that are off cost, and
intervals that are too wide or too narrow. Beside it stand the defaults, and the change that suits the job
itself best, which nobody could have known: how far the first two differ from it tells what tuning is worth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.documents.models import AveragingPrior, TermBelief
from benchmarks.accuracy.evaluation import LEVELS, Outcome, evaluate_rounds, summarise
from benchmarks.accuracy.ours import Averaging
from benchmarks.accuracy.runs import Case, Round

DEFAULTS = "defaults"

MOST_CASES = 60
"""Of each job, evenly spread over its rounds."""

_PRIOR = AveragingPrior()


def _believing(name: str, probability: float) -> tuple[TermBelief, ...]:
    return tuple(
        replace(each, probability=probability) if each.name == name else each for each in _PRIOR.beliefs
    )


ALTERNATIVES: Mapping[str, AveragingPrior] = {
    DEFAULTS: _PRIOR,
    "driver_share 0.2": replace(_PRIOR, driver_share=0.2),
    "driver_share 0.8": replace(_PRIOR, driver_share=0.8),
    "scale 0.05": replace(_PRIOR, beliefs=_believing("scale", 0.05)),
    "scale 0.5": replace(_PRIOR, beliefs=_believing("scale", 0.5)),
    "scale/sqrt(machines) 0.15": replace(_PRIOR, beliefs=_believing("scale/sqrt(machines)", 0.15)),
    "log(machines) 0.2": replace(_PRIOR, beliefs=_believing("log(machines)", 0.2)),
    "largest_share 0.25": replace(_PRIOR, largest_share=0.25),
    "largest_share 1": replace(_PRIOR, largest_share=1.0),
    "noise halved": replace(_PRIOR, noise=tuple(0.5 * each for each in _PRIOR.noise)),
    "noise doubled": replace(_PRIOR, noise=tuple(2.0 * each for each in _PRIOR.noise)),
    "discrepancy less": replace(_PRIOR, discrepancy_weights=(4.0, 2.0, 1.0, 0.5)),
    "discrepancy more": replace(_PRIOR, discrepancy_weights=(0.5, 1.0, 2.0, 2.0)),
    "machines_octaves 1": replace(_PRIOR, machines_octaves=1.0),
    "machines_octaves 4": replace(_PRIOR, machines_octaves=4.0),
    "scale_octaves 2": replace(_PRIOR, scale_octaves=2.0),
    "plateau 0": replace(_PRIOR, plateau=0.0),
    "plateau 0.5": replace(_PRIOR, plateau=0.5),
    "plateau_observed 0": replace(_PRIOR, plateau_observed=0.0),
    "other_shape 0": replace(_PRIOR, other_shape=0.0),
    "other_shape 0.3": replace(_PRIOR, other_shape=0.3),
    "other_shape 0.9": replace(_PRIOR, other_shape=0.9),
    "other_shape_spread 0.4": replace(_PRIOR, other_shape_spread=0.4),
    "memory_cut 0": replace(_PRIOR, memory_cut=()),
    "memory_cut 0.2": replace(_PRIOR, memory_cut=(0.2, 0.1)),
}
"""The defaults, and one constant or the other changed, by name."""


Trace = tuple[str, str]
"""A deployment, and a job's name in it: whatever protocols and contexts it is told in."""


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A job with constants chosen without it.

    Attributes:
        chosen: the name of the alternative that is best for all other jobs.
        best: that which is best for the job itself.
    """

    job: str
    chosen: str
    best: str


def interval_score(outcome: Outcome) -> float:
    """The mean interval score of its runs at the first of `LEVELS`, of log(seconds); NaN if refused."""
    if outcome.bounds is None:
        return float("nan")
    low, high = np.log(outcome.bounds[0])
    runs = np.log(outcome.repetitions)
    outside = np.maximum(low - runs, 0.0) + np.maximum(runs - high, 0.0)
    return float(high - low + 2.0 / (1.0 - LEVELS[0]) * outside.mean())


def tuned(scores: Mapping[str, Mapping[str, float]], *, traces: Mapping[str, Trace]) -> list[Tuned]:
    """For each job the alternative chosen without it, nor by another protocol of its trace.

    Args:
        scores: of each alternative, by job: less is better.
        traces: of each job.
    """
    jobs = list(scores[DEFAULTS])

    def best_for(which: Sequence[str]) -> str:
        return min(scores, key=lambda name: sum(scores[name][job] for job in which))

    return [
        Tuned(
            job=job,
            chosen=best_for([each for each in jobs if traces[each] != traces[job]]),
            best=best_for([job]),
        )
        for job in jobs
    ]


def table(
    protocols: Sequence[tuple[str, Sequence[Round]]],
    *,
    alternatives: Mapping[str, AveragingPrior] = ALTERNATIVES,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """A row for each job and the defaults, what was chosen without it, and what suits it best.

    Args:
        protocols: titles and rounds, whose jobs are told together.
        alternatives: constants by name, the defaults among them.
        tell: called with a line after each alternative.
    """
    rounds: list[Round] = []
    traces: dict[str, Trace] = {}
    for title, of_protocol in protocols:
        for deployment, case in _few(of_protocol):
            job = f"{title}, {case.job}"
            traces[job] = deployment, case.job
            rounds.append(Round(deployment=deployment, cases=(replace(case, job=job),)))
    outcomes = {}
    for number, (name, prior) in enumerate(alternatives.items(), start=1):
        outcomes[name] = _by_job(evaluate_rounds(rounds, [Averaging(name=name, prior=prior)]))
        tell(f"{number} of {len(alternatives)}: {name}")
    scores = {
        name: {job: float(np.nanmean([interval_score(each) for each in of])) for job, of in by_job.items()}
        for name, by_job in outcomes.items()
    }
    lines = [
        "constants of the prior, chosen without the job that they are told of; each job alone",
        f"{'':36s}  {'error %':>7s}  {'in 80 %':>7s}  {'in 95 %':>7s}  {'width':>5s}  {'score':>6s}",
    ]
    means = defaultdict[str, list[float]](list)
    for each in tuned(scores, traces=traces):
        lines.append(each.job)
        chosen = (("defaults", DEFAULTS), ("without it", each.chosen), ("best, known too late", each.best))
        for role, name in chosen:
            words = role if name == role else f"{role}: {name}"
            score = scores[name][each.job]
            means[role].append(score)
            lines.append(_row(words, outcomes[name][each.job], score))
    lines.append("all jobs, mean score")
    lines += [f"  {role:34s}  {'':32s}  {np.mean(of):6.3f}" for role, of in means.items()]
    lines.append("each alternative, mean score of all jobs")
    lines += [f"  {name:34s}  {'':32s}  {np.mean(list(of.values())):6.3f}" for name, of in scores.items()]
    return lines


def _few(rounds: Sequence[Round]) -> list[tuple[str, Case]]:
    """Cases with their deployments."""
    cases = defaultdict[str, list[tuple[str, Case]]](list)
    for one_round in rounds:
        for case in one_round.cases:
            cases[case.job].append((one_round.deployment, case))
    return [each for of in cases.values() for each in of[:: -(-len(of) // MOST_CASES)]]


def _by_job(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    by_job = defaultdict[str, list[Outcome]](list)
    for each in outcomes:
        by_job[each.job].append(each)
    return dict(by_job)


def _row(words: str, outcomes: Sequence[Outcome], score: float) -> str:
    found = summarise(outcomes)
    coverage, width = found.coverage or (np.nan, np.nan), found.width or (np.nan, np.nan)
    return (
        f"  {words:34s}  {found.mean or np.nan:7.1f}  {coverage[0]:7.0f}  {coverage[1]:7.0f}  "
        f"{width[0]:5.0f}  {score:6.3f}"
    )
