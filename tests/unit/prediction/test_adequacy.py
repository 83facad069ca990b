"""A model that deserves little trust says so, and one that deserves it keeps quiet."""

from dataclasses import replace

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InadequateModelError, InvalidParameterError
from airflow_provider_ernest.prediction.training import check_adequacy, train
from airflow_provider_ernest.settings.bounds import METHODS
from airflow_provider_ernest.words import input_share, percentage
from benchmarks.table1 import seconds_of
from tests.examples import observe

MACHINES = np.array([2, 4, 8, 16, 2, 16, 6])
SCALE = np.array([0.1, 0.1, 0.1, 0.1, 0.02, 0.05, 0.05])


def runs_of(job="als", *, machines=MACHINES, scale=SCALE, noise=0.02, seed=1):
    scale = np.broadcast_to(scale, np.shape(machines))
    factors = np.exp(noise * np.random.default_rng(seed).standard_normal(len(machines)))
    return observe(
        machines=machines, scale=scale, seconds=seconds_of(job, machines=machines, scale=scale) * factors
    )


def warnings_of(runs, method="averaging", **settings):
    return train(runs, job="job", method=method, **settings).warnings


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_good_runs_are_warned_of_by_nobody(method, seed):
    assert warnings_of(runs_of(seed=seed), method) == ()


def test_samples_of_one_size():
    (warning,) = warnings_of(runs_of(machines=[2, 3, 4, 8, 12, 16], scale=0.1))

    assert "All runs read the same share of the input (10 %)" in warning


@pytest.mark.parametrize("count", [3, 4])
def test_few_configurations_even_if_run_often(count):
    positions = [0, 3, 4, 6][:count]
    runs = runs_of(machines=MACHINES[positions * 2], scale=SCALE[positions * 2], noise=0.01)

    (warning,) = warnings_of(runs)
    assert warning.startswith(f"{count} configurations were observed")
    assert "Observe 5 or more" in warning


@pytest.mark.parametrize(
    ("method", "told"), [("averaging", "Their median counts"), ("relative", "All of them")]
)
def test_runs_of_one_configuration_that_took_different_times(method, told):
    """Two inputs of one size that are not the same work: more pages, fewer links."""
    runs = runs_of()
    other = replace(runs[2], index=7, seconds=1.4 * runs[2].seconds)

    warning = warnings_of([*runs, other], method)[0]
    assert (
        f"Runs on 8 machines with 10 % of the input took {runs[2].seconds:.1f} to {other.seconds:.1f} s"
        in warning
    )
    assert "not the same work" in warning
    assert told in warning


@pytest.mark.parametrize("position", [0, 1, 3, 5])
def test_a_disturbed_run_is_named(position):
    runs = runs_of(noise=0.01)
    bad = replace(runs[position], seconds=1.8 * runs[position].seconds)

    (warning,) = warnings_of([*runs[:position], bad, *runs[position + 1 :]])
    assert warning.startswith(
        f"Run {position} ({bad.machines} machines, {input_share(bad.scale)} of the input, "
    )
    assert "does not fit the others" in warning


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_scatter_around_every_model(seed):
    generator = np.random.default_rng(seed)
    machines = np.array([2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 2, 4, 8, 16])
    scale = np.array([0.1] * 10 + [0.03] * 4)
    noisy = runs_of(machines=machines, scale=scale, noise=0.0)
    noisy = [
        replace(run, seconds=run.seconds * float(np.exp(0.35 * generator.choice([-1, 1])))) for run in noisy
    ]

    assert any(warning.startswith("The runs scatter by about") for warning in warnings_of(noisy))
    quiet = runs_of(machines=machines, scale=scale, noise=0.03, seed=seed)
    assert warnings_of(quiet) == ()


def test_as_many_runs_as_terms():
    runs = [
        runs_of("kmeans", machines=[1, 4, 16, 1], scale=[0.1, 0.1, 0.1, 0.02])[index] for index in range(4)
    ]

    (warning,) = warnings_of(runs, "relative")
    assert "as many observations as terms (4)" in warning


def test_a_run_that_all_hangs_on():
    runs = runs_of("pca", machines=[1, 1, 4, 4, 16, 1], scale=[0.1, 0.05, 0.1, 0.05, 0.1, 0.02])

    (warning,) = warnings_of(runs, "relative")
    assert "run 4: 16 machines, 10 % of the input" in warning


@pytest.mark.parametrize("method", METHODS)
def test_an_inadequate_model_is_refused_with_its_figures_and_a_remedy(method):
    model = train(runs_of("kmeans", noise=0.4), job="kmeans", method=method)
    median = model.validation.median_error_percent

    check_adequacy(model, max_error_percent=median * 1.01)
    with pytest.raises(InadequateModelError) as caught:
        check_adequacy(model, max_error_percent=median * 0.99)

    message = str(caught.value)
    assert percentage(median) in message
    assert percentage(model.validation.max_error_percent) in message
    worst = max(model.validation.folds, key=lambda fold: abs(fold.error_percent))
    assert f"run {worst.index} ({worst.machines} machines" in message
    assert "raise max_error_percent" in caught.value.remedy


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan"), "20 %"])
def test_a_threshold_that_is_none(threshold):
    with pytest.raises(InvalidParameterError, match="max_error_percent"):
        check_adequacy(train(runs_of(), job="job", method="relative"), max_error_percent=threshold)
