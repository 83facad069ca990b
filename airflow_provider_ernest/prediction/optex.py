"""OptEx: a closed form for the time of a Spark job from a profile of its phases.

Sidhanta, Golab, Mukhopadhyay, "OptEx: A Deadline-Aware Cost Optimization Model for Spark" (CCGrid 2016,
arXiv:1603.07936). On n executors, with `iter` iterations on an input of size s::

    T = Tinit + Tprep + n*iter*C + iter*B/n + A*s/n

    C = coeff * Tvs_baseline        sharing variables with one executor for one iteration
    B = sum of the M_k              the unit tasks of one iteration, one after the other
    A = cf_commn * Tcommn_baseline / s_baseline     communication for one unit of input

Sharing grows with the executors, computation and communication shrink: T is lowest at ``n = sqrt((iter*B +
A*s) / (iter*C))``.

The paper's tables follow the formula only in part (see `python -m benchmarks.accuracy --optex DIR`): its
execution and communication times are not in proportion to 1/n, and the estimates of tables IV and VI contain
no sharing. This module implements the formula. An InvalidParameterError refuses invalid values.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.documents.profiles import PhaseSeconds, RunProfile
from airflow_provider_ernest.exceptions import TooFewObservationsError
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    column_for_runs,
    executors_and_scale,
    number_not_negative,
    positive_number,
    whole_number,
)

REGRESSORS = ("1", "iterations*executors", "iterations/executors", "scale/executors")
"""The columns of the closed form; their coefficients are Tinit + Tprep, C, B and A."""


class JobProfile(Document):
    """What OptEx knows of a job on one type of machine."""

    initialisation_seconds: float  # Tinit; starting the application
    preparation_seconds: float  # Tprep; preparing the job, before its tasks start
    baseline_variable_sharing_seconds: float  # Tvs baseline; with one executor and one iteration
    baseline_communication_seconds: float  # Tcommn baseline; on one executor with `baseline_scale`
    unit_task_seconds: tuple[float, ...]  # M_k, of each unit task of an iteration
    variable_sharing_coefficient: float = 1.0  # coeff; the job's sharing as a multiple of the baseline
    communication_coefficient: float = 1.0  # cf_commn; its communication as a multiple of the baseline
    baseline_scale: float = 1.0  # s baseline, the input of the baseline as a share of the target input

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if name != "unit_task_seconds":
                number_not_negative(name, value)
        for index, seconds in enumerate(self.unit_task_seconds):
            number_not_negative(f"unit_task_seconds[{index}]", seconds)
        positive_number("baseline_scale", self.baseline_scale)

    @property
    def coefficients(self) -> FloatArray:
        """Seconds per unit of each of `REGRESSORS`, shape (4,): Tinit + Tprep, C, B, A."""
        return np.array(
            [
                self.initialisation_seconds + self.preparation_seconds,
                self.variable_sharing_coefficient * self.baseline_variable_sharing_seconds,
                sum(self.unit_task_seconds),
                self.communication_coefficient * self.baseline_communication_seconds / self.baseline_scale,
            ]
        )


def phases(profile: JobProfile, *, executors: int, iterations: int = 1, scale: float = 1.0) -> PhaseSeconds:
    """The seconds of each phase of a run; they add up to `predict`.

    The scale is in the unit of the profile's `baseline_scale`.
    """
    executors = whole_number("executors", executors)
    iterations = whole_number("iterations", iterations)
    scale = positive_number("scale", scale)
    _, sharing, computation, communication = profile.coefficients.tolist()
    return PhaseSeconds(
        initialisation_seconds=profile.initialisation_seconds,
        preparation_seconds=profile.preparation_seconds,
        variable_sharing_seconds=executors * iterations * sharing,
        computation_seconds=iterations * computation / executors,
        communication_seconds=communication * scale / executors,
    )


def predict(
    profile: JobProfile, *, executors: ArrayLike, scale: ArrayLike = 1.0, iterations: ArrayLike = 1
) -> FloatArray:
    """Seconds of n runs, shape (n,), each column of n values or one; see `phases`."""
    rows = regressors(executors=executors, scale=scale, iterations=iterations)
    return np.asarray(rows @ profile.coefficients, dtype=np.float64)


def regressors(*, executors: ArrayLike, scale: ArrayLike, iterations: ArrayLike) -> FloatArray:
    """The values of `REGRESSORS` for n runs, shape (n, 4)."""
    count, size = executors_and_scale(executors=executors, scale=scale)
    repeated = column_for_runs("iterations", iterations, count.size, minimum=1.0)
    return np.column_stack([np.ones_like(count), repeated * count, repeated / count, size / count])


def job_profile(runs: Sequence[RunProfile]) -> JobProfile:
    """The profile of a job from runs with measured phases; a single run is enough.

    Each constant is the median over the runs, so that one disturbed run does no harm. The baseline is one
    executor with the largest input measured.
    """
    if not runs:
        raise TooFewObservationsError("No run gives no profile.", remedy="Measure at least one run.")
    baseline = max(run.scale for run in runs)
    return JobProfile(
        initialisation_seconds=median(run.phases.initialisation_seconds for run in runs),
        preparation_seconds=median(run.phases.preparation_seconds for run in runs),
        baseline_variable_sharing_seconds=median(
            run.phases.variable_sharing_seconds / (run.executors * (run.iterations or 1)) for run in runs
        ),
        baseline_communication_seconds=baseline
        * median(run.phases.communication_seconds * run.executors / run.scale for run in runs),
        unit_task_seconds=(
            median(
                run.phases.computation_seconds * baseline / run.scale * run.executors / (run.iterations or 1)
                for run in runs
            ),
        ),
        baseline_scale=baseline,
    )
