"""The life of a model: what it goes on from, what was noted against it, how its predictions held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_ernest.model.documents import RunConditions
from airflow_provider_ernest.model.life.freshness import evidence_against, lineage_of
from airflow_provider_ernest.model.records import ModelMark
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue import MODEL, CatalogueEntry, entry_of
from airflow_provider_ernest.model.storage.catalogue_entry import MARK
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.loaded_documents import load_mark, read_each
from airflow_provider_ernest.plugin.visible import Readable, newest_of, visible_records

MOST_MARKS = 50
MOST_SETTINGS = 200
"""So many names of settings are told; their number is told in any case."""


def life_of(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: Readable
) -> dict[str, Any]:
    """What has become of a model since it was trained.

    Args:
        store: where its marks lie.
        model: the model.
        of_job: what the reader may see of its job.
        readable: whether a DAG may be read.
    """
    entry = entry_of(model)
    lineage = lineage_of(entry, of_job)
    of_type = [each for each in of_job if each.instance_type == model.instance_type]
    return {
        "base_model_id": model.base_model_id or model.model_id,
        "lineage": _lineage(entry, of_type, lineage),
        "marks": [_mark(mark) for mark in _marks(store, of_type, lineage, readable)],
        "evidence": _evidence(entry, of_job),
        "conditions": conditions_in_numbers(model.conditions),
    }


def conditions_in_numbers(conditions: RunConditions | None) -> dict[str, Any] | None:
    """What a model was trained under; None where nothing of it is known. Of settings, only the names."""
    if conditions is None:
        return None
    shape, settings = conditions.input, conditions.settings
    return {
        "spark": conditions.spark,
        "settings": None if settings is None else len(settings),
        "setting_names": sorted(settings or ())[:MOST_SETTINGS],
        "cores_per_machine": conditions.cores_per_machine,
        "partitions": shape.partitions if shape else None,
        "total_bytes": shape.total_bytes if shape else None,
        "bytes_per_partition": shape.bytes_per_partition if shape else None,
        "columns": shape.columns if shape else None,
        "format": shape.format if shape else None,
    }


def _lineage(
    shown: CatalogueEntry, of_type: Sequence[CatalogueEntry], lineage: frozenset[str]
) -> list[dict[str, Any]]:
    """The versions that go on from each other, oldest first, the one that is shown among them."""
    versions = {each.id: each for each in of_type if each.kind == MODEL and each.id in lineage}
    versions.setdefault(shown.id, shown)
    return [
        {
            "model_id": each.id,
            "created_at": each.at,
            "learned_from": each.learned_from,
            "observations": each.observations,
            "median_error_percent": each.median_error_percent,
        }
        for each in sorted(versions.values(), key=lambda each: each.id)
    ]


def _marks(
    store: ModelStore, of_type: Sequence[CatalogueEntry], lineage: frozenset[str], readable: Readable
) -> list[ModelMark]:
    """The newest marks of the lineage, newest first."""
    wanted = newest_of((each for each in of_type if each.model_id in lineage), MARK, MOST_MARKS)
    return visible_records(read_each(load_mark, store, wanted), readable)


def _mark(mark: ModelMark) -> dict[str, Any]:
    return {
        "mark_id": mark.mark_id,
        "marked_at": mark.marked_at,
        "model_id": mark.model_id,
        "cause": mark.cause,
        "reason": mark.reason,
        "artifact_sha256": mark.artifact_sha256,
        "origin": mark.origin,
    }


def _evidence(entry: CatalogueEntry, of_job: Sequence[CatalogueEntry]) -> dict[str, Any]:
    evidence = evidence_against(entry, others=of_job)
    names = (
        "value",
        "threshold",
        "runs",
        "unlikely",
        "unusual",
        "is_drift",
        "is_suspicious",
        "sentence",
    )
    return {name: getattr(evidence, name) for name in names}
