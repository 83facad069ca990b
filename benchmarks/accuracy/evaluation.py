"""Fits every method to every case, and sums up how near the predictions came."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.regression import two_sided
from benchmarks.accuracy.methods import OURS, AnyMethod, Method, pool
from benchmarks.accuracy.runs import Case, Round

LEVELS = (0.8, 0.95)
"""The nominal coverages that intervals are asked for."""

PROMISED = ((77.0, 88.0), (92.0, 99.0))
"""Per cent of single runs that the intervals of `LEVELS` are to hold, over all protocols."""

WORST = 5
"""How many of our largest errors are shown."""

NEAR = 0.1
"""Two errors count as equal below this difference, in percentage points."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One prediction and what happened.

    Attributes:
        condition: what the method was trained on.
        split: the table that it counts in.
        seconds: the expected time: the median of the single runs in `repetitions`.
        predicted: NaN if the method refused.
        bounds: low and high for each of `LEVELS`; None if the method has no intervals or refused.
    """

    method: str
    job: str
    condition: str
    split: str
    executors: float
    scale: float
    seconds: float
    repetitions: tuple[float, ...]
    predicted: float
    bounds: tuple[tuple[float, float], ...] | None

    @property
    def error_percent(self) -> float:
        """Signed; above 0 where the prediction is too long."""
        return 100.0 * (self.predicted / self.seconds - 1.0)


def evaluate_rounds(title: str, rounds: Sequence[Round], methods: Sequence[AnyMethod]) -> list[Outcome]:
    """Fit all methods in all rounds; who pools sees the training runs of a whole round, and no test run."""
    outcomes: list[Outcome] = []
    for number, cases in enumerate(rounds, start=1):
        for method in methods:
            pooled = pool(method, [case.train for case in cases])
            for case in cases:
                outcomes += _outcomes(pooled, case)
        if 10 * number // len(rounds) > 10 * (number - 1) // len(rounds):
            print(f"{title}: {number} of {len(rounds)} rounds", file=sys.stderr, flush=True)
    return outcomes


def _outcomes(method: Method, case: Case) -> list[Outcome]:
    asked = {"executors": case.test.executors, "scale": case.test.scale}
    predicted = np.full(len(case.test), np.nan)
    bounds = None
    try:
        forecast = method.fit(case.train)
        predicted = forecast.predict(**asked)
        intervals = [forecast.interval(**asked, level=level) for level in LEVELS]
        if all(interval is not None for interval in intervals):
            bounds = np.array(intervals).transpose(2, 0, 1).tolist()
    except ErnestError:  # a refusal is an answer, and is counted
        predicted = np.full(len(case.test), np.nan)
    return [
        Outcome(
            method=method.name,
            job=case.job,
            condition=case.condition,
            split=case.splits[row],
            executors=float(case.test.executors[row]),
            scale=float(case.test.scale[row]),
            seconds=float(case.test.seconds[row]),
            repetitions=case.repetitions[row],
            predicted=float(predicted[row]),
            bounds=None if bounds is None else tuple((low, high) for low, high in bounds[row]),
        )
        for row in range(len(case.test))
    ]


def summarise(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """The figures of one method, in per cent; NaN where there is nothing to say.

    Mean and median are of the absolute error against the expected times, bias is the median of the signed
    one: above 0 where predictions are too long. Intervals are those of single runs. Refusals count in nothing
    else.
    """
    every = list(outcomes)
    answered = [each for each in every if np.isfinite(each.predicted)]
    errors = pd.Series([each.error_percent for each in answered], dtype=float)
    runs = [(each, seconds) for each in answered for seconds in each.repetitions]
    of_runs = pd.Series([100.0 * abs(each.predicted / seconds - 1.0) for each, seconds in runs], dtype=float)
    figures = {"mean": errors.abs().mean(), "median": errors.abs().median(), "bias": errors.median()}
    for place, level in enumerate(LEVELS):
        bounded = [(each, *each.bounds[place]) for each in answered if each.bounds is not None]
        held = [low <= seconds <= high for each, low, high in bounded for seconds in each.repetitions]
        expected = [low <= each.seconds <= high for each, low, high in bounded]
        widths = [(high - low) / each.predicted for each, low, high in bounded]
        figures[f"in {level:.0%}"] = 100.0 * pd.Series(held, dtype=float).mean()
        figures[f"width {level:.0%}"] = 100.0 * pd.Series(widths, dtype=float).median()
        figures[f"expected in {level:.0%}"] = 100.0 * pd.Series(expected, dtype=float).mean()
    figures["error of runs"] = of_runs.mean()
    figures["refused"] = len(every) - len(answered)
    return {name: float(figure) for name, figure in figures.items()}


def tables(title: str, outcomes: Sequence[Outcome]) -> str:
    """All tables of one protocol: together, by job, by training condition, and what speaks against ours."""
    lines = [f"== {title} =="]
    frame = _frame(outcomes)
    for split, chosen in frame.groupby("split", sort=False):
        count = len(chosen) // chosen["method"].nunique()
        overall = chosen.groupby("method", sort=False)["outcome"].apply(lambda of: pd.Series(summarise(of)))
        lines += ["", f"{title}: {split} ({count} predictions by each method), %", text(overall.unstack())]
        for by in ("job", "condition"):
            if chosen[by].nunique() > 1:
                means = chosen.assign(error=chosen["error"].abs()).pivot_table(
                    index="method", columns=by, values="error", sort=False
                )
                lines += ["", f"mean error by {by}, %", text(means)]
    return "\n".join([*lines, "", *_unfavourable(frame), ""])


def _frame(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    columns = ("method", "job", "condition", "split")
    frame = pd.DataFrame([{name: getattr(each, name) for name in columns} for each in outcomes])
    return frame.assign(error=[each.error_percent for each in outcomes], outcome=list(outcomes))


def text(table: pd.DataFrame) -> str:
    """With one decimal."""
    return str(table.to_string(float_format="{:.1f}".format, na_rep="-"))


def _unfavourable(frame: pd.DataFrame) -> list[str]:
    """Where another method is nearer than ours, and our largest errors."""
    lines = ["where another method is nearer than ours (mean error, %)"]
    for (split, job), chosen in frame.groupby(["split", "job"], sort=False):
        means = chosen["error"].abs().groupby(chosen["method"], sort=False).mean()
        if OURS in means and means[OURS] > means.min() + NEAR:
            lines.append(f"  {split}, {job}: ours {means[OURS]:.1f}, {means.idxmin()} {means.min():.1f}")
    own = [each for each in frame["outcome"] if each.method == OURS and np.isfinite(each.predicted)]
    worst = sorted(own, key=lambda each: -abs(each.error_percent))[:WORST]
    return [*lines, "our largest errors", *(f"  {_told(each)}" for each in worst)]


def _told(outcome: Outcome) -> str:
    return (
        f"{outcome.split}, {outcome.job}, {outcome.condition}: {outcome.executors:g} machines, scale "
        f"{outcome.scale:.3g}: {outcome.predicted:.1f} s instead of {outcome.seconds:.1f} s "
        f"({outcome.error_percent:+.0f} %)"
    )


def calibration_table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """What our intervals hold of single runs in each table, and in all of them together.

    And how wide they are beside those of an oracle, who knows each configuration's mean and how runs scatter.

    Args:
        outcomes: whose `split` names the protocol, too.
    """
    own = [each for each in outcomes if each.method == OURS]
    splits = dict.fromkeys(each.split for each in own)
    groups = {split: [each for each in own if each.split == split] for split in splits}
    rows: dict[str, dict[str, object]] = {}
    for split, of in {**groups, "all of them": own}.items():
        figures = summarise(of)
        rows[split] = {"runs": sum(len(each.repetitions) for each in of)}
        for level, (low, high) in zip(LEVELS, PROMISED, strict=True):
            share = figures[f"in {level:.0%}"]
            told = "kept" if low <= share <= high else "too few" if share < low else "too many"
            rows[split] |= {
                f"in {level:.0%}": share,
                f"width {level:.0%}": figures[f"width {level:.0%}"],
                f"oracle's {level:.0%}": _oracle_width(of, level),
                f"{low:.0f} to {high:.0f}": told,
            }
    return pd.DataFrame.from_dict(rows, orient="index")


def _oracle_width(outcomes: Iterable[Outcome], level: float) -> float:
    """In per cent, from runs of one configuration; NaN where none was repeated."""
    repeated = [np.log(each.repetitions) for each in outcomes if len(each.repetitions) > 1]
    if not repeated:
        return math.nan
    squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in repeated)
    deviation = math.sqrt(squares / sum(len(logs) - 1 for logs in repeated))
    return 200.0 * math.sinh(deviation * float(ndtri(two_sided(level)[1])))
