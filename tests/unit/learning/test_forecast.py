"""What the next runs read, and when that becomes too much, of histories whose truth is known."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from scipy.special import ndtr

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.learning.forecast import MONTH_DAYS, InputForecast, late_from

FIRST = datetime(2026, 1, 5, 2, 0, tzinfo=UTC)  # a Monday
TERABYTE = 1e12


def history(count, *, monthly=0.0, noise=0.05, effect=lambda moment: 0.0, every=1.0, seed=0):
    """Moments of runs from the first on, and what they read: log(amount) grows by `monthly`."""
    moments = [FIRST + timedelta(days=every * run) for run in range(count)]
    logs = np.array([monthly * every * run / MONTH_DAYS + effect(each) for run, each in enumerate(moments)])
    return moments, TERABYTE * np.exp(logs + noise * np.random.default_rng(seed).standard_normal(count))


def is_month_end(moment: datetime) -> bool:
    return (moment + timedelta(days=1)).day == 1


def width(told) -> float:
    return math.log(told.likely[1] / told.likely[0])


def test_weekdays_and_months_ends_are_forecast_where_the_history_has_them():
    def effect(moment: datetime) -> float:
        return -0.7 * (moment.weekday() > 4) + 0.6 * is_month_end(moment)

    forecast = InputForecast(*history(150, effect=effect))
    for day in range(150, 185):
        moment = FIRST + timedelta(days=day)
        told = forecast.at(moment)
        assert told.amount == pytest.approx(TERABYTE * math.exp(effect(moment)), rel=0.12), moment
        assert told.nearly_certain[0] < told.likely[0] < told.amount < told.likely[1] < told.nearly_certain[1]


def test_two_runs_a_day_are_told_apart_by_their_hour():
    forecast = InputForecast(*history(60, every=0.5, effect=lambda moment: -1.0 * (moment.hour > 12)))
    at_night, at_noon = (forecast.at(FIRST + timedelta(days=30, hours=hours)) for hours in (0, 12))
    assert at_noon.amount / at_night.amount == pytest.approx(math.exp(-1.0), rel=0.1)
    assert width(at_night) < 0.3


@pytest.mark.parametrize("later", [3, 20, 60])
def test_a_jump_is_no_trend(later):
    jump = FIRST + timedelta(days=60)
    moments, amounts = history(60 + later, effect=lambda moment: 0.6 * (moment >= jump))
    forecast = InputForecast(moments, amounts)
    assert forecast.growth_per_month == pytest.approx(1.0, abs=0.03)
    told = forecast.at(moments[-1] + timedelta(days=1))
    assert told.likely[0] < TERABYTE * math.exp(0.6) < told.likely[1]
    assert width(told) < 0.5


def test_growth_that_has_ended_goes_no_further():
    moments, amounts = history(200, monthly=0.15)
    ended = [amount / math.exp(0.15 * max(0, run - 120) / MONTH_DAYS) for run, amount in enumerate(amounts)]
    assert InputForecast(moments, amounts).growth_per_month == pytest.approx(math.exp(0.15), abs=0.02)
    assert InputForecast(moments, ended).growth_per_month == pytest.approx(1.0, abs=0.03)


def test_odd_runs_change_the_forecast_little():
    moments, amounts = history(60, monthly=0.05)
    odd = amounts.copy()
    odd[[9, 30, 59]] *= [20.0, 0.01, 8.0]
    plain, forecast = InputForecast(moments, amounts), InputForecast(moments, odd)
    tomorrow = moments[-1] + timedelta(days=1)
    assert forecast.at(tomorrow).amount == pytest.approx(plain.at(tomorrow).amount, rel=0.05)
    # They may come again.
    assert forecast.at(tomorrow).nearly_certain[1] > plain.at(tomorrow).nearly_certain[1]


def test_few_runs_and_far_days_are_told_with_wide_ranges():
    moments, amounts = history(40, monthly=0.03)
    widths = [
        width(
            InputForecast(moments[:known], amounts[:known]).at(moments[known] if known < 40 else moments[-1])
        )
        for known in (1, 3, 10)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0.5
    forecast = InputForecast(moments, amounts)
    far = [width(forecast.at(moments[-1] + timedelta(days=days))) for days in (1, 60, 300)]
    assert far == sorted(far)
    assert far[2] > 3 * far[0]


def test_ranges_hold_as_often_as_they_say():
    """Of jobs that differ: nightly or irregular, growing or not, with weekends or not."""
    random, held = np.random.default_rng(7), []
    for seed in range(150):
        monthly, weekend = random.choice([0.0, 0.05, 0.15]), random.choice([0.0, -0.8])
        moments, amounts = history(
            int(random.integers(5, 90)) + 1,
            monthly=monthly,
            noise=random.choice([0.03, 0.1, 0.3]),
            effect=lambda moment, weekend=weekend: weekend * (moment.weekday() > 4),
            every=random.choice([0.37, 1.0, 2.3]),
            seed=seed,
        )
        told = InputForecast(moments[:-1], amounts[:-1]).at(moments[-1])
        held.append(
            [low <= amounts[-1] <= high for low, high in (told.likely, told.nearly_certain)],
        )
    likely, nearly_certain = np.mean(held, axis=0)
    assert 0.73 <= likely <= 0.87
    assert 0.9 <= nearly_certain <= 0.99


def test_the_same_history_tells_the_same_in_any_order_and_without_zones():
    moments, amounts = history(30, monthly=0.1)
    shuffled = np.random.default_rng(3).permutation(30)
    asked = moments[-1] + timedelta(days=1)
    one = InputForecast(moments, amounts).at(asked)
    assert one == InputForecast([moments[at] for at in shuffled], amounts[shuffled]).at(asked)
    assert one == InputForecast([each.replace(tzinfo=None) for each in moments], amounts).at(asked)
    assert one.log_spread == pytest.approx(width(one) / 2 / 1.2816, rel=1e-3)


@pytest.mark.parametrize("amounts", [[], [0.0], [math.inf], [1.0, -2.0]])
def test_amounts_that_cannot_be_are_refused(amounts):
    with pytest.raises(InvalidParameterError, match="amounts"):
        InputForecast([FIRST + timedelta(days=day) for day in range(len(amounts))], amounts)


COUNTS = [8, 12, 16, 32]


def late(forecast, *, kept_up_to, confidence=0.8):
    """Where a run keeps the deadline up to an input on 8 executors, and on more with proportionally more."""
    return late_from(
        forecast,
        lambda scale, counts: ndtr(np.log(kept_up_to * np.array(counts) / COUNTS[0] / scale) / 0.1),
        executors=COUNTS,
        today=8,
        whole=TERABYTE,
        confidence=confidence,
    )


def days_until(day: str, forecast) -> int:
    return (date.fromisoformat(day) - forecast.last.date()).days


def test_the_day_on_which_todays_size_is_late_is_named_with_its_range_and_what_to_do():
    forecast = InputForecast(*history(120, monthly=0.12))
    # Noise of runs and inputs, for 80 % of runs to keep it.
    truly = 0.12 * (120 + 40) / MONTH_DAYS
    told = late(forecast, kept_up_to=math.exp(truly + 0.8416 * math.hypot(0.1, 0.05)))
    early, usual, latest = (
        days_until(day, forecast) for day in (told.earliest_day, told.from_day, told.latest_day)
    )
    assert early <= 41 <= latest
    assert usual == pytest.approx(41, abs=8)
    assert latest - early < 60
    assert told.single_day == ""
    # 12 executors keep half as much again: for log(1.5) / 0.12 months more.
    assert told.executors == 12
    assert days_until(told.executors_until, forecast) - usual == pytest.approx(103, abs=20)
    surer = late(forecast, kept_up_to=math.exp(truly + 0.15), confidence=0.95)
    assert days_until(surer.from_day, forecast) < usual


def test_nothing_is_named_where_input_does_not_grow_or_nothing_is_known():
    assert late(InputForecast(*history(120)), kept_up_to=1.4) is None
    assert late(InputForecast(*history(6, noise=0.2)), kept_up_to=1.8) is None
    assert late(InputForecast(*history(120, monthly=-0.1)), kept_up_to=1.4) is None
    # A trend that may take more than a year is no single day either.
    assert late(InputForecast(*history(40, noise=0.1, monthly=0.12)), kept_up_to=1.5) is None


def test_a_months_end_that_is_late_by_itself_is_named():
    forecast = InputForecast(*history(150, effect=lambda moment: 0.7 * is_month_end(moment)))
    told = late(forecast, kept_up_to=1.7)
    assert (told.from_day, told.latest_day) == ("", "")
    assert told.single_day == "2026-06-30"
    assert told.executors == 12
    assert told.executors_until == ""


def test_one_that_is_late_today_is_so_from_the_next_run_on_and_may_have_no_remedy():
    told = late(InputForecast(*history(60)), kept_up_to=0.1)
    assert told.from_day == told.latest_day == "2026-03-06"
    assert (told.executors, told.executors_until) == (None, "")
