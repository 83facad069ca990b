"""The cheapest mix of machine types within a deadline, or the fastest within a budget, by OptEx.

n_t machines of type t with relative speed v_t and price p_t run a job in (see `optex`)::

    T = Tinit + Tprep + N*iter*C + (iter*B + A*s)/V,    N = sum of n_t,  V = sum of v_t*n_t

and cost P*T with P = sum of p_t*n_t. What spreads over the machines is divided by their speed, since
Spark gives tasks to whoever is free; variables are sent to each machine, however fast it is. With one
type of speed 1 this is the paper's closed form. The paper minimises over real numbers of machines; here
whole numbers are searched, and the best of them is found for certain (see `mixed.best_counts`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest import words
from airflow_provider_ernest.decision.goals import TOLERANCE, goal_in_words
from airflow_provider_ernest.decision.mixed import CompositionProblem, best_counts, starting_compositions
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.documents.decisions import Configuration
from airflow_provider_ernest.documents.profiles import PhaseSeconds
from airflow_provider_ernest.exceptions import InfeasibleGoalError, InvalidParameterError
from airflow_provider_ernest.numbers import number_not_negative, positive_number, whole_number
from airflow_provider_ernest.prediction.optex import JobProfile, phases
from airflow_provider_ernest.settings.goal import CHEAPEST, FASTEST, require_goal


@dataclass(frozen=True, kw_only=True)
class MachineType(Document):
    """A type of machine that a cluster may have.

    Attributes:
        instance_type: its name.
        price_per_hour: dollars for one machine and hour.
        relative_speed: against the type that the profile was measured on; 2 does the work in half the time.
        max_machines: how many may be started.
    """

    instance_type: str
    price_per_hour: float
    relative_speed: float = 1.0
    max_machines: int = 100

    def __post_init__(self) -> None:
        """Refuse machines without price or speed."""
        positive_number("price_per_hour", self.price_per_hour)
        positive_number("relative_speed", self.relative_speed)
        whole_number("max_machines", self.max_machines)


@dataclass(frozen=True, kw_only=True)
class Composition(Document):
    """A cluster of one or more types of machines, and what the job takes on it.

    Attributes:
        configurations: the machines of each type that is used.
        predicted_seconds: of the run, start-up included.
        predicted_cost: dollars for all machines over that time.
        phases: where the time goes, start-up excluded.
        goal: the goal in words.
    """

    configurations: tuple[Configuration, ...]
    predicted_seconds: float
    predicted_cost: float
    phases: PhaseSeconds
    goal: str

    @property
    def machines(self) -> int:
        """The machines of all types together."""
        return sum(each.machines for each in self.configurations)


def choose_composition(
    profile: JobProfile,
    *,
    machine_types: Sequence[MachineType],
    deadline_seconds: float | None = None,
    budget_dollars: float | None = None,
    objective: str | None = None,
    iterations: int = 1,
    scale: float = 1.0,
    startup_seconds: float = 0.0,
) -> Composition:
    """The best whole numbers of machines of each type (OptEx, cost optimal cluster composition).

    Of equally good ones the faster (the cheaper, for a budget), then the one with fewer machines.

    Args:
        profile: the job's profile, of a machine with relative speed 1.
        machine_types: the types to choose from.
        deadline_seconds: that the run may take; None for any. The closed form knows no uncertainty.
        budget_dollars: that it may cost; None for any.
        objective: "cheapest" or "fastest"; None for the cheapest within the deadline, or the fastest within
            the budget.
        iterations: of the run.
        scale: the input, in the unit of the profile.
        startup_seconds: until the machines are there; part of the deadline, and paid for.

    Raises:
        InvalidParameterError: a parameter cannot be.
        InfeasibleGoalError: no composition meets the goal; `best` is the best that can be reached.
    """
    best = _best_of(deadline_seconds, budget_dollars, objective)
    types = tuple(machine_types)
    names = [each.instance_type for each in types]
    if not types or len(set(names)) < len(names):
        raise InvalidParameterError(
            "machine_types", names, "is empty or names a type twice", remedy="Give each type once."
        )
    startup = number_not_negative("startup_seconds", startup_seconds)
    one = phases(profile, machines=1, iterations=iterations, scale=scale)
    problem = CompositionProblem(
        fixed_seconds=startup + one.initialisation_seconds + one.preparation_seconds,
        sharing_seconds=one.variable_sharing_seconds,
        work_seconds=one.computation_seconds + one.communication_seconds,
        prices=np.array([each.price_per_hour / 3600.0 for each in types]),
        speeds=np.array([each.relative_speed for each in types]),
        allowed=tuple(np.arange(1, each.max_machines + 1) for each in types),
    )
    counts = best_counts(
        problem,
        most_seconds=math.inf if deadline_seconds is None else deadline_seconds,
        most_cost=math.inf if budget_dollars is None else budget_dollars,
        fastest=best == FASTEST,
    )
    if counts is None:
        raise _infeasible(problem, names, deadline_seconds, budget_dollars)
    seconds, cost = problem.seconds_and_cost(counts[None, :])
    return Composition(
        configurations=tuple(
            Configuration(machines=int(count), instance_type=name)
            for name, count in zip(names, counts, strict=True)
            if count
        ),
        predicted_seconds=float(seconds[0]),
        predicted_cost=float(cost[0]),
        phases=phases(
            profile,
            machines=int(counts.sum()),
            iterations=iterations,
            scale=scale,
            total_speed=float(problem.speeds @ counts),
        ),
        goal=goal_in_words(best, deadline_seconds=deadline_seconds, budget_dollars=budget_dollars),
    )


def _best_of(deadline_seconds: float | None, budget_dollars: float | None, objective: str | None) -> str:
    """What is best within these limits."""
    require_goal(deadline_seconds=deadline_seconds, budget_dollars=budget_dollars, objective=objective)
    for name, limit in (("deadline_seconds", deadline_seconds), ("budget_dollars", budget_dollars)):
        if limit is not None:
            positive_number(name, limit)
    if objective not in (None, CHEAPEST, FASTEST):
        raise InvalidParameterError(
            "objective",
            objective,
            "cannot be searched for among compositions",
            remedy=f'Use "{CHEAPEST}" or "{FASTEST}".',
        )
    return objective or (CHEAPEST if deadline_seconds is not None else FASTEST)


def _infeasible(
    problem: CompositionProblem,
    names: Sequence[str],
    deadline_seconds: float | None,
    budget_dollars: float | None,
) -> InfeasibleGoalError:
    known = starting_compositions(problem)
    seconds, cost = problem.seconds_and_cost(known)
    in_time = np.ones(len(known), dtype=bool)
    if deadline_seconds is not None:
        in_time = seconds <= deadline_seconds * (1 + TOLERANCE)
    nearest = int(np.argmin(np.where(in_time, cost, np.inf) if in_time.any() else seconds))
    told = " + ".join(f"{n} {name}" for name, n in zip(names, known[nearest], strict=True) if n)
    told += f", {words.duration(seconds[nearest])} for {words.dollars(cost[nearest])}"
    within = "" if deadline_seconds is None else f"ends within {words.duration(deadline_seconds)}"
    if budget_dollars is None or not in_time.any():
        return InfeasibleGoalError(
            f"No composition {within}. Fastest: {told}.",
            best=float(seconds[nearest]),
            remedy="Extend the deadline, allow more machines, or add a faster machine type.",
        )
    limits = f"costs at most {words.dollars(budget_dollars)}{f' and {within}' if within else ''}"
    return InfeasibleGoalError(
        f"No composition {limits}. Cheapest: {told}.",
        best=float(cost[nearest]),
        remedy="Raise the budget, or add a cheaper machine type.",
    )
