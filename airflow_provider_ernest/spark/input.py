"""A job's input: its files, its shape, and samples of it, so that the unmodified job reads only a share.

Three ways to sample (Ernest, sections 3.2 and 4.2):

``files``
    A seeded random subset of the input's files. Nothing is copied: a local input becomes a folder of links, a
    remote one a path pattern of the chosen files. The right way for sparse or skewed data.
``first_rows``
    The first rows of line-oriented files, copied. For inputs of a few large files, if order says nothing.
``argument``
    Nothing is staged; the application takes the share (``{{ sample.scale }}``) itself.

The scale of a sample is measured in bytes of what was really chosen, not taken from the request.

The shape of an input is compared later with that of other data: partitions, bytes and format, and the columns
of Parquet and ORC files. Nothing of its content is told.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from statistics import median_low
from typing import Any

from airflow_provider_ernest.documents.runs import Experiment, InputFingerprint
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import filesystem_of, local_path
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings import ExpectedInput
from airflow_provider_ernest.settings.job import FILES, FIRST_ROWS
from airflow_provider_ernest.settings.values import optional_number

_ONE_SLASH = re.compile(r"^([A-Za-z][\w+.-]*:)/(?!/)")
_COLUMNAR = ("parquet", "orc")
_COMPRESSED = ("gz", "bz2", "deflate", "zst", "snappy", "lz4", "zip", "xz", "lzo")
_NO_PLAIN_TEXT = {*_COLUMNAR, "avro", *_COMPRESSED}

SHAPE_FILES = 3
"""Files whose columns are counted: the first may be an odd one."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What `{{ sample.… }}` offers in the application's arguments."""

    input: str  # path or path pattern of the sample
    scale: float  # the share of the input, by bytes, that it holds
    executors: int
    partitions: int  # files or pieces of the sample
    iterations: int | None = None  # to train with, for iterative jobs

    @property
    def machines(self) -> int:
        """The executors, as arguments of DAG files call them that were written for one on each machine."""
        return self.executors


def take_sample(
    experiment: Experiment,
    input_path: str,
    *,
    method: str,
    header: bool,
    minimum_files: int,
    seed: str,
    staging: Path,
) -> Sample:
    """Take the sample of the input that an experiment asks for, by one of `settings.job.SAMPLINGS`.

    A `header` line begins each file ("first_rows" only); `minimum_files` are as many as there are cores
    ("files" only); `staging` is an empty folder, for what has to be written, that the machines must see.

    Raises:
        InvalidParameterError: the method does not suit the input.
        MissingResourceError: the input does not exist or is empty.
    """
    listing = list_input(input_path)
    sample = Sample(
        input=input_path,
        scale=experiment.scale,
        executors=experiment.executors,
        partitions=experiment.partitions,
        iterations=experiment.iterations,
    )
    if method == FILES:
        return _of_files(sample, listing, minimum_files=minimum_files, seed=seed, staging=staging)
    return _of_first_rows(sample, listing, header=header, staging=staging) if method == FIRST_ROWS else sample


def _of_files(
    sample: Sample, listing: InputListing, *, minimum_files: int, seed: str, staging: Path
) -> Sample:
    """Choose a random subset of the input's files and make it readable under one path."""
    if len(listing.files) < minimum_files:
        raise InvalidParameterError(
            "input_path",
            sample.input,
            f"has {len(listing.files)} files, and a run of this design needs {minimum_files}",
            remedy="Split the input into more files, or sample by first_rows.",
        )
    chosen = _choose(listing, scale=sample.scale, minimum_files=minimum_files, seed=seed)
    local = local_path(listing.folder)
    if local is None:
        path = _pattern(listing.folder, chosen)
    else:
        path = str(staging)
        for file in chosen:
            link = staging / file.path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(local).resolve() / file.path)
    scale = sum(file.size_bytes for file in chosen) / listing.total_bytes
    return replace(sample, input=path, scale=scale, partitions=len(chosen))


def _choose(listing: InputListing, *, scale: float, minimum_files: int, seed: str) -> list[InputFile]:
    # A seed of text: Random hashes it the same way in every process, unlike hash().
    order = random.Random(seed).sample(listing.files, len(listing.files))  # noqa: S311 - guards nothing
    wanted_bytes = scale * listing.total_bytes
    chosen: list[InputFile] = []
    chosen_bytes = 0
    for file in order:
        # Stop where the next file would lead further away from what is wanted than it brings nearer.
        if len(chosen) >= minimum_files and chosen_bytes + file.size_bytes / 2 > wanted_bytes:
            break
        chosen.append(file)
        chosen_bytes += file.size_bytes
    return chosen


def _pattern(folder: str, files: list[InputFile]) -> str:
    """A Hadoop path pattern that matches exactly these files."""
    names = ",".join(re.sub(r"([\\{}\[\]*?,^])", r"\\\1", file.path) for file in files)
    return f"{folder}/{{{names}}}" if len(files) > 1 else f"{folder}/{names}"


