"""How soon drift is noticed, and how often right models are accused: in simulation and on measured runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.learning.freshness import ALTERNATIVES, OUTCOMES, THRESHOLD, Evidence, may_learn
from airflow_provider_ernest.prediction.predict import standardised_errors
from airflow_provider_ernest.store.catalogue import PRODUCTION_RUN, CatalogueEntry
from benchmarks.learning.production import OURS as REFIT
from benchmarks.learning.production import Forecast, Production, forecast, learned

Outcomes = NDArray[np.int64]
"""0 inside what is likely, 1 outside of that, 2 outside of what is nearly certain: (sequences, runs)."""

Alarms = NDArray[np.bool_]
"""Whether there is an alarm after each run, of the same shape."""

OURS = "sequential (ours)"
SIGNIFICANCE = 0.05


def sequential(outcomes: Outcomes) -> Alarms:
    """The test of the package, see `learning.freshness`: this is the same on arrays."""
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


# Simulated

RUNS = 10_000
"""Until so many a right model is followed."""

SHOWN = (10, 100, 1_000, 10_000)
CHANGES = {"+15%": 0.15, "+30%": 0.30, "+50%": 0.50, "+100%": 1.00}
NOISIER = {"1.5 x scatter": 1.5, "2 x scatter": 2.0}
"""Times as much scatter as the intervals say."""

FOLLOWED = 1_000
"""Runs after a change until one gives up."""


def false_alarm_table(*, sequences: int) -> pd.DataFrame:
    """Right models: how many are accused within so many runs, in per cent, and alarms in 1,000 runs."""
    outcomes = _outcomes(np.random.default_rng(0), (sequences, RUNS), shift=0.0)
    rows = {}
    for name, test in DRIFT_TESTS.items():
        first = first_alarm(test(outcomes))
        # Alarms that begin anew after each: runs passed, over alarms in them.
        passed = np.minimum(first, RUNS).sum()
        rows[name] = {f"within {runs:,}": 100.0 * np.mean(first <= runs) for runs in SHOWN}
        rows[name]["in 1,000 runs"] = 1000.0 * np.isfinite(first).sum() / passed
    return pd.DataFrame(rows).T


def delay_table(*, sequences: int) -> pd.DataFrame:
    """Models that were right and then are not: runs until that is noticed, median and 90 % quantile."""
    generator = np.random.default_rng(1)
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for scatter in (0.05, 0.10):
        for good in (0, 20, 200):
            at = f"scatter {scatter:.0%}", f"after {good} good runs"
            changes = {name: (np.log1p(change) / scatter, 1.0) for name, change in CHANGES.items()}
            for name, (shift, spread) in {**changes, **{n: (0.0, s) for n, s in NOISIER.items()}}.items():
                outcomes = np.hstack(
                    [
                        _outcomes(generator, (sequences, good), shift=0.0),
                        _outcomes(generator, (sequences, FOLLOWED), shift=shift, spread=spread),
                    ]
                )
                for test, alarms_of in DRIFT_TESTS.items():
                    alarms = alarms_of(outcomes)
                    unaccused = ~alarms[:, :good].any(axis=1)
                    first = first_alarm(alarms[unaccused], after=good)
                    rows.setdefault((*at, test), {})[name] = _quantiles(first, FOLLOWED)
    return pd.DataFrame(rows).T


def _outcomes(
    generator: np.random.Generator, shape: tuple[int, int], *, shift: float, spread: float = 1.0
) -> Outcomes:
    """Of runs whose logarithms are normal about the prediction, shifted by so many standard deviations."""
    distances = np.abs(spread * generator.standard_normal(shape) + shift)
    return np.asarray((distances > ndtri(0.9)).astype(np.int64) + (distances > ndtri(0.975)))


def _quantiles(runs: NDArray[np.float64], most: int) -> str:
    """Median and 90 % quantile."""
    if not len(runs):
        return "-"
    quantiles = np.quantile(runs, [0.5, 0.9], method="higher")
    return " ".join(f"{each:.0f}" if np.isfinite(each) else f">{most}" for each in quantiles)


# On measured runs, each predicted from those before it as in production

GOOD_RUNS = 12
"""As they were measured, before a slow-down."""

FOLLOWED_MEASURED = 24
"""Runs after it until one gives up."""

ALL = "learning from every run"
LEARNERS = ("no learning", ALL, REFIT)
"""Ours learns nothing while a drift is suspected, see `drift.trusted`."""


def measured_table(productions: Sequence[Production]) -> pd.DataFrame:
    """For each way of learning: right models accused, in per cent, and runs until the alarm by slow-down.

    Args:
        productions: of which runs are drawn, with replacement: few were measured.
    """
    rows = {}
    for learner in LEARNERS:
        right = _first_alarms(productions, learner, 0.0)
        most = GOOD_RUNS + FOLLOWED_MEASURED
        rows[learner] = {
            f"accused within {GOOD_RUNS}": f"{100.0 * np.mean(right <= GOOD_RUNS):.1f}",
            f"within {most}": f"{100.0 * np.mean(np.isfinite(right)):.1f}",
            "in 1,000 runs": f"{1000.0 * np.isfinite(right).sum() / np.minimum(right, most).sum():.1f}",
        }
        for name, slower in CHANGES.items():
            delays = _first_alarms(productions, learner, slower)[right > GOOD_RUNS] - GOOD_RUNS
            rows[learner][name] = _quantiles(delays, FOLLOWED_MEASURED)
    return pd.DataFrame(rows).T


def _first_alarms(productions: Sequence[Production], learner: str, slower: float) -> NDArray[np.float64]:
    """The run of each production that raises the alarm, counted from 1; infinity for none."""
    generator = np.random.default_rng(0)
    drawn = [(production, _drawn(production, slower, generator)) for production in productions]
    return np.array([_first_alarm(production, runs, learner) for production, runs in drawn])


def _drawn(production: Production, slower: float, generator: np.random.Generator) -> list[Observation]:
    chosen = generator.integers(len(production.runs), size=GOOD_RUNS + FOLLOWED_MEASURED)
    runs = [production.runs[position] for position in chosen]
    return [
        run if position < GOOD_RUNS else replace(run, seconds=run.seconds * (1.0 + slower))
        for position, run in enumerate(runs)
    ]


def _first_alarm(production: Production, runs: Sequence[Observation], learner: str) -> float:
    evidence, known = Evidence(), 0
    errors: list[float] = []
    for position, run in enumerate(runs):
        model = learned(production, runs[:known], errors[:known])
        said = _forecast(model, run.executors, run.scale)
        errors.append(_error(model, run.executors, run.scale, run.seconds))
        (low, high), (lowest, highest) = said.intervals
        evidence = evidence.after(
            CatalogueEntry(
                kind=PRODUCTION_RUN,
                id=str(position),
                job="",
                instance_type="",
                at="",
                seconds=run.seconds,
                predicted_seconds=said.seconds,
                is_unlikely=not low <= run.seconds <= high,
                is_unusual=not lowest <= run.seconds <= highest,
            )
        )
        if evidence.is_drift:
            return position + 1.0
        if learner == ALL or (learner == REFIT and may_learn(evidence)):
            known = position + 1
    return np.inf


@lru_cache(maxsize=100_000)
def _forecast(model: Model, executors: int, scale: float) -> Forecast:
    """Kept: the ways of learning, and all slow-downs, begin with the same runs."""
    return forecast(model, Observation(index=0, executors=executors, scale=scale, seconds=1.0))


@lru_cache(maxsize=100_000)
def _error(model: Model, executors: int, scale: float, seconds: float) -> float:
    (error,) = standardised_errors(model, executors=executors, scale=scale, seconds=seconds)
    return float(error)
