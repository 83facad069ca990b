"""Documents as lines of text: the same in task logs, in the demo and in benchmarks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from airflow_provider_ernest.model.decision_table import decision_table as decision_table
from airflow_provider_ernest.model.decision_table import same_cost_table as same_cost_table
from airflow_provider_ernest.model.predictors import AVERAGING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_provider_ernest.model.documents import Design, Observation
    from airflow_provider_ernest.model.results import Model

ERRORS = {"relative": "errors relative to the run's time", "absolute": "errors in seconds"}
"""What the weighting of a design means."""

MOST_COST_DIGITS = 9
"""Decimals of a cost at most."""

WORTH_MENTIONING = 0.01
"""A lower probability that the driver takes a machine is not shown."""


def design_table(design: Design) -> list[str]:
    """The runs to be made, and how good the choice is."""
    digits = _cost_digits(design)
    lines = [
        f"{design.criterion}-optimal design for {ERRORS.get(design.weighting, design.weighting)}: "
        f"{len(design.experiments)} runs out of {design.candidates} candidates",
        f"cost {design.cost:.{digits}f} of {design.budget:.{digits}f} {design.cost_unit}, "
        f"{design.efficiency:.0%} as efficient as the relaxed optimum",
        "run  machines    scale  partitions  weight    cost",
    ]
    lines += [
        f"{run.index:3d}  {run.machines:8d}  {run.scale:7.2%}  {run.partitions:10d}  {run.weight:6.2f}  "
        f"{run.cost:6.{digits}f}"
        for run in design.experiments
    ]
    return lines


def _cost_digits(design: Design) -> int:
    """Decimals that tell the cheapest run's cost: in dollars it may be a fraction of a cent."""
    cheapest = min((run.cost for run in design.experiments if run.cost > 0), default=1.0)
    return min(max(1, 1 - math.floor(math.log10(cheapest))), MOST_COST_DIGITS)


def observations_table(observations: Iterable[Observation]) -> list[str]:
    """What each run really did."""
    lines = ["run  machines    scale  seconds  start-up  waited  tasks  application"]
    for run in sorted(observations, key=lambda run: run.index):
        tasks = run.metrics.tasks if run.metrics else 0
        lines.append(
            f"{run.index:3d}  {run.machines:8d}  {run.scale:7.2%}  {run.seconds:7.1f}  "
            f"{run.startup_seconds:8.1f}  {run.waited_seconds:6.1f}  {tasks:5d}  {run.application_id or ''}"
        )
    return lines


def model_table(model: Model) -> list[str]:
    """The terms with what they mean, and each observation against its prediction from the others."""
    validation = model.validation
    lines = _terms(model)
    lines.append("run  machines    scale  seconds  predicted from the others    error")
    lines += [
        f"{fold.index:3d}  {fold.machines:8d}  {fold.scale:7.2%}  {fold.seconds:7.1f}  "
        f"{fold.predicted_seconds:25.1f}  {fold.error_percent:+6.1f}%"
        for fold in validation.folds
    ]
    lines.append(
        f"leave-one-out error: median {validation.median_error_percent:.1f} %, largest "
        f"{validation.max_error_percent:.1f} %; a start-up of {model.startup_seconds:.1f} s comes on top"
    )
    return lines


def _terms(model: Model) -> list[str]:
    if model.method != AVERAGING:
        return [
            f"{model.method} least squares:",
            *(f"{term.coefficient:12.4f} s x {term.name:22s} {term.meaning}" for term in model.terms),
        ]
    driver = (
        f"; a machine is the driver's with a probability of {model.driver_share:.0%}"
        if model.driver_share > WORTH_MENTIONING
        else ""
    )
    return [
        "average over all sets of terms: how probable each is, its mean coefficient, what it is",
        *(
            f"{term.probability:6.1%}  {term.coefficient:10.4f} s x {term.name:22s} {term.meaning}"
            for term in model.terms
        ),
        f"single runs scatter by {model.noise:.1%}{driver}",
    ]
