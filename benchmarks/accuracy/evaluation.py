"""Fits every method to every case and sums up how near the predictions came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.exceptions import ErnestError
from benchmarks.accuracy.methods import AnyMethod, Forecast, Method, PooledMethod, RowMethod
from benchmarks.accuracy.runs import Case, Round, Runs

LEVELS = (0.8, 0.95)
"""The nominal coverages that intervals are asked for."""

Progress = Callable[[int, int], None]
"""Told how many rounds are done, of how many."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One prediction and what happened.

    Attributes:
        method: which method predicted.
        job, condition, split: of which case, and the table that it counts in.
        machines, scale: the configuration.
        seconds: the time that it was expected to take: the median of its runs.
        repetitions: its single runs.
        predicted: the prediction; NaN if the method refused.
        bounds: low and high for each of `LEVELS`; None if the method has no intervals or refused.
    """

    method: str
    job: str
    condition: str
    split: str
    machines: float
    scale: float
    seconds: float
    repetitions: tuple[float, ...]
    predicted: float
    bounds: tuple[tuple[float, float], ...] | None

    @property
    def error_percent(self) -> float:
        """Signed; above 0 where the prediction is too long."""
        return 100.0 * (self.predicted / self.seconds - 1.0)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How one method did on some outcomes, in per cent; None where there is nothing to say.

    Attributes:
        predictions: how many there were.
        refused: for how many of them the method did not fit; they count in nothing else.
        bounded: for how many it gave intervals.
        mean, median: of the absolute percentage error against the expected times.
        bias: the median of the signed error; above 0 where predictions are too long.
        coverage: for each of `LEVELS`, the share of single runs within the interval, which is one for a run.
        width: for each, the median of the interval's width relative to the prediction.
        expected_coverage: for each, the share of the expected times within the interval.
        run_mean: the mean absolute percentage error against single runs.
    """

    predictions: int
    refused: int
    bounded: int
    mean: float | None
    median: float | None
    bias: float | None
    coverage: tuple[float, ...] | None
    width: tuple[float, ...] | None
    expected_coverage: tuple[float, ...] | None
    run_mean: float | None


def evaluate_rounds(
    rounds: Sequence[Round], methods: Sequence[AnyMethod], *, progress: Progress | None = None
) -> list[Outcome]:
    """Fit all methods in all rounds.

    Args:
        rounds: the cases; a method that pools sees the training runs of a whole round, no test run.
        methods: the methods.
        progress: called after each round.
    """
    outcomes: list[Outcome] = []
    for done, one_round in enumerate(rounds, start=1):
        for method in methods:
            pooled = pool(method, [case.train for case in one_round.cases])
            for case in one_round.cases:
                outcomes += _outcomes(pooled, case)
        if progress is not None:
            progress(done, len(rounds))
    return outcomes


def pool(method: AnyMethod, jobs: Sequence[Runs]) -> Method:
    """The method, having seen the training runs of all jobs of a deployment if it wants to."""
    return method.pool(jobs) if isinstance(method, PooledMethod) else method


def summarise(outcomes: Iterable[Outcome]) -> Summary:
    """Sum up the outcomes of one method."""
    every = list(outcomes)
    answered = [outcome for outcome in every if np.isfinite(outcome.predicted)]
    signed = [outcome.error_percent for outcome in answered]
    run_errors = [
        100.0 * abs(outcome.predicted / seconds - 1.0)
        for outcome in answered
        for seconds in outcome.repetitions
    ]
    bounded = [(outcome, outcome.bounds) for outcome in answered if outcome.bounds is not None]
    runs_within = [_within(bounds, seconds) for outcome, bounds in bounded for seconds in outcome.repetitions]
    expected_within = [_within(bounds, outcome.seconds) for outcome, bounds in bounded]
    widths = [[(high - low) / outcome.predicted for low, high in bounds] for outcome, bounds in bounded]
    return Summary(
        predictions=len(every),
        refused=len(every) - len(answered),
        bounded=len(bounded),
        mean=float(np.mean(np.abs(signed))) if signed else None,
        median=float(np.median(np.abs(signed))) if signed else None,
        bias=float(np.median(signed)) if signed else None,
        coverage=_shares(runs_within),
        width=tuple(100.0 * float(width) for width in np.median(widths, axis=0)) if widths else None,
        expected_coverage=_shares(expected_within),
        run_mean=float(np.mean(run_errors)) if run_errors else None,
    )


def _within(bounds: Sequence[tuple[float, float]], seconds: float) -> list[bool]:
    return [low <= seconds <= high for low, high in bounds]


def _shares(within: Sequence[Sequence[bool]]) -> tuple[float, ...] | None:
    return tuple(100.0 * float(share) for share in np.mean(within, axis=0)) if within else None


def _outcomes(method: Method, case: Case) -> list[Outcome]:
    train, test = case.train, case.test
    try:
        if isinstance(method, RowMethod):
            forecast = method.fit_rows(train)
        else:
            forecast = method.fit(machines=train.machines, scale=train.scale, seconds=train.seconds)
        predicted = forecast.predict(machines=test.machines, scale=test.scale)
        bounds = _bounds(forecast, test)
    except ErnestError:  # a refusal is an answer, and is counted
        predicted, bounds = np.full(len(test), np.nan), None
    return [
        Outcome(
            method=method.name,
            job=case.job,
            condition=case.condition,
            split=case.splits[row],
            machines=float(test.machines[row]),
            scale=float(test.scale[row]),
            seconds=float(test.seconds[row]),
            repetitions=case.repetitions[row],
            predicted=float(predicted[row]),
            bounds=bounds[row] if bounds is not None else None,
        )
        for row in range(len(test))
    ]


def _bounds(forecast: Forecast, test: Runs) -> list[tuple[tuple[float, float], ...]] | None:
    """For each row of the test low and high for each level."""
    levels = []
    for level in LEVELS:
        interval = forecast.interval(machines=test.machines, scale=test.scale, level=level)
        if interval is None:
            return None
        low, high = interval
        levels.append(list(zip(low.tolist(), high.tolist(), strict=True)))
    return list(zip(*levels, strict=True))
