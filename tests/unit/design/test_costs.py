"""What a run costs in time or money, and budgets as shares of production."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import (
    MachineSeconds,
    expectation,
    relative_time,
    resolve_cost,
    share_of_production,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.examples import observe

RUNS = Candidates(
    executors=np.array([1, 4, 16]), scale=np.array([0.1, 0.1, 0.1]), partitions=np.array([16, 16, 16])
)
PRIOR = {"full_seconds_on_one_machine": 3600.0, "run_overhead_seconds": 30.0}


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("relative_time", "cheapest runs", [16.0, 4.0, 1.0]),
        ("executor_seconds", "machine seconds", [390.0, 480.0, 840.0]),
        ("dollars", "dollars", [0.039, 0.048, 0.084]),
    ],
)
def test_costs_by_name(name, unit, expected):
    cost = resolve_cost(name, **PRIOR, price_per_hour=0.36)

    assert cost.unit == unit
    assert cost(RUNS).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(("name", "factor"), [("executor_seconds", 1.0), ("dollars", 0.36 / 3600)])
def test_a_cluster_that_is_there_for_the_samples_is_billed_whole_while_one_runs(name, factor):
    guess = {"full_seconds_on_one_machine": 1000.0, "run_overhead_seconds": 20.0, "price_per_hour": 0.36}
    cost = resolve_cost(name, **guess, billed_machines=4)
    runs = Candidates(
        executors=np.array([1, 4, 8]), scale=np.array([0.1, 0.1, 0.1]), partitions=np.array([9, 9, 9])
    )

    assert cost(runs) == pytest.approx(factor * np.array([4 * 120.0, 4 * 45.0, 8 * 32.5]))


def test_nothing_says_what_production_costs():
    cost = resolve_cost("relative_time")

    with pytest.raises(InvalidParameterError, match=r"budget_share=0\.05 needs to know.*machine_seconds"):
        share_of_production(cost, 0.05)


# What runs are expected to take, by the best knowledge there is.

CANDIDATES = enumerate_candidates(max_executors=8, min_scale=0.01, max_scale=0.1, partitions=1000)
MIDDLING = float(np.exp(np.mean(np.log(CANDIDATES.scale / CANDIDATES.executors))))
OBSERVED = observe(executors=[1, 2, 4], scale=[0.1, 0.1, 0.2], seconds=[25.0, 15.0, 15.0])
"""They took 5 s and 200 s of work that spreads."""
STATED = MachineSeconds(full_seconds_on_one_machine=100.0, run_overhead_seconds=3.0, price_per_hour=7.0)


@pytest.mark.parametrize(
    ("observed", "cost", "expected"),
    [
        (OBSERVED, STATED, [25.0, 105.0, 25.0]),
        (OBSERVED[:2], STATED, [13.0, 53.0, 13.0]),
        ([], STATED, [13.0, 53.0, 13.0]),
        ([], relative_time, [0.1 + MIDDLING, 0.5 + MIDDLING, 0.1 + MIDDLING]),
    ],
    ids=[
        "runs already made",
        "two are too few",
        "what the cost is made of",
        "half of a middling run is fixed",
    ],
)
def test_the_best_guess_there_is_of_what_runs_take(observed, cost, expected):
    guess = expectation(candidates=CANDIDATES, cost=cost, observed=observed)
    seconds = guess(executors=np.array([1.0, 2.0, 10.0]), scale=np.array([0.1, 1.0, 1.0]))

    assert seconds.tolist() == pytest.approx(expected)
