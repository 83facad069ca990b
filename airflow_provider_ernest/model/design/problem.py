"""An experiment design as a problem of numbers: rows, costs, what is known, and what is minimised.

The rows are the candidates' term values, each divided by the run's expected seconds where errors are
relative, and each column by its mean, so that a coefficient of 1 means that the term takes all of a
typical run's time. In these units prior belief has one strength for all terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import DesignError
from airflow_provider_ernest.model.design.candidates import Candidates
from airflow_provider_ernest.model.design.criteria import Criterion, is_bayesian
from airflow_provider_ernest.model.design.expectations import ExpectedSecondsOfRuns
from airflow_provider_ernest.model.design.information import information_matrix, normalised
from airflow_provider_ernest.model.design.targets import Targets
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.identifiability import runs_to_add, undetermined_terms
from airflow_provider_ernest.model.parameters import FloatArray, IntArray
from airflow_provider_ernest.model.terms import basis, quoted

PRIOR_PRECISION = 0.01
"""(sigma/tau)^2: noise of 10 % of a run's time over coefficients that may take all of that time."""

CORE_TERMS = ("1", "machines", "scale", "log(machines)")
"""What every design must tell apart, whatever it believes: three numbers of machines and two scales.

From two numbers of machines all between and beyond them would be a matter of belief.
"""


@dataclass(frozen=True, kw_only=True)
class DesignProblem:
    """What to choose runs from, and by what.

    Attributes:
        rows: the candidates' term values, shape (n, p), columns of similar size.
        known_rows: rows whose information is there at no cost, shape (m, p): of the runs already made, and
            for Bayesian criteria one of each term, for what is believed of it.
        costs: the candidates' costs, shape (n,).
        criterion: what is minimised.
        required_rows: the candidates' values of the terms that the runs must determine whatever the
            criterion says, shape (n, q).
        required_known_rows: those of the runs already made, shape (k, q).
    """

    rows: FloatArray
    known_rows: FloatArray
    costs: FloatArray
    criterion: Criterion
    required_rows: FloatArray
    required_known_rows: FloatArray

    def information(self, counts: FloatArray | IntArray) -> FloatArray:
        """The information matrix with each candidate run so often, shape (p, p)."""
        return information_matrix(self.rows, counts, self.known_rows)

    def value(self, counts: FloatArray | IntArray) -> float:
        """The criterion with each candidate run so often, or with such weights; less is better."""
        return self.criterion.value(self.information(counts))

    def of(self, chosen: IntArray) -> DesignProblem:
        """The same problem with fewer candidates."""
        return replace(
            self,
            rows=self.rows[chosen],
            costs=self.costs[chosen],
            required_rows=self.required_rows[chosen],
        )


def classic_problem(
    design_rows: FloatArray,
    costs: FloatArray,
    *,
    observed_rows: FloatArray | None = None,
    criterion: str = "A",
) -> DesignProblem:
    """The problem of the paper: the terms themselves must be determined, and errors count in seconds.

    Args:
        design_rows: the candidates' term values, shape (n, p).
        costs: their costs, shape (n,).
        observed_rows: term values of the runs already made, shape (m, p).
        criterion: "A" or "D".
    """
    rows, observed = normalised(design_rows, observed_rows)
    return DesignProblem(
        rows=rows,
        known_rows=observed,
        costs=costs,
        criterion=Criterion.named(criterion, terms=rows.shape[1]),
        required_rows=rows,
        required_known_rows=observed,
    )


def design_problem(
    *,
    candidates: Candidates,
    costs: FloatArray,
    terms: Sequence[str],
    criterion: str,
    observed: Sequence[Observation] = (),
    targets: Targets | None = None,
    expected_seconds: ExpectedSecondsOfRuns | None = None,
    prior_precision: float = PRIOR_PRECISION,
) -> DesignProblem:
    """The problem that candidates, terms and purpose make up.

    Args:
        candidates: the runs to choose from.
        costs: their costs, shape (n,).
        terms: names of the p terms.
        criterion: one of `criteria.CRITERIA`.
        observed: runs already made.
        targets: configurations that predictions will be asked for; I needs them.
        expected_seconds: what runs are expected to take: their rows are divided by it. None where errors
            count in seconds.
        prior_precision: of each coefficient, for Bayesian criteria.

    Raises:
        DesignError: even all candidates together cannot tell what must be told.
        InvalidParameterError: the criterion needs targets and there are none.
    """
    made_machines, made_scale = [run.machines for run in observed], [run.scale for run in observed]

    def rows_of(machines: ArrayLike, scale: ArrayLike) -> FloatArray:
        return _relative_rows(terms, machines, scale, expected_seconds)

    design_rows = rows_of(candidates.machines, candidates.scale)
    rows, observed_rows = normalised(design_rows, rows_of(made_machines, made_scale))
    target_rows = None if targets is None else normalised(design_rows, rows_of(*targets.columns()))[1]
    known_rows, required_terms = observed_rows, tuple(terms)
    if is_bayesian(criterion):
        known_rows = np.vstack([observed_rows, _prior_rows(prior_precision, len(terms), target_rows)])
        required_terms = _core_terms(candidates, observed, targets)
    else:
        _check_determined(terms, candidates, observed)
    required, required_known = normalised(
        basis(required_terms, machines=candidates.machines, scale=candidates.scale),
        _relative_rows(required_terms, made_machines, made_scale, None),
    )
    return DesignProblem(
        rows=rows,
        known_rows=known_rows,
        costs=costs,
        criterion=Criterion.named(criterion, terms=len(terms), target_rows=target_rows),
        required_rows=required,
        required_known_rows=required_known,
    )


