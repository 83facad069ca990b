"""Hashes that outlive the process that took them, so that another need not read the files again.

They lie in the model store under ``.artifacts/looks``. Nothing is kept but hashes: of contents, and of paths
and what storages told.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import StoreError

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.artifact_watch import ArtifactWatch, Look

log = logging.getLogger(__name__)

FOLDER = ".artifacts"
"""Under the store's root. No job's folder has this name."""

KEPT = 10
"""Looks that are kept of an application."""


def digest_of(*parts: Any) -> str:
    """A file name for what is told apart by these parts."""
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


class KnownHashes:
    """The last looks at the files of an application.

    Args:
        root: of the model store.
        paths: the application's files.
    """

    def __init__(self, root: Any, paths: Sequence[str]) -> None:
        self._folder = root / FOLDER / "looks" / digest_of(*paths)
        self._has_warned = False

    def recall(self, watch: ArtifactWatch) -> None:
        """Let a watch know them. What cannot be read is left out: the files are read instead."""
        for look in self._looks():
            watch.remember(look["probes"])

    def keep(self, watch: ArtifactWatch, look: Look) -> None:
        """Keep what a watch has found. Where that is not possible, a warning says so, once."""
        from airflow_provider_ernest.model.identity import new_id
        from airflow_provider_ernest.model.storage.stored_files import store_errors
        from airflow_provider_ernest.model.storage.whole_files import create_whole

        document = {
            "sha256": look.sha256,
            "contents": {digest_of(path): content for path, content in look.hashes.items()},
            "probes": watch.known,
        }
        try:
            with store_errors(f"The hashes of the application cannot be kept in {self._folder}"):
                self._folder.mkdir(parents=True, exist_ok=True)
                create_whole(self._folder / f"{new_id(datetime.now(UTC))}.json", json.dumps(document))
                for path in self._paths()[:-KEPT]:
                    path.unlink(missing_ok=True)
        except StoreError as error:
            if not self._has_warned:
                log.warning("%s Its files will be read more often.", error)
            self._has_warned = True

    def changed(self, known_sha256: str | None, hashes: Mapping[str, str]) -> list[str] | None:
        """Which files changed since the application had another hash; None where that is not known.

        Args:
            known_sha256: the hash that it had.
            hashes: of its files now, by path.
        """
        if known_sha256 is None:
            return None
        if len(hashes) == 1:
            return list(hashes)
        for look in self._looks():
            if look.get("sha256") == known_sha256:
                before = look["contents"]
                return [path for path, content in hashes.items() if before.get(digest_of(path)) != content]
        return None

    def _looks(self) -> list[dict[str, Any]]:
        from airflow_provider_ernest.model.storage.stored_files import store_errors

        try:
            with store_errors(f"The hashes in {self._folder} cannot be read"):
                paths = self._paths()[-KEPT:]
        except StoreError as error:
            log.info("%s", error)
            return []
        looks = map(_read, paths)
        return [look for look in looks if look is not None]

    def _paths(self) -> list[Any]:
        from airflow_provider_ernest.model.storage.stored_files import files

        return sorted(files(self._folder), key=lambda path: str(path.name))


def _read(path: Any) -> dict[str, Any] | None:
    """The look in a file, None where there is none: another process may have deleted it just now."""
    from airflow_provider_ernest.model.storage.stored_files import decode_json, store_errors

    try:
        with store_errors(f"The hashes in {path} cannot be read"):
            document = decode_json(path.read_text(encoding="utf-8"))
    except StoreError as error:
        log.info("%s", error)
        return None
    tables = [document.get(name) for name in ("probes", "contents")] if isinstance(document, dict) else [None]
    return document if all(isinstance(table, dict) for table in tables) else None
