"""Types of machines whose training was skipped, since a stored model speaks for the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.operators.rendered import number, optional_document
from airflow_provider_ernest.operators.trained_types import TrainedType
from airflow_provider_ernest.operators.training_cluster import remembered_handle


def with_stored_models(
    types: Sequence[TrainedType], *, models: Any, growth: Any, reasons: Any
) -> list[TrainedType]:
    """The types, with stored models where none was trained since.

    The newer model counts. A task that is skipped keeps what an earlier attempt of the DAG run has returned,
    and one that somebody has cleared by itself has trained since the stored model was found.

    Args:
        types: what came of each training.
        models: the stored `Model` documents by type, also as JSON text; None where nobody looked for any.
        growth: of the input since then, likewise.
        reasons: why each was reused, likewise.

    Raises:
        InvalidParameterError, InvalidDocumentError: one of them is something else.
    """
    stored = optional_document("stored_models", models) or {}
    grown = optional_document("input_growth", growth) or {}
    why = optional_document("reuse_reasons", reasons) or {}
    found = {name: Model.from_dict(document) for name, document in stored.items()}
    return [
        _reused(
            each,
            found[each.instance_type],
            growth=number("input_growth", grown.get(each.instance_type, 1.0)),
            reason=str(why.get(each.instance_type, "")),
        )
        if each.instance_type in found and not _is_newer(each, found[each.instance_type])
        else each
        for each in types
    ]


def _is_newer(each: TrainedType, stored: Model) -> bool:
    return each.model is not None and each.model.model_id > stored.model_id


def _reused(each: TrainedType, model: Model, *, growth: float, reason: str) -> TrainedType:
    handle = each.handle or (remembered_handle(model.cluster) if model.cluster else None)
    return replace(each, model=model, handle=handle, lacks_cluster=False, reuse=reason, input_growth=growth)
