"""Whether runs can be runs of one job at all, and if not, which of them is wrong.

A run that ended many times too early, with exit code 0, is no noise: least squares would go through it and
call the others disturbed. So before anything is weighed, the question is asked without any distribution:
by what factor is the nearest sum of terms off at the run that it describes worst? Real jobs stay far below
`MOST_DISAGREEMENT`, also noisy ones and those that no term describes well. Above it, a run is wrong: the
one without which all others agree, if there is exactly one. Otherwise nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.model.averaging.evidence import driver_machines, term_columns
from airflow_provider_ernest.model.averaging.prior import AveragingPrior
from airflow_provider_ernest.model.averaging.repetitions import Points
from airflow_provider_ernest.model.averaging.suspicion import (
    POINTS_LEFT,
    POINTS_TO_SUSPECT,
    memory_cuts,
)
from airflow_provider_ernest.model.least_squares import nearest, non_negative_least_squares
from airflow_provider_ernest.model.parameters import FloatArray

MOST_DISAGREEMENT = 2.0
"""The factor by which the nearest sum of terms may be off: two runs then differ by four times what any job
explains."""

MOST_DISAGREEMENT_OF_FEW = 1.5
"""The same below `POINTS_TO_SUSPECT` points: terms go through few points easily, whatever their times."""

CLEARLY_WORSE = 1.25
"""Without one run the others agree; without any other they are off by this factor at least, and by three
times as much on the logarithm: then it is that run."""

TIGHT = 1e-6
"""Relative: so near to the largest error, a point is one of those that determine it."""


def wrong_points(points: Points, terms: tuple[str, ...], prior: AveragingPrior) -> NDArray[np.bool_]:
    """The points that contradict the others, shape (n,); none where all agree.

    A point of which more than one run tells is not wrong, however little the terms say of it: its runs took
    the same time, or so many took another that it is no mistake.

    Args:
        points: n points.
        terms: names of p terms.
        prior: tells whether the driver may take a machine, and whether runs may be short of memory.

    Raises:
        FitError: points contradict each other, and it cannot be told which are wrong.
    """
    columns = [term_columns(terms, points, driver) for driver in driver_machines(points, prior)]
    every = np.ones(len(points.seconds), dtype=bool)
    if _agree(columns, points.seconds, every):
        return ~every
    suspects = _tight(columns, points.seconds)
    wrong = _wrong_one(columns, points, suspects)
    if wrong is not None:
        is_told_twice = points.agreeing | points.divided
        return np.asarray((np.arange(len(every)) == wrong) & ~is_told_twice, dtype=np.bool_)
    for short_of_memory, _ in zip(memory_cuts(points), prior.memory_cut, strict=False):
        if _decide(columns, points, ~short_of_memory):
            return short_of_memory
    raise contradiction(points, suspects or range(len(every)))


def _wrong_one(columns: Sequence[FloatArray], points: Points, suspects: Sequence[int]) -> int | None:
    """The suspect without whom the others agree; None where there is none, or where another may be it."""
    if not suspects:
        return None
    left: list[tuple[float, int]] = []
    for suspect in suspects:
        rest = np.arange(len(points.seconds)) != suspect
        left.append((disagreement([each[rest] for each in columns], points.seconds[rest]), suspect))
    (least, wrong), *others = sorted(left)
    if not _decide(columns, points, np.arange(len(points.seconds)) != wrong):
        return None
    clearly = max(CLEARLY_WORSE, least**3)
    return wrong if all(each >= clearly for each, _ in others) else None


def disagreement(columns: Sequence[FloatArray], seconds: FloatArray) -> float:
    """The factor of `nearest`, for the driver's share that suits the points best."""
    return min(nearest(each, seconds)[1] for each in columns)


def _agree(columns: Sequence[FloatArray], seconds: FloatArray, which: NDArray[np.bool_]) -> bool:
    """Whether the points can be runs of one job."""
    is_few = which.sum() < POINTS_TO_SUSPECT
    limit = MOST_DISAGREEMENT_OF_FEW if is_few else MOST_DISAGREEMENT
    kept = [each[which] for each in columns]
    # Any sum of terms that is near enough will do: least squares are ready a hundred times sooner.
    if any(error <= limit for error in _errors_of_least_squares(kept, seconds[which])):
        return True
    return disagreement(kept, seconds[which]) <= limit


def _errors_of_least_squares(columns: Sequence[FloatArray], seconds: FloatArray) -> Iterator[float]:
    for each in columns:
        shares = each / seconds[:, None]
        explained = shares @ non_negative_least_squares(shares, np.ones(len(seconds)))
        yield float(np.max(np.maximum(explained, 1.0 / np.maximum(explained, np.finfo(float).tiny))))


def _decide(columns: Sequence[FloatArray], points: Points, rest: NDArray[np.bool_]) -> bool:
    """Whether the rest of the points agree, and are enough to say so."""
    is_enough = rest.sum() >= POINTS_LEFT and len(np.unique(points.machines[rest])) > 1
    return bool(is_enough) and _agree(columns, points.seconds, rest)


def _tight(columns: Sequence[FloatArray], seconds: FloatArray) -> list[int]:
    """The points that keep the nearest sum of terms from being nearer: without another it would stay."""
    tight: set[int] = set()
    for each in columns:
        coefficients, factor = nearest(each, seconds)
        explained = each @ coefficients
        errors = np.maximum(explained, np.finfo(float).tiny) / seconds
        tight |= set(np.flatnonzero(np.maximum(errors, 1.0 / errors) >= factor * (1.0 - TIGHT)).tolist())
    return sorted(tight)


def contradiction(points: Points, suspects: Sequence[int]) -> FitError:
    """The error that names the points which contradict others."""
    named = "; ".join(
        f"{points.machines[each]:g} machines, scale {points.scale[each]:g}, {points.seconds[each]:.4g} s"
        for each in suspects
    )
    return FitError(
        "The runs contradict each other: no sum of the model's terms comes near all of them. Wrong is one of "
        f"these, as far as can be told: {named}.",
        remedy="Look at them: a run that ended early or was held up says nothing of the job. Leave it out, "
        "or observe it again; more runs tell a wrong one more surely.",
    )
