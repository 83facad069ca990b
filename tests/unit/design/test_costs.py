"""What a run costs, in time, machine time or money."""

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.costs import (
    Dollars,
    ExpectedSeconds,
    MachineSeconds,
    RelativeTime,
    relative_time,
    resolve_cost,
)
from airflow_provider_ernest.exceptions import InvalidParameterError

RUNS = Candidates(
    machines=np.array([1, 4, 16]), scale=np.array([0.1, 0.1, 0.1]), partitions=np.array([16, 16, 16])
)
PRIOR = {"full_seconds_on_one_machine": 3600.0, "run_overhead_seconds": 30.0}


def test_the_papers_cost_is_relative_to_the_cheapest_run():
    assert relative_time(RUNS).tolist() == pytest.approx([16.0, 4.0, 1.0])


def test_an_overhead_makes_tiny_runs_dear():
    assert RelativeTime(run_overhead=2.0)(RUNS).tolist() == pytest.approx([18.0, 6.0, 3.0])
    cost, unit = resolve_cost("relative_time", run_overhead=2.0)
    assert cost(RUNS).tolist() == pytest.approx([18.0, 6.0, 3.0])
    assert unit == "cheapest runs"
    with pytest.raises(InvalidParameterError, match="run_overhead=-1"):
        RelativeTime(run_overhead=-1)


def test_runs_that_are_no_candidates_cost_in_the_same_unit():
    tiny = Candidates(machines=np.array([16]), scale=np.array([0.05]), partitions=np.array([8]))

    assert relative_time.relative_to(RUNS, runs=tiny).tolist() == pytest.approx([0.5])


def test_a_cost_knows_its_unit_and_the_seconds_it_is_made_of():
    dollars = Dollars(**PRIOR, price_per_hour=0.36)
    resolved, unit = resolve_cost(dollars)

    assert unit == "dollars"
    assert resolve_cost(resolved) == (resolved, "dollars")
    assert resolved.in_seconds is dollars
    assert dollars.seconds(machines=RUNS.machines, scale=RUNS.scale).tolist() == pytest.approx(
        [390, 120, 52.5]
    )
    assert dollars.of_seconds(machines=np.array([10]), seconds=np.array([3600.0])).tolist() == pytest.approx(
        [3.6]
    )
    assert resolve_cost(relative_time)[0].in_seconds is None


def test_an_hours_work_on_a_tenth_of_the_data():
    assert ExpectedSeconds(**PRIOR)(RUNS).tolist() == pytest.approx([390.0, 120.0, 52.5])
    assert MachineSeconds(**PRIOR)(RUNS).tolist() == pytest.approx([390.0, 480.0, 840.0])
    dollars = Dollars(**PRIOR, price_per_hour=0.36)(RUNS)
    assert dollars.tolist() == pytest.approx([0.039, 0.048, 0.084])


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("relative_time", "cheapest runs", 16.0),
        ("seconds", "seconds", 390.0),
        ("machine_seconds", "machine seconds", 390.0),
        ("dollars", "dollars", 0.039),
    ],
)
def test_costs_by_name(name, unit, expected):
    cost, given_unit = resolve_cost(name, **PRIOR, price_per_hour=0.36)

    assert given_unit == unit
    assert cost(RUNS)[0] == pytest.approx(expected)


def test_a_cost_of_the_users_own():
    cost, unit = resolve_cost(lambda candidates: candidates.machines * 2.0)

    assert unit == "cost units"
    assert cost(RUNS).tolist() == [2.0, 8.0, 32.0]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InvalidParameterError, match='"relative_time", "seconds"'):
        resolve_cost("euros")


@pytest.mark.parametrize("name", ["seconds", "machine_seconds", "dollars"])
def test_a_missing_prior_is_asked_for(name):
    with pytest.raises(InvalidParameterError, match=r"full_seconds_on_one_machine=None.*guess"):
        resolve_cost(name)


def test_a_missing_price_is_asked_for():
    with pytest.raises(InvalidParameterError, match="price_per_hour=None"):
        resolve_cost("dollars", full_seconds_on_one_machine=100.0)


@pytest.mark.parametrize(
    "prior",
    [
        {"full_seconds_on_one_machine": 0.0},
        {"full_seconds_on_one_machine": float("nan")},
        {"full_seconds_on_one_machine": 1.0, "run_overhead_seconds": -1.0},
        {"full_seconds_on_one_machine": 1.0, "price_per_hour": 0.0},
    ],
)
def test_priors_that_cannot_be(prior):
    with pytest.raises(InvalidParameterError):
        resolve_cost("dollars", **{"price_per_hour": 1.0, **prior})


@pytest.mark.parametrize(
    ("cost", "problem"),
    [
        (lambda candidates: candidates.machines * 0.0, "is 0.0 for 1 machines"),
        (lambda candidates: candidates.scale * np.nan, "is nan"),
        (lambda candidates: candidates.scale[:2], r"shape \(2,\) for 3 candidates"),
        (lambda candidates: 1.0, r"shape \(\)"),
    ],
)
def test_a_cost_that_no_budget_can_be_reckoned_with(cost, problem):
    checked, _ = resolve_cost(cost)

    with pytest.raises(InvalidParameterError, match=problem):
        checked(RUNS)


@pytest.mark.parametrize(("name", "factor"), [("machine_seconds", 1.0), ("dollars", 0.36 / 3600)])
def test_a_cluster_that_is_there_for_the_samples_is_billed_whole_while_one_runs(name, factor):
    guess = {"full_seconds_on_one_machine": 1000.0, "run_overhead_seconds": 20.0, "price_per_hour": 0.36}
    cost, _ = resolve_cost(name, **guess, billed_machines=4)
    runs = Candidates(
        machines=np.array([1, 4, 8]), scale=np.array([0.1, 0.1, 0.1]), partitions=np.array([9, 9, 9])
    )

    assert cost(runs) == pytest.approx(factor * np.array([4 * 120.0, 4 * 45.0, 8 * 32.5]))


def test_machines_that_cannot_be_billed():
    with pytest.raises(InvalidParameterError, match=r"billed_machines=-1"):
        MachineSeconds(full_seconds_on_one_machine=1.0, billed_machines=-1)
