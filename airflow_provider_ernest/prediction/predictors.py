"""The methods of prediction by name, behind one interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, Unpack

import numpy as np

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.regimes import again_seconds, effective_machines
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST, ObservedColumns, RunColumns, quoted
from airflow_provider_ernest.settings.bounds import AVERAGING, METHODS, RELATIVE


class Predictor(Protocol):
    """What all methods can do; `terms.Runs` describes the runs that are asked about."""

    coefficients_: FloatArray

    def fit(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Learn from runs; refuses what does not determine the model."""

    def fit_undetermined(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Learn from whatever runs there are."""

    def predict(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Seconds, shape (n,)."""

    def interval(self, *, level: float, **runs: Unpack[RunColumns]) -> tuple[FloatArray, FloatArray]:
        """What a single run lies between with probability `level`, seconds of shape (n,) each."""

    def probability_within(self, *, limits: FloatArray, **runs: Unpack[RunColumns]) -> FloatArray:
        """The probability that a single run takes no longer than `limits` (seconds above 0), shape (n,)."""

    def contributions(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Seconds that each term explains, shape (n, p); they add up to the prediction."""


def observed_columns(
    runs: Sequence[Observation], *, told_by: Sequence[Observation] | None = None
) -> ObservedColumns:
    """Runs as columns, each with the machines that its tasks could keep busy.

    Their seconds are without those of making again what caches could not hold (`regimes.again_seconds`):
    to a prediction those of its own configuration are added.

    Args:
        runs: what a predictor is to be fitted to.
        told_by: the observations whose metrics tell the tasks; by default the runs themselves.
    """
    machines, scale = [run.machines for run in runs], [run.scale for run in runs]
    return ObservedColumns(
        machines=machines,
        scale=scale,
        row_width=[run.row_width for run in runs],
        seconds=np.array([run.seconds for run in runs]) - again_seconds(runs, told_by=told_by),
        workers=effective_machines(told_by or runs, machines=machines, scale=scale),
    )


def check_method(method: str) -> str:
    """The name; refused with an InvalidParameterError if it is not one of `METHODS`."""
    if method not in METHODS:
        raise InvalidParameterError("method", method, "is unknown", remedy=f"Use one of {quoted(METHODS)}.")
    return method


def default_terms(method: str) -> tuple[str, ...]:
    """The terms that a method takes unless told otherwise."""
    return DICTIONARY if check_method(method) == AVERAGING else ERNEST


def new_predictor(
    method: str, *, terms: Sequence[str] | None = None, prior: AveragingPrior | None = None
) -> Predictor:
    """A predictor that has seen no runs yet; `prior` is for "averaging" alone."""
    check_method(method)
    chosen = default_terms(method) if terms is None else tuple(terms)
    if method == AVERAGING:
        return TermAveraging(terms=chosen, prior=prior)
    return ErnestRegression(terms=chosen, weighting="relative" if method == RELATIVE else "absolute")
