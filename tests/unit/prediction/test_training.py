"""Models come with everything they were made of."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior, Model
from airflow_provider_ernest.exceptions import (
    FitError,
    InadequateModelError,
    InvalidParameterError,
    TooFewObservationsError,
)
from airflow_provider_ernest.prediction.calibration import LIKELY
from airflow_provider_ernest.prediction.predict import (
    check_method,
    default_terms,
    fitted,
    new_predictor,
    predict_interval,
    predict_seconds,
)
from airflow_provider_ernest.prediction.prior import NOISE_SECONDS, with_counted_executors
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import ERNEST, OPTEX
from airflow_provider_ernest.prediction.training import (
    check_adequacy,
    extend_terms,
    leave_one_out,
    train,
)
from airflow_provider_ernest.settings.bounds import METHODS
from airflow_provider_ernest.words import input_share, percentage
from benchmarks.table1 import seconds_of
from tests import examples
from tests.examples import observe

MACHINES = [1, 2, 4, 8, 16, 1, 4, 16]
SCALE = [0.1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.05]


def observations(noise=0.05, **fields):
    generator = np.random.default_rng(7)
    seconds = seconds_of("kmeans", executors=MACHINES, scale=SCALE)
    return observe(
        executors=MACHINES,
        scale=SCALE,
        seconds=seconds * (1 + noise * generator.standard_normal(8)),
        **fields,
    )


def columns_of(runs):
    return {name: [getattr(run, name) for run in runs] for name in ("executors", "scale", "seconds")}


@pytest.mark.parametrize("method", METHODS)
def test_the_model_holds_what_it_came_from(method):
    runs = observations(startup_seconds=12.0, iterations=3, instance_type="r3.xlarge")
    kept = {
        "job": "kmeans",
        "instance_type": "r3.xlarge",
        "artifact": "kmeans.jar",
        "artifact_sha256": "ab" * 32,
        "input_path": "s3://bucket/input",
    }

    model = train(runs, method=method, **kept)

    assert all(term.meaning for term in model.terms)
    assert model.observations == tuple(runs)
    assert len(model.validation.folds) == len(runs)
    assert model.method == method
    assert {name: getattr(model, name) for name in kept} == kept
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


@pytest.mark.parametrize("method", METHODS)
def test_the_terms_may_be_chosen(method):
    terms = [*OPTEX, "scale^1.5/executors"]

    model = train(observations(), job="kmeans", method=method, terms=terms)

    assert [term.name for term in model.terms] == terms
    assert model.terms[-1].meaning == "a term of your own"
    assert Model.from_dict(model.to_dict()) == model
    assert predict_seconds(model, executors=8, scale=0.1) == pytest.approx(
        seconds_of("kmeans", executors=8, scale=0.1), rel=0.2
    )


def driven_runs(**fields):
    """Runs of a cluster of which the driver has one machine."""
    executors, scale = np.array([2, 3, 5, 9, 17, 2, 9]), np.array([0.1] * 5 + [0.02] * 2)
    return observe(executors=executors, scale=scale, seconds=5.0 + 400.0 * scale / (executors - 1), **fields)


def test_where_spark_named_its_executors_no_driver_is_among_them():
    model = train(driven_runs(hosts=("10.0.0.1",)), job="job")

    assert model.driver_share == 0.0
    assert model.prior == replace(
        with_counted_executors(AveragingPrior()), other_shape=0.0, noise_seconds=NOISE_SECONDS
    )
    assert model.prior.driver_share == 0.0
    assert Model.from_dict(model.to_dict()).prior == model.prior


def test_executors_that_spark_counted_get_into_each_others_way():
    """Their work grows by 1 % for each of them, which 20 hardly show and 100 do."""
    executors = np.array([2, 5, 10, 20] * 2)
    scale = np.repeat([0.1, 0.2], 4)

    def seconds(executors, scale):
        return 5.0 + 1200.0 * scale * (1.0 / executors + 0.01)

    noise = np.random.default_rng(7).standard_normal(8)
    runs = {"executors": executors, "scale": scale, "seconds": seconds(executors, scale) * 1.02**noise}
    told, untold = (train(observe(**runs, **hosts), job="job") for hosts in ({"hosts": ("10.0.0.1",)}, {}))
    asked, truth = {"executors": 100, "scale": 1.0}, seconds(100.0, 1.0)

    assert predict_seconds(untold, **asked) < 0.92 * truth < predict_seconds(told, **asked) < 1.25 * truth
    (low,), (high,) = predict_interval(told, level=0.8, **asked)
    assert low < truth < high


def test_short_runs_of_spark_scatter_by_a_part_of_a_second_besides():
    def width(*, seconds_of_target, **fields):
        """Of the interval of 80 %, of log(seconds). One machine was used, so that the driver takes none."""
        executors, scale = np.array([1, 2, 4, 8, 1, 2, 4]), np.array([0.1] * 4 + [0.02] * 3)
        seconds = seconds_of_target * (0.5 + 20.0 * scale / executors)
        model = train(observe(executors=executors, scale=scale, seconds=seconds, **fields), job="job")
        low, high = predict_interval(model, executors=4, scale=0.1, level=0.8)
        return float(np.log(high[0] / low[0]))

    assert width(seconds_of_target=10.0, hosts=("10.0.0.1",)) > 2 * LIKELY * NOISE_SECONDS / 10.0
    assert width(seconds_of_target=10.0) < NOISE_SECONDS / 10.0, (
        "nothing says that these are seconds of Spark"
    )
    hours = {"seconds_of_target": 7200.0}
    assert width(**hours, hosts=("10.0.0.1",)) == pytest.approx(width(**hours), rel=0.1)


def test_the_start_up_is_the_median_not_the_mean():
    slow_first = [replace(run, startup_seconds=300.0 if run.index == 0 else 10.0) for run in observations()]

    assert train(slow_first, job="pca", method="relative").startup_seconds == 10.0


@pytest.mark.parametrize(
    ("field", "values"), [("iterations", (3, 5)), ("iterations", (None, 5)), ("instance_type", ("a", "b"))]
)
def test_runs_that_differ_in_kind_do_not_make_one_model(field, values):
    mixed = [*observations(**{field: values[0]})[:4], *observations(**{field: values[1]})[4:]]

    with pytest.raises(FitError, match=f"differ in {field}"):
        train(mixed, job="kmeans")


def test_a_model_is_fitted_once_however_often_it_is_loaded():
    assert fitted(examples.model(7)) is fitted(replace(examples.model(7)))
    assert fitted(examples.model(7)) is not fitted(examples.model(8))


@pytest.mark.parametrize("method", ["", "Averaging", None])
def test_an_unknown_method_lists_the_known_ones(method):
    for ask in (check_method, default_terms, new_predictor):
        with pytest.raises(InvalidParameterError, match=r'is unknown.*"averaging", "relative", "classic"'):
            ask(method)


@pytest.mark.parametrize(("method", "enough"), [("averaging", 3), ("relative", 4), ("classic", 4)])
def test_too_few_observations(method, enough):
    runs = observations()
    for count in range(enough):
        with pytest.raises(TooFewObservationsError):
            train(runs[:count], job="kmeans", method=method)
    assert train(runs[:enough], job="kmeans", method=method).warnings


# Leave-one-out cross-validation, against doing it by hand.


def test_repetitions_are_left_out_together_and_do_not_predict_each_other():
    once = observations()
    repeated = [*once, replace(once[2], index=8, seconds=3.0 * once[2].seconds)]

    with_repetition = leave_one_out(ErnestRegression, repeated).folds

    without_it = leave_one_out(ErnestRegression, once).folds[2].predicted_seconds
    assert [fold.index for fold in with_repetition] == list(range(9))
    assert with_repetition[2].predicted_seconds == pytest.approx(without_it)
    assert with_repetition[8].predicted_seconds == pytest.approx(without_it)
    assert with_repetition[8].seconds == 3.0 * once[2].seconds


def test_machines_without_tasks_do_not_count_in_the_folds_either():
    """16 tasks on 4 slots a machine: beyond 4 machines nothing becomes faster, and that is known."""
    metrics = examples.metrics(dominant_stage_tasks=16)
    executors, scale = [1, 2, 4, 8, 16, 8], [0.1, 0.1, 0.1, 0.1, 0.1, 0.05]
    seconds = [5.0 + 300.0 * share / min(count, 4) for count, share in zip(executors, scale, strict=True)]
    blind = observe(executors=executors, scale=scale, seconds=seconds)
    seeing = [replace(run, metrics=replace(metrics, slots=4 * run.executors)) for run in blind]

    def errors(runs):
        return leave_one_out(lambda: ErnestRegression(terms=("1", "scale/executors")), runs)

    assert errors(seeing).max_error_percent < 1e-6
    assert errors(blind).max_error_percent > 10


@pytest.mark.parametrize("count", [0, 1])
def test_a_single_run_cannot_be_cross_validated(count):
    with pytest.raises(TooFewObservationsError, match=f"{count} configurations"):
        leave_one_out(ErnestRegression, observations()[:count])


# Terms are added where runs demand them, and only there.

VARIED_MACHINES = [1, 1, 2, 2, 3, 4, 4, 6, 8, 8]
VARIED_SCALE = [0.02, 0.1, 0.05, 0.2, 0.1, 0.05, 0.3, 0.2, 0.1, 0.3]
PER_MACHINE = np.array(VARIED_SCALE) / VARIED_MACHINES
SPREAD = 5.0 + 100.0 * PER_MACHINE
OWN = "max(scale/executors - 0.04, 0)"


def observed(seconds):
    return observe(executors=VARIED_MACHINES, scale=VARIED_SCALE, seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "asked", "found"),
    [
        (SPREAD, {"method": "relative"}, ERNEST),
        (SPREAD, {"method": "classic"}, ERNEST),
        (SPREAD + 3000.0 * np.array(VARIED_SCALE) ** 2 / VARIED_MACHINES, {}, (*ERNEST, "scale^2/executors")),
        (
            SPREAD + 900.0 * np.maximum(PER_MACHINE - 0.04, 0.0),
            {"extensions": ["sqrt(executors)", OWN]},
            (*ERNEST, OWN),
        ),
        (
            10.0 + 200.0 * PER_MACHINE + 0.5 * np.array(VARIED_MACHINES),
            {"terms": ("1",), "extensions": ("scale", "executors", "scale/executors"), "above_percent": 1.0},
            ("1", "scale/executors", "executors"),
        ),
    ],
)
def test_terms_are_added_that_the_job_has_and_no_others(seconds, asked, found):
    assert set(extend_terms(observed(seconds), **{"above_percent": 5.0, **asked})) == set(found)


def test_no_more_terms_are_added_than_the_runs_determine():
    few = observed(SPREAD + 3000.0 * np.array(VARIED_SCALE) ** 2 / VARIED_MACHINES)[:5]

    assert len(extend_terms(few, terms=("1", "scale/executors"), above_percent=0.1)) <= 3


def test_averaging_is_told_to_name_the_terms():
    with pytest.raises(InvalidParameterError, match="weighs all its terms by itself"):
        extend_terms(observed(SPREAD), method="averaging")


# A model that deserves little trust says so, and one that deserves it keeps quiet.

DESIGNED_MACHINES = np.array([2, 4, 8, 16, 2, 16, 6])
DESIGNED_SCALE = np.array([0.1, 0.1, 0.1, 0.1, 0.02, 0.05, 0.05])


def runs_of(job="als", *, executors=DESIGNED_MACHINES, scale=DESIGNED_SCALE, noise=0.02, seed=1):
    scale = np.broadcast_to(scale, np.shape(executors))
    factors = np.exp(noise * np.random.default_rng(seed).standard_normal(len(executors)))
    return observe(
        executors=executors, scale=scale, seconds=seconds_of(job, executors=executors, scale=scale) * factors
    )


def warnings_of(runs, method="averaging", **settings):
    return train(runs, job="job", method=method, **settings).warnings


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_good_runs_are_warned_of_by_nobody(method, seed):
    assert warnings_of(runs_of(seed=seed), method) == ()


@pytest.mark.parametrize(
    ("of", "method", "words"),
    [
        (
            {"executors": [2, 3, 4, 8, 12, 16], "scale": 0.1},
            "averaging",
            "the same share of the input (10 %)",
        ),
        (
            {"job": "kmeans", "executors": [1, 4, 16, 1], "scale": [0.1, 0.1, 0.1, 0.02]},
            "relative",
            "as many observations as terms (4)",
        ),
    ],
    ids=["samples of one size", "as many runs as terms"],
)
def test_a_design_that_tells_little_is_named(of, method, words):
    (warning,) = warnings_of(runs_of(**of), method)
    assert words in warning


@pytest.mark.parametrize("count", [3, 4])
def test_few_configurations_even_if_run_often(count):
    positions = [0, 3, 4, 6][:count]
    runs = runs_of(
        executors=DESIGNED_MACHINES[positions * 2], scale=DESIGNED_SCALE[positions * 2], noise=0.01
    )

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
        f"Runs of size 8 with 10 % of the input took {runs[2].seconds:.1f} to {other.seconds:.1f} s"
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
        f"Run {position} (size {bad.executors}, {input_share(bad.scale)} of the input, "
    )
    assert "does not fit the others" in warning


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_scatter_around_every_model(seed):
    generator = np.random.default_rng(seed)
    executors = np.array([2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 2, 4, 8, 16])
    scale = np.array([0.1] * 10 + [0.03] * 4)
    noisy = runs_of(executors=executors, scale=scale, noise=0.0)
    noisy = [
        replace(run, seconds=run.seconds * float(np.exp(0.35 * generator.choice([-1, 1])))) for run in noisy
    ]

    assert any(warning.startswith("The runs scatter by about") for warning in warnings_of(noisy))
    quiet = runs_of(executors=executors, scale=scale, noise=0.03, seed=seed)
    assert warnings_of(quiet) == ()


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
    assert f"run {worst.index} (size {worst.executors}," in message
    assert "raise max_error_percent" in caught.value.remedy
