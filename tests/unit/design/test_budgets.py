"""Budgets as shares of production, and what runs have cost."""

from functools import partial

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.costs import (
    Dollars,
    ExpectedSeconds,
    MachineSeconds,
    ProductionShare,
    costs_by_now,
    relative_time,
    resolve_budget,
    resolve_cost,
    spent_on,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.examples import observe

RUNS = Candidates(
    machines=np.array([1, 4, 16]), scale=np.array([0.1, 0.1, 0.1]), partitions=np.array([16, 16, 16])
)
PRIOR = {"full_seconds_on_one_machine": 3600.0, "run_overhead_seconds": 30.0}


def checked(cost):
    resolved, _ = resolve_cost(cost)
    return resolved


OBSERVED = observe(machines=[2, 4], scale=[0.1, 0.2], seconds=[100.0, 50.0], startup_seconds=10.0)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (MachineSeconds(**PRIOR), 0.05 * (3600 + 10 * 30)),
        (Dollars(**PRIOR, price_per_hour=1.8), 0.05 * 1.95),
        (ExpectedSeconds(**PRIOR), 0.05 * 390),
    ],
)
def test_five_per_cent_of_a_production_run_on_ten_machines(cost, expected):
    assert ProductionShare(share=0.05, machines=10).of(checked(cost), RUNS) == pytest.approx(expected)


def test_more_data_more_budget():
    twice = ProductionShare(share=0.05, machines=10, scale=2.0)

    assert twice.of(checked(MachineSeconds(**PRIOR)), RUNS) == pytest.approx(0.05 * (7200 + 300))


@pytest.mark.parametrize("kind", [MachineSeconds, partial(Dollars, price_per_hour=1.8)])
def test_production_is_not_billed_the_cluster_of_the_samples(kind):
    own, whole = kind(**PRIOR), kind(**PRIOR, billed_machines=64)

    assert ProductionShare().of(checked(whole), RUNS) == ProductionShare().of(checked(own), RUNS)


def test_a_function_of_the_users_is_asked_for_production_as_a_candidate():
    cost, _ = resolve_cost(lambda runs: runs.partitions * 1.0)

    assert ProductionShare(share=0.1).of(checked(cost), RUNS) == pytest.approx(16.0)


def test_nothing_says_what_production_costs():
    cost, _ = resolve_cost("relative_time")

    with pytest.raises(InvalidParameterError, match=r"nothing says what that is.*machine_seconds"):
        resolve_budget(ProductionShare(), cost=cost, candidates=RUNS)


def test_numbers_stay_what_they_are():
    assert resolve_budget(7.0, cost=checked(relative_time), candidates=RUNS) == 7.0
    assert resolve_budget(None, cost=checked(relative_time), candidates=RUNS) is None


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"machines": 0}, {"scale": -1.0}, {"share": float("nan")}])
def test_shares_that_cannot_be(wrong):
    with pytest.raises(InvalidParameterError):
        ProductionShare(**wrong)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (ExpectedSeconds(**PRIOR), 170.0),
        (MachineSeconds(**PRIOR), 2 * 110.0 + 4 * 60.0),
        (Dollars(**PRIOR, price_per_hour=3600.0), 460.0),
        (relative_time, 16 / 2 + 2 * 16 / 4),
        (lambda runs: runs.partitions * 1.0, 16.0 + 32.0),
    ],
)
def test_what_runs_have_cost(cost, expected):
    assert spent_on(OBSERVED, cost=checked(cost), candidates=RUNS) == pytest.approx(expected)
    assert spent_on([], cost=checked(cost), candidates=RUNS) == 0.0


def test_the_next_runs_cost_what_the_seconds_now_expected_of_them_do():
    def twice(*, machines, scale):
        return 100.0 * scale * machines

    learnt = costs_by_now(
        RUNS, cost=checked(MachineSeconds(**PRIOR)), observed=OBSERVED, expected_seconds=twice
    )
    assert learnt.tolist() == pytest.approx([1 * (10 + 10), 4 * (10 + 40), 16 * (10 + 160)])

    guessed = costs_by_now(
        RUNS, cost=checked(MachineSeconds(**PRIOR)), observed=OBSERVED, expected_seconds=None
    )
    assert guessed.tolist() == pytest.approx([390.0, 480.0, 840.0])
    relative = costs_by_now(RUNS, cost=checked(relative_time), observed=OBSERVED, expected_seconds=twice)
    assert relative.tolist() == pytest.approx([16.0, 4.0, 1.0])
