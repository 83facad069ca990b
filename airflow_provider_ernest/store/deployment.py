"""The id of an Airflow deployment that was given none: made once, and kept in its model store."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from typing import Any

from airflow_provider_ernest.store.files import create_whole, local_path, store_errors

log = logging.getLogger(__name__)

FILE = ".deployment"
"""At the root of a store."""

_SETTLE_SECONDS = 2.0
"""In an object store the last of several that write at once wins: so long after, it has."""


def deployment_of_store(root: Any, *, make: bool = True) -> str:
    """The id in a store: 12 hexadecimal digits, unless somebody wrote another one into the file.

    Args:
        root: of the store; made where it is not there.
        make: make an id where there is none.

    Returns:
        The id; empty where there is none.

    Raises:
        StoreError: it cannot be read or written.
    """
    path = root / FILE
    problem = f"No id of this deployment can be read or made in {path} (set [ernest] deployment to need none)"
    with store_errors(problem):
        if make and not path.exists():
            _make(root)
        return str(path.read_text(encoding="utf-8")).strip() if path.exists() else ""


def _make(root: Any) -> None:
    root.mkdir(parents=True, exist_ok=True)
    made = secrets.token_hex(6)
    with contextlib.suppress(FileExistsError):  # somebody else was first: that one counts
        create_whole(root / FILE, made)
        if local_path(root) is None:
            time.sleep(_SETTLE_SECONDS)
        else:
            log.warning(
                "This deployment of Airflow has got the id %s, kept in %s. Where its workers do not share "
                "that folder, set [ernest] deployment: else neither retries nor the reaper find what an "
                "earlier task has launched.",
                made,
                root / FILE,
            )
