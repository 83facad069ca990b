"""The design behind a model: what was planned, what of it was run, and what that cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_ernest.model.documents import Design, Experiment, Observation
from airflow_provider_ernest.plugin.sample_runs import cost_of


def design_facts(
    design: Design | None, observations: Sequence[Observation], *, price_per_hour: float | None
) -> dict[str, Any] | None:
    """The design with what came of each experiment, not yet JSON-ready; None where there is none."""
    if design is None:
        return None
    return {
        "terms": design.terms,
        "criterion": design.criterion,
        "efficiency": design.efficiency,
        "cost": design.cost,
        "budget": design.budget,
        "cost_unit": design.cost_unit,
        "candidates": design.candidates,
        "weighting": design.weighting,
        "candidate_ranges": design.candidate_ranges,
        "experiments": _experiments(design.experiments, observations, price_per_hour),
    }


def _experiments(
    experiments: Sequence[Experiment], observations: Sequence[Observation], price_per_hour: float | None
) -> list[dict[str, Any]]:
    unclaimed: dict[int, list[Observation]] = {}
    for run in observations:
        unclaimed.setdefault(run.index, []).append(run)
    return [_experiment(each, _claim(each, unclaimed), price_per_hour) for each in experiments]


def _claim(experiment: Experiment, unclaimed: dict[int, list[Observation]]) -> Observation | None:
    """The run of an experiment: of those with its index the most like it.

    Runs of an earlier design may have the same index, and a run may have had fewer machines or read
    slightly more than it was to.
    """
    runs = unclaimed.get(experiment.index)
    if not runs:
        return None
    nearest = min(
        runs,
        key=lambda run: (
            abs(run.scale / experiment.scale - 1.0) + abs(run.machines / experiment.machines - 1.0)
        ),
    )
    runs.remove(nearest)
    return nearest


def _experiment(
    experiment: Experiment, run: Observation | None, price_per_hour: float | None
) -> dict[str, Any]:
    return {
        "index": experiment.index,
        "machines": experiment.machines,
        "scale": experiment.scale,
        "partitions": experiment.partitions,
        "weight": experiment.weight,
        "expected_cost": experiment.cost,
        "observed": run is not None,
        "seconds": run.seconds if run else None,
        "paid": cost_of(run, price_per_hour) if run else None,
    }
