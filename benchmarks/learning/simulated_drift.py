"""False alarms and delays in simulation, where the truth is known."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from benchmarks.learning.tests_of_drift import DRIFT_TESTS, Outcomes, first_alarm

SEQUENCES = 2_000
RUNS = 10_000
"""Until so many a right model is followed."""

SHOWN = (10, 100, 1_000, 10_000)
GOOD_RUNS = (0, 20, 200)
SLOWER = (0.15, 0.30, 0.50, 1.00)
NOISIER = (1.5, 2.0)
"""Times as much scatter as the intervals say."""

FOLLOWED = 1_000
"""Runs after a change until one gives up."""

SCATTERS = (0.05, 0.10)
"""Relative standard deviations of the runs, which the intervals know."""


def false_alarm_table(*, sequences: int = SEQUENCES) -> list[str]:
    """Right models: how many are accused within so many runs, and how long it takes on average."""
    generator = np.random.default_rng(0)
    lines = [
        f"== false alarms: {sequences:,} models that are right, simulated ==",
        f"{'accused, in %, within so many runs':34s}"
        + "".join(f"  {runs:>6,d}" for runs in SHOWN)
        + "   in 1,000 runs",
    ]
    outcomes = _outcomes(generator, (sequences, RUNS), shift=0.0)
    for name, test in DRIFT_TESTS.items():
        first = first_alarm(test(outcomes))
        shares = "".join(f"  {100.0 * np.mean(first <= runs):6.1f}" for runs in SHOWN)
        # Alarms that begin anew after each: runs passed, over alarms in them.
        passed = np.minimum(first, RUNS).sum()
        lines.append(f"  {name:32s}{shares}   {1000.0 * np.isfinite(first).sum() / passed:13.2f}")
    return [*lines, ""]


def delay_table(*, sequences: int = SEQUENCES) -> list[str]:
    """Models that were right and then are not: after how many runs that is noticed."""
    generator = np.random.default_rng(1)
    changes = {f"+{slower:.0%}": slower for slower in SLOWER} | {
        f"{more:g} x scatter": more for more in NOISIER
    }
    heads = "".join(f"  {name:>13s}" for name in changes)
    lines = ["== delays: runs from a change to the alarm, median and 90 % quantile, simulated =="]
    for scatter in SCATTERS:
        for good in GOOD_RUNS:
            lines.append(f"{f'scatter {scatter:.0%}, after {good} good runs':34s}{heads}")
            first = {
                name: _first_alarms(
                    generator,
                    sequences,
                    good=good,
                    shift=0.0 if change in NOISIER else np.log1p(change) / scatter,
                    spread=change if change in NOISIER else 1.0,
                )
                for name, change in changes.items()
            }
            lines += [
                f"  {test:32s}" + "".join(f"  {_quantiles(first[name][test]):>13s}" for name in changes)
                for test in DRIFT_TESTS
            ]
    return [*lines, ""]


def _first_alarms(
    generator: np.random.Generator, sequences: int, *, good: int, shift: float, spread: float
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Of those that were not accused before."""
    outcomes = np.hstack(
        [
            _outcomes(generator, (sequences, good), shift=0.0),
            _outcomes(generator, (sequences, FOLLOWED), shift=shift, spread=spread),
        ]
    )
    first = {}
    for name, test in DRIFT_TESTS.items():
        alarms = test(outcomes)
        unaccused = ~alarms[:, :good].any(axis=1)
        first[name] = first_alarm(alarms[unaccused], after=good)
    return first


def _outcomes(
    generator: np.random.Generator, shape: tuple[int, int], *, shift: float, spread: float = 1.0
) -> Outcomes:
    """Of runs whose logarithms are normal about the prediction, shifted by so many standard deviations."""
    distances = np.abs(spread * generator.standard_normal(shape) + shift)
    return np.asarray((distances > ndtri(0.9)).astype(np.int64) + (distances > ndtri(0.975)))


def _quantiles(first: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if not len(first):
        return "-"
    median, most = np.quantile(first, [0.5, 0.9], method="higher")
    return f"{_runs(median)} {_runs(most)}"


def _runs(count: float) -> str:
    return f"{count:.0f}" if np.isfinite(count) else f">{FOLLOWED}"
