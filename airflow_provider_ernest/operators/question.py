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
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
)
from airflow_provider_ernest.sizes import in_words, machine_counts
from airflow_provider_ernest.sizing_goal import UntrainedType, reaction_to_failure

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
    price, prices = _prices(asker.price_per_hour)
    cores, cores_by_type = _cores(asker.cores_per_machine)
    return Question(
        goal=_goal(asker),
        machines=machines,
        has_allowed_machines=asker.allowed_machines not in NOTHING,
        price_per_hour=price,
        prices=prices,
        billing=Terms(asker.billing),
        untrained_types=tuple(_untrained(each) for each in asker.untrained_types),
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
    if count is None:
        return None
    if count not in machines:
        raise InvalidParameterError(
            "fallback_machines",
            count,
            f"is outside the {in_words(machines)} machines that production may have",
            remedy="Correct it, or allow more machines.",
        )
    return Fallback(machines=count, instance_type=optional_text(asker.fallback_instance_type))


def _prices(value: Any) -> tuple[float | None, Mapping[str, float]]:
    """One price for all types, or those by type."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = optional_document("price_per_hour", value)
    if not isinstance(value, Mapping):
        return _price("price_per_hour", value), {}
    known = {str(name): _price(f"price_per_hour[{name!r}]", price) for name, price in value.items()}
    return None, {name: price for name, price in known.items() if price is not None}


def _price(parameter: str, value: Any) -> float | None:
    price = optional_number(parameter, value)
    if price is not None and price <= 0:
        raise InvalidParameterError(
            parameter, price, "is not above 0", remedy="Give the dollars for one machine and hour."
        )
    return price


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


def _untrained(given: Mapping[str, Any]) -> UntrainedType:
    named, like = optional_text(given.get("instance_type")), optional_text(given.get("like"))
    if named is None or like is None:
        raise InvalidParameterError(
            "untrained_types", dict(given), "names no type", remedy="Give instance_type and like."
        )
    where = f"untrained_types[{named!r}]"
    cores = optional_whole_number(f"{where}.cores_per_machine", given.get("cores_per_machine"))
    speed = number(f"{where}.relative_speed", given.get("relative_speed"))
    price = _price(f"{where}.price_per_hour", given.get("price_per_hour"))
    if speed <= 0 or price is None or (cores is not None and cores < 1):
        raise InvalidParameterError(
            where, dict(given), "cannot be", remedy="Give a price, and a speed and cores above 0."
        )
    # Refuses, as in the DAG file, cores that are left open.
    return UntrainedType(
        instance_type=named, like=like, relative_speed=speed, price_per_hour=price, cores_per_machine=cores
    )
