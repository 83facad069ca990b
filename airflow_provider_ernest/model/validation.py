"""Leave-one-out cross-validation: how well are runs predicted that the fit has not seen?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from airflow_provider_ernest.exceptions import TooFewObservationsError
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.identifiability import undetermined_terms
from airflow_provider_ernest.model.predictors import Predictor, observed_columns
from airflow_provider_ernest.model.regimes.parallelism import effective_machines
from airflow_provider_ernest.model.results import Fold, Validation
from airflow_provider_ernest.model.terms import basis, check_terms


def leave_one_out(
    new_predictor: Callable[[], Predictor],
    observations: Sequence[Observation],
    *,
    apart: Sequence[Observation] = (),
) -> Validation:
    """Predict each observation from those of other configurations (Ernest, section 3.3).

    Repetitions of a run are left out together: otherwise they would predict each other.

    Where the others alone do not determine the terms, the fold is still predicted, from one of the
    fits that are then possible. Its error tells of the missing run more than of the model and is
    as a rule too large, so that no model looks better for having too few runs;
    `undetermined_folds` names these folds. With as many observations as terms all folds are so.

    Args:
        new_predictor: gives a predictor that has seen no runs yet.
        observations: runs of at least two configurations.
        apart: those that the others are not predicted from, since they contradict all others.

    Raises:
        TooFewObservationsError: there are fewer than two configurations.
    """
    splits = list(_splits(observations))
    if len(splits) < 2:
        raise TooFewObservationsError(
            f"Observations of {len(splits)} configurations cannot be cross-validated.",
            remedy="Observe runs of at least two configurations.",
        )
    folds = tuple(
        fold
        for left_out, rest in splits
        for fold in _folds(new_predictor(), left_out, [run for run in rest if run not in apart], observations)
    )
    errors_percent = np.array([abs(fold.error_percent) for fold in folds])
    residuals = np.array([fold.predicted_seconds - fold.seconds for fold in folds])
    return Validation(
        folds=tuple(sorted(folds, key=lambda fold: fold.index)),
        residual_sum_of_squares=float(residuals @ residuals),
        median_error_percent=float(np.median(errors_percent)),
        max_error_percent=float(errors_percent.max()),
    )


def undetermined_folds(terms: Sequence[str], observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """The observations without whose configuration the others do not determine the terms."""
    terms = check_terms(terms)
    return tuple(
        run
        for left_out, rest in _splits(observations)
        if undetermined_terms(
            basis(terms, machines=[other.machines for other in rest], scale=[other.scale for other in rest]),
            terms,
        )
        for run in left_out
    )


def _splits(observations: Sequence[Observation]) -> Iterator[tuple[list[Observation], list[Observation]]]:
    """For each configuration its observations, and all others."""
    for configuration in dict.fromkeys((run.machines, run.scale) for run in observations):
        inside = [run for run in observations if (run.machines, run.scale) == configuration]
        yield inside, [run for run in observations if (run.machines, run.scale) != configuration]


def _folds(
    predictor: Predictor,
    left_out: Sequence[Observation],
    rest: Sequence[Observation],
    observations: Sequence[Observation],
) -> Iterator[Fold]:
    fitted = predictor.fit_undetermined(**observed_columns(rest, told_by=observations))
    first = left_out[0]
    workers = effective_machines(observations, machines=first.machines, scale=first.scale)
    predicted = float(fitted.predict(machines=first.machines, scale=first.scale, workers=workers)[0])
    for run in left_out:
        yield Fold(
            index=run.index,
            machines=run.machines,
            scale=run.scale,
            seconds=run.seconds,
            predicted_seconds=predicted,
        )
