"""Designs as users ask for them, and the objective against the formulation of the original."""

import re

import cvxpy as cp
import numpy as np
import pytest

from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.model.candidates import enumerate_candidates
from airflow_provider_ernest.model.costs import relative_time, resolve_cost
from airflow_provider_ernest.model.design import optimal_weights, plan_design
from airflow_provider_ernest.model.documents import Design
from airflow_provider_ernest.model.identifiability import undetermined_terms
from airflow_provider_ernest.model.information import a_criterion, information_matrix
from airflow_provider_ernest.model.terms import ERNEST, TERMS, basis
from benchmarks.design_time import candidates_of, objective_of, original_weights

from .paper import observe

PAPER_LIKE = {"max_machines": 16, "min_scale": 0.01, "max_scale": 0.1, "partitions": 1000}


@pytest.fixture(scope="module")
def candidates():
    return enumerate_candidates(**PAPER_LIKE)


def determined(design, observed=()):
    runs = [*design.experiments, *observed]
    rows = basis(design.terms, machines=[run.machines for run in runs], scale=[run.scale for run in runs])
    return undetermined_terms(rows, design.terms) == ()


@pytest.mark.parametrize("share_of_all", [0.02, 0.1, 0.5])
def test_the_same_optimum_as_the_formulation_of_the_original(share_of_all):
    few = candidates_of(machines=8, scales=6)
    rows = basis(ERNEST, machines=few.machines, scale=few.scale)
    costs = relative_time(few)
    budget = share_of_all * float(costs.sum())

    ours = optimal_weights(rows, costs, budget=budget)
    original = original_weights(rows, costs, budget=budget)

    assert objective_of(rows, ours) == pytest.approx(objective_of(rows, original), rel=1e-4)
    assert ours @ costs <= budget * (1 + 1e-6)
    assert ours.min() >= 0
    assert ours.max() <= 1


def test_the_optimum_beside_observed_runs_is_that_of_the_textbook_formulation():
    few = candidates_of(machines=8, scales=6)
    rows = basis(ERNEST, machines=few.machines, scale=few.scale)
    observed = basis(ERNEST, machines=[1, 2, 2], scale=[0.1, 0.05, 0.1])
    costs = relative_time(few)
    scaled, scaled_observed = rows / rows.mean(axis=0), observed / rows.mean(axis=0)
    weights = cp.Variable(len(rows))
    information = scaled.T @ cp.diag(weights) @ scaled + scaled_observed.T @ scaled_observed
    limits = [weights >= 0, weights <= 2, costs @ weights <= 40, cp.sum(weights) <= 5]
    textbook = cp.Problem(cp.Minimize(cp.tr_inv(information)), limits)
    textbook.solve(solver=cp.CLARABEL)

    ours = optimal_weights(rows, costs, budget=40, max_runs=5, max_repetitions=2, observed_rows=observed)

    assert a_criterion(information_matrix(scaled, ours, scaled_observed)) == pytest.approx(
        textbook.value, rel=1e-4
    )
    assert costs @ ours <= 40 * (1 + 1e-6)
    assert ours.sum() <= 5 * (1 + 1e-6)


def test_a_bound_on_the_runs_bounds_the_weights(candidates):
    rows = basis(ERNEST, machines=candidates.machines, scale=candidates.scale)

    weights = optimal_weights(rows, relative_time(candidates), budget=1e6, max_runs=5)

    assert weights.sum() == pytest.approx(5, rel=1e-5)


def test_candidates_that_determine_nothing_are_refused_before_solving():
    rows = basis(ERNEST, machines=[1, 2, 1, 2], scale=[0.1, 0.1, 0.2, 0.2])

    with pytest.raises(DesignError, match="singular"):
        optimal_weights(rows, np.ones(4), budget=4)


def test_the_default_design_for_bounds_like_the_papers(candidates):
    design = plan_design(candidates=candidates)

    assert 6 <= len(design.experiments) <= 8
    assert design.terms == ERNEST
    assert 0.8 <= design.efficiency <= 1.0
    assert design.cost == pytest.approx(sum(run.cost for run in design.experiments))
    assert design.cost <= design.budget
    assert design.cost_unit == "cheapest runs"
    assert design.candidates == len(candidates)
    assert determined(design)
    assert Design.from_dict(design.to_dict()) == design


def test_runs_are_numbered_longest_first_and_read_whole_partitions(candidates):
    runs = plan_design(candidates=candidates, iterations=2).experiments

    sizes = [run.machines * run.scale for run in runs]
    assert sizes == sorted(sizes, reverse=True)
    assert [run.index for run in runs] == list(range(len(runs)))
    assert all(run.partitions == pytest.approx(1000 * run.scale) for run in runs)
    assert all(run.iterations == 2 for run in runs)
    assert len({(run.machines, run.scale) for run in runs}) == len(runs)


def test_each_run_may_be_left_out_of_the_default_design(candidates):
    design = plan_design(candidates=candidates)

    for left_out in design.experiments:
        rest = [run for run in design.experiments if run is not left_out]
        rows = basis(ERNEST, machines=[run.machines for run in rest], scale=[run.scale for run in rest])
        assert undetermined_terms(rows, ERNEST) == ()


def test_repetitions_only_where_allowed(candidates):
    design = plan_design(candidates=candidates, max_runs=20, max_repetitions=2)

    points = [(run.machines, run.scale) for run in design.experiments]
    assert len(points) > len(set(points))
    assert max(points.count(point) for point in points) == 2


