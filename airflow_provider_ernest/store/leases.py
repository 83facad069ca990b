"""Who trains a job at the moment, so that runs of it at the same time pay for one training.

A lease is a numbered file that only one process can create; the highest number counts. Whoever finds it over
creates the next one, so that one of all waiting runs goes on. Nothing is ever released: a lease is over when
its training's tasks have ended, as Airflow tells, or by its age.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from airflow_provider_ernest.documents.base import Document, Origin
from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.store.files import (
    changed_at,
    create_exclusively,
    decode_json,
    delete,
    files,
    safe_name,
    store_errors,
)

FOLDER = ".trainings"
"""At the root of a store."""

_KEPT = timedelta(days=7)
"""Older leases that no longer count are deleted: no process still acts by a listing of that time."""


class TrainingLease(Document):
    """A job is being trained."""

    origin: Origin  # the task that found no model for it
    tasks: tuple[str, ...]  # ids of the training's tasks in the same DAG run
    taken_at: datetime


class TrainingLeases:
    """The leases on a job with an application, by its hash: another application is another training."""

    def __init__(self, root: Any, job: str, artifact_sha256: str | None) -> None:
        self._folder = root / FOLDER / safe_name("job", job) / (artifact_sha256 or "unknown")

    def newest(self) -> tuple[int, TrainingLease | None]:
        """The one that counts, with its number: 0 where there is none; None where it cannot be understood."""
        with store_errors(f"The trainings in {self._folder} cannot be read"):
            paths = self._paths()
            if not paths:
                return 0, None
            number = max(paths)
            try:
                lease = TrainingLease.from_dict(decode_json(paths[number].read_text(encoding="utf-8")))
            except InvalidDocumentError:  # such as of a newer version of this package
                lease = None
        return number, lease

    def take(self, number: int, lease: TrainingLease) -> bool:
        """Create the lease of a number; whether nobody else was first."""
        path = self._folder / f"{number:09}.json"
        with store_errors(f"The training cannot be noted in {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                create_exclusively(path, msgspec.json.encode(lease.to_dict()).decode("utf-8"))
            except FileExistsError:
                return False
            for earlier, old in self._paths().items():
                written = changed_at(old) if earlier < number else None
                if written and datetime.now(UTC) - written > _KEPT:
                    delete(old)
        return True

    def _paths(self) -> dict[int, Any]:
        names = ((str(path.name).removesuffix(".json"), path) for path in files(self._folder))
        return {int(name): path for name, path in names if name.isdecimal()}
