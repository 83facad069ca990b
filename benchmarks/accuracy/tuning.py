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
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from airflow_provider_ernest.documents.models import AveragingPrior, TermBelief
from benchmarks.accuracy.evaluation import LEVELS, Outcome, evaluate_rounds, summarise
from benchmarks.accuracy.methods import Averaging
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
    "scale/sqrt(executors) 0.15": replace(_PRIOR, beliefs=_believing("scale/sqrt(executors)", 0.15)),
    "log(executors) 0.2": replace(_PRIOR, beliefs=_believing("log(executors)", 0.2)),
    "largest_share 0.25": replace(_PRIOR, largest_share=0.25),
    "largest_share 1": replace(_PRIOR, largest_share=1.0),
    "noise halved": replace(_PRIOR, noise=tuple(0.5 * each for each in _PRIOR.noise)),
    "noise doubled": replace(_PRIOR, noise=tuple(2.0 * each for each in _PRIOR.noise)),
    "discrepancy less": replace(_PRIOR, discrepancy_weights=(4.0, 2.0, 1.0, 0.5)),
    "discrepancy more": replace(_PRIOR, discrepancy_weights=(0.5, 1.0, 2.0, 2.0)),
    "executors_octaves 1": replace(_PRIOR, executors_octaves=1.0),
    "executors_octaves 4": replace(_PRIOR, executors_octaves=4.0),
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


def interval_score(outcome: Outcome) -> float:
    """The mean interval score of its runs at the first of `LEVELS`, of log(seconds); NaN if refused."""
    if outcome.bounds is None:
        return float("nan")
    low, high = np.log(outcome.bounds[0])
    runs = np.log(outcome.repetitions)
    outside = np.maximum(low - runs, 0.0) + np.maximum(runs - high, 0.0)
    return float(high - low + 2.0 / (1.0 - LEVELS[0]) * outside.mean())


def chosen_without(scores: pd.DataFrame, traces: Mapping[str, str]) -> dict[str, str]:
    """For each job the alternative that is best without it, and without other protocols of its trace.

    Args:
        scores: a row for each alternative, a column for each job: less is better.
        traces: of each job.
    """
    return {
        job: str(scores[[each for each in scores if traces[each] != traces[job]]].sum(axis=1).idxmin())
        for job in scores
    }


def report(protocols: Mapping[str, Sequence[Round]]) -> str:
    """Of each job the defaults, what was chosen without it, and what suits it best.

    Args:
        protocols: rounds by title, whose jobs are told together.
    """
    cases = [case for title, rounds in protocols.items() for case in _few(title, rounds)]
    # Rounds of one case each: nothing is pooled. A trace is the same job, whatever protocol it is told in.
    traces = {case.job: f"{'C3O' in case.job} {case.job.rpartition(', ')[2]}" for case in cases}
    outcomes = {
        name: _by_job(evaluate_rounds(name, [(case,) for case in cases], [Averaging(name=name, prior=prior)]))
        for name, prior in ALTERNATIVES.items()
    }
    scores = pd.DataFrame(
        {
            name: {job: np.nanmean([interval_score(each) for each in of]) for job, of in by_job.items()}
            for name, by_job in outcomes.items()
        }
    ).T
    chosen = chosen_without(scores, traces)
    rows = []
    for job in scores:
        best = str(scores[job].idxmin())
        for role, name in (("defaults", DEFAULTS), ("without it", chosen[job]), ("known too late", best)):
            figures = summarise(outcomes[name][job])
            told = {each: figures[each] for each in ("mean", "in 80%", "in 95%", "width 80%")}
            rows.append({"job": job, "constants": role, "chosen": name, **told, "score": scores[job][name]})
    table = pd.DataFrame(rows)
    return "\n\n".join(
        [
            "constants of the prior, chosen without the job that they are told of; each job alone",
            table.to_string(index=False, float_format="{:.3f}".format),
            f"all jobs, mean score\n{table.groupby('constants', sort=False)['score'].mean().to_string()}",
            f"each alternative, mean score of all jobs\n{scores.mean(axis=1).to_string()}",
        ]
    )


def _few(title: str, rounds: Sequence[Round]) -> list[Case]:
    """So many cases of each job, which is named with the protocol."""
    cases = defaultdict[str, list[Case]](list)
    for one_round in rounds:
        for case in one_round:
            cases[case.job].append(replace(case, job=f"{title}, {case.job}"))
    return [each for of in cases.values() for each in of[:: -(-len(of) // MOST_CASES)]]


def _by_job(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    by_job = defaultdict[str, list[Outcome]](list)
    for each in outcomes:
        by_job[each.job].append(each)
    return dict(by_job)
