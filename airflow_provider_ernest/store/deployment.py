"""The id of an Airflow deployment that was given none: made once, and kept in its model store."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.files import create_exclusively, local_path, store_errors

log = logging.getLogger(__name__)

FILE = ".deployment"
"""At the root of a store."""


def deployment_of_store(root: Any, *, make: bool = True) -> str:
    """The id in a store: 12 hexadecimal digits, unless somebody wrote another one into the file.

    Without `make`, it is empty where there is none. A `StoreError` where the storage cannot tell who is
    first.
    """
    path = root / FILE
    problem = f"No id of this deployment can be read or made in {path} (set [ernest] deployment to need none)"
    with store_errors(problem):
        if not path.exists():
            if not make:
                return ""
            root.mkdir(parents=True, exist_ok=True)
            _make(path, problem)
        return str(path.read_text(encoding="utf-8")).strip()


def _make(path: Any, problem: str) -> None:
    made = secrets.token_hex(6)
    try:
        create_exclusively(path, made)
    except FileExistsError:  # somebody else was first: that one counts
        return
    except StoreError as error:
        raise StoreError(f"{problem}: {error.message}", remedy=error.remedy) from error
    if local_path(path) is not None:
        log.warning(
            "This deployment of Airflow has got the id %s, kept in %s. Where its workers do not share "
            "that folder, set [ernest] deployment: else neither retries nor the reaper find what an "
            "earlier task has launched.",
            made,
            path,
        )
