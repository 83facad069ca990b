"""What a watch has seen and told, kept so that a triggerer which starts anew neither misses nor doubles it.

One folder for each watch, in the model store under ``.artifacts/watches``, of files that are only ever added:

* ``00000001.change.json``: the hash that was seen as the first change (number 0 is what it began with),
* ``00000001.told-1``: a triggerer is about to tell it, for the first time,
* ``00000001.confirmed``: Airflow has stored the event.

The number is taken by creating the file, which only one of several triggerers can. So A, B, A are three
entries, and a hash that was told is told again when it comes back.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError

log = logging.getLogger(__name__)

LEASE_SECONDS = 60.0
"""What another triggerer began to tell, and has not confirmed for so long, is told again."""

_CHANGE, _TOLD, _CONFIRMED = ".change.json", ".told-", ".confirmed"
_DIGITS = 8


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of an application.

    Attributes:
        sequence: its number; 0 for what the watch began with, which is no change and is not told.
        sha256: the hash that was seen.
        previous_sha256: the one before; None for number 0.
        seen_at: ISO 8601 with UTC offset.
    """

    sequence: int
    sha256: str
    previous_sha256: str | None
    seen_at: str


class WatchJournal:
    """The changes that a watch has seen.

    Where the folder cannot be written, it goes on in memory, with a warning, and writes what is missing as
    soon as that is possible.

    Args:
        folder: of the watch: a `pathlib.Path` or anything with its methods.
        lease_seconds: see `LEASE_SECONDS`.
        clock: tells seconds that only grow.
    """

    def __init__(
        self,
        folder: Any,
        *,
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._changes: dict[int, Change] = {}
        self._attempts: dict[int, int] = {}
        self._attempted_at: dict[int, float] = {}
        self._confirmed: set[int] = set()
        self._unwritten: dict[str, str] = {}
        self._has_warned = False

    @property
    def last(self) -> Change | None:
        """The last change, as far as it is known here."""
        return self._changes[max(self._changes)] if self._changes else None

    def refresh(self) -> None:
        """Read what others have written.

        Raises:
            StoreError: the folder cannot be read.
        """
        from airflow_provider_ernest.model.storage.stored_files import files, store_errors

        with store_errors(f"The watch's state in {self.folder} cannot be read"):
            for path in sorted(files(self.folder), key=lambda path: str(path.name)):
                self._note(path)

    def add(self, sha256: str, *, seen_at: str) -> bool:
        """Note that the application has another hash now; returns whether that is how it was noted.

        It is not where another triggerer has noted something meanwhile, which `last` then tells.

        Raises:
            StoreError: what others have noted cannot be read.
        """
        last = self.last
        change = Change(
            sequence=last.sequence + 1 if last else 0,
            sha256=sha256,
            previous_sha256=last.sha256 if last else None,
            seen_at=seen_at,
        )
        if not self._write(f"{change.sequence:0{_DIGITS}}{_CHANGE}", json.dumps(asdict(change), indent=2)):
            self.refresh()
            return False
        self._changes[change.sequence] = change
        if change.sequence == 0:
            self._confirmed.add(0)
        return True

    def due(self) -> Change | None:
        """The oldest change that somebody has to tell, and nobody is known to be telling.

        Raises:
            StoreError: what others have noted cannot be read.
        """
        if self._untold():
            self.refresh()
        now = self._clock()
        for sequence in self._untold():
            attempted_at = self._attempted_at.get(sequence)
            if attempted_at is None or now - attempted_at >= self._lease_seconds:
                return self._changes[sequence]
        return None

    def claim(self, change: Change) -> bool:
        """Take it upon oneself to tell a change; returns whether nobody else was faster."""
        attempt = self._attempts.get(change.sequence, 0) + 1
        is_ours = self._write(f"{change.sequence:0{_DIGITS}}{_TOLD}{attempt}", "")
        self._attempts[change.sequence] = attempt
        self._attempted_at[change.sequence] = self._clock()
        return is_ours

    def confirm(self, change: Change) -> None:
        """Note that a change has been told for good."""
        self._write(f"{change.sequence:0{_DIGITS}}{_CONFIRMED}", "")
        self._confirmed.add(change.sequence)

    def _untold(self) -> list[int]:
        return sorted(self._changes.keys() - self._confirmed)

    def _note(self, path: Any) -> None:
        name = str(path.name)
        number, what = name[:_DIGITS], name[_DIGITS:]
        if not number.isdecimal():
            return
        sequence = int(number)
        if what == _CHANGE:
            if sequence not in self._changes:
                self._changes[sequence] = _read(path, sequence)
            if sequence == 0 or not self._changes[sequence].sha256:
                self._confirmed.add(sequence)
        elif what == _CONFIRMED:
            self._confirmed.add(sequence)
        elif what.startswith(_TOLD) and what.removeprefix(_TOLD).isdecimal():
            attempt = int(what.removeprefix(_TOLD))
            if attempt > self._attempts.get(sequence, 0):
                self._attempts[sequence] = attempt
                self._attempted_at[sequence] = self._clock()

    def _write(self, name: str, text: str) -> bool:
        """Create a file, after those that could not be created earlier; False where there is one already."""
        from airflow_provider_ernest.model.storage.stored_files import store_errors
        from airflow_provider_ernest.model.storage.whole_files import create_whole

        self._unwritten[name] = text
        is_created = True
        try:
            with store_errors(f"The watch's state in {self.folder} cannot be written"):
                self.folder.mkdir(parents=True, exist_ok=True)
                for earlier, content in list(self._unwritten.items()):
                    try:
                        create_whole(self.folder / earlier, content)
                    except FileExistsError:
                        is_created = is_created and earlier != name
                    del self._unwritten[earlier]
        except StoreError as error:
            if not self._has_warned:
                log.warning(
                    "%s It is kept in memory, so that a change may be missed or told twice when the "
                    "triggerer starts anew.",
                    error,
                )
            self._has_warned = True
        else:
            self._has_warned = False
        return is_created


def _read(path: Any, sequence: int) -> Change:
    """The change in a file; one of no hash, which whatever comes is another than, where there is none."""
    from airflow_provider_ernest.model.storage.stored_files import decode_json

    try:
        document = decode_json(path.read_text(encoding="utf-8"))
        return Change(
            sequence=sequence,
            sha256=str(document["sha256"]),
            previous_sha256=document["previous_sha256"],
            seen_at=str(document["seen_at"]),
        )
    except (InvalidDocumentError, UnicodeDecodeError, KeyError, TypeError) as error:
        log.warning("%s is no change of an application, so the next look counts as one: %r", path, error)
        return Change(sequence=sequence, sha256="", previous_sha256=None, seen_at="")
