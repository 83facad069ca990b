"""What the design of the sample runs is told of the production run, from template fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.rendered import (
    number,
    optional_number,
    optional_whole_number,
    whole_number,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.model.design.budgets import ProductionShare
    from airflow_provider_ernest.model.design.targets import Targets
    from airflow_provider_ernest.specification import Number

COSTS_OF_PRODUCTION = ("machine_seconds", "dollars")
"""The costs of which a production run has one, too."""


def targets_of(*, min_machines: Number, max_machines: Number | None, scale: Number) -> Targets | None:
    """The configurations that predictions will be asked for; None where no `max_machines` are given.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    from airflow_provider_ernest.model.design.targets import Targets

    most = optional_whole_number("target_max_machines", max_machines)
    if most is None:
        return None
    least = whole_number("target_min_machines", min_machines)
    if least > most:
        raise InvalidParameterError(
            "target_min_machines", least, f"is more than target_max_machines={most}", remedy="Lower it."
        )
    return Targets(machines=range(least, most + 1), scale=number("target_scale", scale))


def budget_of(
    *, budget: Number | None, share: Number | None, cost: str, machines: Number, scale: Number
) -> float | ProductionShare | None:
    """The budget of the sample runs: a number, a share of what production costs, or None for the default.

    Args:
        budget: in the unit of the cost.
        share: of the cost of a production run.
        cost: the name of the cost.
        machines: of that production run; where work spreads perfectly, their number changes little.
        scale: its input, relative to the one that is sampled.

    Raises:
        InvalidParameterError: both are given, or production has no such cost.
    """
    from airflow_provider_ernest.model.design.budgets import ProductionShare

    given, part = optional_number("budget", budget), optional_number("budget_share", share)
    if part is None:
        return given
    if given is not None:
        raise InvalidParameterError(
            "(budget, budget_share)", (given, part), "is two budgets", remedy="Give one of them."
        )
    if cost not in COSTS_OF_PRODUCTION:
        raise InvalidParameterError(
            "budget_share",
            part,
            f'says nothing with cost="{cost}", by which production costs nothing',
            remedy='Use cost="machine_seconds" or "dollars".',
        )
    return ProductionShare(
        share=part,
        machines=whole_number("target_min_machines", machines),
        scale=number("target_scale", scale),
    )
