"""Lines of text that many processes add to a folder at once, without locks, and that are read fast.

Each line is a file of its own at first. A writer that finds many of them merges them: it writes one
segment, whole, and deletes what went into it only then. So every line is in some file at every
moment, at times in two. Files are never changed, so one that was read need not be read again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.daemon_threads import in_threads
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.stored_documents import files, safe_name
from airflow_provider_ernest.model.whole_files import create_whole

log = logging.getLogger(__name__)

SEGMENT, SEGMENT_SUFFIX = "segment-", ".jsonl"
MOST_LOOSE = 256
"""With more files of one line each than these, they are merged."""
MOST_SEGMENTS = 64
"""With more segments than these, all are merged into one."""
MARK = "complete"
"""A file of this name is the mark. No line's file is named so: those have a suffix."""
NO_MERGING = ".no-merging"
"""A file of this name says that files may not be deleted here: merging them would only make more of them."""
READERS = 16
"""Files read at once: an object store answers late, and many questions as late as one."""
ATTEMPTS = 100
"""How often a reader looks for where a merger moved what it wanted to read."""

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class _Content(Generic[Value]):
    """What a file holds that can be read, and whether that is all of it."""

    lines: Sequence[str]
    values: Sequence[Value]
    is_whole: bool


class MergedLines(Generic[Value]):
    """The lines in a folder, which may not be there yet.

    An object is for one thread; any number of objects and processes may use the folder.

    Args:
        folder: a `pathlib.Path`, or anything with its methods.
        read: what a line says; it raises InvalidDocumentError for a line that is none.
    """

    def __init__(self, folder: Any, read: Callable[[str], Value]) -> None:
        self.folder = folder
        self._read = read
        self._seen: set[str] = set()

    def mark(self) -> None:
        """Leave a mark beside the lines, for all objects and processes. It means what its users agree on.

        Raises:
            OSError: it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            create_whole(self.folder / MARK, "All that the folder beside it holds is listed here.\n")
        except FileExistsError:
            log.debug("Another process has marked %s", self.folder)

    def is_marked(self) -> bool:
        """Whether there is a mark now."""
        return MARK in (str(path.name) for path in files(self.folder))

    def add(self, name: str, line: str) -> None:
        """Add a line; adding it again is allowed. The name is for people who look into the folder.

        Raises:
            OSError: it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256(line.encode("utf-8")).hexdigest()[:16]
        try:
            create_whole(self.folder / f"{safe_name('name', name)}-{digest}.json", f"{line}\n")
        except FileExistsError:
            return
        try:
            self._merge_if_many()
        # The line is written; the next writer will merge. Object stores have errors of their own.
        except Exception as error:
            log.warning("The files in %s cannot be merged: %s", self.folder, error)

    def write_segment(self, lines: Iterable[str]) -> None:
        """Add many lines at once.

        Raises:
            OSError: they cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{SEGMENT}{new_id(datetime.now(UTC))}{SEGMENT_SUFFIX}"
        create_whole(self.folder / name, "".join(f"{line}\n" for line in dict.fromkeys(lines)))

    def news(self) -> list[Value]:
        """What the lines say that this object has not read yet; some of it may come twice.

        A file or a line that cannot be read is skipped with a warning in the log, which names it.

        Raises:
            OSError: the folder cannot be listed.
        """
        found: list[Value] = []
        seen, gone, failed = set(self._seen), set[str](), set[str]()
        names: list[str] = []
        for attempt in range(ATTEMPTS):
            names = self._names()
            unread = [name for name in names if name not in seen and name not in failed]
            # A listing can miss what is moved while it is made: both the old name and the new one.
            if not unread and attempt:
                break
            for name, content in self._contents(unread):
                if isinstance(content, _Content):
                    seen.add(name)
                    found += content.values
                elif isinstance(content, FileNotFoundError) and name not in gone:
                    gone.add(name)
                else:
                    log.warning("Skipping %s, which cannot be read: %s", self.folder / name, content)
                    failed.add(name)
        self._seen = seen.intersection(names)
        return found

    def _merge_if_many(self) -> None:
        names = self._names()
        loose = [name for name in names if not _is_segment(name)]
        if len(names) - len(loose) > MOST_SEGMENTS:
            chosen, more_than = names, MOST_SEGMENTS
        elif len(loose) > MOST_LOOSE:
            chosen, more_than = loose, MOST_LOOSE
        else:
            return
        if not (self.folder / NO_MERGING).exists():
            self._merge(chosen, more_than=more_than)

    def _merge(self, names: Sequence[str], *, more_than: int) -> None:
        """One segment of all these files; those that cannot be read are left as they are."""
        readable = {
            name: content
            for name, content in self._contents(names)
            if isinstance(content, _Content) and content.is_whole
        }
        # Others may have merged some in the meantime.
        if len(readable) <= more_than:
            return
        self.write_segment(line for content in readable.values() for line in content.lines)
        for number, name in enumerate(readable):
            try:
                (self.folder / name).unlink()
            except FileNotFoundError:
                log.debug("Another process merged %s as well", name)
            except OSError:
                if not number:
                    create_whole(
                        self.folder / NO_MERGING, "Delete this file when files may be deleted here.\n"
                    )
                raise

    def _names(self) -> list[str]:
        return sorted(name for path in files(self.folder) if (name := str(path.name)) != MARK)

    def _contents(self, names: Sequence[str]) -> list[tuple[str, _Content[Value] | OSError]]:
        return list(zip(names, in_threads(self._content, names, most=READERS), strict=True))

    def _content(self, name: str) -> _Content[Value] | OSError:
        path = self.folder / name
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, IsADirectoryError) as error:
            log.warning("Skipping %s, which is no text: %s", path, error)
            return _Content(lines=(), values=(), is_whole=False)
        except OSError as error:
            return error
        if not text:
            log.warning("Skipping %s, which is empty.", path)
        lines, values, is_whole = [], [], bool(text)
        for number, line in enumerate(text.split("\n")[: -1 if text.endswith("\n") else None], 1):
            try:
                values.append(self._read(line))
                lines.append(line)
            except InvalidDocumentError as error:
                is_whole = False
                log.warning("Skipping line %d of %s, which cannot be read: %s", number, path, error)
        return _Content(lines=lines, values=values, is_whole=is_whole)


def _is_segment(name: str) -> bool:
    return name.startswith(SEGMENT) and name.endswith(SEGMENT_SUFFIX)
