"""Intervals held against a deployment's own production runs: how much wider, or narrower, they should be.

Each production run was predicted before it was learned from (Dawid 1984). How far it then lay from that
prediction, in standard deviations of it, is its standardised error; where intervals are right, the squares of
these are 1 on average. The factor that makes them so is the one by which intervals are widened. It is a scale
estimated robustly (Huber's proposal 2, 1964): far errors count as if they were `FAR`, so that one odd run
does not make all intervals wide. It is shrunk towards 1, as if `PRIOR_RUNS` runs had been predicted exactly
as they should (the scaled inverse chi-squared prior of a variance). To make intervals narrower takes more
runs than to make them wider: what happens seldom may not have happened yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.words import counted

# Pages show it: no numpy here.

PRIOR_RUNS = 8.0
"""So many runs, predicted exactly as they should, are believed to have been before the first."""

PRIOR_RUNS_IF_NARROWER = 32.0
"""The same where runs lie nearer to their predictions than they should."""

FAR = 2.0
"""In standard deviations of intervals that are right: errors beyond it say no more than one of so many."""

LEAST_FACTOR, LARGEST_FACTOR = 0.5, 4.0
"""What is beyond is no matter of intervals: `learning.drift` tells of models that are wrong."""

HALVINGS = 40

LIKELY = NormalDist().inv_cdf(0.9)
"""Half the width of an interval of 80 %, in standard deviations."""

_BEYOND = NormalDist().cdf(-FAR)
_MEAN_SQUARE = 1.0 - 2.0 * _BEYOND - 2.0 * FAR * NormalDist().pdf(FAR) + 2.0 * FAR**2 * _BEYOND
"""Of standard normal errors, none counted as more than `FAR`."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What production runs say of a model's intervals.

    Attributes:
        factor: by which the distance of each bound from the prediction, on the logarithm, has to grow.
        runs: that were predicted and learned from, the newest.
        likely: how many of them lay within 80 % by the intervals as they would have been without this.
    """

    factor: float = 1.0
    runs: int = 0
    likely: int = 0

    @property
    def sentence(self) -> str:
        """What was seen and what follows, in words; empty where nothing does."""
        if f"{self.factor:.1f}" == "1.0":
            return ""
        return (
            f"Intervals are {self.factor:.1f} times as wide as the model alone says: of the last "
            f"{counted(self.runs, 'production run')} {self.likely} lay within its 80 % range."
        )


def calibration_of(model: Model) -> Calibration:
    """What the production runs that a model has learned from say of its intervals."""
    errors = model.standardised_errors
    return Calibration(
        factor=spread_factor(errors),
        runs=len(errors),
        likely=sum(abs(error) <= LIKELY for error in errors),
    )


@lru_cache(maxsize=4096)
def spread_factor(errors: tuple[float, ...]) -> float:
    """By how much intervals have to be wider for errors of this kind; 1 without any.

    Args:
        errors: standardised ones; see `Model.standardised_errors`.
    """
    if not errors:
        return 1.0
    prior_runs = PRIOR_RUNS if _excess(errors, 1.0) > 0 else PRIOR_RUNS_IF_NARROWER
    low, high = LEAST_FACTOR, LARGEST_FACTOR
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        excess = prior_runs * (1.0 / middle**2 - 1.0) + _excess(errors, middle)
        low, high = (middle, high) if excess > 0 else (low, middle)
    return math.sqrt(low * high)


def _excess(errors: Sequence[float], factor: float) -> float:
    """By how much errors, made smaller by a factor, have more squares than as many of right intervals."""
    return sum(min((error / factor) ** 2, FAR**2) / _MEAN_SQUARE - 1.0 for error in errors)


def factor_on(model: Model, machines: float) -> float:
    """By how much a model's intervals have to be wider on so many machines.

    Where production never ran nothing makes them narrower: its runs tell of the numbers of machines they had.
    """
    factor = spread_factor(model.standardised_errors)
    learned = model.observations[len(model.observations) - len(model.learned_from) :]
    return factor if factor >= 1.0 or any(run.machines == machines for run in learned) else 1.0