def _prior_rows(precision: float, terms: int, target_rows: FloatArray | None) -> FloatArray:
    """One row for each term: no term is believed to take more than all of a run's time, now or then.

    That bounds a coefficient by the inverse of the term's normalised value: 1 for a typical candidate, and
    what it is for a typical target if that is more. Without the latter, work that does not spread would be
    believed to take many times the time of the production run, and no other term would count.
    """
    largest = np.ones(terms) if target_rows is None else np.maximum(1.0, target_rows.mean(axis=0))
    return np.asarray(np.sqrt(precision) * np.diag(largest), dtype=np.float64)


def _relative_rows(
    terms: Sequence[str],
    machines: ArrayLike,
    scale: ArrayLike,
    expected_seconds: ExpectedSecondsOfRuns | None,
) -> FloatArray:
    machine_column, scale_column = (np.asarray(column, dtype=np.float64) for column in (machines, scale))
    if not machine_column.size:
        return np.empty((0, len(terms)))
    rows = basis(terms, machines=machine_column, scale=scale_column)
    if expected_seconds is None:
        return rows
    return rows / expected_seconds(machines=machine_column, scale=scale_column)[:, None]


def _check_determined(terms: Sequence[str], candidates: Candidates, observed: Sequence[Observation]) -> None:
    """Refuse candidates that, even if all were run, would leave terms undetermined."""
    machines, scale = _all_runs(candidates, observed)
    undetermined = undetermined_terms(basis(terms, machines=machines, scale=scale), terms)
    if undetermined:
        raise DesignError(
            f"The candidates cannot tell the terms {quoted(undetermined)} apart.",
            remedy=f"Widen the bounds: {runs_to_add(undetermined, machines=machines, scale=scale)}",
        )


def _core_terms(
    candidates: Candidates, observed: Sequence[Observation], targets: Targets | None
) -> tuple[str, ...]:
    """Those of `CORE_TERMS` that the candidates can tell apart; the others must not matter.

    One number of machines, or one scale, is enough only if nothing else is asked for: prior belief
    alone would tell the rest.
    """
    machines, scale = _all_runs(candidates, observed)
    wanted_machines, wanted_scale = (machines, np.ones(1)) if targets is None else targets.columns()
    _check_varied("number of machines", machines, wanted_machines if targets is not None else None)
    _check_varied("scale", scale, wanted_scale)
    core: tuple[str, ...] = ()
    for name in CORE_TERMS:
        rows = basis((*core, name), machines=machines, scale=scale)
        if not undetermined_terms(rows, (*core, name)):
            core = (*core, name)
    return core


def _check_varied(what: str, values: FloatArray, wanted: FloatArray | None) -> None:
    """Refuse candidates that are all of one value unless just that is asked for; None: it is not known."""
    only = values[0]
    if np.any(values != only) or (wanted is not None and np.all(wanted == only)):
        return
    asked = "any number" if wanted is None else ", ".join(f"{value:g}" for value in np.unique(wanted)[:8])
    raise DesignError(
        f"All candidates have one {what}, {only:g}, and predictions for {asked} are asked for: the runs "
        "would not tell how the time depends on it.",
        remedy=f"Widen the bounds, so that the {what} varies.",
    )


def _all_runs(candidates: Candidates, observed: Sequence[Observation]) -> tuple[FloatArray, FloatArray]:
    """Machines and scale of all candidates and of the runs already made."""
    machines = np.concatenate([candidates.machines, [run.machines for run in observed]])
    return machines.astype(np.float64), np.concatenate([candidates.scale, [run.scale for run in observed]])
