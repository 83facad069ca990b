"""Which task instance made a document, so that each number shown leads back to its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_ernest.model.documents import Origin


def origin_of(context: Context) -> Origin:
    """The task instance whose context it is, with its attempt."""
    from airflow_provider_ernest.model.documents import Origin

    instance = context["ti"]
    map_index = getattr(instance, "map_index", None)
    return Origin(
        dag_id=instance.dag_id,
        run_id=instance.run_id,
        task_id=instance.task_id,
        map_index=-1 if map_index is None else map_index,
        try_number=instance.try_number,
    )
