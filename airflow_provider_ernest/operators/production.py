"""What the design of the sample runs is told of production and of costs, from template fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.choices import COST_OPTIONS
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.rendered import NOTHING, number, optional_number, whole_number
from airflow_provider_ernest.sizes import machine_counts
from airflow_provider_ernest.stated import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow_provider_ernest.model.design.spending import Spending
    from airflow_provider_ernest.model.design.targets import Targets
    from airflow_provider_ernest.specification import Number


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


def spending_of(
    targets: Targets | None,
    *,
    budget: Number | None,
    share: Number | None,
    cost: str,
    cost_options: Mapping[str, Number] | None,
    min_scale: Number | None,
    billed_machines: Number | None,
    machines: Number,
    scale: Number,
    deadline_seconds: Number | None,
) -> Spending:
    """What the sample runs may cost.

    Args:
        targets: the machines that production may have.
        budget: of all runs, in the unit of the cost.
        share: the same as a share of the cost of a production run.
        cost: the name of the cost.
        cost_options: what the cost needs to know.
        min_scale: the smallest share of the input that a run reads.
        billed_machines: that are paid for while a run is on.
        machines: the fewest that production may have.
        scale: its input, relative to the one that is sampled.
        deadline_seconds: within which it is to end.

    Raises:
        InvalidParameterError: a value cannot be, or budget and share are given.
    """
    from airflow_provider_ernest.model.design.spending import Spending
    from airflow_provider_ernest.model.design.training_share import expected_production

    given, part = optional_number("budget", budget), optional_number("budget_share", share)
    if part is not None and given is not None:
        raise InvalidParameterError(
            "(budget, budget_share)", (given, part), "is two budgets", remedy="Give one of them."
        )
    options = _cost_options(cost_options)
    production = expected_production(
        machines=None if targets is None else targets.machines,
        scale=number("target_scale", scale),
        deadline_seconds=optional_number("target_deadline_seconds", deadline_seconds),
        full_seconds_on_one_machine=options.get("full_seconds_on_one_machine"),
    )
    return Spending(
        cost=cost,
        options=options,
        budget=given,
        share=part,
        min_scale=optional_number("min_scale", min_scale),
        billed_machines=optional_number("billed_machines", billed_machines) or 0.0,
        production=production,
        fewest_machines=whole_number("target_min_machines", machines),
        scale=number("target_scale", scale),
    )


def _cost_options(given: Mapping[str, Number] | None) -> dict[str, float]:
    options = given or {}
    refuse_unknown("cost_options", options, COST_OPTIONS)
    return {name: number(name, value) for name, value in options.items()}
