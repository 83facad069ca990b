"""A store in one file, to move it, keep it or send it: writing such a file, and taking one into a store.

An archive is JSON Lines, compressed by gzip or not. The first line is a header: ``{"format", "version",
"exported_at", "without_addresses", "documents": {kind: count}}``. Each further line is one record with its
kind and its digest. The header counts them, so a reader sees whether the file is whole.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from airflow_provider_ernest.documents import Model, Record, Stored, TrainingCluster
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.json_document import Document
from airflow_provider_ernest.privacy import without_addresses
from airflow_provider_ernest.store.files import in_threads, store_errors
from airflow_provider_ernest.store.records import (
    DIGEST,
    STORED,
    decode,
    path_of,
    with_digest,
    without_digest,
)
from airflow_provider_ernest.words import count

if TYPE_CHECKING:
    from airflow_provider_ernest.store.store import ModelStore

FORMAT = "airflow-provider-ernest store"
VERSION = 1

MOST_BYTES_OF_A_LINE = 16 * 1024 * 1024
"""A longer line is no record, and would fill the memory."""

MOST_LETTERS = 300
"""Of a problem that is reported: it may name what a line holds."""

BATCH, WRITERS = 32, 4
"""So many records are in memory at once, and so many are written at once: more help little."""

MOST_NAMED = 1_000
"""So many conflicts, and so many lines that are no records, are kept in memory; all are counted."""

_GZIP_MAGIC = b"\x1f\x8b"


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


def export_documents(
    documents: Iterable[Stored],
    target: BinaryIO,
    *,
    is_compressed: bool,
    without_addresses: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Header:
    """Write an archive, in memory that does not grow with it.

    Args:
        documents: what goes into it.
        target: open for writing.
        is_compressed: by gzip.
        without_addresses: see `address_free`.
        progress: called with the number of documents that are done.

    Returns:
        Its header.

    Raises:
        OSError: it cannot be written.
    """
    counts = Counter(dict.fromkeys(STORED, 0))
    # The header counts what follows it, which is known only at the end.
    with tempfile.TemporaryFile() as body:
        with gzip.GzipFile(fileobj=body, mode="wb", mtime=0) if is_compressed else nullcontext(body) as lines:
            for number, document in enumerate(documents, 1):
                lines.write(_line(with_digest(address_free(document) if without_addresses else document)))
                counts[document.kind] += 1
                progress(number)
        header = Header(
            exported_at=datetime.now(UTC).isoformat(timespec="seconds"),
            documents=counts,
            without_addresses=without_addresses,
        )
        first = _line({"format": FORMAT, "version": VERSION, **msgspec.to_builtins(header)})
        target.write(gzip.compress(first, mtime=0) if is_compressed else first)
        body.seek(0)
        shutil.copyfileobj(body, target)
    return header


def _line(data: dict[str, Any]) -> bytes:
    return msgspec.json.encode(data) + b"\n"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A document that was not taken in.

    Attributes:
        line: its line in the file.
        name: its kind and id, where they are known.
        problem: why, as a sentence.
    """

    line: int
    name: str
    problem: str


@dataclass(kw_only=True)
class Imported:
    """What came of an import.

    Attributes:
        header: of the archive.
        stored: how many were written, by kind.
        present: how many were there already, by kind.
        conflicts: the first of those whose id the store has with other content, which was left as it is.
        conflict_count: how many there are.
        refused: the first of the lines that are no documents of the store.
        refused_count: how many there are.
        missing: how many documents the header counts that the file does not hold.
        damage: why the rest of the file cannot be read; empty where it ends as it should.
    """

    header: Header
    stored: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    conflicts: list[Refused] = field(default_factory=list)
    conflict_count: int = 0
    refused: list[Refused] = field(default_factory=list)
    refused_count: int = 0
    missing: int = 0
    damage: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the store now holds all that the archive was made of."""
        return not (self.conflicts or self.refused or self.missing or self.damage)


def import_archive(
    store: ModelStore, source: BinaryIO, *, progress: Callable[[int], None] = lambda done: None
) -> Imported:
    """Take an archive into a store. Repeating that changes nothing.

    Each document is checked as it is when it is read from a store, and lies where the store puts it, whatever
    the file says.

    Args:
        store: that it goes into.
        source: the archive, compressed or not, or a single document.
        progress: called with the number of documents that are done.

    Raises:
        InvalidDocumentError: this is no archive.
        StoreError: the store cannot be read or written. What was imported before stays.
    """
    reader = ArchiveReader(source)
    result = Imported(header=reader.header)
    lines, done = iter(reader), 0
    while batch := list(islice(lines, BATCH)):
        # Disks and object stores answer many at once about as late as one.
        for line, outcome in zip(
            batch, in_threads(lambda line: _take_in(store, line), batch, most=WRITERS), strict=True
        ):
            _count(line, outcome, result)
        done += len(batch)
        progress(done)
    result.missing = max(0, sum(reader.header.documents.values()) - done)
    result.damage = reader.damage
    return result


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line after the first.

    Attributes:
        number: 1 for the header.
        record: None where there is none.
        problem: why there is none.
    """

    number: int
    record: Stored | None = None
    problem: str = ""


