"""Predictions, what they are made of, and when they are beyond the observations."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.predict import (
    ModelForecast,
    extrapolation,
    predict_interval,
    predict_seconds,
)
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings.bounds import METHODS
from benchmarks.table1 import seconds_of
from tests import examples
from tests.examples import observe

MACHINES = [2, 4, 8, 16, 2, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.02, 0.05]
GB = 1_000_000_000
METRICS = examples.metrics()


def model_of(job, *, method="relative", **fields):
    seconds = seconds_of(job, executors=MACHINES, scale=SCALE)
    return train(observe(executors=MACHINES, scale=SCALE, seconds=seconds, **fields), job=job, method=method)


def model_with(metrics_of, *, seconds=None, method="averaging"):
    """A model of runs of which Spark reported something; the driver is none of the machines."""
    if seconds is None:
        seconds = 5.0 + 400.0 * np.array(SCALE) / MACHINES
    runs = [
        replace(run, metrics=metrics_of(run))
        for run in observe(executors=MACHINES, scale=SCALE, seconds=seconds, hosts=("10.0.0.1",))
    ]
    return train(runs, job="job", method=method, terms=("1", "scale/executors"))


@pytest.mark.parametrize("method", METHODS)
def test_the_contributions_add_up_to_the_prediction(method):
    model = model_of("regression", method=method, iterations=2)

    for iterations in (None, 2, 40):
        (parts,) = ModelForecast(model, executors=32, scale=1.0, iterations=iterations).contributions()
        assert set(parts) == {term.name for term in model.terms}
        assert min(parts.values()) >= 0
        (total,) = predict_seconds(model, executors=32, scale=1.0, iterations=iterations)
        assert sum(parts.values()) == pytest.approx(total)


@pytest.mark.parametrize(("method", "within"), [("relative", 1e-6), ("averaging", 0.03)])
def test_the_fixed_part_counts_once_and_the_rest_once_for_each_iteration(method, within):
    executors, scale = np.array([1, 2, 4, 8, 16, 1, 8]), np.array([0.1] * 5 + [0.02] * 2)
    runs = observe(executors=executors, scale=scale, seconds=30.0 + 80.0 * scale / executors, iterations=2)
    model = train(runs, job="job", method=method)

    seconds = [predict_seconds(model, executors=4, iterations=count)[0] for count in (1, 2, 40)]

    np.testing.assert_allclose(seconds, [30 + 10, 30 + 20, 30 + 400], rtol=within)
    low, high = predict_interval(model, executors=4, level=0.8, iterations=40)
    assert low[0] < 430 < high[0] < 860


def test_iterations_asked_of_a_model_that_knows_none():
    model = model_of("pca")

    with pytest.raises(InvalidParameterError, match=r"iterations=40 .* trained without"):
        predict_seconds(model, executors=8, iterations=40)
    with pytest.raises(InvalidParameterError, match=r"iterations=40 .* trained without"):
        predict_interval(model, executors=8, level=0.8, iterations=40)


def capped(tasks):
    """4 slots a machine, and so many tasks however many machines there are."""
    return lambda run: replace(METRICS, slots=4 * run.executors, dominant_stage_tasks=tasks)


@pytest.mark.parametrize("method", METHODS)
def test_a_cap_that_no_run_has_reached_is_foreseen_and_told(method):
    model = model_with(capped(64), method=method)

    seconds = predict_seconds(model, executors=[16, 32, 64], scale=1.0)

    np.testing.assert_allclose(seconds, [30, 30, 30], rtol=0.05)
    assert "64 tasks can run at once" in extrapolation(model, executors=64)
    assert extrapolation(model, executors=16) == ""


def caching(bytes_at_full_scale):
    """2 GB of memory for cached data on each machine, and so much to be cached of the whole input."""

    def metrics_of(run):
        storage, wanted = 2 * GB * run.executors, round(bytes_at_full_scale * run.scale)
        return replace(
            METRICS,
            slots=4 * run.executors,
            peak_execution_memory_bytes=0,
            storage_memory_bytes=storage,
            cache_wanted_bytes=wanted,
            cached_bytes=min(wanted, storage),
            cached_on_disk_bytes=0,
        )

    return metrics_of


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_cache_that_no_longer_holds_widens_the_interval_and_is_named(method, level):
    """32 GB are to be cached: the samples fit everywhere, the whole input from 16 machines on."""
    foreseeing = model_with(caching(32 * GB), method=method)
    blind = model_with(lambda run: None, method=method)

    def log_width(model, executors):
        low, high = predict_interval(model, executors=executors, level=level)
        return float(np.log(high / low)[0])

    assert log_width(foreseeing, 4) > 2 * log_width(blind, 4)
    assert "32.0 GB would be cached and 4 machines have room for 8.00 GB" in extrapolation(
        foreseeing, executors=4
    )
    assert extrapolation(blind, executors=4) == ""
    # The expected seconds stay: how much slower it becomes no run has shown.
    assert predict_seconds(foreseeing, executors=4) == pytest.approx(predict_seconds(blind, executors=4))


@pytest.mark.parametrize("level", [0.0, 1.0, 80.0, -0.1, float("nan")])
@pytest.mark.parametrize("method", METHODS)
def test_a_level_that_is_none(method, level):
    model = model_of("pca", method=method)

    with pytest.raises(InvalidParameterError, match=r"level=.* is not between 0 and 1"):
        predict_interval(model, executors=8, level=level)


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ({"executors": 0}, r"executors\[0\]"),
        ({"executors": [1, float("nan")]}, r"executors\[1\]"),
        ({"executors": 1, "scale": 0.0}, r"scale\[0\]"),
        ({"executors": [1, 2, 3], "scale": [0.5, 1.0]}, "2 values where executors has 3"),
        ({"executors": 1, "iterations": 0}, "iterations=0"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_configurations_that_cannot_be(method, run, named):
    model = model_of("regression", iterations=2, method=method)

    with pytest.raises(InvalidParameterError, match=named):
        predict_seconds(model, **run)
    with pytest.raises(InvalidParameterError, match=named):
        predict_interval(model, level=0.8, **run)


@pytest.mark.parametrize(
    ("executors", "scale", "reason"),
    [
        (2, 1.0, ""),
        (8, 2.0, ""),
        (45, 1.0, "Extrapolated: only 2 to 16 machines were tried"),
        (16, 0.01, "Extrapolated: only 2 % to 10 % of the input was tried"),
        (8, 3.0, "Extrapolated: only 2 % to 10 % of the input was tried"),
        (64, 5.0, "Extrapolated: only 2 to 16 machines and 2 % to 10 % of the input were tried"),
    ],
)
def test_what_the_observations_do_not_support_is_told(executors, scale, reason):
    assert extrapolation(model_of("pca"), executors=executors, scale=scale) == reason
