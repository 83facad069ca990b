"""What was said of each run from runs on the other side of a change, or on its own, beside what it took."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.predict import WHOLE_CACHE, predict_interval, predict_seconds
from airflow_provider_ernest.prediction.regimes import RegimeForecast, foresee
from airflow_provider_ernest.prediction.training import train
from benchmarks.regimes.corpus import RecordedRun, is_short

LEVELS = (0.8, 0.95)

INTO_SHORTAGE, OUT_OF_SHORTAGE, SEEN_ONCE, SAME_SIDE = (
    "into shortage",
    "out of shortage",
    "into shortage, seen once",
    "same side",
)
CASES = (INTO_SHORTAGE, OUT_OF_SHORTAGE, SEEN_ONCE, SAME_SIDE)
"""Trained on runs that had enough and asked of those that did not, the reverse, with the shortest run on the
short side among those trained on, and each run from the others of its side."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What was said of a run.

    Attributes:
        case: of `CASES`.
        setting: whose run it is.
        machines: of the run.
        scale: of it.
        seconds: that it took.
        predicted: seconds; None where nothing was said.
        intervals: seconds, for each of `LEVELS`; none where nothing was said.
        announced: whether Spark's figures of the runs trained on told the side on which it would be; None
            where that is the side of them all.
        runs: how many were trained on.
        most_machines: of those.
        silent_because: why nothing was said.
    """

    case: str
    setting: str
    machines: int
    scale: float
    seconds: float
    predicted: float | None = None
    intervals: tuple[tuple[float, float], ...] = ()
    announced: bool | None = None
    runs: int = 0
    most_machines: int = 0
    silent_because: str = ""

    @property
    def error(self) -> float | None:
        """Said over came, less 1."""
        return None if self.predicted is None else self.predicted / self.seconds - 1.0

    @property
    def held(self) -> tuple[bool, ...]:
        """For each interval whether it held the run."""
        return tuple(low <= self.seconds <= high for low, high in self.intervals)

    @property
    def widths(self) -> tuple[float, ...]:
        """Upper bound over lower, for each interval."""
        return tuple(high / low if low > 0 else math.inf for low, high in self.intervals)


def evaluate(runs: Sequence[RecordedRun]) -> list[Said]:
    """What is said of each run in each case."""
    in_order = sorted(runs, key=lambda run: run.setting)
    return [
        said
        for setting, of_setting in groupby(in_order, key=lambda run: run.setting)
        for said in _said_of(setting, list(of_setting))
    ]


def _said_of(setting: str, runs: Sequence[RecordedRun]) -> Iterator[Said]:
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
                yield _say(case, setting, run, [each.observation for each in known])


def _is_beside(run: RecordedRun, other: RecordedRun) -> bool:
    """Whether it is on the same side, and another configuration."""
    one, two = run.observation, other.observation
    return run.is_short == other.is_short and (one.machines, one.scale) != (two.machines, two.scale)


def _say(case: str, setting: str, run: RecordedRun, known: Sequence[Observation]) -> Said:
    target = run.observation
    crosses = case in (INTO_SHORTAGE, OUT_OF_SHORTAGE)
    forecast = foresee(known, machines=target.machines, scale=target.scale)
    asked = Said(
        case=case,
        setting=setting,
        machines=target.machines,
        scale=target.scale,
        seconds=target.seconds,
        announced=_is_announced(run, known, forecast) if crosses else None,
        runs=len(known),
        most_machines=max(each.machines for each in known),
    )
    try:
        model = train(known, job=setting)
        (predicted,) = predict_seconds(model, machines=target.machines, scale=target.scale)
        intervals = []
        for level in LEVELS:
            low, high = predict_interval(model, machines=target.machines, scale=target.scale, level=level)
            intervals.append((float(low[0]), float(high[0])))
    except ErnestError as error:
        return replace(asked, silent_because=error.message)
    return replace(asked, predicted=float(predicted), intervals=tuple(intervals))


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
