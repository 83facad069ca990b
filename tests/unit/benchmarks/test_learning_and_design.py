"""The benchmarks of learning and of designs: drift tests on arrays, and ways to choose runs."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.costs import relative_time
from airflow_provider_ernest.design.problem import Targets
from airflow_provider_ernest.learning.drift import evidence_of
from benchmarks.design.comparison import CHEAPEST, CHOICES, Task
from benchmarks.learning.drift import first_alarm, sequential
from tests.unit.learning.test_drift import INSIDE, UNLIKELY, UNUSUAL


def test_the_arrays_agree_with_the_packages_own_test():
    generator = np.random.default_rng(0)
    outcomes = generator.choice(3, p=(0.6, 0.2, 0.2), size=(50, 40))
    kinds = (INSIDE, UNLIKELY, UNUSUAL)
    drifts = [evidence_of([kinds[outcome] for outcome in row]) for row in outcomes]

    first = first_alarm(sequential(outcomes))
    assert [each.runs if each.is_drift else np.inf for each in drifts] == first.tolist()
    assert 0 < np.isfinite(first).sum() < 50


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
