"""The tables that the benchmark prints, and the same as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from benchmarks.accuracy.evaluation import LEVELS, Outcome, Summary, summarise
from benchmarks.accuracy.ours import NAME as OURS

WORST = 5
"""How many of our largest errors are shown."""

NEAR = 0.1
"""Two errors count as equal below this difference, in percentage points."""


def tables(title: str, outcomes: Sequence[Outcome]) -> list[str]:
    """All tables of one protocol, line by line."""
    lines = [f"== {title} =="]
    for split in _distinct(outcomes, lambda outcome: outcome.split):
        chosen = [outcome for outcome in outcomes if outcome.split == split]
        methods = _distinct(chosen, lambda outcome: outcome.method)
        count = len(chosen) // len(methods)
        lines += ["", f"{title}: {split} ({count} predictions by each method)", *_overall(chosen, methods)]
        for label, key in (("job", _job), ("training", _condition)):
            columns = sorted(_distinct(chosen, key), key=_leading_number)
            if len(columns) > 1:
                lines += ["", f"mean error by {label}, %", *_matrix(chosen, methods, columns, key)]
    return [*lines, "", *_unfavourable(outcomes), ""]


def as_json(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """A summary for each table and method; and for each job, and each training condition, of these."""
    records: list[dict[str, object]] = []
    for split in _distinct(outcomes, lambda outcome: outcome.split):
        for method in _distinct(outcomes, lambda outcome: outcome.method):
            chosen = [outcome for outcome in outcomes if (outcome.split, outcome.method) == (split, method)]
            records.append(
                {
                    "table": split,
                    "method": method,
                    **asdict(summarise(chosen)),
                    "by_job": _by(chosen, _job),
                    "by_training": _by(chosen, _condition),
                }
            )
    return records


def _by(outcomes: Sequence[Outcome], key: Callable[[Outcome], str]) -> dict[str, object]:
    return {
        name: asdict(summarise(outcome for outcome in outcomes if key(outcome) == name))
        for name in _distinct(outcomes, key)
    }


def _overall(outcomes: Sequence[Outcome], methods: Sequence[str]) -> list[str]:
    """Errors and bias against the expected times; intervals against single runs, and against the former."""
    runs = "".join(f" | runs in {level:.0%}  width" for level in LEVELS)
    expected = "".join(f" | expected in {level:.0%}" for level in LEVELS)
    return [
        f"{'%':20s}  {'mean':>6s}  {'median':>6s}  {'bias':>6s}{runs}{expected} | error of runs",
        *(
            _row(name, summarise(outcome for outcome in outcomes if outcome.method == name))
            for name in methods
        ),
    ]


def _row(name: str, summary: Summary) -> str:
    none = (None,) * len(LEVELS)
    runs = zip(summary.coverage or none, summary.width or none, strict=True)
    cells = [f"{name:20s}  {number(summary.mean, 6)}  {number(summary.median, 6)}  {number(summary.bias, 6)}"]
    cells += [f"{number(within, 11, 0)}  {number(width, 5, 0)}" for within, width in runs]
    cells += [number(within, 15, 0) for within in summary.expected_coverage or none]
    cells.append(number(summary.run_mean, 13))
    if summary.refused:
        cells.append(f"refused {summary.refused}")
    if 0 < summary.bounded < summary.predictions - summary.refused:
        cells.append(f"intervals for {summary.bounded}")
    return " | ".join(cells)


def _matrix(
    outcomes: Sequence[Outcome],
    methods: Sequence[str],
    columns: Sequence[str],
    key: Callable[[Outcome], str],
) -> list[str]:
    widths = [max(6, len(column)) for column in columns]
    lines = [" " * 20 + "".join(f"  {name:>{width}s}" for name, width in zip(columns, widths, strict=True))]
    for method in methods:
        line = f"{method:20s}"
        for column, width in zip(columns, widths, strict=True):
            chosen = (o for o in outcomes if o.method == method and key(o) == column)
            line += f"  {number(summarise(chosen).mean, width)}"
        lines.append(line)
    return lines


def _unfavourable(outcomes: Sequence[Outcome]) -> list[str]:
    """Where another method is nearer than ours, and our largest errors."""
    lines = ["where another method is nearer than ours (mean error, %)"]
    for split in _distinct(outcomes, lambda outcome: outcome.split):
        for job in _distinct(outcomes, _job):
            chosen = [outcome for outcome in outcomes if outcome.split == split and outcome.job == job]
            means = {
                method: mean
                for method in _distinct(chosen, lambda outcome: outcome.method)
                if (mean := summarise(o for o in chosen if o.method == method).mean) is not None
            }
            best = min(means, key=lambda method: means[method], default=OURS)
            if means.get(OURS, float("inf")) > means.get(best, float("inf")) + NEAR:
                lines.append(f"  {split}, {job}: ours {number(means.get(OURS), 1)}, {best} {means[best]:.1f}")
    if len(lines) == 1:
        lines.append("  nowhere")
    own = [outcome for outcome in outcomes if outcome.method == OURS]
    worst = sorted(own, key=lambda outcome: -abs(outcome.error_percent))[:WORST]
    return [*lines, "our largest errors", *(f"  {_told(outcome)}" for outcome in worst)]


def _told(outcome: Outcome) -> str:
    return (
        f"{outcome.split}, {outcome.job}, {outcome.condition}: {outcome.machines:g} machines, scale "
        f"{outcome.scale:.3g}: {outcome.predicted:.1f} s instead of {outcome.seconds:.1f} s "
        f"({outcome.error_percent:+.0f} %)"
    )


def _job(outcome: Outcome) -> str:
    return outcome.job


def _condition(outcome: Outcome) -> str:
    return outcome.condition


def _distinct(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> list[str]:
    """The values in the order of their first appearance."""
    return list(dict.fromkeys(key(outcome) for outcome in outcomes))


def _leading_number(name: str) -> float:
    """What "5 points" is sorted by; names without a number keep their order."""
    digits = re.match(r"\d+", name)
    return float(digits.group()) if digits else 0.0


def number(value: float | None, width: int, decimals: int = 1) -> str:
    """The value right-aligned; a dash where there is none."""
    return f"{'-':>{width}s}" if value is None else f"{value:{width}.{decimals}f}"
