"""Marks beside models that no longer speak for their jobs: kept in the store, and told to who asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.model.records import ModelMark


def keep_marks(
    marks: Sequence[ModelMark], *, store: str | None, callbacks: Any, context: Context, log: Any
) -> None:
    """Save marks, see `record_in_time`, and call who wants to know. Nothing of it fails the task.

    Args:
        marks: that are new.
        store: root of the model store; None for the configured one.
        callbacks: see `stale_messages.tell_stale`.
        context: of the task that noticed.
        log: the logger that the marks and what hinders them go to.
    """
    if not marks:
        return
    from airflow_provider_ernest.model.store import ModelStore
    from airflow_provider_ernest.operators.locations import store_root
    from airflow_provider_ernest.operators.recording import record_in_time
    from airflow_provider_ernest.operators.stale_messages import tell_stale

    for mark in marks:
        log.warning("STALE: the model %s of %r. %s", mark.model_id, mark.job, mark.reason)

    def save() -> None:
        model_store = ModelStore(store_root(store))
        for mark in marks:
            model_store.save_mark(mark)

    record_in_time(save, what="That the model is stale", log=log)
    tell_stale(callbacks, context=context, marks=marks, log=log)
