"""Looking again and again at the files of an application, and hashing those that may have changed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.places import OpenS3, WatchedFile, file_at
from airflow_provider_ernest.spark.artifact import (
    CHUNK_BYTES,
    combined_sha256,
    hash_of_address,
    is_of_the_machines,
)

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
        sha256: the application's hash, see `artifact.combined_sha256`; None unless `SETTLED`.
        hashes: of each file, by its path.
        path: that is missing, or was looked at when there was trouble.
        problem: what was the trouble.
        is_new: whether the storages told something that no earlier look has known.
    """

    state: str
    sha256: str | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    problem: Exception | None = None
    is_new: bool = False


class ArtifactWatch:
    """The files of an application under watch.

    A look asks their storages for what they tell without reading (size, times, ETag). Only where that has
    changed, and then stayed the same for the time to settle, is the file read: a copy under way is none.

    Args:
        paths: the application, and then its dependencies; see `artifact.artifact_paths`.
        settle_seconds: for how long files must stay as they are before they are read.
        open_s3: see `file_at`.
        clock: tells seconds that only grow.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        settle_seconds: float = DEFAULT_SETTLE_SECONDS,
        open_s3: OpenS3 | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.paths = tuple(paths)
        self.settle_seconds = settle_seconds
        self._open_s3 = open_s3
        self._clock = clock
        self._files: dict[str, WatchedFile] = {}
        self._hashes: dict[str, str] = {}
        self._settled: dict[str, str] = {}
        self._pending: dict[str, str] = {}
        self._pending_since = 0.0
        self._looking_at = ""

    @property
    def known(self) -> dict[str, str]:
        """The hash of each file as it is, by a digest of its path and of what its storage told of it."""
        keys = [_key(path, probe) for path, probe in self._settled.items()]
        return {key: self._hashes[key] for key in keys}

    def remember(self, known: Mapping[str, str]) -> None:
        """Take over what another watch of these files has `known`: then they need not be read again."""
        self._hashes.update(known)

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
        if not self._is_settled(probes):
            return Look(state=SETTLING)
        is_new = not all(_key(path, probe) in self._hashes for path, probe in probes.items())
        if not all(self._read(path, probe) for path, probe in probes.items()):
            # One was replaced meanwhile: what was read may be half of each.
            self._pending = {}
            return Look(state=SETTLING)
        self._settled = probes
        # What files were before is not asked for again.
        self._hashes = self.known
        hashes = {path: self._hashes[_key(path, probe)] for path, probe in probes.items()}
        return Look(
            state=SETTLED,
            sha256=combined_sha256([hashes[path] for path in self.paths]),
            hashes=hashes,
            is_new=is_new,
        )

    def _is_settled(self, probes: dict[str, str]) -> bool:
        """Whether the files are known already, or have been as they are for long enough."""
        if all(_key(path, probe) in self._hashes for path, probe in probes.items()):
            return True
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
        """What is told of a file; where that is too little, its content speaks for itself."""
        self._looking_at = path
        if is_of_the_machines(path):
            return _CONTENT + hash_of_address(path)
        return self._file(path).probe() or _CONTENT + _sha256(self._file(path))

    def _file(self, path: str) -> WatchedFile:
        if path not in self._files:
            self._files[path] = file_at(path, open_s3=self._open_s3)
        return self._files[path]


def _key(path: str, probe: str) -> str:
    return hashlib.sha256(f"{path}\n{probe}".encode("utf-8", "surrogatepass")).hexdigest()


def _sha256(file: WatchedFile) -> str:
    digest = hashlib.sha256()
    with file.open() as content:
        while piece := content.read(CHUNK_BYTES):
            digest.update(piece)
    return digest.hexdigest()
