"""Forecasts of a job's input, and of the week in which it is too much: `python -m benchmarks.forecast`."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, timedelta
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from airflow_provider_ernest.learning.forecast import MONTH_DAYS, InputForecast, late_from
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.recordings import error_table, shown

REPEATS, NIGHTS, WEEKS, AHEAD = 20, (2, 5, 15, 40, 120, 300), (15, 40, 120, 300), (14, 35, 90)
RUN_NOISE, CONFIDENCE, LIMIT = 0.1, 0.8, 0.15
METHODS = ("last", "median of ten", "same weekday", "Theil's trend")
TOLD = ("series", "known", "method", "error", "low 80%", "high 80%", "low 95%", "high 95%")

# On the logarithm: growth in a month, wandering in a day; outliers are a share of the runs, the jump is
# somewhere, growth ends after a share of the days; tails are the degrees of freedom of Student's t.
USUAL = {"growth": 0.0, "noise": 0.1, "weekend": 0.0, "month_end": 0.0, "noon": 0.0, "outliers": 0.0}
USUAL |= {"jump": 0.0, "wandering": 0.0, "ends": 1.0, "tails": 1e6, "every": 1.0, "irregular": 0.0}
SERIES = {
    "steady": {"noise": 0.05},
    "grows 3 % a month": {"growth": 0.03},
    "grows 15 % a month": {"growth": 0.14},
    "shrinks 8 % a month": {"growth": -0.08, "noise": 0.2},
    "weekends, grows 5 %": {"growth": 0.05, "weekend": -0.9},
    "month's end, grows 5 %": {"growth": 0.05, "month_end": 0.7},
    "weekends, month's end, outliers": {"weekend": -0.5, "month_end": 0.7, "outliers": 0.03},
    "jumps by 1.6": {"noise": 0.08, "jump": 0.47},
    "jumps by 2, grows 5 %": {"growth": 0.05, "jump": 0.7},
    "irregular days, grows 10 %": {"growth": 0.1, "every": 1.5, "irregular": 1.0},
    "twice a day, grows 5 %": {"growth": 0.05, "every": 0.5, "noon": -1.1},
    "wanders": {"noise": 0.05, "wandering": 0.03},
    "heavy tails, grows 8 %": {"growth": 0.08, "noise": 0.12, "tails": 3.0},
    "growth of 15 % has ended": {"growth": 0.14, "ends": 0.5},
}


class Job:
    """A job, its moments, and the logarithm of what it typically reads at each, and of what it read."""

    def __init__(self, name: str, count: int, *seed: int) -> None:
        job, random = USUAL | SERIES[name], np.random.default_rng([*name.encode(), count, *seed])
        gaps = random.exponential(1.0, count) if job["irregular"] else np.ones(count)
        days = job["every"] * np.cumsum(gaps)
        first = datetime(2025, 1, 6, 2, 30, tzinfo=UTC) + timedelta(days=int(random.integers(365)))
        self.moments = [first + timedelta(days=day) for day in days.tolist()]
        self.is_growing = job["growth"] > 0 and job["ends"] == 1
        self.days, self.growth = days, job["growth"]
        usual = self.growth * np.minimum(days, job["ends"] * days[-1]) / MONTH_DAYS
        usual += np.cumsum(random.normal(0.0, job["wandering"], count) * np.sqrt(job["every"] * gaps))
        usual += job["jump"] * (np.arange(count) >= random.integers(1, max(2, count - 1)))
        self.typical = usual + job["weekend"] * 2 / 7 + job["noon"] / 2
        usual += job["weekend"] * np.array([each.weekday() > 4 for each in self.moments])
        usual += job["noon"] * np.array([each.hour > 12 for each in self.moments])
        usual += job["month_end"] * np.array([(each + timedelta(1)).day == 1 for each in self.moments])
        noise = job["noise"] * random.standard_t(job["tails"], 20_000)  # as many as tell its quantiles
        self.noise = noise + (random.random(20_000) < job["outliers"]) * random.normal(0.0, 1.0, 20_000)
        self.logs = usual + self.noise[:count]


def simple(days: FloatArray, logs: FloatArray) -> FloatArray:
    """Of each of `METHODS` what it says of the last day, with the spread of its errors before, (4, 5)."""
    said = []
    for at in range(max(1, len(logs) - 30), len(days)):
        x, y = days[max(0, at - 40) : at], logs[max(0, at - 40) : at]
        first, second = np.triu_indices(len(x), 1)
        slope = np.median((y[second] - y[first]) / (x[second] - x[first])) if len(first) else 0.0
        weekday = y[np.abs(x - (days[at] - 7)).argmin()]
        said.append([y[-1], np.median(y[-10:]), weekday, np.median(y + slope * (days[at] - x))])
    past, now = np.array(said[:-1]), np.array(said[-1])
    spread = np.sqrt(np.mean((logs[-len(past) :, None] - past) ** 2, axis=0))
    spread *= stdtrit(len(past), 0.9) / ndtri(0.9)
    return np.asarray(now[:, None] + spread[:, None] * ndtri([0.5, 0.1, 0.9, 0.025, 0.975]))


def night(name: str, known: int, repeat: int) -> list[tuple[object, ...]]:
    """What each method says of the next run, after so many; see `TOLD`."""
    job = Job(name, known + 1, repeat)
    told = InputForecast(job.moments[:-1], np.exp(job.logs[:-1])).at(job.moments[-1])
    said = {"ours": np.log([told.amount, *told.likely, *told.nearly_certain])}
    if known > 2:
        said |= dict(zip(METHODS, simple(job.days, job.logs[:-1]), strict=True))
    over = {method: np.exp(bounds - job.logs[-1]).tolist() for method, bounds in said.items()}
    return [(name, known, method, middle - 1.0, *bounds) for method, (middle, *bounds) in over.items()]


def week(name: str, known: int, ahead: int, repeat: int) -> dict[str, object]:
    """Whether the week in which a limit is no longer kept lies in the range that is told."""
    job = Job(name, known, ahead, repeat)
    # What a typical run reads on the true day, and then noise, of which as much is allowed as asked.
    limit = job.typical[-1] + (job.growth * ahead / MONTH_DAYS if job.is_growing else LIMIT)
    limit += np.quantile(job.noise + np.random.default_rng(repeat).normal(0.0, RUN_NOISE, 20_000), CONFIDENCE)

    def within(scale: float, _: object) -> FloatArray:
        return np.array([ndtr((limit - np.log(scale)) / RUN_NOISE)])

    forecast = InputForecast(job.moments, np.exp(job.logs))
    late = late_from(forecast, within, executors=[8], today=8, whole=1.0, confidence=CONFIDENCE)
    row = {"series": name, "grows": job.is_growing, "known": known, "ahead": ahead, "told": 0.0}
    if late is None or not late.from_day:
        return row
    days = [date.fromisoformat(day) for day in (late.from_day, late.earliest_day, late.latest_day)]
    usual, low, high = ((day - job.moments[-1].date()).days / 7 for day in days)
    holds = 100.0 * (round(low) <= round(ahead / 7) <= round(high)) if job.is_growing else np.nan
    return {**row, "told": 100.0, "holds": holds, "error": abs(usual - ahead / 7), "width": high - low}


def main() -> None:
    """Forecast all series, and print how often ranges hold."""
    nights, weeks = product(SERIES, NIGHTS, range(REPEATS)), product(SERIES, WEEKS, AHEAD, range(REPEATS))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        told = [row for rows in pool.map(night, *zip(*nights, strict=True), chunksize=8) for row in rows]
        late = pd.DataFrame(list(pool.map(week, *zip(*weeks, strict=True), chunksize=8)))
    print(
        "What the next run reads, in % of what it did; simple methods with the spread of their past errors\n"
    )
    for by in (["method"], ["known", "method"], ["series", "method"]):
        table = error_table(pd.DataFrame(told, columns=TOLD), by)
        print(shown(table.drop(columns=["silent", "bias", "wide 95%"])), end="\n\n")
    print("The week in which a limit is no longer kept, where input grows: % of cases in which one is told,")
    print("% of these in whose 80 % range it is; its error and the width in weeks; ahead: days until it.\n")
    each = {"told": "mean", "holds": "mean", "error": "median", "width": "median"}
    for by in (["ahead"], ["known", "ahead"], ["series"]):
        print(shown(late[late["grows"]].groupby(by, sort=False).agg(each)), end="\n\n")
    print(f"Where it does not grow, or no longer, {LIMIT:.0%} below the limit: % of cases with one told\n")
    print(shown(late[~late["grows"]].pivot_table("told", "series", "known")))


if __name__ == "__main__":
    main()
