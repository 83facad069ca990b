"""What only one process may make: the id of a deployment that was given none, and leases on trainings.

The id is made once and kept in the model store. A lease says who trains a job at the moment, so that runs of
it at the same time pay for one training: a numbered file that only one process can create; the highest number
counts. Whoever finds it over creates the next one, so that one of all waiting runs goes on. Nothing is ever
released: a lease is over when its training's tasks have ended, as Airflow tells, or by its age.
"""

from __future__ import annotations

import logging
import secrets
from datetime import datetime
from typing import Any

import msgspec

import airflow_provider_ernest.store.files as storage
from airflow_provider_ernest.documents.base import Document, Origin
from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError

log = logging.getLogger(__name__)

DEPLOYMENT = ".deployment"
"""At the root of a store."""


def deployment_of_store(root: Any, *, make: bool = True) -> str:
    """The id in a store: 12 hexadecimal digits, unless somebody wrote another one into the file.

    Without `make`, it is empty where there is none. A `StoreError` where the storage cannot tell who is
    first.
    """
    path = root / DEPLOYMENT
    problem = f"No id of this deployment can be read or made in {path} (set [ernest] deployment to need none)"
    with storage.store_errors(problem):
        if not path.exists():
            if not make:
                return ""
            root.mkdir(parents=True, exist_ok=True)
            _make_deployment(path, problem)
        return str(path.read_text(encoding="utf-8")).strip()


def _make_deployment(path: Any, problem: str) -> None:
    made = secrets.token_hex(6)
    try:
        storage.create_exclusively(path, made)
    except FileExistsError:  # somebody else was first: that one counts
        return
    except StoreError as error:
        raise StoreError(f"{problem}: {error.message}", remedy=error.remedy) from error
    if storage.local_path(path) is not None:
        log.warning(
            "This deployment of Airflow has got the id %s, kept in %s. Where its workers do not share "
            "that folder, set [ernest] deployment: else neither retries nor the reaper find what an "
            "earlier task has launched.",
            made,
            path,
        )


TRAININGS = ".trainings"
"""At the root of a store."""


class TrainingLease(Document):
    """A job is being trained."""

    origin: Origin  # the task that found no model for it
    tasks: tuple[str, ...]  # ids of the training's tasks in the same DAG run
    taken_at: datetime


class TrainingLeases:
    """The leases on a job with an application, by its hash: another application is another training."""

    def __init__(self, root: Any, job: str, artifact_sha256: str | None) -> None:
        self._folder = root / TRAININGS / storage.safe_name("job", job) / (artifact_sha256 or "unknown")

    def newest(self) -> tuple[int, TrainingLease | None]:
        """The one that counts, with its number: 0 where there is none; None where it cannot be understood."""
        with storage.store_errors(f"The trainings in {self._folder} cannot be read"):
            names = ((str(path.name).removesuffix(".json"), path) for path in storage.files(self._folder))
            paths = {int(name): path for name, path in names if name.isdecimal()}
            if not paths:
                return 0, None
            number = max(paths)
            try:
                lease = TrainingLease.from_dict(
                    storage.decode_json(paths[number].read_text(encoding="utf-8"))
                )
            except InvalidDocumentError:  # such as of a newer version of this package
                lease = None
        return number, lease

    def take(self, number: int, lease: TrainingLease) -> bool:
        """Create the lease of a number; whether nobody else was first."""
        path = self._folder / f"{number:09}.json"
        with storage.store_errors(f"The training cannot be noted in {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                storage.create_exclusively(path, msgspec.json.encode(lease.to_dict()).decode("utf-8"))
            except FileExistsError:
                return False
        return True
