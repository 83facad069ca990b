"""The address of the tab that this package adds to task instances in Airflow's UI."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey

URL_ROUTE = "ernest-task"
"""The tab's name in addresses, as the plugin registers it."""


def task_tab(ti_key: TaskInstanceKey) -> str:
    """The address of a task instance's tab.

    Where Airflow's own address is not configured (``[api] base_url``), it is relative to the root of the UI,
    whose pages name that root as their base.
    """
    from airflow.providers.common.compat.sdk import conf

    base_url = str(conf.get("api", "base_url", fallback="") or "")
    path = task_tab_path(
        dag_id=ti_key.dag_id, run_id=ti_key.run_id, task_id=ti_key.task_id, map_index=ti_key.map_index
    )
    return f"{base_url.rstrip('/')}/{path}" if base_url else path


def task_tab_path(*, dag_id: str, run_id: str, task_id: str, map_index: int | None = None) -> str:
    """The tab's path below the root of the UI; DAG, run and task may have any names.

    Args:
        dag_id: of the task instance.
        run_id: the same.
        task_id: the same.
        map_index: the same; None or -1 where the task is not mapped.
    """
    dag, run, task = (quote(name, safe="") for name in (dag_id, run_id, task_id))
    mapped = f"/mapped/{map_index}" if map_index is not None and map_index >= 0 else ""
    return f"dags/{dag}/runs/{run}/tasks/{task}{mapped}/plugin/{URL_ROUTE}"
