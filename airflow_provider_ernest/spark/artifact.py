"""The identity of a job's code: a hash of the file that is submitted."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.file_systems import filesystem_of

_CHUNK_BYTES = 1 << 20
_OF_THE_MACHINES = "local:/"


def require_application(application: str) -> None:
    """Check that an application exists where this process can see; other schemes are Spark's to fetch.

    Raises:
        MissingResourceError: a local path without a file.
    """
    if not _is_local(application):
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
    digest = hashlib.sha256()
    try:
        filesystem, place = filesystem_of(path)
        with filesystem.open(place, "rb") as content:
            while piece := content.read(_CHUNK_BYTES):
                digest.update(piece)
    except (OSError, ValueError) as error:
        raise MissingResourceError(
            f"Cannot read the application {path!r}: {error}.",
            remedy="Give the path of a JAR or .py file that the Airflow worker can read.",
        ) from error
    return digest.hexdigest()


def hash_where_readable(application: str, *, log: Any) -> str | None:
    """SHA-256 of an application's file where this process can read it; otherwise None, and a warning.

    Args:
        application: as it is submitted: a path, or an address that Spark fetches.
        log: the logger that the warning goes to.

    Raises:
        MissingResourceError: a local path that cannot be read.
    """
    if _is_local(application):
        return sha256_of(application)
    if application.startswith(_OF_THE_MACHINES):
        # This process may have a file of the same name; it need not be the one that ran.
        problem = "only the cluster's machines can read it"
    else:
        try:
            return sha256_of(application)
        # The libraries behind fsspec raise errors of their own. None is worth the runs that are paid for.
        except Exception as error:
            problem = str(error).partition("\n")[0] or type(error).__name__
    log.warning(
        "A change of the application %r will not be noticed, for its hash cannot be taken: %s",
        application,
        problem,
    )
    return None


def _is_local(application: str) -> bool:
    """Whether it is a file of this process's machine, rather than one that Spark fetches or has."""
    if application.startswith(_OF_THE_MACHINES):
        return False
    return "://" not in application or application.startswith("file://")
