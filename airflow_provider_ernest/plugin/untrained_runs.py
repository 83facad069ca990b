"""Sample runs that were observed and that no model was fitted to: their training failed, or goes on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from airflow_provider_ernest.model.documents import Observation
from airflow_provider_ernest.model.storage.catalogue import MODEL, CatalogueEntry
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.loaded_documents import MOST_MODELS_KEPT, load_model, read_each
from airflow_provider_ernest.plugin.visible import Readable, newest_of

MOST_RUNS = 100
"""So many are looked at, the newest: each is a file of the store."""

Key: TypeAlias = tuple[object, ...]


def untrained_runs(
    store: ModelStore,
    *,
    job: str,
    instance_type: str,
    entries: Iterable[CatalogueEntry],
    readable: Readable,
) -> dict[str, Any]:
    """How many of the newest sample runs are in no model, and when the last of them was observed.

    Args:
        store: where they lie.
        job: the job's name.
        instance_type: the type of machine.
        entries: what the store holds of the job.
        readable: whether a DAG may be read: the runs of others are not counted.

    Raises:
        StoreError: the store cannot be read.
    """
    records = store.observations(job, instance_type, limit=MOST_RUNS)
    told = {"looked_at": len(records), "count": 0, "newest_at": None}
    if not records:
        return told
    # A model is made after its runs, and ids sort by time.
    since = min(record.observation_id for record in records)
    models = (
        each
        for each in entries
        if each.kind == MODEL and each.instance_type == instance_type and each.id > since
    )
    newest = newest_of(models, MODEL, MOST_MODELS_KEPT)
    known = {_key(run) for model in read_each(load_model, store, newest) for run in model.observations}
    visible = [
        record
        for record in records
        if readable(record.observation.origin.dag_id if record.observation.origin else None)
    ]
    left = [record for record in visible if _key(record.observation) not in known]
    newest_at = max((record.recorded_at for record in left), default=None)
    return {"looked_at": len(visible), "count": len(left), "newest_at": newest_at}


def _key(run: Observation) -> Key:
    """What tells a run from all others: models keep runs without the ids of their records."""
    return run.index, run.machines, run.scale, run.seconds, run.startup_seconds, run.application_id
