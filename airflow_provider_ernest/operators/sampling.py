"""What can be sampled at all, from template fields, and what is told of the samples that were chosen."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.rendered import optional_whole_number, whole_number

if TYPE_CHECKING:
    from airflow_provider_ernest.model.design.spending import Spending
    from airflow_provider_ernest.model.documents import Design
    from airflow_provider_ernest.specification import Number

SMALL_SHARE = 0.1
"""Shares below it are told with a decimal."""


def machines_of_samples(most: Number, *, available: Number | None) -> int:
    """The most machines of a sample run.

    Args:
        most: as the bounds have it.
        available: machines of the cluster; None where it sets no limit.

    Raises:
        InvalidParameterError: the cluster will not have so many.
    """
    max_machines = whole_number("max_machines", most)
    limit = optional_whole_number("available_machines", available)
    if limit is not None and max_machines > limit:
        # Before the cluster is started, not after it has been paid for.
        raise InvalidParameterError(
            "max_machines",
            max_machines,
            f"is more than the cluster will have ({limit})",
            remedy="Lower max_machines of the bounds, or start a larger cluster.",
        )
    return max_machines


def partitions_of_input(stated: Number | None, *, path: str | None) -> int:
    """The partitions of the whole input: as stated, else its files.

    Raises:
        InvalidParameterError: nothing tells them.
        MissingResourceError: there is no such input.
    """
    from airflow_provider_ernest.spark.input_files import list_input

    files = len(list_input(path).files) if path else None
    partitions = optional_whole_number("partitions", stated) or files
    if partitions is None:
        raise InvalidParameterError(
            "partitions", partitions, "is missing", remedy="Give it, or an input_path whose files count."
        )
    return partitions


def remarks(
    design: Design, spending: Spending, *, max_machines: Number, max_scale: Number
) -> list[tuple[int, str]]:
    """What to log of a design, each with its level in `logging`.

    Args:
        design: the runs.
        spending: what they were to cost.
        max_machines: the most machines that they might have.
        max_scale: the largest share of the input that they might read.
    """
    told = [
        (logging.INFO, _training_beside_production(design, spending)),
        (logging.WARNING, _dear_training(design, spending)),
        (logging.WARNING, _fewer_machines(design, whole_number("max_machines", max_machines), max_scale)),
    ]
    return [(level, text) for level, text in told if text]


def _training_beside_production(design: Design, spending: Spending) -> str:
    """What the runs are expected to cost; nothing where nothing tells what production costs."""
    share = spending.share_of(design)
    if share is None:
        return ""
    billed = f", with {spending.billed_machines:g} machines billed" if spending.billed_machines else ""
    percent = f"{100 * share:.1f}" if share < SMALL_SHARE else f"{100 * share:.0f}"
    return f"The sample runs are expected to cost about {percent} % of one production run{billed}."


def _dear_training(design: Design, spending: Spending) -> str:
    """What to warn of where training costs more beside long production than it is to."""
    from airflow_provider_ernest.model.design.spending import SHARE

    share = spending.share_of(design)
    if share is None or round(share, 3) <= SHARE or not spending.is_frugal:
        return ""
    smaller = "" if spending.min_scale is None else f"Lower min_scale ({spending.min_scale:g}), "
    split = f"split the input into more partitions (now {_partitions(design)})"
    return (
        f"That is more than {100 * SHARE:g} %, and no cheaper runs tell enough: each needs a partition for "
        "each of its cores, and the whole training cluster is billed as long as it takes. "
        f"{smaller}{split if smaller else split.capitalize()}, or start a smaller training cluster."
    )


def _fewer_machines(design: Design, wanted: int, max_scale: Number) -> str:
    """What to warn of where no sample has as many machines as it might."""
    largest = max(of_machines.machines for of_machines in design.candidate_ranges)
    if largest >= wanted:
        return ""
    return (
        f"No sample run can have more than {largest} machines: at max_scale={max_scale} the input's "
        f"{_partitions(design)} partitions do not give every core one. Raise max_scale or split the input "
        "into more partitions."
    )


def _partitions(design: Design) -> int:
    """Of the whole input."""
    run = design.experiments[0]
    return round(run.partitions / run.scale)
