"""Where things are kept: models, event logs, staged samples, the state of local clusters, prices.

Each kind below AIRFLOW_HOME/ernest unless the section ``[ernest]`` of Airflow's configuration names
another place for it: ``store``, ``event_logs``, ``staging``, ``clusters``,
``prices``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_ernest.store_location import configured
from airflow_provider_ernest.store_location import store_root as store_root

if TYPE_CHECKING:
    from airflow.sdk import Context


def folder(kind: str) -> Path:
    """The local folder for a kind of things."""
    return Path(configured(kind)).expanduser().absolute()


def event_logs(context: Context) -> Path:
    """A fresh folder for the event logs of this attempt of this task."""
    logs = folder("event_logs") / attempt_path(context)
    logs.mkdir(parents=True, exist_ok=True)
    return logs


def staging(context: Context) -> Path:
    """The folder for samples of this task, the same for all of its attempts; not created."""
    return folder("staging") / task_path(context)


def sweep_staging(*, dry_run: bool = False) -> int:
    """Remove the samples whose tasks were killed; returns how many were, or would be."""
    from airflow_provider_ernest.owned_folders import sweep

    return len(sweep(folder("staging"), pattern="*/*/*/*", dry_run=dry_run))


def attempt_path(context: Context) -> Path:
    """Unique for this attempt of this task instance, and safe in file systems and Hadoop paths."""
    path = task_path(context)
    return path.with_name(f"{path.name}-try{context['ti'].try_number}")


def task_path(context: Context) -> Path:
    """The same for all attempts of this task instance, so that each finds what the one before has left."""
    instance = context["ti"]
    map_index = getattr(instance, "map_index", None)
    mapped = f"-{map_index}" if map_index is not None and map_index >= 0 else ""
    return run_path(context) / f"{path_name(instance.task_id)}{mapped}"


def run_path(context: Context) -> Path:
    """Unique for this DAG run, and safe in file systems and Hadoop paths."""
    instance = context["ti"]
    return Path(path_name(instance.dag_id)) / path_name(instance.run_id)


def path_name(text: str) -> str:
    """A readable file name for any text, distinct for distinct texts. Hadoop paths bear no colon."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "-", text).lstrip(".")[:100]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
