"""What is asked of the decision: its operator's template fields, read and checked before anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.goals import Goal, load_objective
from airflow_provider_ernest.operators.billing_terms import Terms
from airflow_provider_ernest.operators.rendered import (
    NOTHING,
    number,
    optional_number,
    optional_text,
    optional_whole_number,
)
from airflow_provider_ernest.sizes import machine_counts
from airflow_provider_ernest.sizing_goal import (
    UntrainedType,
    reaction_to_failure,
    rendered_type,
    require_fallback_among,
)
from airflow_provider_ernest.stated import prices

if TYPE_CHECKING:
    from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """What is taken where nothing can be chosen.

    Attributes:
        machines: how many.
        instance_type: of which type; None for the first that was to be trained.
    """

    machines: int
    instance_type: str | None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What production must keep to, what it may have, and what to do where that cannot be.

    Attributes:
        goal: to keep to.
        machines: the numbers of machines that are allowed.
        has_allowed_machines: they were stated one by one.
        price_per_hour: of all types of machines; None for what `prices` or the clusters tell.
        prices: by type.
        billing: what is billed beside the hours of the machines.
        untrained_types: to be considered, too.
        cores_per_machine: of types that neither a cluster nor `cores` tells of; None where it is not stated.
        cores: of a machine, by type.
        scale: of production.
        iterations: of production.
        reaction: "fail", "fallback" or "most_probable".
        fallback: None where none is stated.
    """

    goal: Goal
    machines: tuple[int, ...]
    has_allowed_machines: bool
    price_per_hour: float | None
    prices: Mapping[str, float]
    billing: Terms
    untrained_types: tuple[UntrainedType, ...]
    cores_per_machine: int | None
    cores: Mapping[str, int]
    scale: float
    iterations: int | None
    reaction: str
    fallback: Fallback | None


def read_question(asker: ChooseConfigOperator, *, has_model: bool) -> Question:
    """Read all parameters.

    Args:
        asker: whose template fields they are, rendered.
        has_model: there is a model to choose by. Without one only the fallback can be taken, which needs
            neither scale nor iterations: what a failed task was to tell must not hinder it.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    machines = machine_counts(
        minimum=asker.min_machines, maximum=asker.max_machines, allowed=asker.allowed_machines
    )
    fallback = _fallback(asker, machines)
    only_noted = not has_model and fallback is not None
    price, prices_by_type = prices("price_per_hour", asker.price_per_hour)
    cores, cores_by_type = _cores(asker.cores_per_machine)
    return Question(
        goal=_goal(asker),
        machines=machines,
        has_allowed_machines=asker.allowed_machines not in NOTHING,
        price_per_hour=price,
        prices=prices_by_type,
        billing=Terms(asker.billing),
        untrained_types=tuple(rendered_type(each) for each in asker.untrained_types),
        cores_per_machine=cores,
        cores=cores_by_type,
        scale=_read(asker, number, "scale", 1.0, only_noted=only_noted),
        iterations=_read(asker, optional_whole_number, "iterations", None, only_noted=only_noted),
        reaction=reaction_to_failure(optional_text(asker.on_failure), has_fallback=fallback is not None),
        fallback=fallback,
    )


def _read(
    asker: ChooseConfigOperator,
    read: Callable[[str, Any], Value],
    parameter: str,
    otherwise: Value,
    *,
    only_noted: bool,
) -> Value:
    """A parameter, which must be readable only where something is chosen by it."""
    try:
        return read(parameter, getattr(asker, parameter))
    except InvalidParameterError as error:
        if not only_noted:
            raise
        asker.log.warning("%s It is recorded as %s.", error, otherwise)
        return otherwise


def _goal(asker: ChooseConfigOperator) -> Goal:
    objective = optional_text(asker.objective)
    return Goal(
        deadline_seconds=optional_number("deadline_seconds", asker.deadline_seconds),
        budget_dollars=optional_number("budget_dollars", asker.budget_dollars),
        confidence=number("confidence", asker.confidence),
        objective=None if objective is None else load_objective(objective),
    )


def _fallback(asker: ChooseConfigOperator, machines: tuple[int, ...]) -> Fallback | None:
    count = optional_whole_number("fallback_machines", asker.fallback_machines)
    require_fallback_among(machines, count)
    if count is None:
        return None
    return Fallback(machines=count, instance_type=optional_text(asker.fallback_instance_type))


def _cores(value: Any) -> tuple[int | None, Mapping[str, int]]:
    """The cores of machines of all types, and those by type, as they are stated."""
    if not isinstance(value, Mapping):
        of_all = optional_whole_number("cores_per_machine", value)
        if of_all is not None and of_all < 1:
            raise InvalidParameterError("cores_per_machine", of_all, "is not a number of at least 1")
        return of_all, {}
    known = {
        str(name): optional_whole_number(f"cores_per_machine[{name!r}]", cores)
        for name, cores in value.items()
    }
    return None, {name: cores for name, cores in known.items() if cores is not None}
