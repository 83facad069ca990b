"""An experiment design as a problem of numbers: rows, costs, what is known, and what is minimised.

The rows are the candidates' term values, each divided by the run's expected seconds where errors are
relative, and each column by its mean, so that a coefficient of 1 means that the term takes all of a
typical run's time. In these units prior belief has one strength for all terms.

The criteria, of which less is better, are functions of the information matrix M, the sum of ``a a^T`` over
the runs' term values a, whose inverse is, up to the noise, the covariance of the estimated coefficients (Boyd
and Vandenberghe, Convex Optimization, section 7.5; Atkinson, Donev and Tobias, Optimum Experimental Designs,
chapter 10):

* A: ``trace(M^-1)``, the sum of the variances of the coefficients: the paper's (Ernest, section 3.2).
* D: ``det(M)^(-1/p)``, the geometric mean of the variances along the p axes of their joint error.
* I: ``mean over targets of t^T M^-1 t``, the mean variance of the predictions that are asked for.

The Bayesian forms add to M what is believed of the coefficients beforehand (Chaloner and Verdinelli,
Bayesian experimental design: a review, 1995). M is then regular whatever the runs, so that there may be
more terms than runs: some terms are likely absent, and the runs only need to tell which ones matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import multiply
from cvxpy.atoms.affine.bmat import bmat
from cvxpy.atoms.affine.diag import diag
from cvxpy.atoms.geo_mean import geo_mean
from cvxpy.atoms.matrix_frac import matrix_frac
from numpy.typing import NDArray

from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import DesignError, InvalidParameterError
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    IntArray,
    executors_and_scale,
    positive_number,
    rounded_up,
    whole_number,
)
from airflow_provider_ernest.prediction.regression import runs_to_add, undetermined_terms
from airflow_provider_ernest.prediction.terms import Column, basis, quoted
from airflow_provider_ernest.settings.bounds import BAYESIAN

SINGULAR = 1e-12
"""A matrix counts as singular where its smallest eigenvalue is below this share of the largest."""


def normalised(rows: FloatArray, observed_rows: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Both sets of rows divided by the candidates' column means, as the original implementation does.

    That makes the variances of all coefficients count alike, whatever the unit of their terms.
    """
    means = rows.mean(axis=0)
    means = np.where(means > 0, means, 1.0)
    observed = np.empty((0, rows.shape[1])) if observed_rows is None else observed_rows
    return rows / means, observed / means


REGULAR = 1e-9
"""An exchange whose information has less than this share of the old determinant counts as singular."""


def is_bayesian(name: str) -> bool:
    """Whether the criterion of that name counts prior belief as information."""
    return name.startswith(BAYESIAN)


