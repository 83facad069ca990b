"""Lines of text that many processes add to a folder at once, without locks, and that are read fast.

Each line is a file of its own at first. A writer that finds many of them merges them: it writes one
segment, whole, and deletes what went into it only then. So every line is in some file at every
moment, at times in two. Files are never changed, so one that was read need not be read again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.storage.daemon_threads import in_threads
from airflow_provider_ernest.model.storage.line_files import Content, content_of
from airflow_provider_ernest.model.storage.stored_files import files, is_settled, safe_name
from airflow_provider_ernest.model.storage.whole_files import create_whole, delete

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
"""Files read or deleted at once: an object store answers late, and many questions as late as one."""
ATTEMPTS = 100
"""How often a reader looks for where a merger moved what it wanted to read."""

Value = TypeVar("Value")
Value_contra = TypeVar("Value_contra", contravariant=True)


class Needed(Protocol[Value_contra]):
    """Tells which lines must be kept when these are merged, and whether these are all that there are."""

    def __call__(self, values: Sequence[Value_contra], /, *, are_all: bool) -> Sequence[int]:
        """The positions of those to keep."""
        ...


class MergedLines(Generic[Value]):
    """The lines in a folder, which may not be there yet.

    An object is for one thread; any number of objects and processes may use the folder.

    Args:
        folder: a `pathlib.Path`, or anything with its methods.
        read: what a line says; it raises InvalidDocumentError for a line that is none.
        needed: which of the lines that are merged must be kept, by position; all where it is None.
    """

    def __init__(
        self, folder: Any, read: Callable[[str], Value], *, needed: Needed[Value] | None = None
    ) -> None:
        self.folder = folder
        self._read = read
        self._needed = needed
        self._seen: set[str] = set()
        self._has_begun_anew = False
        self._torn: set[str] = set()

    @property
    def are_torn(self) -> bool:
        """Whether lines are missing for good: files of them end too early, and nobody is writing them."""
        return bool(self._torn)

    def delete_torn(self) -> None:
        """Delete those files. Their lines must have been written again.

        Raises:
            OSError: one cannot be deleted.
        """
        for name in sorted(self._torn):
            delete(self.folder / name)
        self._torn = set()

    @property
    def has_begun_anew(self) -> bool:
        """Whether the latest news are all that there is: nothing that was read before is there any more."""
        return self._has_begun_anew

    def forget(self) -> None:
        """Let everything be news again."""
        self._seen, self._torn = set(), set()

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

    def is_new(self) -> bool:
        """Whether there is one line, and nothing else."""
        return len(files(self.folder)) == 1

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
                if isinstance(content, Content):
                    found += content.values
                    self._note(name, content, seen=seen, growing=failed)
                elif isinstance(content, FileNotFoundError) and name not in gone:
                    gone.add(name)
                else:
                    log.warning("Skipping %s, which cannot be read: %s", self.folder / name, content)
                    failed.add(name)
        self._has_begun_anew = bool(self._seen and names) and self._seen.isdisjoint(names)
        self._seen = seen.intersection(names)
        self._torn.intersection_update(names)
        return found

    def _note(self, name: str, content: Content[Value], *, seen: set[str], growing: set[str]) -> None:
        """Tell a file that was read from one that may be longer the next time."""
        if not content.is_torn:
            seen.add(name)
        elif is_settled(self.folder / name):
            seen.add(name)
            self._torn.add(name)
        else:
            growing.add(name)

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
            self._merge(chosen, more_than=more_than, are_all=chosen is names)

    def _merge(self, names: Sequence[str], *, more_than: int, are_all: bool) -> None:
        """One segment of all these files; those that cannot be read are left as they are."""
        readable = {
            name: content
            for name, content in self._contents(names)
            if isinstance(content, Content) and content.is_whole
        }
        # Others may have merged some in the meantime.
        if len(readable) <= more_than:
            return
        self.write_segment(
            self._kept(list(readable.values()), are_all=are_all and len(readable) == len(names))
        )
        first, *others = readable
        try:
            self._unlink(first)
        except OSError:
            create_whole(self.folder / NO_MERGING, "Delete this file when files may be deleted here.\n")
            raise
        in_threads(self._unlink, others, most=READERS)

    def _unlink(self, name: str) -> None:
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            log.debug("Another process merged %s as well", name)

    def _kept(self, contents: Sequence[Content[Value]], *, are_all: bool) -> list[str]:
        lines = [line for content in contents for line in content.lines]
        if self._needed is None:
            return lines
        values = [value for content in contents for value in content.values]
        return [lines[position] for position in self._needed(values, are_all=are_all)]

    def _names(self) -> list[str]:
        return sorted(name for path in files(self.folder) if (name := str(path.name)) != MARK)

    def _contents(self, names: Sequence[str]) -> list[tuple[str, Content[Value] | OSError]]:
        return list(zip(names, in_threads(self._content, names, most=READERS), strict=True))

    def _content(self, name: str) -> Content[Value] | OSError:
        return content_of(self.folder / name, self._read)


def _is_segment(name: str) -> bool:
    return name.startswith(SEGMENT) and name.endswith(SEGMENT_SUFFIX)
