"""The identity of a job's code: a hash of the file that is submitted, and of those that it needs.

`hash_where_readable` takes it once, `ArtifactWatch` again and again of files that may change.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import S3Clients, local_path, place_of
from airflow_provider_ernest.privacy import without_credentials

_DEPENDENCY_OPTIONS = ("py_files", "jars")
"""The arguments of `SparkSubmitHook` that name further code of the application."""
_FILES = (*_DEPENDENCY_OPTIONS, "files", "archives", "properties_file")
"""Those that name any files."""
_OF_THE_MACHINES = "local:/"


def dependency_options(submit_options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of an application's options that name further code of it."""
    return {name: value for name, value in submit_options.items() if name in _DEPENDENCY_OPTIONS}


def artifact_paths(application: str, submit_options: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that make an application: its own, then those in py_files and jars, each of them once."""
    named = [listed_paths(name, submit_options.get(name)) for name in _DEPENDENCY_OPTIONS]
    return tuple(dict.fromkeys([application, *chain(*named)]))


def listed_paths(option: str, value: Any) -> list[str]:
    """The paths in a list, or in a text with commas between; none of None."""
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise InvalidParameterError(
            option, value, "is not a list of files", remedy="Give a list of paths, or one text with commas."
        )
    return [part.strip() for part in parts if part.strip()]


def require_application(application: str) -> None:
    """Raise a `MissingResourceError` if a local application has no file; Spark fetches other schemes."""
    local = local_path(application)
    if local is not None and not Path(local).is_file():
        raise MissingResourceError(
            f"There is no application {application!r}.",
            remedy="Give the path of a JAR or .py file that exists on the Airflow worker.",
        )


def require_dependencies(submit_options: Mapping[str, Any]) -> None:
    """Raise a `MissingResourceError` if a local file that an application is submitted with is missing.

    Spark only logs a line then, and the job fails later on, or computes something else. Other schemes and
    patterns are left to Spark.
    """
    named = ((name, path) for name in _FILES for path in listed_paths(name, submit_options.get(name)))
    for name, path in named:
        # After "#" comes its name on the executors.
        path = path.partition("#")[0] if name == "archives" else path
        local = None if any(sign in path for sign in "*?[{") else local_path(path)
        if local is not None and not Path(local).exists():
            raise MissingResourceError(
                f"There is no {path!r}, which submit_options names in {name}.",
                remedy="Give the path of a file that exists on the Airflow worker.",
            )


def sha256_of(path: str, *, s3_clients: S3Clients | None = None) -> str:
    """SHA-256 of a file's content; a `MissingResourceError` where it cannot be read."""
    try:
        return _sha256(place_of(path, s3_clients=s3_clients))
    except OSError as error:
        raise MissingResourceError(
            f"Cannot read the application {path!r}: {error}.",
            remedy="Give the path of a JAR or .py file that the Airflow worker can read.",
        ) from error


def _sha256(file: Any) -> str:
    digest = hashlib.sha256()
    with file.open() as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def combined_sha256(hashes: Sequence[str]) -> str:
    """One hash for an application and its dependencies: its own where it has none.

    The application's comes first. The order of the others does not matter.
    """
    application, *dependencies = hashes
    if not dependencies:
        return application
    return hashlib.sha256("\n".join([application, *sorted(dependencies)]).encode("ascii")).hexdigest()


def changed_at(application: str) -> datetime | None:
    """When the file of an application was last changed, in UTC; None where it is not on this machine."""
    path = application.removeprefix("file://")
    try:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC)
    except (OSError, ValueError):
        return None


def hash_where_readable(
    application: str, *, log: Any, dependencies: Sequence[str] = (), s3_clients: S3Clients | None = None
) -> str | None:
    """The hash of an application where this process can read all of it; otherwise None, and a warning.

    See `combined_sha256`. For dependencies that the cluster's machines have themselves (``local:/``) the
    address counts instead of the content. A local application that cannot be read is a
    `MissingResourceError`; a dependency is not: Spark may find it, by a pattern or from a folder of its own.
    """
    hashes: list[str] = []
    for path in dict.fromkeys([application, *dependencies]):
        content, problem = None, ""
        try:
            if not is_of_the_machines(path):
                content = sha256_of(path, s3_clients=s3_clients)
            else:
                # A file of the same name on this host need not be the one that ran.
                problem = "only the cluster's machines can read it"
                content = _hash_of_address(path) if hashes else None
        # The libraries behind fsspec raise errors of their own. None should fail runs that are paid for.
        except Exception as error:
            if not hashes and local_path(path) is not None:
                raise
            problem = str(error).partition("\n")[0] or type(error).__name__
        if problem:
            log.warning(
                "Changes of %r will not be noticed, because it cannot be hashed: %s",
                without_credentials(path),
                without_credentials(problem),
            )
        if content is None:
            return None
        hashes.append(content)
    return combined_sha256(hashes)


def is_of_the_machines(path: str) -> bool:
    """Whether only the machines of the cluster can read the file."""
    return path.startswith(_OF_THE_MACHINES)


def _hash_of_address(path: str) -> str:
    """Instead of the hash of a content that this process cannot read."""
    return hashlib.sha256(path.encode("utf-8")).hexdigest()


SETTLE_SECONDS = 5.0
"""How long a changed file must stay as it is before it is read."""
_CONTENT = "content "


class ArtifactWatch:
    """Watches the files of an application: its own, and then its dependencies; see `artifact_paths`.

    A look asks their storages for what they tell without reading (size, times, ETag). A file is read only
    when that has changed and then stayed the same for `SETTLE_SECONDS`: it may be a copy under way.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        s3_clients: S3Clients | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.paths = tuple(paths)
        self.looking_at = ""  # the path that was looked at last, of which an error is
        self._s3_clients = s3_clients
        self._clock = clock
        self._hashes: dict[tuple[str, str], str] = {}  # by path and state
        self._pending: dict[str, str] = {}
        self._pending_since = 0.0

    def look(self) -> str | None:
        """The hash of the application, see `combined_sha256`; None while files are new or being written.

        Raises:
            FileNotFoundError: one is missing now.
            MissingResourceError: nothing installed reads such an address.
            Exception: of the libraries behind the storages, which have errors of their own.
        """
        try:
            return self._look()
        except Exception:
            # What comes instead may be a new file, which has to settle.
            self._pending = {}
            raise

    def _look(self) -> str | None:
        states = {path: self._state(path) for path in self.paths}
        changed = [each for each in states.items() if each not in self._hashes]
        if changed and states != self._pending:
            self._pending, self._pending_since = states, self._clock()
            return None
        if changed and self._clock() - self._pending_since < SETTLE_SECONDS:
            return None
        for path, state in changed:
            content = state.removeprefix(_CONTENT)
            if content == state:
                content = _sha256(place_of(path, s3_clients=self._s3_clients))
                if self._state(path) != state:
                    # It was replaced meanwhile: what was read may be half of each.
                    self._pending = {}
                    return None
            self._hashes[path, state] = content
        # What files were before is not asked for again.
        self._hashes = {each: self._hashes[each] for each in states.items()}
        return combined_sha256([self._hashes[path, states[path]] for path in self.paths])

    def _state(self, path: str) -> str:
        """What its storage tells of a file; where that is too little, the hash of its content."""
        self.looking_at = path
        if is_of_the_machines(path):
            return _CONTENT + _hash_of_address(path)
        file = place_of(path, s3_clients=self._s3_clients)
        told = file.entry()
        if not told.is_file:
            raise IsADirectoryError(f"{file} is no file")
        return told.version or _CONTENT + _sha256(file)
