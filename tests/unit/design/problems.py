"""Small design problems for the tests, small enough to try all designs."""

import itertools

import numpy as np

from airflow_provider_ernest.design.candidates import enumerate_candidates
from airflow_provider_ernest.design.costs import half_fixed, relative_time
from airflow_provider_ernest.design.problem import Criterion, Limits, Targets, design_problem

FEW_TERMS = ("1", "scale/executors", "executors")
MORE_TERMS = ("1", "scale", "scale/executors", "log(executors)", "executors")


def small_problem(criterion="A", *, max_executors=4, steps=3, observed=()):
    candidates = enumerate_candidates(
        max_executors=max_executors, min_scale=0.02, max_scale=0.1, partitions=500, scale_steps=steps
    )
    return design_problem(
        candidates=candidates,
        costs=relative_time(candidates),
        terms=MORE_TERMS if criterion.startswith("bayesian") else FEW_TERMS,
        criterion=criterion,
        observed=observed,
        targets=Targets(executors=(8, 16)),
        expected_seconds=None if criterion == "A" else half_fixed(candidates),
    )


def limits_of(problem, *, budget_runs, max_runs, min_runs=4):
    return Limits(
        budget=budget_runs * float(problem.costs.mean()),
        min_runs=min_runs,
        max_runs=max_runs,
    )


def all_designs(problem, limits):
    """Every allowed design that tells the terms that it must."""
    for runs in range(limits.min_runs, limits.max_runs + 1):
        for chosen in set(itertools.combinations(range(len(problem.costs)), runs)):
            counts = np.bincount(chosen, minlength=len(problem.costs))
            if counts @ problem.costs > limits.highest_cost:
                continue
            required = np.vstack([problem.required_known_rows, problem.required_rows[counts > 0]])
            if np.isfinite(Criterion(loadings=None).value(required.T @ required)):
                yield counts
