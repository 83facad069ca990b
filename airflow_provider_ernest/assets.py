"""Assets that change with a job's code, for DAGs that are to run when it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import quote

from airflow.sdk import Asset, AssetWatcher

from airflow_provider_ernest.triggers.jar_hash import DEFAULT_POLL_SECONDS, JarHashTrigger, watched_paths

_DIGITS = 12


def application_changed(
    job: str,
    application: str,
    *,
    dependencies: str | Sequence[str] = (),
    poll_seconds: float = DEFAULT_POLL_SECONDS,
) -> Asset:
    """An asset with an event for each change of a job's application; see `JarHashTrigger`.

    ``DAG("retrain", schedule=[application_changed("my_job", "/opt/jobs/my_job.jar")])`` runs when the file's
    content changes. The same arguments make the same asset. If several DAGs use it, make it once, in a module
    that all of them import: files that name the asset with other arguments, or without the watch, contradict
    each other.

    Args:
        job: the job's name in the store. Its newest model tells what the application was.
        application: path or address of the JAR or .py file.
        dependencies: the ``py_files`` and ``jars`` that the job is submitted with, in a list or a text with
            commas: the model's hash is one of all of them.
        poll_seconds: between two looks.

    Raises:
        InvalidParameterError: the application is on the cluster's machines, where Airflow cannot watch it.
    """
    own, *others = watched_paths(application, dependencies)
    # What tells the asset from others, without addresses, for they may hold credentials.
    identity = hashlib.sha256(json.dumps([job, own, sorted(others)]).encode("ascii")).hexdigest()
    name = f"ernest-application-{quote(job, safe='')}-{identity[:_DIGITS]}"
    trigger = JarHashTrigger(
        application=own,
        job=job,
        dependencies=others,
        poll_seconds=poll_seconds,
    )
    return Asset(
        # And no URI of its own: for one with a scheme each parse of the DAG file would load all providers.
        name=name,
        extra={"job": job},
        watchers=[AssetWatcher(name=name, trigger=trigger)],
    )
