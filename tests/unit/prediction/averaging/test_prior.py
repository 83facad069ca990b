"""The prior: what it says of a term, what it refuses, and the way through JSON."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airflow_provider_ernest.documents.models import AveragingPrior, TermBelief
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.predict import observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from tests import examples

from .jobs import PLAIN, runs_of

COUNTS = np.array([1.0, 2, 4, 8, 2, 8])
SCALES = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "change",
    [
        {"driver_share": 1.1},
        {"disturbed_run": NAN},
        {"memory_cut": (0.1, 1.0)},
        *({name: wrong} for name in ("plateau", "plateau_observed", "other_shape") for wrong in (-0.1, 1.0)),
        {"other_probability": 0.0},
        {"least_fixed_seconds": -1.0},
        {"noise": ()},
        {"noise": (0.0, 0.1), "noise_weights": (1.0, 1.0)},
        {"noise_weights": (1.0, 1.0, 1.0, 1.0, NAN)},
        {"discrepancy": (-0.1,), "discrepancy_weights": (1.0,)},
    ],
    ids=str,
)
def test_a_prior_that_could_spoil_every_fit_is_refused_by_name(change):
    with pytest.raises(InvalidParameterError, match="|".join(change)):
        AveragingPrior(**change)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, NAN])
def test_no_belief_is_certain(probability):
    with pytest.raises(InvalidParameterError, match=r"probability of 'scale'.*not between 0 and 1"):
        TermBelief(name="scale", probability=probability)


@pytest.mark.parametrize(
    ("distance", "elsewhere"),
    [
        ("scale_octaves", {"executors": 6, "scale": 0.8}),
        ("executors_octaves", {"executors": 60, "scale": 0.05}),
    ],
)
def test_the_sooner_a_job_may_deviate_from_its_terms_the_less_is_known_elsewhere(distance, elsewhere):
    """Beyond all runs, in the one direction and not in the other."""
    widths = []
    for octaves in (1.0, 40.0):
        prior = AveragingPrior(
            **{distance: octaves},
            discrepancy=(0.2,),
            discrepancy_weights=(1.0,),
            noise=(0.02,),
            noise_weights=(1.0,),
        )
        low, high = (
            TermAveraging(prior=prior).fit(**runs_of(PLAIN, noise=0.02)).interval(**elsewhere, level=0.8)
        )
        widths.append(math.log(high[0] / low[0]))

    assert widths[0] > 1.5 * widths[1]


def test_past_runs_of_one_or_two_sizes_say_less_of_others_than_designed_runs():
    def width(observations: list[Observation], executors: int) -> float:
        fitted = TermAveraging(prior=prior_for(observations)).fit_undetermined(
            **observed_columns(observations)
        )
        low, high = fitted.interval(level=0.8, executors=[executors], scale=[1.0])
        return float(high[0] / low[0])

    past = [
        Observation(index=at, executors=4, scale=scale, seconds=60.0 * scale + 20.0, from_history=True)
        for at, scale in enumerate((0.8, 0.9, 1.0))
    ]
    designed = [replace(run, from_history=False, hosts=("a", "b", "c", "d")) for run in past]
    assert width(past, 8) > 1.2 * width(designed, 8)
    assert width(past, 16) > width(past, 8) > 1.4 * width(past, 4)
    assert width(past, 4) < 1.5


@pytest.mark.parametrize("executors", [10, 100, 1000])
def test_a_job_that_takes_ten_times_as_long_does_so_on_any_number_of_machines(executors):
    """What a machine costs its runs leave open; belief in 0.1 s of any job made that less than ten times."""
    noise = np.exp([0.1, -0.1, 0.1, -0.05, 0.05, 0.1])
    seconds = (10 + 40_000 * SCALES / COUNTS) * noise

    once, tenfold = (
        TermAveraging()
        .fit(executors=COUNTS, scale=SCALES, seconds=times * seconds)
        .predict(executors=executors, scale=1.0)
        for times in (1.0, 10.0)
    )

    assert tenfold == pytest.approx(10 * once, rel=1e-3)


def driven(seconds: float, *, idle: float | None, **fields: Any) -> Observation:
    return examples.observation(
        executors=int(2 * seconds),
        scale=0.1,
        seconds=seconds,
        metrics=examples.metrics(idle_seconds=idle),
        **fields,
    )


def test_what_the_driver_took_in_each_run_is_fixed():
    runs = [driven(10.0, idle=4.0), driven(12.0, idle=3.0), driven(14.0, idle=6.0)]
    untold = driven(16.0, idle=None)
    iterating = [driven(seconds, idle=3.0, iterations=5) for seconds in (10.0, 12.0)]

    assert prior_for(runs).least_fixed_seconds == 3.0
    assert prior_for(runs, AveragingPrior(least_fixed_seconds=9.0)).least_fixed_seconds == 3.0
    assert prior_for([*runs, untold]).least_fixed_seconds == 0.0
    assert prior_for(iterating).least_fixed_seconds == 0.0, "it may be the share of each iteration"
    assert prior_for([]).least_fixed_seconds == 0.0


def test_known_fixed_seconds_are_in_every_prediction_and_tell_the_rest():
    """Runs with so little data that fixed work alone might explain them, or next to none of it."""
    executors, scale = np.array([1, 1, 2, 2]), np.array([0.6, 1.0, 1.0, 1.2])
    columns = {"executors": executors, "scale": scale, "seconds": 8.0 + 10.0 * scale / executors}
    asked = {"executors": 4, "scale": 0.1}

    samples = AveragingPrior(other_shape=0.0)
    open_to_both = TermAveraging(prior=samples).fit(**columns)
    told = TermAveraging(prior=replace(samples, least_fixed_seconds=7.5)).fit(**columns)

    assert told.coefficients_[0] >= 7.5
    assert told.probabilities_[0] == 1.0
    assert told.predict(**asked)[0] == pytest.approx(8.25, rel=0.1)
    low, high = told.interval(**asked, level=0.8)
    assert low[0] > 7.0
    wide_low, wide_high = open_to_both.interval(**asked, level=0.8)
    assert high[0] / low[0] < wide_high[0] / wide_low[0]
    parts = told.contributions(**asked)
    assert parts.sum() == pytest.approx(told.predict(**asked)[0])


def test_no_more_is_known_to_be_fixed_than_the_shortest_run_took():
    executors, scale = np.array([1, 2, 4, 8]), np.array([0.1, 0.1, 0.1, 0.2])
    seconds = 1.0 + 10.0 * scale / executors
    fitted = TermAveraging(prior=AveragingPrior(least_fixed_seconds=100.0))

    predicted = fitted.fit(executors=executors, scale=scale, seconds=seconds).predict(executors=4, scale=0.1)
    assert predicted[0] == pytest.approx(1.25, rel=0.1)
