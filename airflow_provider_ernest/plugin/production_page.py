"""The production runs of a job on a type of machine, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from airflow_provider_ernest.model.records import ProductionRun
from airflow_provider_ernest.model.storage.catalogue import PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.loaded_documents import load_production, read_each
from airflow_provider_ernest.plugin.sample_runs import ApplicationLink
from airflow_provider_ernest.plugin.visible import Readable, visible_records

MOST_PRODUCTION_RUNS = 200
"""So many are shown at once: each is a file of the store."""


def production_page(
    store: ModelStore,
    of_type: Sequence[CatalogueEntry],
    *,
    readable: Readable,
    link: ApplicationLink,
    offset: int = 0,
    limit: int = MOST_PRODUCTION_RUNS,
) -> dict[str, Any]:
    """Some of the production runs, newest first, and how many there are.

    Args:
        store: where they lie.
        of_type: what the reader may see of the job on the type.
        readable: whether a DAG may be read.
        link: see `sample_runs.application_link`.
        offset: newer ones to leave out.
        limit: at most so many.
    """
    # They are asked for by their ids: those that the reader may not see are not even read.
    entries = [each for each in of_type if each.kind == PRODUCTION_RUN]
    wanted = sorted(entries, key=lambda each: each.id, reverse=True)[offset : offset + limit]
    runs = visible_records(read_each(load_production, store, wanted), readable)
    return {"total": len(entries), "offset": offset, "runs": [_told(run, link) for run in runs]}


def _told(run: ProductionRun, link: ApplicationLink) -> dict[str, Any]:
    told = msgspec.to_builtins(run)
    # What it ran under is compared where drift is looked into; nobody reads its digests.
    told.pop("conditions")
    return {
        **told,
        "error_percent": run.error_percent,
        "is_unlikely": run.is_unlikely,
        "is_unusual": run.is_unusual,
        "history_url": link(run.application_id),
    }