_STORED, _PRESENT, _CONFLICT, _REFUSED = "stored", "present", "conflict", "refused"
Outcome = tuple[str, str]
"""What becomes of a line, and what is wrong with it."""


def _take_in(store: ModelStore, line: Line) -> Outcome:
    record = line.record
    if record is None:
        return _REFUSED, line.problem
    try:
        present = _present(store, record)
        if present is None:
            store.save(record)
            if isinstance(record, Record):
                # It may be one that was listed, and edited by hand.
                store.catalogue.forget(record)
            return _STORED, ""
    except InvalidParameterError as error:
        return _REFUSED, str(error)
    except StoreError as error:
        if isinstance(error.__cause__, InvalidDocumentError):
            return _REFUSED, str(error)
        if not isinstance(error.__cause__, FileExistsError):
            raise
        present = None
    if present == record:
        return _PRESENT, ""
    of = f" for {record.job!r} on {record.instance_type}" if isinstance(record, Record) else ""
    return _CONFLICT, f"The store has another one of that id{of}."


def _present(store: ModelStore, record: Stored) -> Stored | None:
    """What the store has in the record's place; None where that is nothing that can be read."""
    path = path_of(store.root, record)
    with store_errors(f"{path} cannot be read"):
        try:
            return decode(type(record), path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, InvalidDocumentError, UnicodeDecodeError):
            return None


def _count(line: Line, outcome: Outcome, result: Imported) -> None:
    verdict, problem = outcome
    kind = line.record.kind if line.record else ""
    if verdict == _STORED:
        result.stored[kind] += 1
    elif verdict == _PRESENT:
        result.present[kind] += 1
    else:
        if verdict == _CONFLICT:
            result.conflict_count += 1
            named = result.conflicts
        else:
            result.refused_count += 1
            named = result.refused
        if len(named) < MOST_NAMED:
            name = f"{kind} {line.record.id}" if line.record else ""
            named.append(Refused(line=line.number, name=name, problem=problem))


class ArchiveReader:
    """Reads an archive, line by line.

    A file that holds a single JSON document of the store, such as a model that ``ernest fit`` has written, is
    read as an archive of that one. It needs no digest: a person may have edited it.

    Args:
        source: the stream, compressed or not; it is read from its present position on.

    Raises:
        InvalidDocumentError: it is neither, or of a newer version.
    """

    def __init__(self, source: BinaryIO) -> None:
        self.damage = ""
        """Why what follows the lines read so far cannot be read; empty where all could."""
        buffered = source if isinstance(source, io.BufferedReader) else io.BufferedReader(cast("Any", source))
        is_compressed = buffered.peek(2)[:2] == _GZIP_MAGIC
        self._source: Any = gzip.GzipFile(fileobj=buffered, mode="rb") if is_compressed else buffered
        self._single: Line | None = None
        first = self._read_line() or b""
        data = _json(first)
        is_archive = isinstance(data, dict) and data.get("format") == FORMAT
        self.header = _header(data) if is_archive else self._header_of_single(first)

    def __iter__(self) -> Iterator[Line]:
        """The lines after the first. What is no document comes with its problem; damage ends it."""
        number = 1
        if self._single is not None:
            yield self._single
            return
        while (text := self._read_line()) is not None:
            number += 1
            line = _read(number, _json(text), is_by_hand=False)
            if line.problem and not text.endswith(b"\n"):
                self.damage = self.damage or f"It ends in the middle of line {number}."
                return
            yield line

    def _read_line(self) -> bytes | None:
        """The next line; None at the end, and where nothing more can be read."""
        try:
            text: bytes = self._source.readline(MOST_BYTES_OF_A_LINE + 1)
        except EOFError:
            self.damage = "Its compressed data end too early."
            return None
        except (OSError, zlib.error) as error:
            self.damage = f"It cannot be read on: {error}."
            return None
        if len(text) > MOST_BYTES_OF_A_LINE:
            self.damage = f"A line is longer than {count(MOST_BYTES_OF_A_LINE)} bytes."
            return None
        return text or None

    def _header_of_single(self, first: bytes) -> Header:
        rest = b"" if self.damage else self._source.read(MOST_BYTES_OF_A_LINE)
        data = _json(first + rest)
        kind = str(data.get("kind")) if isinstance(data, dict) else ""
        if kind not in STORED:
            raise InvalidDocumentError(
                f"This is no archive of a store, nor a document of one. {self.damage}".rstrip(),
                remedy="Give a file that `ernest store export` or `ernest fit` has written.",
            )
        self._single = _read(1, data, is_by_hand=DIGEST not in data)
        return Header(exported_at="", documents={kind: 1})


