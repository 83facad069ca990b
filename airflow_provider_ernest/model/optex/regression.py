"""The profile of OptEx (see `optex`) from runs: from their measured phases, or from their times alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import FitError, TooFewObservationsError
from airflow_provider_ernest.model.documents import Document, Observation
from airflow_provider_ernest.model.identifiability import undetermined_terms
from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.optex.profile import (
    REGRESSORS,
    JobProfile,
    PhaseSeconds,
    predict,
    regressors,
)
from airflow_provider_ernest.model.parameters import (
    FloatArray,
    positive_number,
    seconds_of_runs,
    whole_number,
)


@dataclass(frozen=True, kw_only=True)
class MeasuredRun(Document):
    """A run of which the seconds of each phase are known, from its event log for instance."""

    machines: int
    phases: PhaseSeconds
    scale: float = 1.0
    iterations: int = 1

    def __post_init__(self) -> None:
        """Refuse runs on no machine, without input or iterations."""
        whole_number("machines", self.machines)
        whole_number("iterations", self.iterations)
        positive_number("scale", self.scale)


def profile_from_phases(runs: Sequence[MeasuredRun]) -> JobProfile:
    """The profile of a job whose phases were measured; a single run determines it.

    Each constant is the median over the runs, so that one disturbed run among several does no harm.
    The baseline is one machine with the largest input measured.

    Raises:
        TooFewObservationsError: there is no run.
    """
    if not runs:
        raise TooFewObservationsError("No run gives no profile.", remedy="Measure at least one run.")
    baseline_scale = max(run.scale for run in runs)
    return JobProfile(
        initialisation_seconds=median(run.phases.initialisation_seconds for run in runs),
        preparation_seconds=median(run.phases.preparation_seconds for run in runs),
        baseline_variable_sharing_seconds=median(
            run.phases.variable_sharing_seconds / (run.machines * run.iterations) for run in runs
        ),
        baseline_communication_seconds=baseline_scale
        * median(run.phases.communication_seconds * run.machines / run.scale for run in runs),
        unit_task_seconds=(
            median(run.phases.computation_seconds * run.machines / run.iterations for run in runs),
        ),
        baseline_scale=baseline_scale,
    )


def profile_from_runs(observations: Sequence[Observation]) -> JobProfile:
    """The profile of a job of which only whole run times are known; see `OptexRegression.fit`."""
    return (
        OptexRegression()
        .fit(
            machines=[run.machines for run in observations],
            scale=[run.scale for run in observations],
            iterations=[run.iterations or 1 for run in observations],
            seconds=[run.seconds for run in observations],
        )
        .profile_
    )


class OptexRegression:
    """The closed form fitted to whole run times: non-negative, errors relative to each run's time.

    Run times do not tell Tinit from Tprep: the profile has their sum as `initialisation_seconds`.

    Attributes:
        profile_: after `fit`: the profile; its scales are those that were passed.
    """

    profile_: JobProfile

    def fit(
        self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike, iterations: ArrayLike = 1
    ) -> Self:
        """Estimate the profile.

        Args:
            machines: the number of machines of each run, shape (n,).
            scale: the input of each run, shape (n,).
            seconds: the time of each run, shape (n,).
            iterations: the iterations of each run, shape (n,), or one number for all.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer runs than constants.
            FitError: the runs cannot tell some of the phases apart; the message says which.
        """
        rows = regressors(machines=machines, scale=scale, iterations=iterations)
        if len(rows) < len(REGRESSORS):
            raise TooFewObservationsError(
                f"{len(rows)} observations cannot determine the {len(REGRESSORS)} constants of OptEx.",
                remedy=f"Observe at least {len(REGRESSORS)} runs, better {len(REGRESSORS) + 2}, or measure "
                "the phases of one run (profile_from_phases).",
            )
        undetermined = undetermined_terms(rows, REGRESSORS)
        if undetermined:
            varied = [
                f"{name} ({np.unique(column).size} different)"
                for name, column in (("machines", machines), ("scale", scale), ("iterations", iterations))
            ]
            listed = ", ".join(f'"{name}"' for name in undetermined)
            raise FitError(
                f"The {len(rows)} observations cannot tell the terms {listed} of OptEx apart.",
                remedy=f"Vary {', '.join(varied)}: at least 3 numbers of machines, and scale or iterations "
                "independently of them.",
            )
        return self.fit_undetermined(machines=machines, scale=scale, seconds=seconds, iterations=iterations)

    def fit_undetermined(
        self, *, machines: ArrayLike, scale: ArrayLike, seconds: ArrayLike, iterations: ArrayLike = 1
    ) -> Self:
        """Like `fit`, where the runs need not determine the constants: others may fit as well."""
        rows = regressors(machines=machines, scale=scale, iterations=iterations)
        if not len(rows):
            raise TooFewObservationsError("There is no run.", remedy="Observe at least one run.")
        column = seconds_of_runs(seconds, len(rows))
        solution = non_negative_least_squares(rows / column[:, None], np.ones(len(rows)))
        fixed, sharing, computation, communication = solution.tolist()
        self.profile_ = JobProfile(
            initialisation_seconds=fixed,
            preparation_seconds=0.0,
            baseline_variable_sharing_seconds=sharing,
            baseline_communication_seconds=communication,
            unit_task_seconds=(computation,),
        )
        return self

    def predict(self, *, machines: ArrayLike, scale: ArrayLike, iterations: ArrayLike = 1) -> FloatArray:
        """Seconds of n runs, shape (n,); see `predict`.

        Raises:
            FitError: the regression has not been fitted.
            InvalidParameterError: a value does not fit.
        """
        if not hasattr(self, "profile_"):
            raise FitError("This regression has no profile yet.", remedy="Call fit first.")
        return predict(self.profile_, machines=machines, scale=scale, iterations=iterations)