def asks_for_targets(name: str) -> bool:
    """Whether the criterion of that name is about predictions, and so needs to know which."""
    return name.removeprefix(BAYESIAN) == "I"


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A function of the information matrix that a design minimises.

    For A and I ``trace(L^T M^-1 L)``, with the loadings L of shape (p, r): the identity for A; for I ``L
    L^T`` is the mean of ``t t^T`` over the targets' rows.
    """

    loadings: FloatArray | None  # None for D

    @classmethod
    def named(cls, name: str, *, terms: int, target_rows: FloatArray | None = None) -> Criterion:
        """The criterion of that name; the Bayesian forms differ in the matrix, not in the function.

        I needs the term values of the predictions that are asked for, `target_rows` of shape (t, p); an
        InvalidParameterError says so.
        """
        if asks_for_targets(name):
            if target_rows is None:
                raise InvalidParameterError(
                    "targets",
                    None,
                    f'is missing, and criterion="{name}" needs it',
                    remedy="Name the configurations that predictions will be asked for, or use D.",
                )
            # L of the least width with L L^T the mean: the solver's problem grows with the width.
            eigenvalues, directions = np.linalg.eigh(target_rows.T @ target_rows / len(target_rows))
            counts = eigenvalues > SINGULAR * eigenvalues[-1]
            return cls(loadings=directions[:, counts] * np.sqrt(eigenvalues[counts]))
        return cls(loadings=None if name.endswith("D") else np.eye(terms))

    def value(self, information: FloatArray) -> float:
        """The criterion of an information matrix; infinite where the matrix is singular."""
        eigenvalues, directions = np.linalg.eigh(information)
        if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
            return float("inf")
        if self.loadings is None:
            return float(np.exp(-np.mean(np.log(eigenvalues))))
        return float(np.sum((directions.T @ self.loadings) ** 2 / eigenvalues[:, None]))

    def relaxed(
        self, information: cp.Expression, to_whitened: FloatArray
    ) -> tuple[cp.Expression, list[cp.Constraint]]:
        """What cvxpy minimises (A, I, or for D ``-det(M)^(1/p)``), and the constraints that belong to it.

        The information matrix is affine and in whitened coordinates: with T = `to_whitened`, (p, p),
        ``whitened rows = rows @ T``, and so ``M^-1 = T (whitened M)^-1 T^T``.
        """
        if self.loadings is not None:
            return matrix_frac(to_whitened.T @ self.loadings, information), []
        # By the diagonal of a Cholesky factor. cvxpy's log_det says the same with exponential cones, with
        # which the solver stalls at thousands of candidates; a geometric mean takes cones of second order.
        terms = information.shape[0]
        factor = cp.Variable((terms, terms))
        diagonal = diag(factor)
        enclosing = bmat([[information, factor], [factor.T, diag(diagonal)]])  # type: ignore[no-untyped-call]
        above = multiply(factor, np.triu(np.ones((terms, terms)), 1))
        return -geo_mean(diagonal), [enclosing >> 0, above == 0]

    def gains_of_swapping(self, inverse: FloatArray, entering: FloatArray, leaving: FloatArray) -> FloatArray:
        """By how much each entering row instead of each leaving one betters the criterion, shape (e, l).

        With U = [a, b], a entering and b leaving, and ``S = diag(1, -1) + U^T inverse U``: the determinant
        grows by the factor ``-det S``; by Woodbury's identity ``trace(L^T M^-1 L)`` falls by the trace of
        ``S^-1 U^T inverse L L^T inverse U``. Both are written out here for all pairs.

        The inverse of the information matrix is (p, p), the rows are (e, p) and (l, p); zeros leave nothing.
        The result is above 0 where the exchange helps and 0 where the matrix would become singular: for A
        and I the decrease, for D the growth of the determinant less 1.
        """
        projected_in, projected_out = entering @ inverse, leaving @ inverse
        gained = 1 + np.sum(projected_in * entering, axis=1)[:, None]
        kept = 1 - np.sum(projected_out * leaving, axis=1)
        cross = projected_in @ leaving.T
        determinant = gained * kept + cross**2
        regular = determinant > REGULAR
        if self.loadings is None:
            return np.where(regular, determinant - 1.0, 0.0)
        loaded_in, loaded_out = projected_in @ self.loadings, projected_out @ self.loadings
        numerator = (
            kept * np.sum(loaded_in**2, axis=1)[:, None]
            + 2 * cross * (loaded_in @ loaded_out.T)
            - gained * np.sum(loaded_out**2, axis=1)
        )
        return np.where(regular, numerator / np.where(regular, determinant, 1.0), 0.0)


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Configurations of the production run among which one will be chosen: the purpose of the sample runs.

    Numbers of executors, and as many shares of the target input or one for all; 1.0 is today's production
    input.

    Example:
        >>> Targets(executors=range(8, 65, 8)).columns()[0].tolist()
        [8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 64.0]
    """

    executors: Sequence[int]
    scale: Sequence[float] | float = 1.0

    def __post_init__(self) -> None:
        self.columns()

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Executors and scale as arrays of one length, shape (t,) each."""
        return executors_and_scale(executors=list(self.executors), scale=self.scale)


PRIOR_PRECISION = 0.01
"""(sigma/tau)^2: noise of 10 % of a run's time over coefficients that may take all of that time."""

CORE_TERMS = ("1", "executors", "scale", "log(executors)")
"""What every design must tell apart, whatever it believes: three numbers of executors and two scales.

From two numbers of executors all between and beyond them would be a matter of belief.
"""


INDEPENDENT = 1e-5
"""A row counts as independent of others where this share of it is not a combination of theirs."""


