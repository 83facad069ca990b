"""The form of an archive: JSON Lines, compressed by gzip or not.

The first line is a header: ``{"format", "version", "exported_at", "without_addresses", "documents": {kind:
count}}``. Each further line is one document with its digest: ``{"kind", "document"}``. The header counts
them, so a reader sees whether the file is whole.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, cast

import msgspec

from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue_entry import DECISION, MARK, MODEL, PRODUCTION_RUN
from airflow_provider_ernest.model.storage.digests import DIGEST, with_digest
from airflow_provider_ernest.model.storage.stored_documents import (
    BOTTLENECK_REPORT,
    BOTTLENECKS,
    DECISIONS,
    MARKS,
    MODELS,
    OBSERVATION,
    OBSERVATIONS,
    PRODUCTION,
    PROFILE,
    PROFILES,
    Shelf,
)

FORMAT = "airflow-provider-ernest store"
VERSION = 1

MOST_BYTES_OF_A_LINE = 16 * 1024 * 1024
"""A longer line is no document, and would fill the memory."""

MOST_LETTERS = 300
"""Of a problem that is told: it may name what a line holds."""

GZIP_MAGIC = b"\x1f\x8b"

SHELVES_BY_KIND: Mapping[str, Shelf[Any]] = {
    MODEL: MODELS,
    DECISION: DECISIONS,
    PRODUCTION_RUN: PRODUCTION,
    OBSERVATION: OBSERVATIONS,
    MARK: MARKS,
    PROFILE: PROFILES,
    BOTTLENECK_REPORT: BOTTLENECKS,
}
"""In the order in which people think of them; kinds are named as in the catalogue."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """The first line.

    Attributes:
        exported_at: ISO 8601 with UTC offset; empty where a single document is read.
        documents: how many of each kind follow.
        without_addresses: whether they were left out.
    """

    exported_at: str
    documents: Mapping[str, int] = field(default_factory=dict)
    without_addresses: bool = False

    def line(self) -> bytes:
        """As it stands in a file."""
        return _line(
            {
                "format": FORMAT,
                "version": VERSION,
                "exported_at": self.exported_at,
                "without_addresses": self.without_addresses,
                "documents": dict(self.documents),
            }
        )


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line after the first.

    Attributes:
        number: 1 for the header.
        kind: of the document; empty where the line is none.
        document: the document; None where there is none.
        problem: why there is none.
    """

    number: int
    kind: str = ""
    document: Any = None
    problem: str = ""


def kind_of(document: object) -> str:
    """The kind of a stored document."""
    return next(kind for kind, shelf in SHELVES_BY_KIND.items() if isinstance(document, shelf.form))


def document_line(document: Any) -> bytes:
    """A document as it stands in a file."""
    return _line({"kind": kind_of(document), "document": with_digest(document)})


def opened(source: BinaryIO) -> BinaryIO:
    """The stream, decompressed where it is compressed; it is read from its present position on."""
    buffered = source if isinstance(source, io.BufferedReader) else io.BufferedReader(cast("Any", source))
    if buffered.peek(2)[:2] == GZIP_MAGIC:
        return cast("BinaryIO", gzip.GzipFile(fileobj=buffered, mode="rb"))
    return cast("BinaryIO", buffered)


