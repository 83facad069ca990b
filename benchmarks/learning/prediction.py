"""How well the next production run is predicted, by the number of runs learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.learning.rivals import LEVELS, WAYS, Way
from benchmarks.learning.sequences import Production

LEARNED = (0, 1, 2, 4, 8, 16)
"""Numbers of production runs after which the next is predicted."""


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """One prediction and what came.

    Attributes:
        way: that predicted.
        job: of the run.
        learned: runs that it had learned from.
        error_percent: absolute.
        inside: whether the run was inside the interval at each of `LEVELS`; empty where there was none.
        width: of the first interval, high over low.
    """

    way: str
    job: str
    learned: int
    error_percent: float
    inside: tuple[bool, ...] = ()
    width: float | None = None


def predict_all(productions: Iterable[Production]) -> list[Predicted]:
    """What all ways say of the runs after `LEARNED` others."""
    return [
        predicted
        for production in productions
        for learned in LEARNED
        if learned < len(production.runs)
        for name, way in WAYS.items()
        if (predicted := _predicted(name, way, production, learned)) is not None
    ]


def prediction_table(title: str, predicted: Sequence[Predicted]) -> list[str]:
    """The ways below each other, the numbers of runs learned from beside each other."""
    counts = sorted({each.learned for each in predicted})
    heads = "".join(f"  {count:5d}" for count in counts)
    lines = [f"== the next run: {title} =="]
    for name, summary in {"median": np.median, "mean": np.mean}.items():
        lines.append(f"{f'{name} absolute error in %, after so many':42s}{heads}")
        for way in WAYS:
            of_way = [each for each in predicted if each.way == way]
            lines.append(f"  {way:40s}" + _errors(of_way, counts, summary))
    for way in WAYS:
        of_way = [each for each in predicted if each.way == way and each.inside]
        if not of_way:
            continue
        for position, level in enumerate(LEVELS):
            name = f"{way}: inside its {level:.0%}, in %"
            lines.append(f"  {name:40s}" + _inside(of_way, counts, position))
        lines.append(f"  {f'{way}: width of its 80%':40s}" + _widths(of_way, counts))
    first = next(iter(WAYS))
    number = [sum(each.learned == count and each.way == first for each in predicted) for count in counts]
    lines.append(f"  {'runs predicted':40s}" + "".join(f"  {each:5d}" for each in number))
    return [*lines, ""]


def unfavourable(title: str, predicted: Sequence[Predicted]) -> list[str]:
    """Where another way predicts better than ours by the median, by job and number of runs learned from."""
    lines = []
    ours = "refit (ours)"
    for job in sorted({each.job for each in predicted}):
        for count in sorted({each.learned for each in predicted} - {0}):
            errors = {
                way: [each.error_percent for each in of]
                for way in WAYS
                if (of := [e for e in predicted if (e.way, e.job, e.learned) == (way, job, count)])
            }
            better = [
                way
                for way, of in errors.items()
                if ours in errors and np.median(of) < np.median(errors[ours]) - 0.05
            ]
            lines += [
                f"  {title}, {job}, after {count}: {way} {_both(errors[way])}, {ours} {_both(errors[ours])}"
                for way in better
            ]
    return lines


def _predicted(name: str, way: Way, production: Production, learned: int) -> Predicted | None:
    said, run = way(production, learned), production.runs[learned]
    if said is None:
        return None
    inside = tuple(low <= run.seconds <= high for low, high in said.intervals)
    return Predicted(
        way=name,
        job=production.job,
        learned=learned,
        error_percent=100.0 * abs(said.seconds - run.seconds) / run.seconds,
        inside=inside,
        width=said.intervals[0][1] / said.intervals[0][0] if said.intervals else None,
    )


def _errors(predicted: Sequence[Predicted], counts: Sequence[int], summary: object) -> str:
    return "".join(
        _number([each.error_percent for each in predicted if each.learned == count], summary)
        for count in counts
    )


def _both(errors: Sequence[float]) -> str:
    return f"{np.median(errors):.1f} % (mean {np.mean(errors):.1f} %)"


def _inside(predicted: Sequence[Predicted], counts: Sequence[int], position: int) -> str:
    return "".join(
        _number([100.0 * each.inside[position] for each in predicted if each.learned == count], np.mean)
        for count in counts
    )


def _widths(predicted: Sequence[Predicted], counts: Sequence[int]) -> str:
    return "".join(
        _number([each.width or 0.0 for each in predicted if each.learned == count], np.median, digits=2)
        for count in counts
    )


def _number(values: Sequence[float], summary: object, *, digits: int = 1) -> str:
    assert callable(summary)
    return f"  {summary(values):5.{digits}f}" if values else "      -"
