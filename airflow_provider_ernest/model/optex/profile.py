"""OptEx: a closed form for the time of a Spark job from a profile of its phases.

After Sidhanta, Golab, Mukhopadhyay, "OptEx: A Deadline-Aware Cost Optimization Model for Spark"
(CCGrid 2016, arXiv:1603.07936). On n machines, with `iter` iterations on an input of size s::

    T = Tinit + Tprep + n*iter*C + iter*B/n + A*s/n

    C = coeff * Tvs_baseline        sharing variables with one machine for one iteration
    B = sum of the M_k              the unit tasks of one iteration, one after the other
    A = cf_commn * Tcommn_baseline / s_baseline     communication for one unit of input

Sharing grows with the machines, computation and communication shrink: T is lowest at
``n = sqrt((iter*B + A*s) / (iter*C))``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.model.optex.phase_seconds import PhaseSeconds as PhaseSeconds
from airflow_provider_ernest.model.parameters import (
    FloatArray,
    machines_and_scale,
    number_not_negative,
    positive_column,
    positive_number,
    whole_number,
)

REGRESSORS = ("1", "iterations*machines", "iterations/machines", "scale/machines")
"""The columns of the closed form; their coefficients are Tinit + Tprep, C, B and A."""


@dataclass(frozen=True, kw_only=True)
class JobProfile(Document):
    """What OptEx knows of a job on one type of machine.

    Attributes:
        initialisation_seconds: Tinit; starting the application.
        preparation_seconds: Tprep; preparing the job, before its tasks start.
        baseline_variable_sharing_seconds: Tvs baseline; measured with one machine and one iteration.
        variable_sharing_coefficient: coeff; how the job's sharing compares with the baseline.
        baseline_communication_seconds: Tcommn baseline; on one machine with `baseline_scale`.
        communication_coefficient: cf_commn; how the job's communication compares with the baseline.
        unit_task_seconds: M_k, of each unit task that an iteration is made of.
        baseline_unit_tasks: n_unit baseline, how many unit tasks an iteration has; by default as many
            as `unit_task_seconds` has. Given, the two must agree.
        baseline_scale: s baseline, the input that the baseline was measured with, in the unit of
            `scale` (a share of the target input).
    """

    initialisation_seconds: float
    preparation_seconds: float
    baseline_variable_sharing_seconds: float
    baseline_communication_seconds: float
    unit_task_seconds: tuple[float, ...]
    variable_sharing_coefficient: float = 1.0
    communication_coefficient: float = 1.0
    baseline_unit_tasks: int | None = None
    baseline_scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse NaN, negative times, and a number of unit tasks that is not that of their times."""
        for name in (
            "initialisation_seconds",
            "preparation_seconds",
            "baseline_variable_sharing_seconds",
            "baseline_communication_seconds",
            "variable_sharing_coefficient",
            "communication_coefficient",
        ):
            number_not_negative(name, getattr(self, name))
        for index, seconds in enumerate(self.unit_task_seconds):
            number_not_negative(f"unit_task_seconds[{index}]", seconds)
        positive_number("baseline_scale", self.baseline_scale)
        if self.baseline_unit_tasks not in (None, len(self.unit_task_seconds)):
            raise InvalidParameterError(
                "baseline_unit_tasks",
                self.baseline_unit_tasks,
                f"is not the number of unit_task_seconds, {len(self.unit_task_seconds)}",
                remedy="Give the time of each unit task.",
            )

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


def phases(
    profile: JobProfile,
    *,
    machines: int,
    iterations: int = 1,
    scale: float = 1.0,
    total_speed: float | None = None,
) -> PhaseSeconds:
    """The seconds of each phase of a run; they add up to `predict`.

    Args:
        profile: the job's profile.
        machines: the number of machines.
        iterations: the number of iterations.
        scale: the input, in the unit of the profile's `baseline_scale`.
        total_speed: the machines' speeds added up, relative to the type that was profiled; by default
            `machines`. What spreads over the machines is divided by it.

    Raises:
        InvalidParameterError: a value does not fit.
    """
    machines = whole_number("machines", machines)
    iterations = whole_number("iterations", iterations)
    scale = positive_number("scale", scale)
    speed = float(machines) if total_speed is None else positive_number("total_speed", total_speed)
    _, sharing, computation, communication = profile.coefficients.tolist()
    return PhaseSeconds(
        initialisation_seconds=profile.initialisation_seconds,
        preparation_seconds=profile.preparation_seconds,
        variable_sharing_seconds=machines * iterations * sharing,
        computation_seconds=iterations * computation / speed,
        communication_seconds=communication * scale / speed,
    )


def predict(
    profile: JobProfile, *, machines: ArrayLike, scale: ArrayLike = 1.0, iterations: ArrayLike = 1
) -> FloatArray:
    """Seconds of n runs, shape (n,).

    Args:
        profile: the job's profile.
        machines: n numbers of machines, or one for all runs.
        scale: n inputs, or one, in the unit of the profile's `baseline_scale`.
        iterations: n numbers of iterations, or one.

    Raises:
        InvalidParameterError: a value does not fit, or the lengths differ.
    """
    rows = regressors(machines=machines, scale=scale, iterations=iterations)
    return np.asarray(rows @ profile.coefficients, dtype=np.float64)


def regressors(*, machines: ArrayLike, scale: ArrayLike, iterations: ArrayLike) -> FloatArray:
    """The values of `REGRESSORS` for n runs, shape (n, 4).

    Raises:
        InvalidParameterError: a value does not fit, or the lengths differ.
    """
    machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
    iteration_column = positive_column("iterations", iterations, minimum=1.0)
    try:
        columns = np.broadcast_arrays(machine_column, scale_column, iteration_column)
    except ValueError as error:
        raise InvalidParameterError(
            "iterations",
            iteration_column.tolist(),
            f"has {iteration_column.size} values for {machine_column.size} runs",
            remedy="Pass the iterations of each run, or a single number.",
        ) from error
    count, size, repeated = columns
    return np.column_stack([np.ones_like(count), repeated * count, repeated / count, size / count])
