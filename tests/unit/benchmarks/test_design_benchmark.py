"""The comparison of designs: every way keeps the budget, and the tables hold what was measured."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.costs import relative_time
from airflow_provider_ernest.design.criteria import Targets
from benchmarks.design import prediction, trials
from benchmarks.design.rivals import CHEAPEST, CHOICES, Task

CANDIDATES = enumerate_candidates(
    max_machines=8, min_scale=0.01, max_scale=0.1, partitions=1000, scale_steps=5
)
TASK = Task(
    candidates=CANDIDATES, cost=relative_time, budget=60.0, runs=7, targets=Targets(machines=(16, 32))
)


@pytest.mark.parametrize("name", CHOICES)
def test_every_way_keeps_the_budget_and_all_but_one_the_number_of_runs(name):
    chosen = CHOICES[name](TASK, np.random.default_rng(0))

    assert 0 < relative_time(CANDIDATES)[chosen].sum() <= 60.0 * (1 + 1e-6)
    assert len(set(chosen.tolist())) == len(chosen)
    assert name == CHEAPEST or len(chosen) <= 7


def test_exact_runs_of_an_optimal_design_are_predicted_exactly(monkeypatch):
    monkeypatch.setattr(trials, "NOISE", 0.0)
    predictor = prediction.Predictor(predict=prediction.ernest_terms)
    monkeypatch.setattr(prediction, "PREDICTORS", {"Ernest's terms": predictor})
    trial = next(iter(trials.with_the_papers_cost(repetitions=1)))

    results = prediction.compare([trial])

    assert results["A-optimal"][0].errors_percent["Ernest's terms"].max() < 1e-3
    assert len(results["random"]) == prediction.RANDOM_DESIGNS
    assert all(result.spent <= 1 + 1e-6 for of_name in results.values() for result in of_name)
