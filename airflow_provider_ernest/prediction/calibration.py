"""How much wider or narrower intervals should be, judged by a deployment's own production runs.

Each production run was predicted before it was learned from (Dawid 1984). Its standardised error is its
distance from the prediction in standard deviations. If intervals are right, the squares of these errors are 1
on average; intervals are widened by the factor that makes them so. The factor is a robust estimate of scale
(Huber's proposal 2, 1964): errors beyond `FAR` count as `FAR`, so that one odd run does not widen all
intervals. It is shrunk towards 1, as if `PRIOR_RUNS` runs had been predicted perfectly (the scaled inverse
chi-squared prior of a variance). Narrowing intervals takes more runs than widening them, as rare events may
not have happened yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.words import counted

# Pages import this module: no numpy here.

PRIOR_RUNS = 8.0  # the prior counts as this many runs with perfect intervals
PRIOR_RUNS_IF_NARROWER = 32.0  # the same if runs lie nearer to their predictions than they should
FAR = 2.0  # in standard deviations of right intervals: larger errors count as this much
LEAST_FACTOR, LARGEST_FACTOR = 0.5, 4.0
"""Beyond these the model is wrong rather than its intervals; `learning.freshness` reports that."""

HALVINGS = 40
LIKELY = NormalDist().inv_cdf(0.9)  # half the width of an 80 % interval, in standard deviations
_BEYOND = NormalDist().cdf(-FAR)
_MEAN_SQUARE = 1.0 - 2.0 * _BEYOND - 2.0 * FAR * NormalDist().pdf(FAR) + 2.0 * FAR**2 * _BEYOND
"""Mean square of standard normal errors, none counted as more than `FAR`."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What production runs say of a model's intervals."""

    factor: float = 1.0  # by which the distance of each bound from the prediction grows, on the logarithm
    runs: int = 0  # production runs that were predicted and learned from
    likely: int = 0  # of these, within their uncalibrated 80 % interval

    @property
    def sentence(self) -> str:
        """A sentence on what was seen and what follows; empty if intervals stay as they are."""
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
        factor=spread_factor(errors), runs=len(errors), likely=sum(abs(error) <= LIKELY for error in errors)
    )


@lru_cache(maxsize=4096)
def spread_factor(errors: tuple[float, ...]) -> float:
    """The factor on intervals that fits standardised errors (`Model.standardised_errors`); 1 without any."""
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
    """By how much the sum of squares of errors, divided by a factor, exceeds that of right intervals."""
    return sum(min((error / factor) ** 2, FAR**2) / _MEAN_SQUARE - 1.0 for error in errors)


def factor_on(model: Model, executors: float) -> float:
    """The factor on a model's intervals at a number of executors.

    Intervals become narrower only at executor counts that production has run on.
    """
    factor = spread_factor(model.standardised_errors)
    learned = model.observations[len(model.observations) - len(model.learned_from) :]
    return factor if factor >= 1.0 or any(run.executors == executors for run in learned) else 1.0
