"""What the design of the sample runs is told of the production run, from template fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.rendered import NOTHING, number, optional_number, whole_number
from airflow_provider_ernest.operators.sizes import machine_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_provider_ernest.model.design.budgets import ProductionShare
    from airflow_provider_ernest.model.design.targets import Targets
    from airflow_provider_ernest.specification import Number

COSTS_OF_PRODUCTION = ("machine_seconds", "dollars")
"""The costs of which a production run has one, too."""


def targets_of(
    *,
    min_machines: Number,
    max_machines: Number | None,
    allowed_machines: Sequence[int] | str | None,
    scale: Number,
) -> Targets | None:
    """The configurations that predictions will be asked for; None where nothing tells the most machines.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    from airflow_provider_ernest.model.design.targets import Targets

    if max_machines in NOTHING and allowed_machines in NOTHING:
        return None
    machines = machine_counts(
        minimum=min_machines, maximum=max_machines, allowed=allowed_machines, prefix="target_"
    )
    return Targets(machines=machines, scale=number("target_scale", scale))


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
