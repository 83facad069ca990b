"""Intervals: how often they hold, and what makes them wider."""

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior

from .jobs import fitted, random_job, runs_of


def log_widths(averaging, **targets):
    low, high = averaging.interval(**targets, level=0.8)
    return np.log(high / low)


TARGETS = {"executors": np.array([32, 16, 24]), "scale": np.array([1.0, 0.1, 0.3])}


NO_SURPRISES = AveragingPrior(plateau=0.0, other_shape=0.0)
"""These jobs have none; what intervals leave room for is in test_unseen."""


def simulated(number, rows=slice(None)):
    """A predictor of a job such as the prior has in mind, from runs with 3 % noise, and new runs of it."""
    generator = np.random.default_rng([number, 17])
    job, driver_executors = random_job(generator), int(generator.random() < 0.5)
    runs = runs_of(job, driver_executors=driver_executors, noise=0.03, seed=[number, 1])
    new_runs = runs_of(job, **TARGETS, driver_executors=driver_executors, noise=0.03, seed=[number, 2])
    observed = {name: column[rows] for name, column in runs.items()}
    return fitted(observed, prior=NO_SURPRISES), new_runs["seconds"]


def coverage(simulations, level):
    bounds = [averaging.interval(**TARGETS, level=level) for averaging, _ in simulations]
    return np.mean([(low < t) & (t < high) for (low, high), (_, t) in zip(bounds, simulations, strict=True)])


def test_intervals_contain_new_runs_about_as_often_as_they_say():
    """100 jobs and three targets each: the share of 300 has a standard deviation of 2 to 3 %.

    The intervals are on the wide side, for these jobs do not deviate from their terms, and the prior
    allows for that.
    """
    simulations = [simulated(number) for number in range(100)]

    assert 0.74 < coverage(simulations, 0.8) < 0.94
    assert 0.91 < coverage(simulations, 0.95) < 0.999
    # Wide intervals contain everything: these are also of use.
    assert np.median([np.mean(log_widths(averaging, **TARGETS)) for averaging, _ in simulations]) < 0.35


@pytest.mark.parametrize("rows", [[0, 3, 4], [0, 3, 4, 6]], ids=["three runs", "four runs"])
def test_intervals_are_honest_at_few_points(rows):
    simulations = [simulated(number, rows) for number in range(40)]

    assert coverage(simulations, 0.8) > 0.74
    assert coverage(simulations, 0.95) > 0.91
