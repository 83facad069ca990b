"""Ways to tell drift from the outcomes of production runs, on many sequences at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from airflow_provider_ernest.learning.drift import ALTERNATIVES, OUTCOMES, THRESHOLD

Outcomes = NDArray[np.int64]
"""0 inside what is likely, 1 outside of that, 2 outside of what is nearly certain; shape (sequences,
runs)."""

Alarms = NDArray[np.bool_]
"""Whether there is an alarm after each run, of the same shape."""

OURS = "sequential (ours)"
SIGNIFICANCE = 0.05


def sequential(outcomes: Outcomes) -> Alarms:
    """The test of the package, see `learning.drift`: this is the same on arrays."""
    ratios = np.array(ALTERNATIVES) / np.array(OUTCOMES)
    statistics = np.zeros((len(ALTERNATIVES), len(outcomes)))
    alarms = np.zeros(outcomes.shape, dtype=bool)
    for run in range(outcomes.shape[1]):
        # Far beyond the threshold it is the same, and stays finite.
        statistics = np.minimum((statistics + 1.0) * ratios[:, outcomes[:, run]], 1e12)
        alarms[:, run] = statistics.mean(axis=0) >= THRESHOLD
    return alarms


def three_of_five(outcomes: Outcomes) -> Alarms:
    """Three of the last five runs outside of what is nearly certain."""
    counted = np.cumsum(np.pad(outcomes == 2, ((0, 0), (5, 0))), axis=1)
    return np.asarray(counted[:, 5:] - counted[:, :-5] >= 3)


def binomial_after_each(outcomes: Outcomes) -> Alarms:
    """A test for a fixed number of runs at 5 %, made after each run of all so far: it should be made once."""
    runs = np.arange(1, outcomes.shape[1] + 1)
    misses = np.cumsum(outcomes == 2, axis=1)
    return np.asarray(binom.sf(misses - 1, runs, OUTCOMES[2]) < SIGNIFICANCE)


DRIFT_TESTS: dict[str, Callable[[Outcomes], Alarms]] = {
    OURS: sequential,
    "3 of the last 5": three_of_five,
    "binomial after each": binomial_after_each,
}


def first_alarm(alarms: Alarms, *, after: int = 0) -> NDArray[np.float64]:
    """Runs from a moment to the first alarm since, that one included; infinity for none, shape (n,)."""
    later = alarms[:, after:]
    return np.where(later.any(axis=1), later.argmax(axis=1) + 1.0, np.inf)