class ArchiveReader:
    """Reads an archive, line by line.

    A file that holds a single JSON document of the store, such as a model that ``ernest fit`` has written, is
    read as an archive of that one. It needs no digest: a person may have edited it.

    Args:
        source: see `opened`.

    Raises:
        InvalidDocumentError: it is neither, or of a newer version.
    """

    def __init__(self, source: BinaryIO) -> None:
        self.damage = ""
        """Why what follows the lines read so far cannot be read; empty where all could."""
        self._source = opened(source)
        self._single: Line | None = None
        first = self._read_line()
        self.header = self._header(first or b"")

    def __iter__(self) -> Iterator[Line]:
        """The lines after the first. What is no document comes with its problem; damage ends it."""
        number = 1
        if self._single is not None:
            yield self._single
            return
        while (text := self._read_line()) is not None:
            number += 1
            line = _parsed(number, text)
            if line.problem and not text.endswith(b"\n"):
                self.damage = self.damage or f"It ends in the middle of line {number}."
                return
            yield line

    def _read_line(self) -> bytes | None:
        """The next line; None at the end, and where nothing more can be read."""
        try:
            text = self._source.readline(MOST_BYTES_OF_A_LINE + 1)
        except EOFError:
            self.damage = "Its compressed data end too early."
            return None
        except (OSError, zlib.error) as error:
            self.damage = f"It cannot be read on: {error}."
            return None
        if len(text) > MOST_BYTES_OF_A_LINE:
            self.damage = f"A line is longer than {MOST_BYTES_OF_A_LINE:,} bytes."
            return None
        return text or None

    def _header(self, first: bytes) -> Header:
        data = _json(first)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            return self._header_of_single(first)
        version = data.get("version")
        if version != VERSION:
            raise InvalidDocumentError(
                f"This archive is of version {version!r}; this version of the package reads {VERSION}.",
                remedy="Upgrade airflow-provider-ernest.",
            )
        counts = data.get("documents")
        counted = counts if isinstance(counts, dict) else {}
        return Header(
            exported_at=str(data.get("exported_at", "")),
            documents={kind: count for kind, count in counted.items() if type(count) is int and count >= 0},
            without_addresses=data.get("without_addresses") is True,
        )

    def _header_of_single(self, first: bytes) -> Header:
        rest = b"" if self.damage else self._source.read(MOST_BYTES_OF_A_LINE)
        data = _json(first + rest)
        for kind, shelf in tuple(SHELVES_BY_KIND.items())[::-1]:
            # Models come last: the others name theirs, too.
            if isinstance(data, dict) and shelf.id_field in data:
                self._single = _read(1, kind, data, is_by_hand=DIGEST not in data)
                return Header(exported_at="", documents={kind: 1})
        raise InvalidDocumentError(
            f"This is no archive of a store, nor a document of one. {self.damage}".rstrip(),
            remedy="Give a file that `ernest store export` or `ernest fit` has written.",
        )


def counted_at(moment: datetime, documents: Mapping[str, int], *, without_addresses: bool) -> Header:
    """The header of what was exported at a moment."""
    return Header(
        exported_at=moment.isoformat(timespec="seconds"),
        documents=documents,
        without_addresses=without_addresses,
    )


def _parsed(number: int, text: bytes) -> Line:
    data = _json(text)
    if not isinstance(data, dict):
        return Line(number=number, problem="This is no JSON object.")
    return _decoded(number, data)


def _decoded(number: int, data: dict[str, Any]) -> Line:
    if str(data.get("kind")) not in SHELVES_BY_KIND:
        return Line(number=number, problem=_short(f"{data.get('kind')!r} is no kind of document."))
    return _read(number, str(data["kind"]), data.get("document"), is_by_hand=False)


def _read(number: int, kind: str, data: Any, *, is_by_hand: bool) -> Line:
    """The line of a document; one that is by hand bears no digest, and must be of use as it is."""
    from airflow_provider_ernest.model.terms import check_terms

    shelf = SHELVES_BY_KIND[kind]
    try:
        document = shelf.form.from_dict(data) if is_by_hand else shelf.of_data(data)
        if is_by_hand and isinstance(document, Model):
            check_terms([term.name for term in document.terms])
    except (InvalidDocumentError, InvalidParameterError) as error:
        return Line(number=number, problem=_short(str(error)))
    return Line(number=number, kind=kind, document=document)


def _short(problem: str) -> str:
    return problem if len(problem) <= MOST_LETTERS else f"{problem[:MOST_LETTERS]}..."


def _json(text: bytes) -> Any:
    """What the JSON says; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _line(data: dict[str, Any]) -> bytes:
    return msgspec.json.encode(data) + b"\n"
