"""Designs as users ask for them."""

import re

import numpy as np
import pytest

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.design.problem import Targets
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.prediction.regression import undetermined_terms
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST, TERMS, basis
from airflow_provider_ernest.settings.bounds import CRITERIA
from tests.examples import observe

PAPER_LIKE = {"max_executors": 16, "min_scale": 0.01, "max_scale": 0.1, "partitions": 1000}


@pytest.fixture(scope="module")
def candidates():
    return enumerate_candidates(**PAPER_LIKE)


def determined(design, observed=()):
    runs = [*design.experiments, *observed]
    rows = basis(design.terms, executors=[run.executors for run in runs], scale=[run.scale for run in runs])
    return undetermined_terms(rows, design.terms) == ()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_gives_affordable_runs_that_vary(candidates, criterion):
    design = plan_design(candidates=candidates, criterion=criterion, targets=Targets(executors=(32, 64)))

    assert (design.criterion, design.candidates) == (criterion, len(candidates))
    assert 6 <= len(design.experiments) <= 8
    assert (0.8 if criterion == "A" else 0.7) <= design.efficiency <= 1.0
    assert design.cost == pytest.approx(sum(run.cost for run in design.experiments))
    assert design.cost <= design.budget
    assert design.cost_unit == "cheapest runs"
    assert len({run.executors for run in design.experiments}) > 1
    assert len({run.scale for run in design.experiments}) > 1
    assert design.terms == (DICTIONARY if criterion.startswith("bayesian") else ERNEST)
    assert criterion.startswith("bayesian") or determined(design)
    assert (design.weighting == "absolute") == (criterion == "A")
    assert Design.from_dict(design.to_dict()) == design


def test_the_default_is_for_the_predictions_that_are_asked_for_if_they_are_known(candidates):
    assert plan_design(candidates=candidates).criterion == "bayesian D"
    targets = Targets(executors=(32, 64))
    assert plan_design(candidates=candidates, targets=targets).criterion == "bayesian I"


def test_one_number_of_machines_tells_nothing_of_others():
    one = enumerate_candidates(
        min_executors=4, max_executors=4, min_scale=0.01, max_scale=0.1, partitions=1000
    )

    with pytest.raises(DesignError, match=r"one number of executors, 4, and predictions for 8, 16 are asked"):
        plan_design(candidates=one, targets=Targets(executors=(8, 16)))
    with pytest.raises(DesignError, match=r"one number of executors, 4, and predictions for any number"):
        plan_design(candidates=one)
    assert len(plan_design(candidates=one, targets=Targets(executors=(4,))).experiments) >= 4


def test_runs_are_numbered_longest_first_and_read_whole_partitions(candidates):
    runs = plan_design(candidates=candidates, iterations=2).experiments

    sizes = [run.executors * run.scale for run in runs]
    assert sizes == sorted(sizes, reverse=True)
    assert [run.index for run in runs] == list(range(len(runs)))
    assert all(run.partitions == pytest.approx(1000 * run.scale) for run in runs)
    assert all(run.iterations == 2 for run in runs)
    assert len({(run.executors, run.scale) for run in runs}) == len(runs)


@pytest.mark.parametrize("criterion", ["A", "bayesian D"])
def test_the_least_budget_that_works_is_named_and_works(candidates, criterion):
    with pytest.raises(DesignError, match=r"budget of 2 cheapest runs .* Raise the budget to") as caught:
        plan_design(candidates=candidates, criterion=criterion, budget=2)
    least = float(re.search(r"Raise the budget to (\S+)", str(caught.value)).group(1))

    design = plan_design(candidates=candidates, criterion=criterion, budget=least)
    assert design.cost <= least * (1 + 1e-6)
    with pytest.raises(DesignError):
        plan_design(candidates=candidates, criterion=criterion, budget=0.99 * least)


FIVE_TIMES = observe(executors=[1], scale=0.1, seconds=[10.0], iterations=5)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"max_runs": 3, "criterion": "A"}, "max_runs=3 .* Allow at least 4"),
        ({"max_runs": 2}, "max_runs=2 .* Allow at least 4"),
        ({"min_runs": 9, "max_runs": 8}, "min_runs=9 .* Lower it to 8"),
        ({"min_runs": 1000}, "min_runs=1000"),
        *(({"budget": none}, "budget=") for none in (0.0, -1.0, float("nan"), float("inf"))),
        ({"iterations": 0}, "iterations=0"),
        ({"observed": FIVE_TIMES, "iterations": 2}, r"observed\[0\].iterations=5 differs from iterations=2"),
        ({"terms": ("1", "speed")}, "terms='speed'"),
        ({"criterion": "G"}, "criterion='G' is unknown.*bayesian I"),
        ({"criterion": "I"}, "targets=None is missing.*or use D"),
        ({"weighting": "some"}, "weighting='some'"),
    ],
)
def test_parameters_that_cannot_be_are_named(candidates, limits, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        plan_design(candidates=candidates, **limits)


@pytest.mark.parametrize(("criterion", "fewest", "most"), [("A", 3, 5), ("bayesian D", 3, 5)])
def test_fewer_new_runs_where_some_were_made(candidates, criterion, fewest, most):
    first = plan_design(candidates=candidates, criterion=criterion)
    made = first.experiments[:3]
    observed = observe(
        executors=[run.executors for run in made],
        scale=[run.scale for run in made],
        seconds=[10.0, 20.0, 30.0],
    )

    rest = plan_design(candidates=candidates, criterion=criterion, observed=observed)

    assert fewest <= len(rest.experiments) <= most
    assert criterion != "A" or determined(rest, observed)


@pytest.mark.parametrize("criterion", ["A", "bayesian D"])
def test_where_enough_was_observed_one_run_more_is_planned(candidates, criterion):
    observed = observe(executors=[1, 2, 4, 8, 16, 1, 2, 4], scale=[0.1] * 5 + [0.05] * 3, seconds=[9.0] * 8)

    design = plan_design(candidates=candidates, criterion=criterion, observed=observed)

    assert len(design.experiments) == 1


def test_whatever_the_bounds_a_design_is_affordable_and_determines_its_terms():
    generator = np.random.default_rng(2016)
    planned = 0
    for _ in range(40):
        low, high = np.sort(generator.uniform(0.001, 1.0, size=2))
        terms = ("1", *generator.choice(list(TERMS)[1:], size=generator.integers(1, 5), replace=False))
        bounds = {
            "min_executors": int(generator.integers(1, 4)),
            "max_executors": int(generator.integers(4, 60)),
            "min_scale": float(low),
            "max_scale": float(high),
            "partitions": int(generator.integers(5, 3000)),
            "executor_cores": int(generator.integers(1, 9)),
        }
        budget = None if generator.random() < 0.5 else float(generator.uniform(1, 500))
        try:
            candidates = enumerate_candidates(**bounds)
            design = plan_design(candidates=candidates, criterion="A", terms=terms, budget=budget)
        except DesignError:
            continue
        planned += 1
        assert design.cost <= design.budget * (1 + 1e-6), bounds
        assert 0 < design.efficiency <= 1, bounds
        assert len(design.experiments) <= len(terms) + 4, bounds
        assert len(design.experiments) >= min(len(terms) + 2, len(candidates)), bounds
        assert determined(design), (bounds, terms)
    assert planned > 20
