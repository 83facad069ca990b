"""What is said of each run from runs on the other side of a change, or on its own, beside what it took.

The runs are of nine jobs with little memory: caches that do not hold on few machines, sorts and aggregations
that spill, and a join whose smaller side stops being small.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.eventlog.run_facts import read_run, registered_at, run_metrics, run_seconds
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
from airflow_provider_ernest.prediction.regimes import WHOLE_CACHE, RegimeForecast, foresee
from airflow_provider_ernest.prediction.training import train
from benchmarks.recordings import LEVELS, REGIMES, unpack

MOST_EXECUTORS = 4
TARGET_FILES = 16
"""Of input, which are called the whole of it."""

CHANGES_AT = {"joining": 12}
"""Files of input from which on a job takes another course, where Spark's figures do not tell its side."""

INTO_SHORTAGE, OUT_OF_SHORTAGE, SEEN_ONCE, SAME_SIDE = CASES = (
    "into shortage",
    "out of shortage",
    "into shortage, seen once",
    "same side",
)
"""Trained on runs that had enough and asked of those that did not, the reverse, with the shortest run on the
short side among those trained on, and each run from the others of its side."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """A run of a setting: a job and the memory that it has.

    It `is_short` on the side where memory ran short, or the job took another course.
    """

    setting: str
    observation: Observation
    is_short: bool


def recorded_runs() -> list[RecordedRun]:
    """All runs, by setting and in their order, as a sample run of the package is kept."""
    with tempfile.TemporaryDirectory(prefix="ernest-regimes-") as folder:
        facts = sorted(unpack(REGIMES, Path(folder)), key=lambda fact: (fact["job"], fact["number"]))
        return [_run(fact, Path(folder) / fact["run"]) for fact in facts]


def _run(fact: Mapping[str, Any], log_file: Path) -> RecordedRun:
    log = read_run(log_file)
    observation = Observation(
        index=fact["number"],
        executors=fact["machines"],
        scale=fact["files"] / TARGET_FILES,
        seconds=run_seconds(log, fact["machines"]),
        startup_seconds=max(0.0, registered_at(log, fact["machines"]) - log.started_at),
        application_id=log.application_id,
        hosts=tuple(executor.host for executor in log.executors),
        metrics=run_metrics(log),
    )
    changes_at = CHANGES_AT.get(fact["job"])
    short = is_short(observation) if changes_at is None else fact["files"] >= changes_at
    return RecordedRun(setting=fact["job"], observation=observation, is_short=short)


def is_short(observation: Observation) -> bool:
    """Whether memory ran short by Spark's figures: a cache was not all in memory, or tasks spilled."""
    metrics = observation.metrics
    if metrics is None:
        return False
    share = metrics.cache_share
    return metrics.spilled_bytes > 0 or (share is not None and share < WHOLE_CACHE)


def evaluate(runs: Sequence[RecordedRun]) -> list[dict[str, Any]]:
    """What is said of each run in each case: rows for `error_table`.

    Their column ``announced`` is whether Spark's figures of the runs trained on told the side on which it
    would be; None where that is the side of them all.
    """
    in_order = sorted(runs, key=lambda run: run.setting)
    return [
        row
        for _, of_setting in groupby(in_order, key=lambda run: run.setting)
        for row in _said_of(list(of_setting))
    ]


def _said_of(runs: Sequence[RecordedRun]) -> Iterator[dict[str, Any]]:
    ample = [run for run in runs if not run.is_short]
    short = sorted((run for run in runs if run.is_short), key=lambda run: run.observation.seconds)
    cases: Mapping[str, Callable[[RecordedRun], Sequence[RecordedRun]]] = {
        INTO_SHORTAGE: lambda run: ample if run.is_short else (),
        OUT_OF_SHORTAGE: lambda run: () if run.is_short else short,
        SEEN_ONCE: lambda run: [*ample, short[0]] if run.is_short and run is not short[0] else (),
        SAME_SIDE: lambda run: [other for other in runs if _is_beside(run, other)],
    }
    for case, known_of in cases.items():
        for run in runs:
            if known := known_of(run):
                yield _say(case, run, [each.observation for each in known])


def _is_beside(run: RecordedRun, other: RecordedRun) -> bool:
    """Whether it is on the same side, and another configuration."""
    one, two = run.observation, other.observation
    return run.is_short == other.is_short and (one.executors, one.scale) != (two.executors, two.scale)


def _say(case: str, run: RecordedRun, known: Sequence[Observation]) -> dict[str, Any]:
    target = run.observation
    crosses = case in (INTO_SHORTAGE, OUT_OF_SHORTAGE)
    forecast = foresee(known, executors=target.executors, scale=target.scale)
    row: dict[str, Any] = {
        "case": case,
        "setting": run.setting,
        "executors": target.executors,
        "scale": target.scale,
        "seconds": target.seconds,
        "announced": _is_announced(run, known, forecast) if crosses else None,
        "known": len(known),
        "on more": target.executors > max(each.executors for each in known),
    }
    said, bounds = math.nan, dict.fromkeys(LEVELS, (math.nan, math.nan))
    try:
        model = train(known, job=run.setting)
        said = float(predict_seconds(model, executors=target.executors, scale=target.scale)[0])
        for level in LEVELS:
            lows, highs = predict_interval(model, executors=target.executors, scale=target.scale, level=level)
            bounds[level] = float(lows[0]), float(highs[0])
    except ErnestError:
        pass  # a refusal is an answer, and is counted
    row["error"] = said / target.seconds - 1.0
    for level, (least, most) in bounds.items():
        row |= {f"low {level:.0%}": least / target.seconds, f"high {level:.0%}": most / target.seconds}
    return row


def _is_announced(run: RecordedRun, known: Sequence[Observation], forecast: RegimeForecast) -> bool:
    """Whether it is foreseen on its side, and by the same figures the known runs were on the other.

    A join that changes its course leaves no trace in them: then to foresee enough memory is no news.
    """
    is_news = all(is_short(each) != run.is_short for each in known)
    return is_news and _foreseen(forecast) == run.is_short


def _foreseen(forecast: RegimeForecast) -> bool | None:
    """Whether the forecast has memory run short; None where it tells of neither cache nor spilling."""
    told = []
    if forecast.cache_share is not None:
        told.append(forecast.cache_share < WHOLE_CACHE)
    if forecast.spills is not None:
        told.append(forecast.spills)
    return any(told) if told else None
