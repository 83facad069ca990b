"""The id of an Airflow deployment that was given none: made once, and kept in its model store."""

from __future__ import annotations

import contextlib
import secrets
from typing import Any

from airflow_provider_ernest.model.storage.stored_files import store_errors
from airflow_provider_ernest.model.storage.whole_files import create_whole

FILE = ".deployment"
"""At the root of a store."""


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
    with store_errors(f"The id of this deployment in {path} cannot be read or made"):
        if make and not path.exists():
            root.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # somebody else was first: that one counts
                create_whole(path, secrets.token_hex(6))
        return str(path.read_text(encoding="utf-8")).strip() if path.exists() else ""
