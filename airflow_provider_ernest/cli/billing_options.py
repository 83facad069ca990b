"""The options that say how machines are paid for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.per_type import price_by_type
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.billing import Billing
    from airflow_provider_ernest.model.results import Model


def add_billing_arguments(parser: ArgumentParser, *, required: bool) -> None:
    """All of them.

    Args:
        parser: to add them to.
        required: whether a price must be given.
    """
    group = parser.add_argument_group("billing")
    group.add_argument(
        "--price-per-hour",
        metavar="[TYPE=]DOLLARS",
        type=price_by_type,
        action="append",
        required=required,
        help="dollars for one machine and hour; with several types of machines once for each, such as "
        "m5.large=0.096",
    )
    _add_increments(group)
    for option, metavar, default, meaning in (
        ("--boot-seconds", "SECONDS", 0.0, "from launch to submission, billed and part of the deadline"),
        ("--master-price-per-hour", "DOLLARS", 0.0, "for the master's or driver's machine"),
        ("--volume-gigabytes", "GIGABYTES", 0.0, "of the disks of each machine, the master's included"),
        ("--volume-price-per-gigabyte-month", "DOLLARS", 0.08, "for the disks"),
    ):
        group.add_argument(
            option, metavar=metavar, type=float, default=default, help=f"{meaning}; default %(default)g"
        )
    group.add_argument(
        "--training-dollars",
        metavar="DOLLARS",
        type=float,
        help="what the sample runs of all types cost together; with --expected-runs the default is their "
        "machines' price over their time, where the models know it, else nothing",
    )
    group.add_argument(
        "--expected-runs",
        metavar="N",
        type=int,
        help="production runs that share the cost of the training; default: 1",
    )


def _add_increments(group: Any) -> None:
    group.add_argument(
        "--billing-increment-seconds",
        metavar="SECONDS",
        type=float,
        default=1.0,
        help="machines are billed in whole multiples of it, 3600 where by the hour; default %(default)g",
    )
    group.add_argument(
        "--minimum-billed-seconds",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="the least that is billed for a machine; default %(default)g",
    )


def billing_of(args: Namespace, *, price_per_hour: float, models: Sequence[Model]) -> Billing:
    """How machines of this price are paid for by those options.

    Args:
        args: the options.
        price_per_hour: dollars for one machine and hour.
        models: of all types; the cost of their training is shared by the production runs.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    from airflow_provider_ernest.model.billing import Billing
    from airflow_provider_ernest.model.parameters import number_not_negative, positive_number

    return Billing(
        price_per_hour=price_per_hour,
        increment_seconds=positive_number("billing_increment_seconds", args.billing_increment_seconds),
        minimum_seconds=number_not_negative("minimum_billed_seconds", args.minimum_billed_seconds),
        boot_seconds=args.boot_seconds,
        master_price_per_hour=args.master_price_per_hour,
        volume_gigabytes=args.volume_gigabytes,
        volume_price_per_gigabyte_month=args.volume_price_per_gigabyte_month,
        training_dollars=_training_dollars(args, models),
        expected_runs=1 if args.expected_runs is None else args.expected_runs,
    )


def _training_dollars(args: Namespace, models: Sequence[Model]) -> float:
    """The cost of all sample runs, so far as it is to be shared."""
    from airflow_provider_ernest.model.training_cost import training_dollars

    if args.training_dollars is not None or args.expected_runs is None:
        return args.training_dollars or 0.0
    costs = {model.instance_type: training_dollars(model) for model in models}
    unknown = [name for name, dollars in costs.items() if dollars is None]
    if unknown:
        raise InvalidParameterError(
            "training_dollars",
            None,
            f"is missing, and the model of {unknown[0]} does not know what its machines cost",
            remedy="Give what the sample runs of all types cost together.",
        )
    return sum(dollars for dollars in costs.values() if dollars is not None)
