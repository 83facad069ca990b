"""The identity of a job's code: a hash of the file that is submitted, and of those that it needs.

It is taken once (`hash_where_readable`), or again and again of files that may change (`ArtifactWatch`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import S3Clients, WatchedFile, local_path, place_of
from airflow_provider_ernest.privacy import without_credentials

_DEPENDENCY_OPTIONS = ("py_files", "jars")
"""The arguments of `SparkSubmitHook` that name further code of the application."""
_FILES = (*_DEPENDENCY_OPTIONS, "files", "archives", "properties_file")
"""Those that name any files."""
_OF_THE_MACHINES = "local:/"
_CHUNK_BYTES = 1 << 20


def dependency_options(submit_options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of an application's options that name further code of it."""
    return {name: value for name, value in submit_options.items() if name in _DEPENDENCY_OPTIONS}


def artifact_paths(application: str, submit_options: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that make an application: its own, and then its dependencies, each of them once.

    Args:
        application: path of its JAR or .py file.
        submit_options: further arguments of `SparkSubmitHook`, of which py_files and jars count: texts
            with commas between, as Spark takes them, or lists.

    Raises:
        InvalidParameterError: one of these options is neither.
    """
    return tuple(dict.fromkeys([application, *(path for _, path in _dependencies(submit_options))]))


def _dependencies(submit_options: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, path) for name in _DEPENDENCY_OPTIONS for path in listed_paths(name, submit_options.get(name))
    ]


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
    """Check that the files exist that an application is submitted with.

    Those of other schemes, and those that patterns name, are Spark's to find. Of a local one that is not
    there Spark says a line in its log, and the job fails later on, or computes something else.

    Raises:
        MissingResourceError: a local path without a file.
        InvalidParameterError: an option that names no files.
    """
    named = ((name, path) for name in _FILES for path in listed_paths(name, submit_options.get(name)))
    for name, path in named:
        # What stands behind "#" is what the executors call it.
        path = path.partition("#")[0] if name == "archives" else path
        local = None if any(sign in path for sign in "*?[{") else local_path(path)
        if local is not None and not Path(local).exists():
            raise MissingResourceError(
                f"There is no {path!r}, which {name} of submit_options names.",
                remedy="Give the path of a file that exists on the Airflow worker.",
            )


def sha256_of(path: str, *, s3_clients: S3Clients | None = None) -> str:
    """SHA-256 of a file's content, read in pieces; see `place_of`.

    Raises:
        MissingResourceError: it cannot be read.
    """
    try:
        return _sha256(place_of(path, s3_clients=s3_clients))
    except OSError as error:
        raise MissingResourceError(
            f"Cannot read the application {path!r}: {error}.",
            remedy="Give the path of a JAR or .py file that the Airflow worker can read.",
        ) from error


def _sha256(file: WatchedFile) -> str:
    digest = hashlib.sha256()
    with file.open() as content:
        while piece := content.read(_CHUNK_BYTES):
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

    Args:
        application: as it is submitted: a path, or an address that Spark fetches.
        log: the logger that the warning goes to.
        dependencies: further files of it; see `artifact_paths`. Of one that the cluster's machines have
            themselves (``local:/``) the address counts, for lack of the content.
        s3_clients: see `place_of`.

    Returns:
        SHA-256 of the application's file, or of all together; see `combined_sha256`.

    Raises:
        MissingResourceError: the application has a local path that cannot be read. Of a dependency that is
            no failure: Spark may find it, by a pattern or from a folder of its own.
    """
    others = [path for path in dict.fromkeys(dependencies) if path != application]
    hashes: list[str] = []
    for path in (application, *others):
        content, problem = _sha256_or_problem(path, is_dependency=bool(hashes), s3_clients=s3_clients)
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


def _sha256_or_problem(
    path: str, *, is_dependency: bool, s3_clients: S3Clients | None
) -> tuple[str | None, str]:
    """The hash of a file, None where it has none; and what is the problem with it, if any."""
    if local_path(path) is not None and not is_dependency:
        return sha256_of(path), ""
    if is_of_the_machines(path):
        # This process may have a file of the same name; it need not be the one that ran.
        return _hash_of_address(path) if is_dependency else None, "only the cluster's machines can read it"
    try:
        return sha256_of(path, s3_clients=s3_clients), ""
    # The libraries behind fsspec raise errors of their own. None is worth the runs that are paid for.
    except Exception as error:
        return None, str(error).partition("\n")[0] or type(error).__name__


def is_of_the_machines(path: str) -> bool:
    """Whether the machines of the cluster have the file themselves, so that no other process can read it."""
    return path.startswith(_OF_THE_MACHINES)


def _hash_of_address(path: str) -> str:
    """Instead of the hash of a content that this process cannot read."""
    return hashlib.sha256(path.encode("utf-8")).hexdigest()


SETTLED, SETTLING, MISSING, TROUBLE = "settled", "settling", "missing", "trouble"
"""What a look finds: files that stay as they are, files that change or may still be written, a file that is
not there, and a storage that does not answer."""

DEFAULT_SETTLE_SECONDS = 5.0
_CONTENT = "content "


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look at the files found.

    Attributes:
        state: `SETTLED`, `SETTLING`, `MISSING` or `TROUBLE`.
        sha256: the application's hash, see `combined_sha256`; None unless `SETTLED`.
        path: that is missing, or was looked at when there was trouble.
        problem: what was the trouble.
    """

    state: str
    sha256: str | None = None
    path: str = ""
    problem: Exception | None = None


class ArtifactWatch:
    """The files of an application under watch.

    A look asks their storages for what they tell without reading (size, times, ETag). Only where that has
    changed, and then stayed the same for the time to settle, is the file read: a copy under way is none.

    Args:
        paths: the application, and then its dependencies; see `artifact_paths`.
        settle_seconds: for how long files must stay as they are before they are read.
        s3_clients: see `place_of`.
        clock: gives seconds that only grow.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        settle_seconds: float = DEFAULT_SETTLE_SECONDS,
        s3_clients: S3Clients | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.paths = tuple(paths)
        self.settle_seconds = settle_seconds
        self._s3_clients = s3_clients
        self._clock = clock
        self._files: dict[str, WatchedFile] = {}
        self._hashes: dict[str, str] = {}
        self._pending: dict[str, str] = {}
        self._pending_since = 0.0
        self._looking_at = ""

    def look(self) -> Look:
        """Look at all files, once.

        Raises:
            MissingResourceError: nothing installed reads one of the addresses.
            InvalidParameterError: one of them names no file.
        """
        try:
            return self._look()
        except FileNotFoundError:
            # What comes instead is a new file, which has to settle.
            self._pending = {}
            return Look(state=MISSING, path=self._looking_at)
        except ErnestError:
            raise
        # The libraries behind the storages raise errors of their own.
        except Exception as error:
            self._files.pop(self._looking_at, None)
            return Look(state=TROUBLE, path=self._looking_at, problem=error)

    def _look(self) -> Look:
        probes = {path: self._probe(path) for path in self.paths}
        known = all(_key(path, probe) in self._hashes for path, probe in probes.items())
        if not known and not self._has_settled(probes):
            return Look(state=SETTLING)
        if not all(self._read(path, probe) for path, probe in probes.items()):
            # One was replaced meanwhile: what was read may be half of each.
            self._pending = {}
            return Look(state=SETTLING)
        # What files were before is not asked for again.
        self._hashes = {key: self._hashes[key] for key in (_key(*each) for each in probes.items())}
        hashes = [self._hashes[_key(path, probes[path])] for path in self.paths]
        return Look(state=SETTLED, sha256=combined_sha256(hashes))

    def _has_settled(self, probes: dict[str, str]) -> bool:
        if probes != self._pending:
            self._pending, self._pending_since = probes, self._clock()
            return False
        return self._clock() - self._pending_since >= self.settle_seconds

    def _read(self, path: str, probe: str) -> bool:
        """Hash a file unless that is known; returns whether it stayed as it was meanwhile."""
        key = _key(path, probe)
        if key in self._hashes:
            return True
        if probe.startswith(_CONTENT):
            self._hashes[key] = probe.removeprefix(_CONTENT)
            return True
        content = _sha256(self._file(path))
        if self._probe(path) != probe:
            return False
        self._hashes[key] = content
        return True

    def _probe(self, path: str) -> str:
        """What its storage tells of a file; where that is too little, the hash of its content."""
        self._looking_at = path
        if is_of_the_machines(path):
            return _CONTENT + _hash_of_address(path)
        return self._file(path).probe() or _CONTENT + _sha256(self._file(path))

    def _file(self, path: str) -> WatchedFile:
        if path not in self._files:
            self._files[path] = place_of(path, s3_clients=self._s3_clients)
        return self._files[path]


def _key(path: str, probe: str) -> str:
    return hashlib.sha256(f"{path}\n{probe}".encode("utf-8", "surrogatepass")).hexdigest()