def _header(data: dict[str, Any]) -> Header:
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


def _read(number: int, data: Any, *, is_by_hand: bool) -> Line:
    """The line of a record; one that is by hand bears no digest, and must be of use as it is."""
    from airflow_provider_ernest.prediction.terms import check_terms

    problem = ""
    if not isinstance(data, dict):
        problem = "This is no JSON object."
    elif str(data.get("kind")) not in STORED:
        problem = f"{data.get('kind')!r} is no kind of document."
    else:
        try:
            record = STORED[data["kind"]].from_dict(data if is_by_hand else without_digest(data))
            if is_by_hand and isinstance(record, Model):
                check_terms([term.name for term in record.terms])
            return Line(number=number, record=record)
        except (InvalidDocumentError, InvalidParameterError) as error:
            problem = str(error)
    return Line(
        number=number,
        problem=problem if len(problem) <= MOST_LETTERS else f"{problem[:MOST_LETTERS]}...",
    )


def _json(text: bytes) -> Any:
    """What the JSON says; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


_ADDRESSES = frozenset(
    {
        "Model.artifact",
        "Model.input_path",
        "ProductionRun.event_log",
        "Observation.event_log",
        "TrainedMachine.instance_id",
        "RunConditions.settings",  # also their names: buckets and hosts stand in them
        "RunProfile.event_log",
    }
)
_HOSTS = frozenset({"Observation.hosts", "TrainedMachine.host", "Straggler.host"})
_SENTENCES = frozenset(
    {
        "Advice.figure",
        "Advice.text",
        "Alternative.extrapolates",
        "Alternative.memory_shortage",
        "BottleneckReport.headline",
        "BottleneckReport.warnings",
        "Decision.fallback_reason",
        "Decision.warnings",
        "DecisionRecord.reuse",
        "ExecutorLoss.because",
        "ExecutorLoss.executors",
        "Model.warnings",
        "ModelMark.reason",
        "ReplayOpinion.problem",
        "RunProfile.headline",
        "RunProfile.not_counted",
        "RunProfile.warnings",
        "StageProfile.name",
        "Straggler.evidence",
        "Survey.goal",
        "Survey.unread",
        "SurveyedJob.unknown",
        "SurveyedJob.why",
        "TrainedMachine.culled_because",
    }
)
"""What may name addresses; a test knows of every field of text whether it is one of these."""


def address_free(record: Stored) -> Stored:
    """A copy of a document without addresses: what of it can be sent to somebody else.

    Times, sizes, machines' types, hashes and the names of jobs, DAGs and tasks stay. Hosts get numbers, for
    it counts whether they are known.

    Raises:
        TypeError: no store keeps its kind, so that nobody knows what is an address in it.
    """
    if type(record) not in STORED.values():
        raise TypeError(f"No addresses are known of a {type(record).__name__}.")
    hosts = dict.fromkeys(filter(None, _hosts_in(record)))
    numbered = {host: f"machine-{number}" for number, host in enumerate(hosts, 1)}
    return cast("Stored", _cleaned(record, numbered))


def _cleaned(value: Any, numbered: Mapping[str, str], where: str = "") -> Any:
    """What stands in a field (of the name that begins with its class), without addresses."""
    if where in _ADDRESSES:
        return None
    if isinstance(value, str):
        if where in _HOSTS:
            return numbered.get(value, "")
        return _sentence(value, numbered) if where in _SENTENCES else value
    if isinstance(value, tuple):
        return tuple(_cleaned(each, numbered, where) for each in value)
    if not isinstance(value, Document):
        return value
    changes = {name: _cleaned(getattr(value, name), numbered, inner) for name, inner in _fields_of(value)}
    if isinstance(value, TrainingCluster):
        changes["name"] = value.kind
    return replace(cast("Any", value), **changes)


def _sentence(text: str, numbered: Mapping[str, str]) -> str:
    """A sentence in which hosts, also those without a domain, have their numbers."""
    # The longest first, for one host's name may begin another's; all at once, for it may be another's number.
    names = sorted(map(re.escape, numbered), key=len, reverse=True)
    if names:
        text = re.sub("|".join(names), lambda found: numbered[found[0]], text)
    return without_addresses(text)


def _fields_of(document: Document) -> Iterator[tuple[str, str]]:
    """The names of its fields, alone and after the name of its class."""
    for each in fields(cast("Any", document)):
        yield each.name, f"{type(document).__name__}.{each.name}"


def _hosts_in(value: Any) -> Iterator[str]:
    if isinstance(value, tuple):
        for each in value:
            yield from _hosts_in(each)
    elif isinstance(value, Document):
        for name, where in _fields_of(value):
            inner = getattr(value, name)
            if where in _HOSTS:
                yield from (inner,) if isinstance(inner, str) else inner
            else:
                yield from _hosts_in(inner)
