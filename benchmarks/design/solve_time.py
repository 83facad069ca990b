"""How long does it take to solve for a design, and is it the same optimum?

The relaxed problem of Ernest (section 3.2) in two formulations of the same objective: that of the
published implementation, which adds up a cvxpy expression over a Python list of matrices for each
term, and ours, a single expression. Both are solved by the same solver with the same tolerances in
this process; CPU seconds are those of all threads, after a warm-up.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TypeVar

import cvxpy as cp
import numpy as np
from cvxpy.atoms.matrix_frac import matrix_frac

from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates
from airflow_provider_ernest.design.costs import relative_time
from airflow_provider_ernest.design.criteria import Targets, a_criterion, information_matrix, normalised
from airflow_provider_ernest.design.plan import optimal_weights, plain_bounds, plan_design
from airflow_provider_ernest.design.problem import classic_problem
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import ERNEST, basis
from airflow_provider_ernest.settings.bounds import CRITERIA

Result = TypeVar("Result")

SIZES: tuple[tuple[int, int], ...] = ((5, 10), (16, 20), (32, 40), (100, 100))
"""Machines and scales: 50, 320, 1,280 and 10,000 candidates."""

QUICK_SIZES = 2
"""How many of them are measured in a hurry."""

ORIGINAL_UP_TO = 2_000
"""Candidates up to which the original formulation is solved; its time grows faster than their number."""

RUNS = 8

REPETITIONS = 3


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """The relaxed problem in both formulations; the original's numbers are None where it was skipped."""

    candidates: int
    original_seconds: float | None
    seconds: float
    original_objective: float | None
    objective: float


def original_weights(design_rows: FloatArray, costs: FloatArray, *, budget: float) -> FloatArray:
    """The relaxed design by the formulation of the published implementation (amplab/ernest).

    ``sum_k matrix_frac(e_k, sum_i lambda_i C_i)`` with C_i the outer products of the rows divided by
    their means, ``0 <= lambda <= 1`` and ``sum_i cost_i lambda_i <= budget``, each sum a Python loop.

    Args:
        design_rows: the candidates' term values, shape (n, p).
        costs: their costs, shape (n,).
        budget: bound on the sum of weight times cost.

    Returns:
        The weights, shape (n,).
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
    rows, none_observed = normalised(design_rows, None)
    return a_criterion(information_matrix(rows, weights, none_observed))


def candidates_of(*, machines: int, scales: int) -> Candidates:
    """The full grid of 1..machines and as many scales from 1 % to 10 % of the input."""
    partitions = 100 * max(machines, scales)
    return enumerate_candidates(
        max_machines=machines, min_scale=0.01, max_scale=0.1, partitions=partitions, scale_steps=scales
    )


def measure(candidates: Candidates) -> Measurement:
    """Solve both formulations of the paper's problem, at a budget of eight runs of mean cost."""
    rows = basis(ERNEST, machines=candidates.machines, scale=candidates.scale)
    costs = relative_time(candidates)
    budget = RUNS * float(costs.mean())
    original_seconds = original_objective = None
    if len(candidates) <= ORIGINAL_UP_TO:
        weights, original_seconds = _timed(lambda: original_weights(rows, costs, budget=budget))
        original_objective = objective_of(rows, weights)
    weights, seconds = _timed(
        lambda: optimal_weights(classic_problem(rows, costs), plain_bounds(costs, budget=budget))
    )
    return Measurement(
        candidates=len(candidates),
        original_seconds=original_seconds,
        seconds=seconds,
        original_objective=original_objective,
        objective=objective_of(rows, weights),
    )


def whole_designs(candidates: Candidates) -> Iterator[tuple[str, float, Design]]:
    """Each criterion, the CPU seconds to its design, relaxed problem and rounding, and the design."""
    most = int(candidates.machines.max())
    targets = Targets(machines=(most, 2 * most, 4 * most))
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
        yield criterion, seconds, design


def report(*, quick: bool) -> Iterator[str]:
    """The lines of both tables."""
    grids = [
        candidates_of(machines=machines, scales=scales)
        for machines, scales in (SIZES[:QUICK_SIZES] if quick else SIZES)
    ]
    measure(candidates_of(machines=4, scales=5))  # warm-up: imports, caches, the solver's library
    yield "CPU seconds to solve the relaxed A-optimal design; objectives are traces of inverse information"
    yield (
        f"{'candidates':>10}  {'original':>10}  {'ours':>7}  {'ratio':>6}  {'original obj':>12}  "
        f"{'our obj':>12}  {'difference':>10}"
    )
    for candidates in grids:
        yield _line(measure(candidates))
    yield (
        f"The original formulation is skipped above {ORIGINAL_UP_TO:,} candidates. Efficiencies below are of "
        f"{RUNS} whole runs against the relaxed optimum that they could not pass."
    )
    yield ""
    yield "CPU seconds to a design of whole runs, and its efficiency"
    yield f"{'candidates':>10}" + "".join(f"  {criterion:>15}" for criterion in CRITERIA)
    for candidates in grids:
        yield f"{len(candidates):10,d}" + "".join(
            f"  {seconds:8.2f} {design.efficiency:6.1%}" for _, seconds, design in whole_designs(candidates)
        )


def _line(measurement: Measurement) -> str:
    original = measurement.original_seconds
    objective = measurement.original_objective
    if original is None or objective is None:
        compared = f"{'skipped':>10}  {measurement.seconds:7.3f}  {'-':>6}  {'-':>12}"
        difference = f"{'-':>10}"
    else:
        ratio = original / measurement.seconds
        compared = f"{original:10.2f}  {measurement.seconds:7.3f}  {ratio:5.0f}x  {objective:12.6f}"
        difference = f"{abs(measurement.objective / objective - 1):10.1e}"
    return f"{measurement.candidates:10,d}  {compared}  {measurement.objective:12.6f}  {difference}"


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result, and the median CPU seconds of some repetitions."""
    seconds = []
    for _ in range(REPETITIONS):
        before = time.process_time()
        result = work()
        seconds.append(time.process_time() - before)
    return result, median(seconds)
