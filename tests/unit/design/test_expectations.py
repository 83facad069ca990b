"""What runs are expected to take, by the best knowledge there is."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.costs import MachineSeconds, expectation, relative_time, resolve_cost
from tests.examples import observe

CANDIDATES = enumerate_candidates(max_machines=8, min_scale=0.01, max_scale=0.1, partitions=1000)
MACHINES, SCALE = np.array([1.0, 2.0, 10.0]), np.array([0.1, 1.0, 1.0])
OBSERVED = observe(machines=[1, 2, 4], scale=[0.1, 0.1, 0.2], seconds=[25.0, 15.0, 15.0])


def guess(**known):
    asked = {"candidates": CANDIDATES, "cost": relative_time, **known}
    return expectation(**asked)(machines=MACHINES, scale=SCALE)


def test_the_runs_already_made_come_first():
    """They took 5 s and 200 s of work that spreads."""
    cost = resolve_cost("dollars", full_seconds_on_one_machine=1.0, price_per_hour=1.0)

    assert guess(observed=OBSERVED, cost=cost).tolist() == pytest.approx([25.0, 105.0, 25.0])


def test_two_runs_are_too_few_to_tell():
    cost = resolve_cost("machine_seconds", full_seconds_on_one_machine=100.0, run_overhead_seconds=3.0)

    assert guess(observed=OBSERVED[:2], cost=cost).tolist() == pytest.approx([13.0, 53.0, 13.0])


def test_then_the_seconds_that_the_cost_is_made_of():
    cost = MachineSeconds(full_seconds_on_one_machine=100.0, run_overhead_seconds=3.0, price_per_hour=7.0)

    assert guess(cost=cost).tolist() == pytest.approx([13.0, 53.0, 13.0])


def test_of_an_unknown_job_half_of_a_middling_run_is_fixed():
    seconds = guess()
    middling = np.exp(np.mean(np.log(CANDIDATES.scale / CANDIDATES.machines)))

    assert seconds.tolist() == pytest.approx([0.1 + middling, 0.5 + middling, 0.1 + middling])
