"""What runs are expected to take before they are made: designs weigh runs by it.

Run times vary by per cent, and models are fitted to relative errors. So what a run tells of a
coefficient is its term's value as a share of the run's time, and the rows of the information matrix are
divided by a guess of the seconds. Only the guess's shape matters: a factor changes no design.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.design.candidates import Candidates
from airflow_provider_ernest.model.design.costs import Cost, in_seconds
from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.parameters import FloatArray
from airflow_provider_ernest.model.regression import ErnestRegression

GUESS_TERMS = ("1", "scale/machines")
"""The terms of a guess from observed runs: fixed and spreading work tell any job's rough shape."""

RUNS_FOR_A_GUESS = 3
"""The fewest observed runs that tell a shape: two terms go through any two runs, however noisy."""


class ExpectedSecondsOfRuns(Protocol):
    """Gives the expected seconds of runs; keyword-only, for machines and scale must not be swapped."""

    def __call__(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Arrays of shape (n,) in and out, all values above 0."""


def expectation(
    *,
    candidates: Candidates,
    cost: Cost,
    observed: Sequence[Observation] = (),
    given: ExpectedSecondsOfRuns | None = None,
) -> ExpectedSecondsOfRuns:
    """The best guess there is of what runs take.

    In this order: what the user gives; a fit to the runs already made, if they are at least three; the
    guess in the cost, if that is made of seconds; and the shape of `half_fixed`.

    Args:
        candidates: the runs that may be made.
        cost: of runs.
        observed: runs already made.
        given: the user's own guess, such as the ``predict`` of a fitted regression.
    """
    if given is not None:
        return _checked(given)
    if len(observed) >= RUNS_FOR_A_GUESS:
        return fitted_to(observed)
    of_seconds = in_seconds(cost)
    return half_fixed(candidates) if of_seconds is None else of_seconds.seconds


def fitted_to(observed: Sequence[Observation]) -> ExpectedSecondsOfRuns:
    """Fixed work and work that spreads, by non-negative least squares on relative errors."""
    regression = ErnestRegression(terms=GUESS_TERMS).fit_undetermined(
        machines=[run.machines for run in observed],
        scale=[run.scale for run in observed],
        seconds=[run.seconds for run in observed],
    )
    return regression.predict


def half_fixed(candidates: Candidates) -> ExpectedSecondsOfRuns:
    """The shape of a job of which nothing is known.

    Work that spreads, ``scale/machines``, plus as much fixed work as a middling candidate has of the
    former (the geometric mean, since candidates differ by factors). Spreading work alone would take
    tiny samples for infinitely exact, fixed work alone is what the original assumes of all errors.
    """
    middling = float(np.exp(np.mean(np.log(candidates.scale / candidates.machines))))

    def shape(*, machines: FloatArray, scale: FloatArray) -> FloatArray:
        return np.asarray(scale / machines + middling, dtype=np.float64)

    return shape


def _checked(guess: ExpectedSecondsOfRuns) -> ExpectedSecondsOfRuns:
    """The user's guess, refusing what no run can take when it is called."""

    def checked_guess(*, machines: FloatArray, scale: FloatArray) -> FloatArray:
        seconds = np.asarray(guess(machines=machines, scale=scale), dtype=np.float64)
        if seconds.shape != machines.shape or not np.all(np.isfinite(seconds) & (seconds > 0)):
            raise InvalidParameterError(
                "expected_seconds",
                guess,
                f"did not give a finite number above 0 for each of {machines.size} runs",
                remedy="Return an array with the seconds of each run.",
            )
        return seconds

    return checked_guess
