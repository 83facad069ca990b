"""Leave-one-out cross-validation: how well are runs predicted that the fit has not seen?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from airflow_provider_ernest.exceptions import TooFewObservationsError
from airflow_provider_ernest.model.documents import Fold, Observation, Validation
from airflow_provider_ernest.model.identifiability import undetermined_terms
from airflow_provider_ernest.model.regression import ErnestRegression
from airflow_provider_ernest.model.terms import basis, check_terms


def leave_one_out(regression: ErnestRegression, observations: Sequence[Observation]) -> Validation:
    """Predict each observation from all the others (Ernest, section 3.3).

    Where the others alone do not determine the terms, the fold is still predicted, from one of the
    fits that are then possible. Its error tells of the missing run more than of the model and is
    as a rule too large, so that no model looks better for having too few runs;
    `undetermined_folds` names these folds. With as many observations as terms all folds are so.

    Args:
        regression: its terms and weighting are used; it is not changed.
        observations: n >= 2 runs.

    Raises:
        TooFewObservationsError: there are fewer than two observations.
    """
    if len(observations) < 2:
        raise TooFewObservationsError(
            f"{len(observations)} observations cannot be cross-validated.",
            remedy="Observe at least two runs.",
        )
    folds = tuple(_fold(regression, left_out, rest) for left_out, rest in _splits(observations))
    errors_percent = np.array([abs(fold.error_percent) for fold in folds])
    residuals = np.array([fold.predicted_seconds - fold.seconds for fold in folds])
    return Validation(
        folds=folds,
        residual_sum_of_squares=float(residuals @ residuals),
        median_error_percent=float(np.median(errors_percent)),
        max_error_percent=float(errors_percent.max()),
    )


def undetermined_folds(terms: Sequence[str], observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """The observations without which the others do not determine the terms."""
    terms = check_terms(terms)
    return tuple(
        left_out
        for left_out, rest in _splits(observations)
        if undetermined_terms(
            basis(terms, machines=[run.machines for run in rest], scale=[run.scale for run in rest]), terms
        )
    )


def _splits(observations: Sequence[Observation]) -> Iterator[tuple[Observation, list[Observation]]]:
    for position, left_out in enumerate(observations):
        yield left_out, [*observations[:position], *observations[position + 1 :]]


def _fold(regression: ErnestRegression, left_out: Observation, rest: Sequence[Observation]) -> Fold:
    fitted = ErnestRegression(terms=regression.terms, weighting=regression.weighting).fit_undetermined(
        machines=[run.machines for run in rest],
        scale=[run.scale for run in rest],
        seconds=[run.seconds for run in rest],
    )
    return Fold(
        index=left_out.index,
        machines=left_out.machines,
        scale=left_out.scale,
        seconds=left_out.seconds,
        predicted_seconds=float(fitted.predict(machines=left_out.machines, scale=left_out.scale)[0]),
    )
