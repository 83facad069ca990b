"""What is known without sample runs: which past runs a design counts, and whether they are enough.

Sample runs are for a decision among numbers of executors. They are needless where a model of past runs alone
passes its own cross-validation and predicts those numbers that the decision is among as well as runs could
tell it: within `NARROW_ENOUGH`, or within little more than what runs of this job scatter anyway.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.design.problem import Targets
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Design, Observation
from airflow_provider_ernest.exceptions import FitError, InadequateModelError
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
from airflow_provider_ernest.prediction.training import check_adequacy, train
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.settings.goal import BEST_VALUE, CHEAPEST
from airflow_provider_ernest.words import as_percent, counted

LEVEL, NEARLY_CERTAIN = 0.8, 0.95
NARROW_ENOUGH = 0.3  # of the interval relative to the prediction: 15 % to either side
FEWEST_RUNS = 6  # as many as a design makes where nothing is known
FEWEST_SIZES = 3
"""Numbers of executors that tell how time changes with them; with fewer only those that ran are known."""

SCATTER = 1.3
"""An interval that is wider by so much than what runs scatter tells enough: no sample run narrows that."""

OCTAVES = 2.0
"""Scales within a half octave are one size to a design: what a tenth more data takes tells no term apart."""

_WIDTH_OF_NOISE = 2 * 1.2816  # of an interval of 80 % in standard deviations


@dataclass(frozen=True, kw_only=True)
class Sufficiency:
    """Whether past runs are enough for the decision, and why, as a sentence."""

    is_enough: bool
    reason: str


def distinct(observed: Sequence[Observation]) -> list[Observation]:
    """One run of each size, the median in seconds of those with as many executors and about as much data.

    A design counts runs to know how many are missing: thirty nights on the same executors are not thirty
    runs.
    """
    groups: dict[tuple[int, int], list[Observation]] = {}
    for run in observed:
        groups.setdefault((run.executors, round(math.log2(run.scale) * OCTAVES)), []).append(run)
    return [sorted(group, key=lambda run: run.seconds)[len(group) // 2] for group in groups.values()]


def sufficiency(
    observed: Sequence[Observation],
    goal: SizingGoal,
    *,
    method: str = AVERAGING,
    terms: Sequence[str] | None = None,
) -> Sufficiency:
    """Whether observed runs tell enough of what the decision is among, so that no sample run is needed.

    The terms are the method's own by default.
    """
    if len(observed) < FEWEST_RUNS:
        return _missing(
            f"{counted(len(observed), 'past run')} of the job can be used; {FEWEST_RUNS} tell enough"
        )
    ran = sorted({run.executors for run in observed})
    unknown = sorted({*goal.executors} - {*ran})
    if len(ran) < FEWEST_SIZES and unknown:
        return _missing(
            f"past runs had {' or '.join(map(str, ran))} executors, and nothing tells how the time "
            "changes with them"
        )
    try:
        # Whatever else they leave open is told by the width of what is asked.
        enough = no_runs(len(observed), terms=terms or (), criterion="", reason="") if not unknown else None
        model = train(observed, job="past runs", method=method, terms=terms, design=enough)
        check_adequacy(model, max_error_percent=goal.max_error_percent)
    except (FitError, InadequateModelError) as error:
        return _missing(error.message.rstrip(".")[:1].lower() + error.message.rstrip(".")[1:])
    return _by_width(model, goal)


def _by_width(model: Model, goal: SizingGoal) -> Sufficiency:
    counts, scale = Targets(executors=goal.executors, scale=goal.scale).columns()
    seconds = predict_seconds(model, executors=counts, scale=scale)
    low, high = predict_interval(model, executors=counts, scale=scale, level=LEVEL)
    widths = (high - low) / seconds
    asked = _may_be_chosen(model, goal, counts, scale)
    worst = int(np.argmax(np.where(asked, widths, 0.0)))
    enough = max(NARROW_ENOUGH, SCATTER * _WIDTH_OF_NOISE * model.noise)
    told = f"the prediction for size {int(counts[worst])} is uncertain by {as_percent(widths[worst] / 2)}"
    if widths[worst] > enough:
        return _missing(f"{told}, more than {as_percent(enough / 2)}")
    return Sufficiency(
        is_enough=True,
        reason=f"{counted(len(model.observations), 'past run')} of the job tell enough, and no sample run is "
        f"made: at worst, {told}.",
    )


def _may_be_chosen(
    model: Model, goal: SizingGoal, counts: FloatArray, scale: FloatArray
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which of the targets the decision can be for, nearly for certain; all where none can be ruled out."""
    low, high = predict_interval(model, executors=counts, scale=scale, level=NEARLY_CERTAIN)
    deadline = math.inf if goal.deadline_seconds is None else goal.deadline_seconds
    possible = model.startup_seconds + low <= deadline
    # One that is surely dearer than another that surely keeps the deadline is not chosen.
    if goal.budget_dollars is None and goal.objective in (None, BEST_VALUE, CHEAPEST):
        sure = model.startup_seconds + high <= deadline
        dearest_of_sure = np.min(np.where(sure, counts * high, np.inf))
        possible &= counts * low <= dearest_of_sure
    return possible if possible.any() else np.ones(len(counts), dtype=np.bool_)


def _missing(why: str) -> Sufficiency:
    return Sufficiency(is_enough=False, reason=f"Sample runs are needed: {why}.")


def no_runs(past_runs: int, *, terms: Sequence[str], criterion: str, reason: str) -> Design:
    """The design that makes no runs, since those that were made are enough."""
    return Design(
        experiments=(),
        terms=tuple(terms),
        criterion=criterion,
        efficiency=1.0,
        cost=0.0,
        budget=0.0,
        cost_unit="runs",
        candidates=0,
        weighting="relative",
        past_runs=past_runs,
        reason=reason,
    )
