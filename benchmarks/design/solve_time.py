"""How long does it take to solve for a design, and is it the same optimum?

The relaxed problem of Ernest (section 3.2) in two formulations of the same objective: that of the
published implementation, which adds up a cvxpy expression over a Python list of matrices for each
term, and ours, a single expression. Both are solved by the same solver with the same tolerances in
this process; CPU seconds are those of all threads, after a warm-up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import TypeVar

import cvxpy as cp
import numpy as np
import pandas as pd
from cvxpy.atoms.matrix_frac import matrix_frac

from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import relative_time
from airflow_provider_ernest.design.plan import optimal_weights, plain_bounds, plan_design
from airflow_provider_ernest.design.problem import (
    Criterion,
    Targets,
    design_problem,
    normalised,
)
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, basis
from airflow_provider_ernest.settings.bounds import CRITERIA

Result = TypeVar("Result")

SIZES: tuple[tuple[int, int], ...] = ((5, 10), (16, 20), (32, 40), (100, 100))
"""Machines and scales: 50, 320, 1,280 and 10,000 candidates."""

ORIGINAL_UP_TO = 2_000
"""Candidates up to which the original formulation is solved; its time grows faster than their number."""

RUNS = 8

REPETITIONS = 3


def original_weights(design_rows: FloatArray, costs: FloatArray, *, budget: float) -> FloatArray:
    """The relaxed design by the formulation of the published implementation (amplab/ernest), shape (n,).

    ``sum_k matrix_frac(e_k, sum_i lambda_i C_i)`` with C_i the outer products of the rows divided by
    their means, ``0 <= lambda <= 1`` and ``sum_i cost_i lambda_i <= budget``, each sum a Python loop.
    """
    rows, _ = normalised(design_rows, None)
    terms = rows.shape[1]
    weights = cp.Variable(len(rows))
    information = np.zeros((terms, terms))
    spent = cp.Constant(0)
    for index, row in enumerate(rows):
        information = information + np.outer(row, row) * weights[index]
        spent = spent + float(costs[index]) * weights[index]
    objective = cp.Constant(0)
    for unit_vector in np.eye(terms):
        objective = objective + matrix_frac(unit_vector, information)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy advises to vectorise: that is what is being measured
        problem = cp.Problem(cp.Minimize(objective), [weights >= 0, weights <= 1, spent <= budget])
        problem.solve(solver=cp.CLARABEL)  # type: ignore[no-untyped-call]
    return np.clip(np.asarray(weights.value, dtype=np.float64), 0.0, 1.0)


def objective_of(design_rows: FloatArray, weights: FloatArray) -> float:
    """The A-criterion of a relaxed design."""
    rows, _ = normalised(design_rows, None)
    return Criterion(loadings=np.eye(rows.shape[1])).value((rows.T * weights) @ rows)


def candidates_of(*, executors: int, scales: int) -> Candidates:
    """The full grid of 1..machines and as many scales from 1 % to 10 % of the input."""
    partitions = 100 * max(executors, scales)
    return enumerate_candidates(
        max_executors=executors, min_scale=0.01, max_scale=0.1, partitions=partitions, scale_steps=scales
    )


def report() -> str:
    """Both tables."""
    grids = [candidates_of(executors=executors, scales=scales) for executors, scales in SIZES]
    _relaxed(candidates_of(executors=4, scales=5))  # warm-up: imports, caches, the solver's library
    relaxed = pd.DataFrame([_relaxed(candidates) for candidates in grids])
    whole = pd.DataFrame([_whole(candidates) for candidates in grids])
    return (
        "CPU seconds to solve the relaxed A-optimal design; objectives are traces of inverse information;\n"
        f"the original formulation is skipped above {ORIGINAL_UP_TO:,} candidates\n"
        f"{relaxed.to_string(index=False, float_format='{:.6g}'.format, na_rep='-')}\n\n"
        f"CPU seconds to a design of {RUNS} whole runs, and its efficiency against the relaxed optimum\n"
        f"{whole.to_string(index=False, float_format='{:.3g}'.format)}"
    )


def _relaxed(candidates: Candidates) -> dict[str, float]:
    """Both formulations of the paper's problem, at a budget of eight runs of mean cost."""
    rows = basis(ERNEST, executors=candidates.executors, scale=candidates.scale)
    costs = relative_time(candidates)
    budget = RUNS * float(costs.mean())
    problem = design_problem(candidates=candidates, costs=costs, terms=ERNEST, criterion="A")
    weights, seconds = _timed(lambda: optimal_weights(problem, plain_bounds(costs, budget=budget)))
    found = {"candidates": len(candidates), "seconds": seconds, "objective": objective_of(rows, weights)}
    if len(candidates) <= ORIGINAL_UP_TO:
        weights, original = _timed(lambda: original_weights(rows, costs, budget=budget))
        of_original = objective_of(rows, weights)
        found |= {"original": original, "ratio": original / seconds, "original objective": of_original}
        found["difference"] = abs(found["objective"] / of_original - 1)
    return found


def _whole(candidates: Candidates) -> dict[str, float]:
    """Each criterion: the relaxed problem and rounding."""
    most = int(candidates.executors.max())
    targets = Targets(executors=(most, 2 * most, 4 * most))
    found: dict[str, float] = {"candidates": len(candidates)}
    for criterion in CRITERIA:
        design, seconds = _timed(
            partial(
                plan_design,
                candidates=candidates,
                criterion=criterion,
                targets=targets,
                min_runs=RUNS,
                max_runs=RUNS,
            )
        )
        found |= {criterion: seconds, f"{criterion} %": 100.0 * design.efficiency}
    return found


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result, and the median CPU seconds of some repetitions."""
    seconds = []
    for _ in range(REPETITIONS):
        before = time.process_time()
        result = work()
        seconds.append(time.process_time() - before)
    return result, median(seconds)
