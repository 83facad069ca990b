"""Models come with everything they were made of, and with warnings where they deserve little trust."""

from datetime import datetime

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import FitError, InadequateModelError, TooFewObservationsError
from airflow_provider_ernest.model.documents import Model
from airflow_provider_ernest.model.regression import ErnestRegression
from airflow_provider_ernest.model.terms import ERNEST
from airflow_provider_ernest.model.training import check_adequacy, train

from .paper import observe, seconds_of

MACHINES = [1, 2, 4, 8, 16, 1, 4, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05]


def observations(noise=0.05, **fields):
    generator = np.random.default_rng(7)
    seconds = seconds_of("kmeans", machines=MACHINES, scale=SCALE)
    return observe(
        machines=MACHINES, scale=SCALE, seconds=seconds * (1 + noise * generator.standard_normal(8)), **fields
    )


def test_the_model_holds_the_fit_and_what_it_came_from():
    runs = observations(startup_seconds=12.0, iterations=3, instance_type="r3.xlarge")

    model = train(
        runs,
        job="kmeans",
        instance_type="r3.xlarge",
        artifact="kmeans.jar",
        artifact_sha256="ab" * 32,
        input_path="s3://bucket/input",
    )

    expected = ErnestRegression().fit(machines=MACHINES, scale=SCALE, seconds=[run.seconds for run in runs])
    assert tuple(term.name for term in model.terms) == ERNEST
    assert [term.coefficient for term in model.terms] == pytest.approx(expected.coefficients_.tolist())
    assert all(term.meaning for term in model.terms)
    assert model.observations == tuple(runs)
    assert len(model.validation.folds) == len(runs)
    assert (model.job, model.instance_type, model.weighting) == ("kmeans", "r3.xlarge", "relative")
    assert (model.artifact, model.artifact_sha256, model.input_path) == (
        "kmeans.jar",
        "ab" * 32,
        "s3://bucket/input",
    )
    assert model.startup_seconds == 12.0
    assert model.trained_iterations == 3
    assert model.warnings == ()
    assert datetime.fromisoformat(model.created_at).utcoffset() is not None
    assert Model.from_dict(model.to_dict()) == model


def test_the_start_up_is_the_median_not_the_mean():
    runs = observe(machines=MACHINES, scale=SCALE, seconds=seconds_of("pca", machines=MACHINES, scale=SCALE))
    slow_first = [
        type(run)(**{**vars(run), "startup_seconds": 300.0 if run.index == 0 else 10.0}) for run in runs
    ]

    assert train(slow_first, job="pca").startup_seconds == 10.0


def test_ids_sort_by_time_and_differ():
    ids = [train(observations(), job="kmeans").model_id for _ in range(20)]

    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("field", "values"), [("iterations", (3, 5)), ("iterations", (None, 5)), ("instance_type", ("a", "b"))]
)
def test_runs_that_differ_in_kind_do_not_make_one_model(field, values):
    mixed = [
        *observations(**{field: values[0]})[:4],
        *observations(**{field: values[1]})[4:],
    ]

    with pytest.raises(FitError, match=f"differ in {field}"):
        train(mixed, job="kmeans")


def test_too_few_observations():
    with pytest.raises(TooFewObservationsError):
        train(observations()[:3], job="kmeans")
    with pytest.raises(TooFewObservationsError):
        train([], job="kmeans")


def test_samples_of_one_size_are_warned_of():
    runs = observe(
        machines=[1, 2, 3, 4, 8, 16],
        scale=0.1,
        seconds=seconds_of("kmeans", machines=[1, 2, 3, 4, 8, 16], scale=0.1),
    )

    (warning,) = train(runs, job="kmeans").warnings
    assert "same share of the input (0.1)" in warning


def test_a_single_machine_count_is_warned_of():
    runs = observe(machines=[4, 4, 4], scale=[0.1, 0.2, 0.3], seconds=[5.0, 8.0, 11.0])

    (warning,) = train(runs, job="kmeans", terms=("1", "scale/machines")).warnings
    assert "All runs used 4 machines" in warning


def test_as_many_runs_as_terms_are_warned_of():
    runs = [observations()[position] for position in (0, 2, 4, 5)]

    (warning,) = train(runs, job="kmeans").warnings
    assert "as many observations as terms (4)" in warning


def test_a_run_that_all_hangs_on_is_named():
    machines, scale = [1, 1, 4, 4, 16, 1], [0.1, 0.05, 0.1, 0.05, 0.1, 0.02]
    runs = observe(machines=machines, scale=scale, seconds=seconds_of("pca", machines=machines, scale=scale))

    (warning,) = train(runs, job="pca").warnings
    assert "run 4: 16 machines, scale 0.1" in warning


def test_an_inadequate_model_is_refused_with_its_figures_and_a_remedy():
    model = train(observations(noise=0.4), job="kmeans")
    median = model.validation.median_error_percent

    check_adequacy(model, max_error_percent=median * 1.01)
    with pytest.raises(InadequateModelError) as caught:
        check_adequacy(model, max_error_percent=median * 0.99)

    message = str(caught.value)
    assert f"{median:.1f} %" in message
    assert f"{model.validation.max_error_percent:.1f} %" in message
    worst = max(model.validation.folds, key=lambda fold: abs(fold.error_percent))
    assert f"run {worst.index} ({worst.machines} machines" in message
    assert "raise max_error_percent" in caught.value.remedy
