"""The predictor as its users see it: what it predicts, tells of a job and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.predict import ModelForecast, predict_interval, predict_seconds
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import DICTIONARY
from airflow_provider_ernest.prediction.training import train
from tests.examples import observe

from .jobs import MACHINES, PLAIN, SCALE, fitted, runs_of, seconds_of


@pytest.mark.parametrize("driver_executors", [0, 1])
@pytest.mark.parametrize(
    "job",
    [
        PLAIN,
        {"scale/executors": 400.0},
        {"1": 5.0, "scale": 20.0, "scale/executors": 300.0},
        {"1": 20.0, "scale/sqrt(executors)": 300.0},
        {"1": 8.0, "scale/executors": 150.0, "log(executors)": 1.5, "executors": 0.05},
        {"1": 30.0, "scale": 100.0},
    ],
    ids=lambda job: " + ".join(job),
)
def test_exact_runs_predict_ten_times_the_data_on_twice_the_machines(job, driver_executors):
    averaging = fitted(runs_of(job, driver_executors=driver_executors))

    targets = {"executors": np.array([8, 16, 32]), "scale": np.array([1.0, 0.5, 1.0])}
    expected = seconds_of(job, **targets, driver_executors=driver_executors)
    np.testing.assert_allclose(averaging.predict(**targets), expected, rtol=0.06)
    low, high = averaging.interval(**targets, level=0.95)
    assert np.all((low < expected) & (expected < high))


@pytest.mark.parametrize(
    "name", ["scale^2/executors", "scale^1.7/executors", "max(scale/executors - 0.01, 0)"]
)
def test_a_term_of_the_users_own_is_found_when_the_job_has_it(name):
    scale = np.array([0.1, 0.1, 0.2, 0.3, 0.02, 0.05, 0.4])
    job = {"1": 5.0, "scale/executors": 20.0, name: 2000.0}
    runs = runs_of(job, scale=scale, noise=0.01)
    without = runs_of({**job, name: 0.0}, scale=scale, noise=0.01)
    terms = ("1", "scale", "scale/executors", name)

    with_it, without_it = fitted(runs, terms=terms), fitted(without, terms=terms)

    assert with_it.probabilities_[-1] > 0.9
    assert without_it.probabilities_[-1] < 0.2
    target = {"executors": 32, "scale": 1.0}
    np.testing.assert_allclose(with_it.predict(**target), seconds_of(job, **target), rtol=0.25)


NINE = [*DICTIONARY, "scale^2/executors", "sqrt(executors)", "1/executors"]


@pytest.mark.parametrize(
    ("executors", "scale", "terms", "error", "problem"),
    [
        ([2, 8, 2, 8], 0.1, DICTIONARY, TooFewObservationsError, r"2 distinct configurations.*at least 3"),
        (
            [4] * 4,
            [0.1, 0.2, 0.3, 0.4],
            DICTIONARY,
            FitError,
            r"of one size, 4: .*one other size",
        ),
        (MACHINES, SCALE, NINE, InvalidParameterError, r"terms=.*9"),
    ],
    ids=["two points, however often they were run", "one number of machines", "too many terms"],
)
def test_what_no_fit_is_made_of_is_refused(executors, scale, terms, error, problem):
    seconds = 20.0 + np.arange(len(executors))
    with pytest.raises(error, match=problem) as caught:
        TermAveraging(terms=terms).fit(executors=executors, scale=scale, seconds=seconds)

    assert type(caught.value) is error


# Runs that do not belong to the others: disturbed, or short of memory.


@pytest.mark.parametrize("position", range(7))
def test_one_bad_run_among_seven_is_named_and_does_little_harm(position):
    runs = runs_of(PLAIN, noise=0.02, seed=1)
    runs["seconds"][position] *= 1.7
    target = {"executors": 32, "scale": 1.0}
    truth = seconds_of(PLAIN, **target)

    averaging = fitted(runs)
    classic = ErnestRegression(weighting="absolute").fit_undetermined(**runs)

    error, of_classic = (abs(float((each.predict(**target) / truth)[0]) - 1) for each in (averaging, classic))
    assert error < 0.08
    assert error < max(0.5 * of_classic, 0.05)
    assert int(np.argmax(averaging.disturbed_)) == position
    assert averaging.disturbed_[position] > 0.5
    assert np.delete(averaging.disturbed_, position).max() < 0.3


@pytest.mark.parametrize("times", [3.0, 5.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_runs_short_of_memory_do_not_spoil_predictions_for_more_machines(seed, times):
    """The two runs with the most data for each machine spill and take many times as long."""
    executors, scale = np.array([2, 4, 8, 16, 2, 4, 8, 16]), np.array([0.1] * 4 + [0.02] * 3 + [0.05])
    job = {"1": 10.0, "scale/executors": 400.0}
    runs = runs_of(job, executors=executors, scale=scale, noise=0.01, seed=seed)
    spilling = np.argsort(-scale / executors)[:2]
    runs["seconds"][spilling] *= times
    target = {"executors": [32, 64], "scale": 1.0}
    truth = seconds_of(job, **target)

    averaging = fitted(runs)

    np.testing.assert_allclose(averaging.predict(**target), truth, rtol=0.12)
    assert averaging.disturbed_[spilling].min() > 0.9
    assert np.delete(averaging.disturbed_, spilling).max() < 0.1
    spoilt = ErnestRegression(weighting="absolute").fit(**runs).predict(**target)
    assert np.all(np.abs(spoilt / truth - 1) > 0.5)


# One run that is wrong by far decides nothing: it is left out and named, or nothing is said at all.

RUNS = {
    "executors": np.array([2, 8, 16, 2, 1, 4, 4, 4, 8, 1, 16, 2]),
    "scale": np.array([0.1, 0.05, 0.02, 0.02, 0.1, 0.02, 0.05, 0.1, 0.1, 0.02, 0.1, 0.05]),
    "seconds": np.array([405.6, 74.9, 38.7, 105.1, 818.6, 65, 122.8, 219.2, 121.5, 181.8, 75.6, 214.1]),
}
"""Twelve runs of a job of 27 s and 7,700 s of work that spreads, with 3 % noise."""

TARGETS = {"executors": np.array([8, 8, 32, 32, 32]), "scale": 1.0}
LIMITS = np.array([30.0, 900.0, 30.0, 250.0, 350.0])

NOISE = 0.05
"""Probabilities differ by so much with each run that is left out, wrong or not."""


def first(count):
    return {name: column[:count] for name, column in RUNS.items()}


@pytest.mark.parametrize("factor", [1 / 1000, 1 / 30, 30, 1000])
@pytest.mark.parametrize("count", [3, 5, 7, 12])
def test_a_wrong_run_never_makes_more_certain_than_the_others(count, factor):
    for position in range(count):
        runs = first(count)
        rest = {name: np.delete(column, position) for name, column in runs.items()}
        runs["seconds"] = np.where(np.arange(count) == position, factor, 1.0) * runs["seconds"]
        try:
            averaging = fitted(runs)
        except FitError:
            assert count < 7
            continue

        supported = TermAveraging().fit_undetermined(**rest).probability_within(**TARGETS, limits=LIMITS)
        low, high = averaging.interval(**TARGETS, level=0.95)
        assert np.all(averaging.probability_within(**TARGETS, limits=LIMITS) <= supported + NOISE), position
        assert np.all((low > 0) & np.isfinite(high) & (averaging.predict(**TARGETS) > 0))


@pytest.mark.parametrize("method", ["averaging", "relative", "classic"])
def test_a_model_names_the_run_that_ended_too_early(method):
    runs = first(7)
    runs["seconds"] = [*runs["seconds"][:6], 1.21]
    observations = observe(**runs)
    if method != "averaging":
        with pytest.raises(FitError, match=r"size 4, 5 % of the input, 1\.21 s"):
            train(observations, job="grep", method=method)
        return

    model = train(observations, job="grep")

    words = "Run 6 (size 4, 5 % of the input, 1.21 s)"
    assert [warning for warning in model.warnings if words in warning]
    assert model.validation.median_error_percent < 5
    assert predict_seconds(model, executors=8) == pytest.approx(981, rel=0.05)
    assert ModelForecast(model, executors=8).probability_within(30.0) < 0.001
    assert np.all(np.isfinite(predict_interval(model, executors=8, level=0.95)))


def test_which_of_few_runs_is_wrong_cannot_be_told_and_is_not_guessed():
    runs = first(4)
    runs["seconds"] = [*runs["seconds"][:3], 3.5]

    words = r"contradict each other.* size 2, 2 % of the input, 3\.5 s"
    with pytest.raises(FitError, match=words) as raised:
        fitted(runs)

    assert "observe it again" in raised.value.remedy


# Inputs whose rows hold more or less than those of the target: as much data need not be as much work.

COUNTS = np.array([2, 4, 6])
ROWS = np.array([0.25, 0.5, 0.75])
AT_TARGET = {"executors": [8, 12], "scale": [1.0, 1.0]}


def seconds_of_rows(executors, rows, width, *, row_share):
    """Of a job whose work on a row of the target's width grows to this share with the data in it."""
    return 12.0 + 900.0 * rows * (1 - row_share + row_share * width) / np.asarray(executors, dtype=float)