@dataclass(frozen=True, kw_only=True)
class DesignProblem:
    """What to choose runs from, and by what."""

    rows: FloatArray  # the candidates' term values, (n, p), columns of similar size
    # rows whose information is there at no cost, (m, p): of the runs already made, and for Bayesian criteria
    # one of each term, for what is believed of it
    known_rows: FloatArray
    costs: FloatArray  # of the candidates, (n,)
    criterion: Criterion
    # the candidates' values of the terms that the runs must determine whatever the criterion says, (n, q)
    required_rows: FloatArray
    required_known_rows: FloatArray  # those of the runs already made, (k, q)

    def required(self, counts: IntArray) -> FloatArray:
        """Rows of the required terms: of candidates with a count above 0, and of the runs already made."""
        return np.vstack([self.required_known_rows, self.required_rows[counts > 0]])

    def information(self, counts: FloatArray | IntArray) -> FloatArray:
        """The information matrix with each candidate run so often, shape (p, p)."""
        known = self.known_rows.T @ self.known_rows
        return np.asarray((self.rows.T * counts) @ self.rows + known, dtype=np.float64)

    def value(self, counts: FloatArray | IntArray) -> float:
        """The criterion with each candidate run so often, or with such weights; less is better."""
        return self.criterion.value(self.information(counts))

    def of(self, chosen: IntArray) -> DesignProblem:
        """The same problem with fewer candidates."""
        return replace(
            self, rows=self.rows[chosen], costs=self.costs[chosen], required_rows=self.required_rows[chosen]
        )

    def cheapest(self, *, runs: int, independent: float) -> IntArray | None:
        """The cheapest so many runs that determine the required terms: 1 for each that is made, (n,).

        The sets of runs that determine all terms form a matroid, so picking greedily by cost is exact. None
        where so many cannot; `independent` is the share of a row that is no combination of those before.
        """
        by_cost = np.argsort(self.costs, kind="stable")
        rows, lengths = self.required_rows, np.linalg.norm(self.required_rows, axis=1)
        remainder = _without(rows, _directions(self.required_known_rows))
        counts = np.zeros(len(rows), dtype=np.int64)
        missing = missing_directions(self.required_known_rows)
        if missing > runs or runs > len(rows):
            return None
        for _ in range(missing):
            lengths_left = np.linalg.norm(remainder, axis=1)
            possible = by_cost[(lengths_left > independent * lengths)[by_cost]]
            if not possible.size:
                return None
            first = int(possible[0])
            counts[first] = 1
            remainder = _without(remainder, remainder[first : first + 1] / lengths_left[first])
        others = by_cost[counts[by_cost] == 0]
        counts[others[: runs - missing]] = 1
        return counts


def design_problem(
    *,
    candidates: Candidates,
    costs: FloatArray,
    terms: Sequence[str],
    criterion: str,
    observed: Sequence[Observation] = (),
    targets: Targets | None = None,
    expected_seconds: Column | None = None,
) -> DesignProblem:
    """The problem that candidates, terms and purpose make up; arguments and errors as of `plan.plan_design`.

    Rows are divided by the expected seconds; None where errors count in seconds.
    """
    made = np.array([run.executors for run in observed]), np.array([run.scale for run in observed])

    def rows_of(executors: FloatArray | IntArray, scale: FloatArray) -> FloatArray:
        rows = basis(terms, executors=executors, scale=scale)
        if expected_seconds is None:
            return rows
        return rows / expected_seconds(executors=executors.astype(np.float64), scale=scale)[:, None]

    design_rows = rows_of(candidates.executors, candidates.scale)
    rows, known_rows = normalised(design_rows, rows_of(*made))
    target_rows = None if targets is None else normalised(design_rows, rows_of(*targets.columns()))[1]
    required_terms = tuple(terms)
    if is_bayesian(criterion):
        # One row for each term: no term is believed to take more than all of a run's time, now or then. That
        # bounds a coefficient by the inverse of the term's normalised value: 1 for a typical candidate, and
        # what it is for a typical target if that is more. Without the latter, work that does not spread would
        # be believed to take many times the production run's time, and no other term would count.
        largest = np.ones(len(terms)) if target_rows is None else np.maximum(1.0, target_rows.mean(axis=0))
        known_rows = np.vstack([known_rows, np.sqrt(PRIOR_PRECISION) * np.diag(largest)])
        required_terms = _core_terms(candidates, observed, targets)
    else:
        _check_determined(terms, candidates, observed)
    required, required_known = normalised(
        basis(required_terms, executors=candidates.executors, scale=candidates.scale),
        basis(required_terms, executors=made[0], scale=made[1]),
    )
    return DesignProblem(
        rows=rows,
        known_rows=known_rows,
        costs=costs,
        criterion=Criterion.named(criterion, terms=len(terms), target_rows=target_rows),
        required_rows=required,
        required_known_rows=required_known,
    )


