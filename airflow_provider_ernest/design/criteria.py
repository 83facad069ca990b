"""What makes one design better than another: the criteria A, D and I, and their Bayesian forms.

All are functions of the information matrix M, the sum of ``a a^T`` over the runs' term values a, whose
inverse is, up to the noise, the covariance of the estimated coefficients (Boyd and Vandenberghe, Convex
Optimization, section 7.5; Atkinson, Donev and Tobias, Optimum Experimental Designs, chapter 10). Less is
better:

* A: ``trace(M^-1)``, the sum of the variances of the coefficients: the paper's (Ernest, section 3.2).
* D: ``det(M)^(-1/p)``, the geometric mean of the variances along the p axes of their joint error.
* I: ``mean over targets of t^T M^-1 t``, the mean variance of the predictions that are asked for.

The Bayesian forms add to M what is believed of the coefficients beforehand (Chaloner and Verdinelli,
Bayesian experimental design: a review, 1995). M is then regular whatever the runs, so that there may be
more terms than runs: some terms are likely absent, and the runs only need to tell which ones matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import multiply
from cvxpy.atoms.affine.bmat import bmat
from cvxpy.atoms.affine.diag import diag
from cvxpy.atoms.geo_mean import geo_mean
from cvxpy.atoms.matrix_frac import matrix_frac

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray, machines_and_scale
from airflow_provider_ernest.settings.bounds import BAYESIAN, CRITERIA

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


def information_matrix(
    rows: FloatArray, weights: FloatArray | IntArray, observed_rows: FloatArray
) -> FloatArray:
    """The sum of ``weight * a a^T`` over n candidates plus ``a a^T`` over the m runs already made, (p, p)."""
    return np.asarray((rows.T * weights) @ rows + observed_rows.T @ observed_rows, dtype=np.float64)


def a_criterion(information: FloatArray) -> float:
    """The trace of the inverse of an information matrix; infinite where it is singular."""
    eigenvalues = np.linalg.eigvalsh(information)
    if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        return float("inf")
    return float(np.sum(1.0 / eigenvalues))


REGULAR = 1e-9
"""An exchange whose information has less than this share of the old determinant counts as singular."""


def check_criterion(name: str) -> str:
    """The name; refused with an InvalidParameterError if it is not one of `CRITERIA`."""
    if name not in CRITERIA:
        names = ", ".join(f'"{known}"' for known in CRITERIA)
        raise InvalidParameterError(
            "criterion", name, "is not a known criterion", remedy=f"Use one of {names}."
        )
    return name


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

        I needs the term values of the predictions that are asked for, `target_rows` of shape (t, p).

        Raises:
            InvalidParameterError: the name is unknown, or I is asked for without targets.
        """
        check_criterion(name)
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

        Args:
            information: the information matrix in whitened coordinates, an affine expression.
            to_whitened: T, shape (p, p), where ``whitened rows = rows @ T``, and so
                ``M^-1 = T (whitened M)^-1 T^T``.
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

    Numbers of machines, and as many shares of the target input or one for all; 1.0 is today's production
    input.

    Example:
        >>> Targets(machines=range(8, 65, 8)).columns()[0].tolist()
        [8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 64.0]
    """

    machines: Sequence[int]
    scale: Sequence[float] | float = 1.0

    def __post_init__(self) -> None:
        self.columns()

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Machines and scale as arrays of one length, shape (t,) each."""
        return machines_and_scale(machines=list(self.machines), scale=self.scale)