def runs_of_rows(widths, *, row_share, noise=0.02):
    executors, rows, width = (each.ravel() for each in np.meshgrid(COUNTS, ROWS, np.array(widths)))
    errors = np.random.default_rng(3).normal(0, noise, len(rows))
    times = seconds_of_rows(executors, rows, width, row_share=row_share) * np.exp(errors)
    return {"executors": executors, "scale": rows * width, "seconds": times, "row_width": width}


@pytest.mark.parametrize("row_share", [0.25, 0.5, 0.9])
def test_how_work_grows_with_the_rows_is_learned_from_inputs_of_two_shapes(row_share: float):
    observed = runs_of_rows([0.33, 0.66], row_share=row_share)
    truth = seconds_of_rows(AT_TARGET["executors"], 1.0, 1.0, row_share=row_share)

    told = TermAveraging().fit(**observed)
    assert np.abs(told.predict(**AT_TARGET) / truth - 1).max() < 0.12
    low, high = told.interval(level=0.95, **AT_TARGET)
    assert np.all((low < truth) & (truth < high))


def test_where_all_inputs_had_other_rows_nothing_is_claimed():
    observed = runs_of_rows([0.33], row_share=1.0)
    low, high = TermAveraging().fit(**observed).interval(level=0.95, **AT_TARGET)
    for row_share in (0.4, 0.9):
        # Scaled so that the observed runs would have taken as long.
        factor = 0.33 / (1 - row_share + row_share * 0.33)
        truth = 12.0 + 900.0 * factor / np.array(AT_TARGET["executors"], dtype=float)
        assert np.all((low < truth) & (truth < high)), row_share
    assert np.all(high / low > 1.8)