def _of_first_rows(sample: Sample, listing: InputListing, *, header: bool, staging: Path) -> Sample:
    """Copy the first rows of line-oriented files, in as many pieces as the sample should have partitions."""
    for file in listing.files:
        if _format(file.path).rpartition(".")[2] in _NO_PLAIN_TEXT:
            problem = f"cannot cut {file.path}, which is not plain text"
            raise InvalidParameterError("sampling", FIRST_ROWS, problem, remedy="Use 'files'.")
    # Rows are measured against rows, without headers.
    rows_bytes = listing.total_bytes - (_header_bytes(listing) if header else 0)
    if rows_bytes <= 0:
        problem, remedy = f"leaves no rows of {sample.input}", "Its files have no header line."
        raise InvalidParameterError("header", header, problem, remedy=remedy)
    staging.mkdir(parents=True, exist_ok=True)
    rows = _rows(listing, header=header)
    piece_bytes = sample.scale * rows_bytes / sample.partitions
    suffix = PurePosixPath(listing.files[0].path).suffix
    copied_bytes = 0
    for number in range(sample.partitions):
        with (staging / f"part-{number:05d}{suffix}").open("wb") as piece:
            for header_line, row in rows:
                if piece.tell() == 0:
                    piece.write(header_line)
                piece.write(row)
                copied_bytes += len(row)
                if copied_bytes >= (number + 1) * piece_bytes:
                    break
    # The last line of a file may lack the end that its copy has.
    return replace(sample, input=str(staging), scale=min(1.0, copied_bytes / rows_bytes))


def _header_bytes(listing: InputListing) -> int:
    """The bytes of the header lines of all files, as if each began as the first does."""
    with listing.opened(listing.files[0]) as lines:
        first = len(lines.readline())
    return sum(min(first, file.size_bytes) for file in listing.files)


def _rows(listing: InputListing, *, header: bool) -> Iterator[tuple[bytes, bytes]]:
    """All rows in order, as pairs: the header line of the row's file (empty without headers), the row."""
    for file in listing.files:
        with listing.opened(file) as lines:
            header_line = lines.readline() if header else b""
            for row in lines:
                yield header_line, row if row.endswith(b"\n") else row + b"\n"


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """One file of the input, by its path relative to the input's folder."""

    path: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class InputListing:
    """The files that Spark would read of an input."""

    folder: str  # the input's folder (its parent where the input is one file), in the user's scheme
    files: tuple[InputFile, ...]  # sorted by path; none is empty or hidden
    filesystem: Any
    base: PurePosixPath  # the folder on that file system

    def opened(self, file: InputFile, **options: Any) -> Any:
        """The content of one of the files."""
        return self.filesystem.open(str(self.base / file.path), "rb", **options)

    @property
    def total_bytes(self) -> int:
        """Size of the whole input."""
        return sum(file.size_bytes for file in self.files)


def list_input(input_path: str) -> InputListing:
    """List an input, a file or folder of any fsspec scheme: recursively, without files that Hadoop skips.

    A `MissingResourceError` where it does not exist or has no content, or its scheme's library is missing.
    """
    # Hadoop takes one slash after a scheme for three, as in hdfs:/data.
    address = _ONE_SLASH.sub(r"\1///", input_path)
    filesystem, root = filesystem_of(address)
    remedy = "Correct input_path, or create the data first."
    if not filesystem.exists(root):
        raise MissingResourceError(f"The input path {input_path!r} does not exist.", remedy=remedy)
    is_folder = filesystem.isdir(root)
    base = PurePosixPath(root) if is_folder else PurePosixPath(root).parent
    files = tuple(
        InputFile(path=str(relative), size_bytes=int(info["size"]))
        for path, info in sorted(filesystem.find(root, detail=True).items())
        if info["size"] and not _is_hidden(relative := PurePosixPath(path).relative_to(base))
    )
    if not files:
        raise MissingResourceError(f"The input path {input_path!r} has no file with content.", remedy=remedy)
    folder = _folder_in_scheme(address, is_folder=is_folder)
    return InputListing(folder=folder, files=files, filesystem=filesystem, base=base)


def _folder_in_scheme(input_path: str, *, is_folder: bool) -> str:
    """The input's folder as the user would write it, without a slash at its end unless it is the root."""
    scheme, separator, path = input_path.rpartition("://")
    folder = path.rstrip("/")
    if not is_folder:
        folder = folder.rpartition("/")[0]
    # Nothing at all would be the working directory. Elsewhere the bucket or host tells where the root is.
    root = "/" if path.startswith("/") and scheme in ("", "file") else ""
    return f"{scheme}{separator}{folder or root}"


