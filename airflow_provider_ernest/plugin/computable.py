"""What an API server can compute of a model, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_ernest.exceptions import ErnestError, FitError, InvalidParameterError
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.plugin.prediction_request import MOST_COMPUTED

MOST_CONFIGURATIONS = 100
"""Averaging weighs about a hundred hypotheses by a matrix of all distinct configurations each. At 100 of
them a fit with its prediction was measured to take 0.4 s and 0.03 GB on one core, at 200 half a second and
0.1 GB, and memory grows by the square. One request may fit `MOST_TYPES` other models besides, and an API
server answers dozens of requests at once."""

MOST_NUMBERS = 200_000
"""In the matrix of the terms of runs or answers, whatever the method: its copies take some 0.02 GB then."""


@contextmanager
def computing(model: Model) -> Iterator[None]:
    """Do what a prediction needs, with errors that a reader can make something of.

    Raises:
        FitError: the model has nothing to predict from, or too much for a page, or the computation fails.
    """
    try:
        _refuse_what_cannot_be(model)
        yield
    except ErnestError:
        raise
    except (ArithmeticError, ValueError, LookupError) as error:
        raise cannot_predict(model, f"the computation failed ({error})") from error


def _refuse_what_cannot_be(model: Model) -> None:
    from airflow_provider_ernest.model.predictors import AVERAGING, check_method
    from airflow_provider_ernest.model.terms import check_terms

    if not model.observations:
        raise cannot_predict(model, "it has no observations", remedy="Train it again.")
    rows, terms = max(len(model.observations), MOST_COMPUTED), len(model.terms)
    if rows * terms > MOST_NUMBERS:
        raise cannot_predict(
            model,
            f"it has {len(model.observations):,} runs and {terms:,} terms, more than a page can wait for",
            remedy="Ask it on the command line, with ernest choose.",
        )
    try:
        check_method(model.method)
        check_terms([term.name for term in model.terms])
    except InvalidParameterError as error:
        raise cannot_predict(
            model,
            f"this version of the package cannot compute it ({error.message.rstrip('.')})",
            remedy="Upgrade airflow-provider-ernest where the API server runs, or train the model again.",
        ) from error
    configurations = len({(run.machines, run.scale) for run in model.observations})
    if model.method == AVERAGING and configurations > MOST_CONFIGURATIONS:
        raise cannot_predict(
            model,
            f"its runs have {configurations:,} configurations, and a page can wait for {MOST_CONFIGURATIONS}",
            remedy="Ask it on the command line, with ernest choose.",
        )


def cannot_predict(
    model: Model,
    why: str,
    *,
    remedy: str = "Ask for a scale and machines nearer to its runs, or train it again.",
) -> FitError:
    """The error that says so of the model."""
    return FitError(
        f"Model {model.model_id} of {model.job!r} on {model.instance_type} cannot predict here: {why}.",
        remedy=remedy,
    )
