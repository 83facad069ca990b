"""Models come with everything they were made of."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior, Model
from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.calibration import LIKELY
from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
from airflow_provider_ernest.prediction.prior import NOISE_SECONDS
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST, OPTEX
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings.bounds import METHODS
from benchmarks.table1 import seconds_of
from tests.examples import observe

MACHINES = [1, 2, 4, 8, 16, 1, 4, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05]


def observations(noise=0.05, **fields):
    generator = np.random.default_rng(7)
    seconds = seconds_of("kmeans", machines=MACHINES, scale=SCALE)
    return observe(
        machines=MACHINES, scale=SCALE, seconds=seconds * (1 + noise * generator.standard_normal(8)), **fields
    )


def columns_of(runs):
    return {name: [getattr(run, name) for run in runs] for name in ("machines", "scale", "seconds")}


@pytest.mark.parametrize("method", METHODS)
def test_the_model_holds_what_it_came_from(method):
    runs = observations(startup_seconds=12.0, iterations=3, instance_type="r3.xlarge")

    model = train(
        runs,
        job="kmeans",
        instance_type="r3.xlarge",
        method=method,
        artifact="kmeans.jar",
        artifact_sha256="ab" * 32,
        input_path="s3://bucket/input",
    )

    assert all(term.meaning for term in model.terms)
    assert model.observations == tuple(runs)
    assert len(model.validation.folds) == len(runs)
    assert (model.job, model.instance_type, model.method) == ("kmeans", "r3.xlarge", method)
    assert (model.artifact, model.artifact_sha256, model.input_path) == (
        "kmeans.jar",
        "ab" * 32,
        "s3://bucket/input",
    )
    assert model.startup_seconds == 12.0
    assert model.trained_iterations == 3
    assert model.warnings == ()
    assert datetime.fromisoformat(model.at).utcoffset() is not None
    assert Model.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(("method", "weighting"), [("relative", "relative"), ("classic", "absolute")])
def test_given_terms_are_fitted_by_least_squares(method, weighting):
    runs = observations()

    model = train(runs, job="kmeans", method=method)

    expected = ErnestRegression(weighting=weighting).fit(**columns_of(runs))
    assert tuple(term.name for term in model.terms) == ERNEST
    assert [term.coefficient for term in model.terms] == pytest.approx(expected.coefficients_.tolist())
    assert {term.probability for term in model.terms} == {1.0}
    assert (model.prior, model.driver_share, model.noise) == (None, 0.0, 0.0)


def test_by_default_all_sets_of_terms_are_averaged_over():
    runs = observations()

    model = train(runs, job="kmeans")

    expected = TermAveraging().fit(**columns_of(runs))
    assert model.method == "averaging"
    assert tuple(term.name for term in model.terms) == DICTIONARY
    assert [term.coefficient for term in model.terms] == pytest.approx(expected.coefficients_.tolist())
    assert [term.probability for term in model.terms] == pytest.approx(expected.probabilities_.tolist())
    assert model.noise == pytest.approx(expected.noise_)
    assert 0 < model.noise < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_the_terms_may_be_chosen(method):
    terms = [*OPTEX, "scale^1.5/machines"]

    model = train(observations(), job="kmeans", method=method, terms=terms)

    assert [term.name for term in model.terms] == terms
    assert model.terms[-1].meaning == "a term of your own"
    assert Model.from_dict(model.to_dict()) == model
    assert predict_seconds(model, machines=8, scale=0.1) == pytest.approx(
        seconds_of("kmeans", machines=8, scale=0.1), rel=0.2
    )


def driven_runs(**fields):
    """Runs of a cluster of which the driver has one machine."""
    machines, scale = np.array([2, 3, 5, 9, 17, 2, 9]), np.array([0.1] * 5 + [0.02] * 2)
    return observe(machines=machines, scale=scale, seconds=5.0 + 400.0 * scale / (machines - 1), **fields)


def test_a_driver_that_takes_a_machine_is_found_and_stored():
    model = train(driven_runs(), job="job")

    assert model.driver_share > 0.85
    assert predict_seconds(model, machines=5) == pytest.approx([105.0], rel=0.05)


def test_where_spark_named_its_executors_no_driver_is_among_them():
    model = train(driven_runs(hosts=("10.0.0.1",)), job="job")

    assert model.driver_share == 0.0
    assert model.prior == AveragingPrior(driver_share=0.0, other_shape=0.0, noise_seconds=NOISE_SECONDS)
    assert Model.from_dict(model.to_dict()).prior == model.prior


def test_short_runs_of_spark_scatter_by_a_part_of_a_second_besides():
    def width(*, seconds_of_target, **fields):
        """Of the interval of 80 %, of log(seconds). One machine was used, so that the driver takes none."""
        machines, scale = np.array([1, 2, 4, 8, 1, 2, 4]), np.array([0.1] * 4 + [0.02] * 3)
        seconds = seconds_of_target * (0.5 + 20.0 * scale / machines)
        model = train(observe(machines=machines, scale=scale, seconds=seconds, **fields), job="job")
        low, high = predict_interval(model, machines=4, scale=0.1, level=0.8)
        return float(np.log(high[0] / low[0]))

    assert width(seconds_of_target=10.0, hosts=("10.0.0.1",)) > 2 * LIKELY * NOISE_SECONDS / 10.0
    assert width(seconds_of_target=10.0) < NOISE_SECONDS / 10.0, (
        "nothing says that these are seconds of Spark"
    )
    hours = {"seconds_of_target": 7200.0}
    assert width(**hours, hosts=("10.0.0.1",)) == pytest.approx(width(**hours), rel=0.1)


def test_the_scatter_that_a_model_tells_of_short_runs_has_it_too():
    fields = {"machines": [1, 2, 4, 8], "scale": [0.1] * 4, "seconds": [30.0, 17.0, 10.0, 7.0]}

    assert train(observe(**fields, hosts=("10.0.0.1",)), job="job").noise > NOISE_SECONDS / 13.5
    assert train(observe(**fields), job="job").noise < NOISE_SECONDS / 13.5


def test_the_start_up_is_the_median_not_the_mean():
    slow_first = [replace(run, startup_seconds=300.0 if run.index == 0 else 10.0) for run in observations()]

    assert train(slow_first, job="pca", method="relative").startup_seconds == 10.0


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


@pytest.mark.parametrize(("method", "enough"), [("averaging", 3), ("relative", 4), ("classic", 4)])
def test_too_few_observations(method, enough):
    runs = observations()
    for count in range(enough):
        with pytest.raises(TooFewObservationsError):
            train(runs[:count], job="kmeans", method=method)
    assert train(runs[:enough], job="kmeans", method=method).warnings
