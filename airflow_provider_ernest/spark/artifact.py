"""The identity of a job's code: a hash of the file that is submitted."""

from __future__ import annotations

import hashlib
from pathlib import Path

from airflow_provider_ernest.exceptions import MissingResourceError

_CHUNK_BYTES = 1 << 20


def require_application(application: str) -> None:
    """Check that an application exists where this process can see; other schemes are Spark's to fetch.

    Raises:
        MissingResourceError: a local path without a file.
    """
    if "://" in application and not application.startswith("file://"):
        return
    if not Path(application.removeprefix("file://")).is_file():
        raise MissingResourceError(
            f"There is no application {application!r}.",
            remedy="Give the path of a JAR or .py file that exists on the Airflow worker.",
        )


def sha256_of(path: str) -> str:
    """SHA-256 of a file's content, read in pieces; local or of any fsspec scheme.

    Raises:
        MissingResourceError: it cannot be read.
    """
    import fsspec

    digest = hashlib.sha256()
    try:
        with fsspec.open(path, "rb") as content:
            while piece := content.read(_CHUNK_BYTES):
                digest.update(piece)
    except (OSError, ValueError, ImportError) as error:
        raise MissingResourceError(
            f"Cannot read the application {path!r}: {error}.",
            remedy="The model is tied to a hash of the application's file; it must be readable.",
        ) from error
    return digest.hexdigest()
