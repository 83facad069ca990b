"""What was said of each run from the runs before it alone, beside what it took.

Each run that ended well is predicted from the last 1, 2, 5 and 10 runs of its job before it. One on the
usual machines has more input than they had; for one on others, runs on as many are left out, so that nothing
but the others tell of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from airflow_provider_ernest.clarity.replay_scaled import replay_scaled
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.documents.runs import Observation, PastRun
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.history.observations import History, TodaysRun, observations_of
from airflow_provider_ernest.history.sizes import runs_to_profile, today_of
from airflow_provider_ernest.history.survey import Prices, SurveyGoal, surveyed_job
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.predict import observed_columns
from airflow_provider_ernest.prediction.prior import prior_for
from airflow_provider_ernest.prediction.terms import RunColumns
from benchmarks.recordings import LEVELS

NUMBERS_OF_RUNS = (1, 2, 5, 10)

USUAL, OTHER = "the usual machines, grown input", "other machines than any run before"
CASES = (USUAL, OTHER)

MODEL, MODEL_OF_ALL = "model", "model, prior for the rest"

SAME_INPUT = 1.15
"""A survey tells of today's input: runs whose input differs by more are none of its."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """A run of the corpus, which may have failed by plan; the profile is None without tasks."""

    job: str
    number: int
    past: PastRun
    profile: RunProfile | None
    failed: bool


@dataclass(frozen=True, kw_only=True)
class _Question:
    """A run that is to be predicted, and what is known before it."""

    target: PastRun
    known: Sequence[RecordedRun]
    history: History

    @property
    def scale(self) -> float:
        """Of the run's input: how large that is is known before it starts."""
        whole = self.history.input_bytes
        return self.target.input_bytes / whole if whole and self.target.input_bytes else 1.0


def said_of(job: str, runs: Sequence[RecordedRun]) -> list[dict[str, Any]]:
    """What each method said of each run of a job, from each number of runs: rows for `error_table`."""
    in_order = sorted(runs, key=lambda run: run.past.started_at)
    usual = Counter(run.past.executors for run in in_order if not run.failed).most_common(1)[0][0]
    rows = []
    for place, target in enumerate(in_order):
        if target.failed or target.past.failure:
            continue
        case = USUAL if target.past.executors == usual else OTHER
        before = [run for run in in_order[:place] if not run.past.failure]
        if case == OTHER:
            before = [run for run in before if run.past.executors != target.past.executors]
        for count in NUMBERS_OF_RUNS:
            if len(before) >= count:
                question = _question(target.past, before[-count:])
                for method, ask in METHODS.items():
                    told = {"job": job, "run": target.number, "case": case, "method": method, "known": count}
                    rows.append(told | _answer(ask, question))
    return rows


def _question(target: PastRun, known: Sequence[RecordedRun]) -> _Question:
    history = observations_of(
        [run.past for run in known],
        TodaysRun(input_bytes=target.input_bytes or None),
    )
    return _Question(target=target, known=known, history=history)


_Seconds = tuple[float, Sequence[tuple[float, float] | None], float]
"""What is said, its intervals at `LEVELS`, and what came."""

_NO_INTERVALS = (None,) * len(LEVELS)


def _answer(ask: Callable[[_Question], _Seconds | None], question: _Question) -> dict[str, float]:
    """What is said over what came, NaN where nothing is said."""
    try:
        answer = ask(question)
    except ErnestError:
        answer = None
    said, intervals, came = answer or (math.nan, _NO_INTERVALS, 1.0)
    columns = {"error": said / came - 1.0}
    for level, bounds in zip(LEVELS, intervals, strict=True):
        low, high = bounds or (math.nan, math.nan)
        columns |= {f"low {level:.0%}": low / came, f"high {level:.0%}": high / came}
    return columns


def _as_the_last_run(question: _Question) -> _Seconds:
    return question.known[-1].past.seconds, _NO_INTERVALS, question.target.seconds


def _by_model(question: _Question) -> _Seconds | None:
    runs = question.history.observations
    return _predicted(TermAveraging(prior=prior_for(runs)).fit(**observed_columns(runs)), question)


def _by_model_of_all(question: _Question) -> _Seconds | None:
    runs = question.history.observations
    if not runs:
        return None
    predictor = TermAveraging(prior=prior_for(runs)).fit_undetermined(**observed_columns(runs))
    return _predicted(predictor, question)


def _predicted(predictor: TermAveraging, question: _Question) -> _Seconds:
    asked: RunColumns = {
        "executors": np.array([question.target.executors]),
        "scale": np.array([question.scale]),
    }
    bounds = [predictor.interval(level=level, **asked) for level in LEVELS]
    intervals = [(float(low[0]), float(high[0])) for low, high in bounds]
    return float(predictor.predict(**asked)[0]), intervals, question.target.seconds


def _by_replay(question: _Question) -> _Seconds | None:
    scales: Mapping[str | None, Observation] = {
        run.application_id: run for run in question.history.observations
    }
    profiles = [
        replace(run.profile, scale=scales[run.past.application_id].scale)
        for run in question.known
        if run.profile is not None and run.past.application_id in scales
    ]
    opinion = replay_scaled(
        profiles,
        executors=[question.target.executors],
        scale=question.scale,
        executor_cores=question.target.executor_cores,
    )
    if not opinion.sizes:
        return None
    return opinion.sizes[0].replayed_seconds, _NO_INTERVALS, question.target.seconds


def _by_survey(question: _Question) -> _Seconds | None:
    """What it says of such machines; its seconds are with the start-up."""
    past = [run.past for run in question.known]
    today = today_of(past).input_bytes
    if not today or abs(math.log(question.target.input_bytes / today)) > math.log(SAME_INPUT):
        return None
    profiles = {run.past.application_id: run.profile for run in question.known}
    asked = [profile for run in runs_to_profile(past) if (profile := profiles[run.application_id])]
    surveyed = surveyed_job("", past, asked, goal=SurveyGoal(), prices=Prices())
    size = next((size for size in surveyed.sizes if size.executors == question.target.executors), None)
    if size is None:
        return None
    came = question.target.seconds + question.target.startup_seconds
    return size.seconds, (size.likely_seconds, None), came


METHODS: Mapping[str, Callable[[_Question], _Seconds | None]] = {
    "as the last run": _as_the_last_run,
    MODEL: _by_model,
    MODEL_OF_ALL: _by_model_of_all,
    "replay": _by_replay,
    "survey": _by_survey,
}
