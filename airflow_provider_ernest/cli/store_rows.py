"""The documents of a store in a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.store_text import number

if TYPE_CHECKING:
    from airflow_provider_ernest.cli.store_groups import Group
    from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
    from airflow_provider_ernest.model.records import ObservationRecord
    from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry
    from airflow_provider_ernest.model.store import ModelStore


def rows_of(
    store: ModelStore, groups: Iterable[Group], *, kind: str, limit: int | None
) -> list[dict[str, Any]]:
    """The documents of a kind, oldest first, each with what it says.

    Args:
        store: that they are in.
        groups: only of these.
        kind: see `store_text.PLURALS`.
        limit: at most so many of a group, the newest, where the catalogue does not list the kind.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = []
    for group in groups:
        of = group.job, group.instance_type
        if kind == "observation":
            rows += [_of_observation(record) for record in store.observations(*of, limit=limit)]
        elif kind == "profile":
            rows += [_of_profile(record) for record in store.profiles(*of, limit=limit)]
        elif kind == "bottlenecks":
            rows += [_of_report(report) for report in store.bottlenecks(*of, limit=limit)]
        else:
            rows += [_of_entry(entry) for entry in group.of_kind(kind)]
    return sorted(rows, key=lambda row: (row["at"], row["id"]))


def _of_entry(entry: CatalogueEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "job": entry.job,
        "instance_type": entry.instance_type,
        "id": entry.id,
        "at": entry.at,
        "model_id": None if entry.model_id == entry.id else entry.model_id,
        "says": ", ".join(_said(entry)),
    }


def _said(entry: CatalogueEntry) -> Iterator[str]:
    """What a document says, in a few words."""
    if entry.reason:
        yield f"{entry.cause}: {entry.reason}"
    if entry.method:
        yield f"{entry.method}, {entry.observations - entry.learned_from} sample runs"
        yield f"error {number(entry.median_error_percent)} %"
    if entry.learned_from:
        yield f"learned from {entry.learned_from} production runs"
    if entry.machines is not None:
        yield f"{entry.machines} machines"
    if entry.predicted_seconds is not None:
        yield f"predicted {entry.predicted_seconds:.1f} s"
    if entry.seconds is not None:
        yield f"took {entry.seconds:.1f} s"
    if entry.is_unusual or entry.is_unlikely:
        yield f"outside the {'95' if entry.is_unusual else '80'} % interval"


def _of_observation(record: ObservationRecord) -> dict[str, Any]:
    run = record.observation
    return {
        "kind": "observation",
        "job": record.job,
        "instance_type": record.instance_type,
        "id": record.observation_id,
        "at": record.recorded_at,
        "model_id": None,
        "says": f"{run.machines} machines, scale {run.scale:.4g}, took {run.seconds:.1f} s",
    }


def _of_profile(record: ProfileRecord) -> dict[str, Any]:
    run = record.profile
    return {
        "kind": "profile",
        "job": record.job,
        "instance_type": record.instance_type,
        "id": record.profile_id,
        "at": record.recorded_at,
        "model_id": None,
        "says": f"{record.purpose} run, {run.machines} machines, scale {run.scale:.4g}, took "
        f"{run.seconds:.1f} s: {run.headline}",
    }


def _of_report(report: BottleneckReport) -> dict[str, Any]:
    return {
        "kind": "bottlenecks",
        "job": report.job,
        "instance_type": report.instance_type,
        "id": report.report_id,
        "at": report.reported_at,
        "model_id": report.model_id,
        "says": report.headline,
    }
