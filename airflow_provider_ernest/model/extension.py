"""More terms for a job that the given ones do not describe (Ernest, section 3.4).

The paper adds terms when the cross-validation error is high. That helps where the error is the model's
and not the runs': on noisy runs a further term describes noise, so it must lower the error of runs
that the fit has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.identifiability import undetermined_terms
from airflow_provider_ernest.model.parameters import positive_number
from airflow_provider_ernest.model.predictors import AVERAGING, RELATIVE, check_method, new_predictor
from airflow_provider_ernest.model.terms import ERNEST, basis, check_terms
from airflow_provider_ernest.model.validation import leave_one_out

EXTENSIONS: tuple[str, ...] = (
    "sqrt(machines)",
    "scale*log2(1e9*scale)/machines",
    "scale^2/machines",
    "scale",
    "scale/sqrt(machines)",
)
"""The paper's further terms, and two that public Spark traces show."""

SPARE_RUNS = 1
"""Runs that must be left when one is left out, beyond the number of terms."""


def extend_terms(
    observations: Sequence[Observation],
    *,
    terms: Sequence[str] = ERNEST,
    extensions: Sequence[str] = EXTENSIONS,
    above_percent: float = 10.0,
    method: str = RELATIVE,
) -> tuple[str, ...]:
    """The terms, with those extensions that bring the leave-one-out error below a threshold.

    One term after the other is added, each time the one that lowers the median leave-one-out error
    most, until the error is at most `above_percent`, none lowers it, or the runs determine no more.

    Args:
        observations: runs of the job.
        terms: names of the terms to begin with.
        extensions: names or formulas of the terms that may be added.
        above_percent: the error above which terms are added.
        method: "relative" or "classic"; "averaging" weighs all its terms by itself.

    Returns:
        The given terms, followed by the added ones.

    Raises:
        InvalidParameterError: a term or the method cannot be.
        TooFewObservationsError: there are fewer than two configurations.
    """
    if check_method(method) == AVERAGING:
        raise InvalidParameterError(
            "method",
            method,
            "weighs all its terms by itself",
            remedy="Name the extensions among its terms.",
        )
    threshold = positive_number("above_percent", above_percent)
    chosen = check_terms(terms)
    left = [term for term in check_terms(extensions) if term not in chosen] if extensions else []
    error = _error(observations, chosen, method)
    while error > threshold:
        possible = [term for term in left if _determined(observations, (*chosen, term))]
        errors = {term: _error(observations, (*chosen, term), method) for term in possible}
        best = min(errors, key=errors.__getitem__, default=None)
        if best is None or errors[best] >= error:
            break
        chosen, error = (*chosen, best), errors[best]
        left.remove(best)
    return chosen


def _error(observations: Sequence[Observation], terms: tuple[str, ...], method: str) -> float:
    """Median leave-one-out error in per cent."""
    return leave_one_out(lambda: new_predictor(method, terms=terms), observations).median_error_percent


def _determined(observations: Sequence[Observation], terms: tuple[str, ...]) -> bool:
    """Whether the terms stay determined when any one run is left out."""
    if len(observations) < len(terms) + 1 + SPARE_RUNS:
        return False
    rows = basis(
        terms, machines=[run.machines for run in observations], scale=[run.scale for run in observations]
    )
    return not undetermined_terms(rows, terms)
