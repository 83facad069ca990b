"""What a model has learned from since its sample runs, and what it was trained under, in a line each."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ernest.model.documents import InputFingerprint, RunConditions
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.report.wording import data_amount


def learned_from(model: Model) -> str | None:
    """How many production runs, and which model of sample runs alone it goes on from; None for such a one."""
    if model.base_model_id is None:
        return None
    count = len(model.learned_from)
    runs = "1 production run" if count == 1 else f"{count} production runs"
    return f"{runs}, which are among its runs; it goes on from {model.base_model_id}"


def trained_under(conditions: RunConditions | None) -> str | None:
    """As far as it is known; None where nothing is."""
    if conditions is None:
        return None
    return "; ".join(_known(conditions)) or None


def _known(conditions: RunConditions) -> Iterator[str]:
    if conditions.spark:
        yield f"Spark {conditions.spark}"
    if conditions.settings is not None:
        count = len(conditions.settings)
        yield "1 setting compared" if count == 1 else f"{count} settings compared"
    if conditions.cores_per_machine is not None:
        cores = conditions.cores_per_machine
        yield f"{cores} core{'' if cores == 1 else 's'} of a machine"
    shape = ", ".join(_shape(conditions.input)) if conditions.input else ""
    if shape:
        yield f"input of {shape}"


def _shape(shape: InputFingerprint) -> Iterator[str]:
    if shape.partitions is not None:
        each = shape.bytes_per_partition
        size = f" of {data_amount(each)}" if each is not None else ""
        yield f"{shape.partitions:,} partition{'' if shape.partitions == 1 else 's'}{size}"
    elif shape.total_bytes is not None:
        yield data_amount(shape.total_bytes)
    if shape.columns is not None:
        yield f"{shape.columns} column{'' if shape.columns == 1 else 's'}"
    if shape.format:
        yield shape.format