@pytest.mark.parametrize(("least", "most"), [(4, 4), (5, 7), (10, 10)])
def test_the_numbers_of_runs_are_kept(candidates, least, most):
    design = plan_design(candidates=candidates, min_runs=least, max_runs=most)

    assert least <= len(design.experiments) <= most
    assert determined(design)


def test_a_larger_budget_never_gives_a_worse_design(candidates):
    # Efficiencies compare with different optima; the errors of the coefficients do not.
    rows = basis(ERNEST, machines=candidates.machines, scale=candidates.scale)
    criteria = []
    for budget in (20.0, 60.0, 200.0):
        design = plan_design(candidates=candidates, budget=budget)
        points = {(run.machines, run.partitions) for run in design.experiments}
        chosen = [
            point in points
            for point in zip(candidates.machines.tolist(), candidates.partitions.tolist(), strict=True)
        ]
        criteria.append(objective_of(rows, np.array(chosen, dtype=float)))
        assert design.cost <= budget
    assert criteria == sorted(criteria, reverse=True)


def test_the_least_budget_that_works_is_named_and_works(candidates):
    with pytest.raises(DesignError, match=r"budget of 2 cheapest runs .* Raise the budget to") as caught:
        plan_design(candidates=candidates, budget=2)
    least = float(re.search(r"Raise the budget to (\S+)", str(caught.value)).group(1))

    assert plan_design(candidates=candidates, budget=least).cost <= least * (1 + 1e-6)
    with pytest.raises(DesignError):
        plan_design(candidates=candidates, budget=0.99 * least)


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_that_is_none(candidates, budget):
    with pytest.raises(InvalidParameterError, match="budget="):
        plan_design(candidates=candidates, budget=budget)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"max_runs": 3}, "max_runs=3 .* Allow at least 4"),
        ({"min_runs": 9, "max_runs": 8}, "min_runs=9 .* Lower it to 8"),
        ({"min_runs": 1000}, "min_runs=1000"),
        ({"min_runs": 0}, "min_runs=0"),
        ({"max_repetitions": 0}, "max_repetitions=0"),
        ({"iterations": 0}, "iterations=0"),
        ({"terms": ("1", "speed")}, "terms='speed'"),
        ({"cost": "euros"}, "cost='euros'"),
    ],
)
def test_parameters_that_cannot_be_are_named(candidates, limits, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        plan_design(candidates=candidates, **limits)


def test_bounds_that_cannot_tell_the_terms_apart_say_how_to_widen_them():
    narrow = enumerate_candidates(max_machines=2, min_scale=0.01, max_scale=0.1, partitions=1000)

    with pytest.raises(DesignError, match=r'"1", "log\(machines\)", "machines" apart.*at least 3 different'):
        plan_design(candidates=narrow)


def test_costs_in_dollars(candidates):
    cost, unit = resolve_cost(
        "dollars", full_seconds_on_one_machine=7200, run_overhead_seconds=20, price_per_hour=0.35
    )

    design = plan_design(candidates=candidates, cost=cost, cost_unit=unit, budget=0.5)

    assert design.cost_unit == "dollars"
    assert 0 < design.cost <= 0.5
    one_run = design.experiments[0]
    seconds = 20 + 7200 * one_run.scale / one_run.machines
    assert one_run.cost == pytest.approx(seconds * one_run.machines * 0.35 / 3600)


def test_fewer_new_runs_where_some_were_made(candidates):
    first = plan_design(candidates=candidates)
    made = first.experiments[:3]
    observed = observe(
        machines=[run.machines for run in made], scale=[run.scale for run in made], seconds=[10.0, 20.0, 30.0]
    )

    rest = plan_design(candidates=candidates, observed=observed)

    assert 3 <= len(rest.experiments) <= 5
    assert determined(rest, observed)


def test_where_enough_was_observed_one_run_more_is_planned(candidates):
    observed = observe(machines=[1, 2, 4, 8, 16, 1, 2, 4], scale=[0.1] * 5 + [0.05] * 3, seconds=[9.0] * 8)

    assert len(plan_design(candidates=candidates, observed=observed).experiments) == 1


def test_observed_runs_with_other_iterations_do_not_count(candidates):
    observed = observe(machines=[1], scale=0.1, seconds=[10.0], iterations=5)

    with pytest.raises(InvalidParameterError, match=r"observed\[0\].iterations=5 differs from iterations=2"):
        plan_design(candidates=candidates, observed=observed, iterations=2)


def test_whatever_the_bounds_a_design_is_affordable_and_determines_its_terms():
    generator = np.random.default_rng(2016)
    planned = refused = 0
    for _ in range(120):
        low, high = np.sort(generator.uniform(0.001, 1.0, size=2))
        terms = ("1", *generator.choice(list(TERMS)[1:], size=generator.integers(1, 5), replace=False))
        bounds = {
            "min_machines": int(generator.integers(1, 4)),
            "max_machines": int(generator.integers(4, 60)),
            "min_scale": float(low),
            "max_scale": float(high),
            "partitions": int(generator.integers(5, 3000)),
            "cores_per_machine": int(generator.integers(1, 9)),
        }
        budget = None if generator.random() < 0.5 else float(generator.uniform(1, 500))
        try:
            candidates = enumerate_candidates(**bounds)
            design = plan_design(candidates=candidates, terms=terms, budget=budget)
        except DesignError:
            refused += 1
            continue
        planned += 1
        assert design.cost <= design.budget * (1 + 1e-6), bounds
        assert 0 < design.efficiency <= 1, bounds
        assert len(design.experiments) <= len(terms) + 4, bounds
        assert len(design.experiments) >= min(len(terms) + 2, len(candidates)), bounds
        assert determined(design), (bounds, terms)
    assert planned > 60
    assert refused > 0
