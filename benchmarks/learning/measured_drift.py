"""False alarms and delays on measured runs, each predicted from those before it as in production."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.learning.drift import DriftTest, may_learn
from airflow_provider_ernest.prediction.predict import standardised_errors
from benchmarks.learning.rivals import Forecast, forecast, learned
from benchmarks.learning.sequences import Production

GOOD_RUNS = 12
"""As they were measured, before a slow-down."""

FOLLOWED = 24
"""Runs after it until one gives up."""

SLOWER = (0.0, 0.15, 0.30, 0.50, 1.00)

NONE, ALL, HELD_BACK = "no learning", "learning from every run", "refit (ours)"
"""`HELD_BACK` learns nothing while a drift is suspected, see `drift.trusted`."""

LEARNERS = (NONE, ALL, HELD_BACK)


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """A run as the test has it."""

    seconds: float
    predicted_seconds: float
    is_unlikely: bool
    is_unusual: bool


def measured_table(title: str, productions: Sequence[Production]) -> list[str]:
    """For each way of learning: the runs until the alarm, by how much slower the runs become.

    Args:
        title: what the productions are.
        productions: of which runs are drawn, with replacement: few were measured.
    """
    heads = "".join(f"  {f'+{slower:.0%}':>13s}" for slower in SLOWER[1:])
    lines = [
        f"== drift on measured runs: {title} ({len(productions)} sequences) ==",
        f"{'':26s}  accused though right, in %       runs from a slow-down to the alarm, "
        "median and 90 % quantile",
        f"{'':26s}  within {GOOD_RUNS:2d}  within {GOOD_RUNS + FOLLOWED:2d}  in 1,000 runs{heads}",
    ]
    for learner in LEARNERS:
        first = {slower: _first_alarms(productions, learner, slower) for slower in SLOWER}
        right = first[0.0]
        # Counted as in the simulation: alarms over the runs until then.
        passed = np.minimum(right, GOOD_RUNS + FOLLOWED).sum()
        line = (
            f"  {learner:24s}  {100.0 * np.mean(right <= GOOD_RUNS):9.1f}"
            f"  {100.0 * np.mean(np.isfinite(right)):9.1f}"
            f"  {1000.0 * np.isfinite(right).sum() / passed:13.1f}"
        )
        for slower in SLOWER[1:]:
            delays = first[slower][right > GOOD_RUNS] - GOOD_RUNS
            line += f"  {_quantiles(delays):>13s}"
        lines.append(line)
    return [*lines, ""]


def _first_alarms(
    productions: Sequence[Production], learner: str, slower: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The run of each production that raises the alarm, counted from 1; infinity for none."""
    generator = np.random.default_rng(0)
    drawn = [(production, _drawn(production, slower, generator)) for production in productions]
    return np.array([_first_alarm(production, runs, learner) for production, runs in drawn])


def _drawn(production: Production, slower: float, generator: np.random.Generator) -> list[Observation]:
    chosen = generator.integers(len(production.runs), size=GOOD_RUNS + FOLLOWED)
    runs = [production.runs[position] for position in chosen]
    return [
        run if position < GOOD_RUNS else replace(run, seconds=run.seconds * (1.0 + slower))
        for position, run in enumerate(runs)
    ]


def _first_alarm(production: Production, runs: Sequence[Observation], learner: str) -> float:
    test, known = DriftTest(), 0
    errors: list[float] = []
    for position, run in enumerate(runs):
        model = learned(production, runs[:known], errors[:known])
        said = _forecast(model, run.machines, run.scale)
        errors.append(_error(model, run.machines, run.scale, run.seconds))
        (low, high), (lowest, highest) = said.intervals
        evidence = test.add(
            _Outcome(
                seconds=run.seconds,
                predicted_seconds=said.seconds,
                is_unlikely=not low <= run.seconds <= high,
                is_unusual=not lowest <= run.seconds <= highest,
            )
        )
        if evidence.is_drift:
            return position + 1.0
        if learner == ALL or (learner == HELD_BACK and may_learn(evidence)):
            known = position + 1
    return np.inf


@lru_cache(maxsize=100_000)
def _forecast(model: Model, machines: int, scale: float) -> Forecast:
    """Kept: the ways of learning, and all slow-downs, begin with the same runs."""
    return forecast(model, Observation(index=0, machines=machines, scale=scale, seconds=1.0))


@lru_cache(maxsize=100_000)
def _error(model: Model, machines: int, scale: float, seconds: float) -> float:
    (error,) = standardised_errors(model, machines=machines, scale=scale, seconds=seconds)
    return float(error)


def _quantiles(delays: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    if not len(delays):
        return "-"
    return " ".join(
        f"{quantile:.0f}" if np.isfinite(quantile) else f">{FOLLOWED}"
        for quantile in np.quantile(delays, [0.5, 0.9], method="higher")
    )
