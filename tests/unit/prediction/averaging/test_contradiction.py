"""One run that is wrong by far decides nothing: it is left out and named, or nothing is said at all."""

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.prediction.averaging import TermAveraging, wrong_points
from airflow_provider_ernest.prediction.evidence import merge_repetitions
from airflow_provider_ernest.prediction.predict import ModelForecast, predict_interval, predict_seconds
from airflow_provider_ernest.prediction.terms import DICTIONARY
from airflow_provider_ernest.prediction.training import train
from tests.examples import observe

from .jobs import fitted

RUNS = {
    "machines": np.array([2, 8, 16, 2, 1, 4, 4, 4, 8, 1, 16, 2]),
    "scale": np.array([0.1, 0.05, 0.02, 0.02, 0.1, 0.02, 0.05, 0.1, 0.1, 0.02, 0.1, 0.05]),
    "seconds": np.array([405.6, 74.9, 38.7, 105.1, 818.6, 65, 122.8, 219.2, 121.5, 181.8, 75.6, 214.1]),
}
"""Twelve runs of a job of 27 s and 7,700 s of work that spreads, with 3 % noise."""

TARGETS = {"machines": np.array([8, 8, 32, 32, 32]), "scale": 1.0}
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
        with pytest.raises(FitError, match=r"4 machines, 5 % of the input, 1\.21 s"):
            train(observations, job="grep", method=method)
        return

    model = train(observations, job="grep")

    words = "Run 6 (4 machines, 5 % of the input, 1.21 s)"
    assert [warning for warning in model.warnings if words in warning]
    assert model.validation.median_error_percent < 5
    assert predict_seconds(model, machines=8) == pytest.approx(981, rel=0.05)
    assert ModelForecast(model, machines=8).probability_within(30.0) < 0.001
    assert np.all(np.isfinite(predict_interval(model, machines=8, level=0.95)))


def test_which_of_few_runs_is_wrong_cannot_be_told_and_is_not_guessed():
    runs = first(4)
    runs["seconds"] = [*runs["seconds"][:3], 3.5]

    words = r"contradict each other.* 2 machines, 2 % of the input, 3\.5 s"
    with pytest.raises(FitError, match=words) as raised:
        fitted(runs)

    assert "observe it again" in raised.value.remedy


def test_what_came_twice_is_not_wrong_however_little_the_terms_say_of_it():
    columns = {name: np.append(column, column[:1]) for name, column in first(7).items()}
    columns["seconds"][[0, 7]] = [4100.0, 4200.0]
    points = merge_repetitions(**columns, workers=columns["machines"])
    assert points.agreeing.sum() == 1

    assert not wrong_points(points, DICTIONARY, AveragingPrior()).any()
    columns["seconds"][7] = 41.0
    points = merge_repetitions(**columns, workers=columns["machines"])
    assert wrong_points(points, DICTIONARY, AveragingPrior()).sum() == 1


def test_so_many_runs_that_take_now_this_time_and_now_another_are_not_one_wrong_run():
    columns = {name: np.append(column, [column[0]] * 7) for name, column in first(7).items()}
    columns["seconds"][[0, *range(7, 14)]] = [3000.0, 5600.0] * 4
    points = merge_repetitions(**columns, workers=columns["machines"])
    assert not points.agreeing.any()

    assert not wrong_points(points, DICTIONARY, AveragingPrior()).any()