def _is_hidden(path: PurePosixPath) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


def input_fingerprint(input_path: str, *, partitions: int | None, log: Any) -> InputFingerprint:
    """Tell the shape of an input by its listing and the footers of its first files.

    Never raises: what cannot be listed or read stays None, and one line in the log says why. The partitions
    are by default the number of files.
    """
    if not input_path:
        return InputFingerprint(partitions=partitions)
    try:
        listing = list_input(input_path)
    # The libraries behind fsspec raise errors of their own. None should fail a run.
    except Exception as error:
        log.info("The shape of the input cannot be told: %s", _problem(error))
        return InputFingerprint(partitions=partitions)
    sizes: Counter[str] = Counter()
    for file in listing.files:
        sizes[_format(file.path)] += file.size_bytes
    # That of most bytes; of equals the first in the alphabet.
    file_format = min(sizes, key=lambda name: (-sizes[name], name))
    columns = None
    try:
        columns = _columns(listing, file_format)
    except Exception as error:
        log.info("The columns of the input are not known: %s", _problem(error))
    return InputFingerprint(
        partitions=partitions or len(listing.files),
        total_bytes=listing.total_bytes,
        columns=columns,
        format=file_format or None,
    )


def _problem(error: Exception) -> str:
    """What is wrong, in a line. Messages of libraries may hold addresses with credentials in them."""
    if isinstance(error, MissingResourceError):
        return str(error).partition("\n")[0]
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _format(path: str) -> str:
    """A file's suffix; with the one before where it is the compression's, as in "csv.gz"."""
    # Others are numbers and dates, which differ from file to file.
    names = [suffix[1:].lower() for suffix in PurePosixPath(path).suffixes]
    suffixes = [name for name in names if name.isalnum() and name[0].isalpha()]
    *_, before, last = ("", "", *suffixes)
    return f"{before}.{last}" if before and last in _COMPRESSED else last


def _columns(listing: InputListing, file_format: str) -> int | None:
    """The median over the first files, by their footers; None of other formats, or without pyarrow."""
    if file_format not in _COLUMNAR:
        return None
    try:
        reader = import_module(f"pyarrow.{file_format}")
    except ImportError:
        return None
    counts: list[int] = []
    for each in [each for each in listing.files if _format(each.path) == file_format][:SHAPE_FILES]:
        # Small blocks: remote file systems would read tens of megabytes ahead.
        with listing.opened(each, block_size=1 << 16) as file:
            schema = reader.read_schema(file) if file_format == "parquet" else reader.ORCFile(file).schema
            counts.append(len(schema.names))
    return median_low(counts)


# How much production will read, by what its user names: a number, files, or a table's metadata.


@dataclass(frozen=True, kw_only=True)
class Amount:
    """An amount of data; None for what is not told."""

    size_bytes: float | None = None
    records: float | None = None


def amount_of(expected: ExpectedInput) -> Amount:
    """How much is named.

    Raises:
        MissingResourceError: there is no such place or table, or no library that reads it.
    """
    if expected.path:
        return Amount(size_bytes=list_input(expected.path).total_bytes)
    try:
        if expected.delta_table:
            return _of_delta(expected.delta_table)
        if expected.iceberg_table:
            return _of_iceberg(expected.iceberg_table)
    except ImportError as error:
        library = "deltalake" if expected.delta_table else "pyiceberg"
        raise MissingResourceError(
            f"The size of a table is read by {library}, which is not installed: {error}.",
            remedy=f'Install "airflow-provider-ernest[{"delta" if expected.delta_table else "iceberg"}]", '
            "or give size_bytes or records.",
        ) from error
    except Exception as error:
        named = without_credentials(expected.delta_table or expected.iceberg_table or "")
        raise MissingResourceError(
            f"The table {named} cannot be read: {without_credentials(str(error))}.",
            remedy="Correct its name, or let the library reach it.",
        ) from error
    return Amount(
        size_bytes=optional_number("size_bytes", expected.size_bytes),
        records=optional_number("records", expected.records),
    )


def _of_delta(address: str) -> Amount:
    import deltalake

    # Of each file that the newest version has, as its log tells.
    files = deltalake.DeltaTable(address).get_add_actions(flatten=True)
    sizes, records = (files.column(name).to_pylist() for name in ("size_bytes", "num_records"))
    return Amount(size_bytes=float(sum(sizes)), records=None if None in records else float(sum(records)))


def _of_iceberg(name: str) -> Amount:
    from pyiceberg.catalog import load_catalog

    catalog, _, table = name.partition(".")
    snapshot: Any = load_catalog(catalog).load_table(table).current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return Amount()
    told = snapshot.summary.additional_properties
    sizes = (optional_number(name, told.get(name)) for name in ("total-files-size", "total-records"))
    return Amount(**dict(zip(("size_bytes", "records"), sizes, strict=True)))
