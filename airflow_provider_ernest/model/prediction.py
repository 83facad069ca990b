"""What a model says of a configuration: seconds, what they are spent on, and whether to trust it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import Model
from airflow_provider_ernest.model.parameters import (
    FloatArray,
    positive_number,
    whole_number,
)
from airflow_provider_ernest.model.terms import basis

FURTHEST_SCALE = 20.0
"""How many times the largest observed sample an input may be before a prediction is marked."""

FIXED_TERM = "1"
"""The term that does not iterate: an iterative job starts up and reads its input once."""


def predict_seconds(
    model: Model, *, machines: ArrayLike, scale: ArrayLike = 1.0, iterations: int | None = None
) -> FloatArray:
    """Seconds of a run from the moment that all machines are there, start-up excluded.

    An iterative job is trained with a few iterations. For more of them all terms but the fixed one
    are multiplied by the ratio.

    Args:
        model: the model.
        machines: n numbers of machines, or one.
        scale: n shares of the target input, or one.
        iterations: of the run that is predicted, for iterative jobs; by default those trained with.

    Returns:
        Array of shape (n,).

    Raises:
        InvalidParameterError: a value does not fit, or `iterations` is asked of a model that was
            trained without.
    """
    return np.asarray(_term_seconds(model, machines, scale, iterations).sum(axis=1), dtype=np.float64)


def contributions(
    model: Model, *, machines: int, scale: float = 1.0, iterations: int | None = None
) -> dict[str, float]:
    """The seconds that each term contributes to the prediction; their sum is the prediction.

    Args:
        model: the model.
        machines: the number of machines.
        scale: the share of the target input.
        iterations: see `predict_seconds`.
    """
    (seconds,) = _term_seconds(model, machines, scale, iterations)
    return {term.name: float(part) for term, part in zip(model.terms, seconds, strict=True)}


def extrapolation(model: Model, *, machines: int, scale: float = 1.0) -> str:
    """Why the observations do not support a prediction, in words; empty where they do.

    To extrapolate to more data is what samples are for, so larger inputs are mentioned only from
    far outside. Machine counts are mentioned as soon as they leave what was observed: what happens
    on more machines may have been invisible on fewer.

    Args:
        model: the model.
        machines: the number of machines.
        scale: the share of the target input.
    """
    machines = whole_number("machines", machines)
    scale = positive_number("scale", scale)
    observed_machines = [run.machines for run in model.observations]
    largest_scale = max(run.scale for run in model.observations)
    reasons = []
    if machines > max(observed_machines):
        reasons.append(f"{_machines(machines)}: at most {max(observed_machines)} were observed")
    elif machines < min(observed_machines):
        reasons.append(f"{_machines(machines)}: at least {min(observed_machines)} were observed")
    if scale > FURTHEST_SCALE * largest_scale:
        times = scale / largest_scale
        reasons.append(f"scale {scale:g}: {times:.0f} times the largest observed, {largest_scale:g}")
    return "; ".join(reasons)


def _machines(count: int) -> str:
    return "1 machine" if count == 1 else f"{count} machines"


def _term_seconds(model: Model, machines: ArrayLike, scale: ArrayLike, iterations: int | None) -> FloatArray:
    """Seconds of each run and term, shape (n, p)."""
    names = [term.name for term in model.terms]
    coefficients = np.array([term.coefficient for term in model.terms])
    ratio = _iteration_ratio(model, iterations)
    factors = np.array([1.0 if name == FIXED_TERM else ratio for name in names])
    rows = basis(names, machines=machines, scale=scale)
    return np.asarray(rows * (coefficients * factors), dtype=np.float64)


def _iteration_ratio(model: Model, iterations: int | None) -> float:
    if iterations is None:
        return 1.0
    wanted = whole_number("iterations", iterations)
    if model.trained_iterations is None:
        raise InvalidParameterError(
            "iterations",
            iterations,
            f"is asked of a model of {model.job!r} that was trained without",
            remedy="Give the sample runs a number of iterations, or leave it out here.",
        )
    return wanted / model.trained_iterations
