"""A job for the pictures, and a model of it: simulated runs with noise, trained as a user's runs are."""

from __future__ import annotations

from functools import cache

import numpy as np

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import basis
from airflow_provider_ernest.prediction.training import train

COEFFICIENTS = {"1": 20.0, "scale": 40.0, "scale/executors": 3600.0, "log(executors)": 2.0, "executors": 0.2}
"""Seconds of each term: the truth that the model does not know."""

NOISE = 0.04

SAMPLE_RUNS = ((2, 0.02), (2, 0.05), (4, 0.05), (4, 0.1), (8, 0.04), (8, 0.07), (8, 0.1), (16, 0.1))
"""Executors and scale."""

PRODUCTION_MACHINES = (4, 8, 16, 32, 64)

SEED = 2016


def seconds_of(*, executors: FloatArray, scale: FloatArray | float) -> FloatArray:
    """What runs take without noise, shape (n,)."""
    rows = basis(list(COEFFICIENTS), executors=executors, scale=scale)
    return np.asarray(rows @ np.array(list(COEFFICIENTS.values())), dtype=np.float64)


@cache
def sample_runs() -> tuple[Observation, ...]:
    """The runs that the model knows."""
    executors, scale = (np.array(column, dtype=np.float64) for column in zip(*SAMPLE_RUNS, strict=True))
    noise = 1.0 + NOISE * np.random.default_rng(SEED).standard_normal(len(SAMPLE_RUNS))
    seconds = seconds_of(executors=executors, scale=scale) * noise
    return tuple(
        Observation(index=index, executors=count, scale=share, seconds=float(time), hosts=("worker",) * count)
        for index, ((count, share), time) in enumerate(zip(SAMPLE_RUNS, seconds, strict=True))
    )


@cache
def production_seconds() -> FloatArray:
    """Single runs of the whole input on `PRODUCTION_MACHINES`, which the model does not know, shape (n,)."""
    noise = 1.0 + NOISE * np.random.default_rng(SEED + 1).standard_normal(len(PRODUCTION_MACHINES))
    return seconds_of(executors=np.array(PRODUCTION_MACHINES, dtype=np.float64), scale=1.0) * noise


@cache
def model() -> Model:
    """The model of the sample runs, with the package's defaults."""
    return train(sample_runs(), job="simulated")
