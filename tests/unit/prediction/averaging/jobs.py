"""Jobs whose terms are known, and runs of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import DICTIONARY, basis

MACHINES = np.array([2, 4, 8, 16, 2, 16, 6])
SCALE = np.array([0.1, 0.1, 0.1, 0.1, 0.02, 0.05, 0.05])
"""Seven runs such as a design proposes: small samples, two to sixteen machines."""

PLAIN: Mapping[str, float] = {"1": 10.0, "scale/executors": 200.0}
"""Fixed work and work that spreads: most jobs."""


def seconds_of(
    job: Mapping[str, float], *, executors: ArrayLike, scale: ArrayLike, driver_executors: int = 0
) -> FloatArray:
    """Times of runs of a job with these coefficients, without noise."""
    workers = np.asarray(executors) - driver_executors
    return basis(list(job), executors=executors, scale=scale, workers=workers) @ np.array(list(job.values()))


def runs_of(
    job: Mapping[str, float],
    *,
    executors: ArrayLike = MACHINES,
    scale: ArrayLike = SCALE,
    driver_executors: int = 0,
    noise: float = 0.0,
    seed: int | Sequence[int] = 0,
) -> dict[str, FloatArray]:
    """Runs of a job, as the arguments of `fit`."""
    executors, scale = np.broadcast_arrays(executors, scale)
    seconds = seconds_of(job, executors=executors, scale=scale, driver_executors=driver_executors)
    factors = np.exp(noise * np.random.default_rng(seed).standard_normal(len(seconds)))
    return {"executors": executors, "scale": scale, "seconds": seconds * factors}


def random_job(generator: np.random.Generator, *, typical_seconds: float = 60.0) -> dict[str, float]:
    """A job of the kind that the default prior has in mind."""
    prior = AveragingPrior()
    columns = basis(DICTIONARY, executors=MACHINES, scale=SCALE)
    sizes = np.sqrt((columns**2).mean(axis=0))
    job = {"scale/executors": 0.0}
    for name, size in zip(DICTIONARY, sizes, strict=True):
        belief = prior.belief_in(name)
        if name in job or generator.random() < belief.probability:
            largest = belief.largest_seconds or typical_seconds * prior.largest_share / size
            job[name] = largest * abs(generator.standard_normal())
    return job


def fitted(runs: Mapping[str, FloatArray], **settings: Any) -> TermAveraging:
    """A predictor that has seen the runs."""
    return TermAveraging(**settings).fit(**runs)
