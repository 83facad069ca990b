"""The benchmarks of learning and of designs: drift tests on arrays, and ways to choose runs."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.costs import relative_time
from airflow_provider_ernest.design.problem import Targets
from airflow_provider_ernest.learning.drift import evidence_of
from benchmarks.accuracy.methods import LeastSquares
from benchmarks.design import comparison
from benchmarks.design.comparison import CHEAPEST, CHOICES, Task
from benchmarks.learning.drift import first_alarm, sequential, three_of_five
from tests.unit.learning.test_drift import INSIDE, UNLIKELY, UNUSUAL


def test_the_arrays_agree_with_the_packages_own_test():
    generator = np.random.default_rng(0)
    outcomes = generator.choice(3, p=(0.6, 0.2, 0.2), size=(50, 40))
    kinds = (INSIDE, UNLIKELY, UNUSUAL)
    drifts = [evidence_of([kinds[outcome] for outcome in row]) for row in outcomes]

    first = first_alarm(sequential(outcomes))
    assert [each.runs if each.is_drift else np.inf for each in drifts] == first.tolist()
    assert 0 < np.isfinite(first).sum() < 50


def test_three_of_five_are_those_of_the_last_five_runs():
    outcomes = np.array([[2, 0, 2, 0, 2, 0], [2, 2, 0, 0, 0, 2], [1, 1, 1, 1, 1, 1]])

    assert three_of_five(outcomes).tolist() == [
        [False, False, False, False, True, False],
        [False] * 6,
        [False] * 6,
    ]


@pytest.mark.parametrize("name", CHOICES)
def test_every_way_keeps_the_budget_and_all_but_one_the_number_of_runs(name: str):
    candidates = enumerate_candidates(
        max_machines=8, min_scale=0.01, max_scale=0.1, partitions=1000, scale_steps=5
    )
    targets = Targets(machines=(16, 32))
    task = Task(candidates=candidates, cost=relative_time, budget=60.0, runs=7, targets=targets)
    chosen = CHOICES[name](task, np.random.default_rng(0))

    assert 0 < relative_time(candidates)[chosen].sum() <= 60.0 * (1 + 1e-6)
    assert len(set(chosen.tolist())) == len(chosen)
    assert name == CHEAPEST or len(chosen) <= 7


def test_exact_runs_of_an_optimal_design_are_predicted_exactly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(comparison, "NOISE", 0.0)
    predictor = LeastSquares("Ernest's terms")
    monkeypatch.setattr(comparison, "PREDICTORS", {predictor.name: (predictor, 1)})
    trial = next(iter(comparison.with_the_papers_cost(repetitions=1)))

    results = comparison.compare([trial])

    assert results["A-optimal"][0].errors_percent[predictor.name].max() < 1e-3
    assert len(results["random"]) == comparison.RANDOM_DESIGNS
    assert all(result.spent <= 1 + 1e-6 for of_name in results.values() for result in of_name)