def test_a_run_on_other_rows_is_predicted_at_its_own_width():
    predictor = TermAveraging().fit(**runs_of_rows([0.5, 1.0], row_share=0.5))
    (narrow,) = predictor.predict(executors=4, scale=0.25, row_width=0.5)
    assert abs(narrow / seconds_of_rows(4, 0.5, 0.5, row_share=0.5) - 1) < 0.06


@pytest.mark.parametrize("row_width", [0.0, -1.0, np.nan, [1.0, 2.0]])
def test_a_width_that_is_none_is_refused(row_width):
    predictor = TermAveraging().fit(**runs_of_rows([1.0], row_share=0.5))
    with pytest.raises(ValueError, match="row_width"):
        predictor.predict(executors=[4, 5, 6], scale=1.0, row_width=row_width)


def test_a_run_that_was_replayed_pulls_less_and_leaves_more_open():
    """Three runs say 35 s of eight executors; one there takes 50 s, as measured or as replayed."""
    runs = {"executors": [2, 4, 4, 8], "scale": [1.0, 1.0, 0.5, 1.0], "seconds": [110.0, 60.0, 35.0, 50.0]}
    there = {"executors": 8, "scale": 1.0}

    def told(**errors: list[float]) -> tuple[float, float]:
        averaging = TermAveraging().fit_undetermined(**runs, **errors)
        low, high = averaging.interval(**there, level=0.8)
        return float(averaging.predict(**there)[0]), float(high[0] / low[0])

    measured = told()
    assert told(replay_errors=[0.0] * 4) == measured
    (quicker, wider), (own, own_width) = told(replay_errors=[0.0, 0.0, 0.0, 0.3]), measured
    assert 34.0 < quicker < 38.0 < 45.0 < own
    assert wider > own_width