def _check_determined(terms: Sequence[str], candidates: Candidates, observed: Sequence[Observation]) -> None:
    """Refuse candidates that, even if all were run, would leave terms undetermined."""
    executors, scale = _all_runs(candidates, observed)
    undetermined = undetermined_terms(basis(terms, executors=executors, scale=scale), terms)
    if undetermined:
        raise DesignError(
            f"The candidates cannot tell the terms {quoted(undetermined)} apart.",
            remedy=f"Widen the bounds: {runs_to_add(undetermined, executors=executors, scale=scale)}",
        )


def _core_terms(
    candidates: Candidates, observed: Sequence[Observation], targets: Targets | None
) -> tuple[str, ...]:
    """Those of `CORE_TERMS` that the candidates can tell apart; the others must not matter."""
    require_varied(candidates, observed, targets)
    executors, scale = _all_runs(candidates, observed)
    core: tuple[str, ...] = ()
    for name in CORE_TERMS:
        rows = basis((*core, name), executors=executors, scale=scale)
        if not undetermined_terms(rows, (*core, name)):
            core = (*core, name)
    return core


def require_varied(candidates: Candidates, observed: Sequence[Observation], targets: Targets | None) -> None:
    """Refuse candidates and observed runs with one number of executors or scale, if others are asked for.

    A DesignError says so. What is not known (targets are None) may be any number of executors.
    """
    executors, scale = _all_runs(candidates, observed)
    wanted_executors, wanted_scale = (None, np.ones(1)) if targets is None else targets.columns()
    for what, values, wanted in (
        ("number of executors", executors, wanted_executors),
        ("scale", scale, wanted_scale),
    ):
        only = values[0]
        if np.any(values != only) or (wanted is not None and np.all(wanted == only)):
            continue
        asked = "any number" if wanted is None else ", ".join(f"{value:g}" for value in np.unique(wanted)[:8])
        raise DesignError(
            f"All candidates have one {what}, {only:g}, and predictions for {asked} are asked for: the runs "
            "would not tell how the time depends on it.",
            remedy=f"Widen the bounds, so that the {what} varies.",
        )


def _all_runs(candidates: Candidates, observed: Sequence[Observation]) -> tuple[FloatArray, FloatArray]:
    """Executors and scale of all candidates and of the runs already made."""
    executors = np.concatenate([candidates.executors, [run.executors for run in observed]])
    return executors.astype(np.float64), np.concatenate([candidates.scale, [run.scale for run in observed]])


def missing_directions(observed_rows: FloatArray) -> int:
    """How many independent runs the observed ones, of shape (m, p), lack for determining all p terms."""
    return int(observed_rows.shape[1] - len(_directions(observed_rows)))


