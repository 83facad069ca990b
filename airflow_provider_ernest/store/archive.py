"""A store in one file, to move it, keep it or send it: writing such a file, and taking one into a store."""

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
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, auto
from functools import singledispatch
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from airflow_provider_ernest.documents import (
    Alternative,
    BottleneckReport,
    DecisionRecord,
    Model,
    ModelMark,
    Observation,
    ObservationRecord,
    ProductionRun,
    ProfileRecord,
    RunConditions,
    TrainingCluster,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.privacy import without_addresses
from airflow_provider_ernest.run_profile import Advice, RunProfile, StageProfile, Straggler
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN
from airflow_provider_ernest.store.files import in_threads, store_errors
from airflow_provider_ernest.store.stored_documents import (
    BOTTLENECK_REPORT,
    BOTTLENECKS,
    DECISIONS,
    DIGEST,
    MARKS,
    MODELS,
    OBSERVATION,
    OBSERVATIONS,
    PRODUCTION,
    PROFILE,
    PROFILES,
    Shelf,
    with_digest,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.store.store import ModelStore


# ---------------------------------------------------------------------------
# The form of an archive: JSON Lines, compressed by gzip or not.
#
# The first line is a header: ``{"format", "version", "exported_at", "without_addresses", "documents":
# {kind:
# count}}``. Each further line is one document with its digest: ``{"kind", "document"}``. The header counts
# them, so a reader sees whether the file is whole.


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
        kind = str(data.get("kind")) if isinstance(data, dict) else ""
        if kind in SHELVES_BY_KIND:
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
    from airflow_provider_ernest.prediction.terms import check_terms

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


# ---------------------------------------------------------------------------


BATCH, WRITERS = 32, 4
"""So many documents are in memory at once, and so many are written at once: more help little."""


MOST_NAMED = 1_000
"""So many conflicts, and so many lines that are no documents, are kept in memory; all are counted."""


class _Verdict(Enum):
    """What becomes of a line of an archive."""

    STORED = auto()
    PRESENT = auto()
    CONFLICT = auto()
    REFUSED = auto()


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


def export_documents(
    documents: Iterable[Any],
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
        progress: is told how many documents are done.

    Returns:
        Its header.

    Raises:
        OSError: it cannot be written.
    """
    counts = Counter(dict.fromkeys(SHELVES_BY_KIND, 0))
    # The header counts what follows it, which is known only at the end.
    with tempfile.TemporaryFile() as body:
        with gzip.GzipFile(fileobj=body, mode="wb", mtime=0) if is_compressed else nullcontext(body) as lines:
            for number, document in enumerate(documents, 1):
                lines.write(document_line(address_free(document) if without_addresses else document))
                counts[kind_of(document)] += 1
                progress(number)
        header = counted_at(datetime.now(UTC), counts, without_addresses=without_addresses)
        target.write(gzip.compress(header.line(), mtime=0) if is_compressed else header.line())
        body.seek(0)
        shutil.copyfileobj(body, target)
    return header


def import_archive(
    store: ModelStore, source: BinaryIO, *, progress: Callable[[int], None] = lambda done: None
) -> Imported:
    """Take an archive into a store. Repeating that changes nothing.

    Each document is checked as it is when it is read from a store, and lies where the store puts it, whatever
    the file says.

    Args:
        store: that it goes into.
        source: the archive, compressed or not, or a single document.
        progress: is told how many documents are done.

    Raises:
        InvalidDocumentError: this is no archive.
        StoreError: the store cannot be read or written. What was imported before stays.
    """
    reader = ArchiveReader(source)
    result = Imported(header=reader.header)
    lines, done = iter(reader), 0
    while batch := list(islice(lines, BATCH)):
        # Disks and object stores answer many at once about as late as one.
        verdicts = in_threads(lambda line: _take_in(store, line), batch, most=WRITERS)
        for line, (verdict, problem) in zip(batch, verdicts, strict=True):
            _count(line, verdict, problem, result)
        done += len(batch)
        progress(done)
    result.missing = max(0, sum(reader.header.documents.values()) - done)
    result.damage = reader.damage
    return result


def _take_in(store: ModelStore, line: Line) -> tuple[_Verdict, str]:
    """What becomes of a line, and what is wrong with it."""
    document = line.document
    if document is None:
        return _Verdict.REFUSED, line.problem
    try:
        present = _present(store, line)
        if present is None:
            store.save_any(document)
            return _Verdict.STORED, ""
    except InvalidParameterError as error:
        return _Verdict.REFUSED, str(error)
    except StoreError as error:
        if isinstance(error.__cause__, InvalidDocumentError):
            return _Verdict.REFUSED, str(error)
        if not isinstance(error.__cause__, FileExistsError):
            raise
        present = None
    if present == document:
        return _Verdict.PRESENT, ""
    where = f"{document.job!r} on {document.instance_type}"
    return _Verdict.CONFLICT, f"The store has another one of that id for {where}."


def _count(line: Line, verdict: _Verdict, problem: str, result: Imported) -> None:
    if verdict is _Verdict.STORED:
        result.stored[line.kind] += 1
    elif verdict is _Verdict.PRESENT:
        result.present[line.kind] += 1
    else:
        name = ""
        if line.document is not None:
            name = f"{line.kind} {line.document.id}"
        if verdict is _Verdict.CONFLICT:
            result.conflict_count += 1
            named = result.conflicts
        else:
            result.refused_count += 1
            named = result.refused
        if len(named) < MOST_NAMED:
            named.append(Refused(line=line.number, name=name, problem=problem))


def _present(store: ModelStore, line: Line) -> Any:
    """What the store has in the document's place; None where that is nothing that can be read."""
    shelf, document = SHELVES_BY_KIND[line.kind], line.document
    path = shelf.path(store.root, document.job, document.instance_type, document.id)
    with store_errors(f"{path} cannot be read"):
        try:
            return shelf.decode(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, InvalidDocumentError, UnicodeDecodeError):
            return None


# ---------------------------------------------------------------------------
# Stored documents without addresses: what of a model can be sent to somebody else.
#
# Times, sizes, machines' types, hashes and the names of jobs, DAGs and tasks stay. Hosts get numbers, for
# it
# counts whether they are known. Of settings not even names stay: buckets and hosts stand in them.


@singledispatch
def address_free(document: Any) -> Any:
    """A copy of a stored document without addresses.

    Raises:
        TypeError: it is of a kind whose addresses are not known.
    """
    raise TypeError(f"No addresses are known of a {type(document).__name__}.")


@address_free.register
def _(model: Model) -> Model:
    return replace(
        model,
        artifact=None,
        input_path=None,
        observations=tuple(_observation(run) for run in model.observations),
        warnings=tuple(without_addresses(warning) for warning in model.warnings),
        cluster=_cluster(model.cluster) if model.cluster else None,
        conditions=_conditions(model.conditions),
    )


@address_free.register
def _(record: DecisionRecord) -> DecisionRecord:
    decision = record.decision
    reason = decision.fallback_reason
    return replace(
        record,
        reuse=without_addresses(record.reuse),
        decision=replace(
            decision,
            warnings=tuple(without_addresses(warning) for warning in decision.warnings),
            fallback_reason=None if reason is None else without_addresses(reason),
            alternatives=tuple(_alternative(each) for each in decision.alternatives),
        ),
    )


@address_free.register
def _(run: ProductionRun) -> ProductionRun:
    return replace(run, event_log=None, conditions=_conditions(run.conditions))


@address_free.register
def _(record: ObservationRecord) -> ObservationRecord:
    return replace(
        record,
        observation=_observation(record.observation),
        conditions=_conditions(record.conditions),
    )


@address_free.register
def _(mark: ModelMark) -> ModelMark:
    return replace(mark, reason=without_addresses(mark.reason))


@address_free.register
def _(record: ProfileRecord) -> ProfileRecord:
    return replace(record, profile=_profile(record.profile))


@address_free.register
def _(report: BottleneckReport) -> BottleneckReport:
    replay = report.replay
    return replace(
        report,
        headline=without_addresses(report.headline),
        advice=tuple(_advice(each, {}) for each in report.advice),
        warnings=tuple(without_addresses(warning) for warning in report.warnings),
        replay=None if replay is None else replace(replay, problem=without_addresses(replay.problem)),
    )


def _profile(profile: RunProfile) -> RunProfile:
    hosts = dict.fromkeys(straggler.host for straggler in profile.stragglers)
    numbered = {host: _host(number) for number, host in enumerate(hosts)}
    return replace(
        profile,
        event_log=None,
        headline=_told(profile.headline, numbered),
        stages=tuple(_stage(stage) for stage in profile.stages),
        stragglers=tuple(_straggler(each, numbered) for each in profile.stragglers),
        advice=tuple(_advice(each, numbered) for each in profile.advice),
        warnings=tuple(_told(warning, numbered) for warning in profile.warnings),
    )


def _stage(stage: StageProfile) -> StageProfile:
    return replace(stage, name=without_addresses(stage.name))


def _straggler(straggler: Straggler, numbered: Mapping[str, str]) -> Straggler:
    return replace(straggler, host=numbered[straggler.host], evidence=_told(straggler.evidence, numbered))


def _advice(advice: Advice, numbered: Mapping[str, str]) -> Advice:
    return replace(advice, text=_told(advice.text, numbered), figure=_told(advice.figure, numbered))


def _told(sentence: str, numbered: Mapping[str, str]) -> str:
    """A sentence in which hosts, also those without a domain, have their numbers."""
    # The longest first, for one host's name may begin another's; all at once, for it may be another's number.
    names = sorted(filter(None, numbered), key=len, reverse=True)
    if names:
        sentence = re.sub("|".join(map(re.escape, names)), lambda found: numbered[found[0]], sentence)
    return without_addresses(sentence)


def _alternative(alternative: Alternative) -> Alternative:
    return replace(
        alternative,
        extrapolates=without_addresses(alternative.extrapolates),
        memory_shortage=without_addresses(alternative.memory_shortage),
    )


def _observation(run: Observation) -> Observation:
    return replace(run, event_log=None, hosts=tuple(_host(number) for number, _ in enumerate(run.hosts)))


def _cluster(cluster: TrainingCluster) -> TrainingCluster:
    machines = (
        replace(
            machine,
            host=_host(number),
            instance_id=None,
            culled_because=without_addresses(machine.culled_because),
        )
        for number, machine in enumerate(cluster.machines)
    )
    return replace(cluster, name=cluster.kind, machines=tuple(machines))


def _conditions(conditions: RunConditions | None) -> RunConditions | None:
    return None if conditions is None else replace(conditions, settings=None)


def _host(number: int) -> str:
    return f"machine-{number + 1}"
