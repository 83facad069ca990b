"""The identity of a job's code: a hash of the file that is submitted, and of those that it needs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import OpenS3, file_at, local_path
from airflow_provider_ernest.privacy import without_credentials

DEPENDENCY_OPTIONS = ("py_files", "jars")
"""The arguments of `SparkSubmitHook` that name further code of the application."""

CHUNK_BYTES = 1 << 20
_OF_THE_MACHINES = "local:/"


def dependency_options(submit_options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of an application's options that name further code of it."""
    return {name: value for name, value in submit_options.items() if name in DEPENDENCY_OPTIONS}


def artifact_paths(application: str, submit_options: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that make an application: its own, and then its dependencies, each of them once.

    Args:
        application: path of its JAR or .py file.
        submit_options: further arguments of `SparkSubmitHook`, of which `DEPENDENCY_OPTIONS` count: texts
            with commas between, as Spark takes them, or lists.

    Raises:
        InvalidParameterError: one of these options is neither.
    """
    dependencies = [
        path for name in DEPENDENCY_OPTIONS for path in listed_paths(name, submit_options.get(name))
    ]
    return tuple(dict.fromkeys([application, *dependencies]))


def listed_paths(option: str, value: Any) -> list[str]:
    """The paths in a list, or in a text with commas between; none of None.

    Raises:
        InvalidParameterError: it is neither.
    """
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise InvalidParameterError(
            option, value, "names no files", remedy="Give a list of paths, or a text with commas between."
        )
    return [part.strip() for part in parts if part.strip()]


def require_application(application: str) -> None:
    """Check that an application exists where this process can see; other schemes are Spark's to fetch.

    Raises:
        MissingResourceError: a local path without a file.
    """
    local = local_path(application)
    if local is not None and not Path(local).is_file():
        raise MissingResourceError(
            f"There is no application {application!r}.",
            remedy="Give the path of a JAR or .py file that exists on the Airflow worker.",
        )


def require_dependencies(submit_options: Mapping[str, Any]) -> None:
    """Check that the JARs and Python files exist that an application is submitted with.

    Those of other schemes, and those that patterns name, are Spark's to find. Of a local one that is not
    there Spark says a line in its log, and the job fails later on, or computes something else.

    Raises:
        MissingResourceError: a local path without a file.
        InvalidParameterError: an option that names no files.
    """
    for name in DEPENDENCY_OPTIONS:
        for path in listed_paths(name, submit_options.get(name)):
            local = None if any(sign in path for sign in "*?[{") else local_path(path)
            if local is not None and not Path(local).exists():
                raise MissingResourceError(
                    f"There is no {path!r}, which {name} of submit_options names.",
                    remedy="Give the path of a file that exists on the Airflow worker.",
                )


def sha256_of(path: str, *, open_s3: OpenS3 | None = None) -> str:
    """SHA-256 of a file's content, read in pieces; local or of any fsspec scheme.

    Args:
        path: of the file.
        open_s3: what reads from S3; None for fsspec.

    Raises:
        MissingResourceError: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with file_at(path, open_s3=open_s3).open() as content:
            while piece := content.read(CHUNK_BYTES):
                digest.update(piece)
    except OSError as error:
        raise MissingResourceError(
            f"Cannot read the application {path!r}: {error}.",
            remedy="Give the path of a JAR or .py file that the Airflow worker can read.",
        ) from error
    return digest.hexdigest()


def sha256_of_all(paths: Sequence[str]) -> str:
    """The hash of several files, the application's first; see `combined_sha256`.

    Raises:
        MissingResourceError: one of them cannot be read.
    """
    return combined_sha256([sha256_of(path) for path in paths])


def combined_sha256(hashes: Sequence[str]) -> str:
    """One hash for an application and its dependencies.

    Args:
        hashes: of their contents, the application's first. The order of the others does not matter.

    Returns:
        That of the application itself where it has no dependencies.
    """
    application, *dependencies = hashes
    if not dependencies:
        return application
    return hashlib.sha256("\n".join([application, *sorted(dependencies)]).encode("ascii")).hexdigest()


def hash_where_readable(
    application: str, *, log: Any, dependencies: Sequence[str] = (), open_s3: OpenS3 | None = None
) -> str | None:
    """The hash of an application where this process can read all of it; otherwise None, and a warning.

    Args:
        application: as it is submitted: a path, or an address that Spark fetches.
        log: the logger that the warning goes to.
        dependencies: further files of it; see `artifact_paths`. Of one that the cluster's machines have
            themselves (``local:/``) the address counts, for lack of the content.
        open_s3: what reads from S3; None for fsspec.

    Returns:
        SHA-256 of the application's file, or of all together; see `combined_sha256`.

    Raises:
        MissingResourceError: the application has a local path that cannot be read. Of a dependency that is
            no failure: Spark may find it, by a pattern or from a folder of its own.
    """
    others = [path for path in dict.fromkeys(dependencies) if path != application]
    hashes: list[str] = []
    for path in (application, *others):
        content, problem = _sha256_or_problem(path, is_dependency=bool(hashes), open_s3=open_s3)
        if problem:
            log.warning(
                "A change of %r will not be noticed, for its hash cannot be taken: %s",
                without_credentials(path),
                without_credentials(problem),
            )
        if content is None:
            return None
        hashes.append(content)
    return combined_sha256(hashes)


def _sha256_or_problem(path: str, *, is_dependency: bool, open_s3: OpenS3 | None) -> tuple[str | None, str]:
    """The hash of a file, None where it has none; and what is the problem with it, if any."""
    if local_path(path) is not None and not is_dependency:
        return sha256_of(path), ""
    if is_of_the_machines(path):
        # This process may have a file of the same name; it need not be the one that ran.
        return hash_of_address(path) if is_dependency else None, "only the cluster's machines can read it"
    try:
        return sha256_of(path, open_s3=open_s3), ""
    # The libraries behind fsspec raise errors of their own. None is worth the runs that are paid for.
    except Exception as error:
        return None, str(error).partition("\n")[0] or type(error).__name__


def is_of_the_machines(path: str) -> bool:
    """Whether the machines of the cluster have the file themselves, so that no other process can read it."""
    return path.startswith(_OF_THE_MACHINES)


def hash_of_address(path: str) -> str:
    """What stands for the content of a file that this process cannot read."""
    return hashlib.sha256(path.encode("utf-8")).hexdigest()