def completing(rows: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which rows, of shape (n, p), each determine all p terms together with the others, of shape (m, p)."""
    directions = _directions(others)
    missing = others.shape[1] - len(directions)
    if missing == 0:
        return np.ones(len(rows), dtype=np.bool_)
    if missing > 1:
        return np.zeros(len(rows), dtype=np.bool_)
    remainder = np.linalg.norm(_without(rows, directions), axis=1)
    return np.asarray(remainder > INDEPENDENT * np.linalg.norm(rows, axis=1), dtype=np.bool_)


def _directions(rows: FloatArray) -> FloatArray:
    """Orthonormal directions that the rows span, one a row."""
    if not rows.size:
        return rows
    _, singular_values, directions = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(directions[singular_values > INDEPENDENT * singular_values[0]], dtype=np.float64)


def _without(rows: FloatArray, directions: FloatArray) -> FloatArray:
    """The part of each row that is orthogonal to the directions."""
    return np.asarray(rows - (rows @ directions.T) @ directions, dtype=np.float64)


MORE_RUNS_THAN_TERMS = 2
"""Leaving one run out must leave more than as many runs as terms: else nothing checks the fit.

The terms are those that the runs must determine: all of them, or for Bayesian criteria the four of
`CORE_TERMS`. So a design makes six runs at least; with five, errors in simulation were larger.
"""

SPARE_RUNS = 4  # runs beyond the number of terms that a design makes at most unless told otherwise
INDEPENDENCE = (INDEPENDENT, 1e-4, 1e-3, 1e-2)
"""How much runs must differ, one after the other, until their information matrix is regular in numbers."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a design must respect: the sum of its costs, and its number of runs."""

    budget: float
    min_runs: int
    max_runs: int

    @property
    def highest_cost(self) -> float:
        """The budget, up to the inexactness of sums."""
        return self.budget * (1 + 1e-9)


def resolve_limits(
    problem: DesignProblem, *, budget: float | None, unit: str, min_runs: int | None, max_runs: int | None
) -> Limits:
    """The user's limits with the defaults of `plan.plan_design` instead of None, if runs exist within them.

    With q terms that the runs must determine and m runs already made, `min_runs` is q + 2 - m by default, but
    at least what determines the terms and at most `max_runs`. The unit is for messages. If no runs respect
    them, a DesignError names the least budget that works.
    """
    costs = problem.costs
    needed = max(1, missing_directions(problem.required_known_rows))
    made, required = problem.required_known_rows.shape
    min_runs, max_runs = _run_numbers(
        min_runs,
        max_runs,
        needed=needed,
        possible=len(costs),
        usual_least=required + MORE_RUNS_THAN_TERMS - made,
        usual_most=required + SPARE_RUNS - made,
    )
    cheapest = cheapest_regular(problem, runs=min_runs)
    if cheapest is None:
        raise DesignError(
            f"No {min_runs} of the candidates determine all terms with certainty.",
            remedy="Widen the bounds of executors and scale, or name fewer terms.",
        )
    least = float(cheapest @ costs)
    if budget is None:
        budget = max(least, max_runs * float(costs.mean()))
    limits = Limits(budget=positive_number("budget", budget), min_runs=min_runs, max_runs=max_runs)
    if limits.highest_cost < least:
        raise DesignError(
            f"A budget of {budget:g} {unit} is not enough: the cheapest {min_runs} runs that determine the "
            f"terms cost {rounded_up(least)}, the cheapest single run {rounded_up(float(costs.min()))}.",
            remedy=f"Raise the budget to {rounded_up(least)} or more, or lower min_runs.",
        )
    return limits


def cheapest_regular(problem: DesignProblem, *, runs: int) -> IntArray | None:
    """The cheapest so many runs that determine the terms with certainty, or None where none do.

    The very cheapest may differ so little (one scale; 29, 30, 31 and 32 executors) that their
    information matrix is singular in numbers though not in theory: then runs that differ more.
    """
    for independent in INDEPENDENCE:
        counts = problem.cheapest(runs=runs, independent=independent)
        if counts is not None and np.isfinite(problem.value(counts)):
            return counts
    return None


def _run_numbers(
    min_runs: int | None,
    max_runs: int | None,
    *,
    needed: int,
    possible: int,
    usual_least: int,
    usual_most: int,
) -> tuple[int, int]:
    """The fewest and the most runs: what the user asks for, else the usual, in the bounds of what can be."""
    asked = 0 if min_runs is None else whole_number("min_runs", min_runs)
    if max_runs is None:
        max_runs = min(max(usual_most, needed, asked), possible)
    if whole_number("max_runs", max_runs) < needed:
        raise InvalidParameterError(
            "max_runs",
            max_runs,
            "is fewer than the runs that determine the terms",
            remedy=f"Allow at least {needed}, or name fewer terms.",
        )
    most = min(max_runs, possible)
    if asked > most:
        raise InvalidParameterError(
            "min_runs",
            asked,
            f"is more than the {most} runs that max_runs={max_runs} and {possible} candidates allow",
            remedy=f"Lower it to {most}, or raise max_runs, or widen the bounds.",
        )
    if min_runs is None:
        asked = min(usual_least, most)
    return max(asked, needed), max_runs
