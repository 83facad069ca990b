"""Samples of a job's input, so that the unmodified job reads only a share of it.

Three ways (Ernest, sections 3.2 and 4.2):

``files``
    A seeded random subset of the input's files. Nothing is copied: a local input becomes a folder of
    links, a remote one a path pattern that names the chosen files. The right way for sparse or skewed data.
``first_rows``
    The first rows of line-oriented files, copied. For inputs of a few large files, if order says nothing.
``argument``
    Nothing is staged; the application takes the share (``{{ sample.scale }}``) itself.

The scale of a sample is measured in bytes of what was really chosen, not taken from the request.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import filesystem_of
from airflow_provider_ernest.settings import ARGUMENT, FILES, FIRST_ROWS, SAMPLINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_provider_ernest.documents import Experiment


# ---------------------------------------------------------------------------
# The files of an input, listed and read wherever fsspec can: local, S3 and the rest.


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """One file of the input, by its path relative to the input's folder."""

    path: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class InputListing:
    """The files that Spark would read of an input.

    Attributes:
        folder: the input's folder (its parent where the input is one file), in the user's scheme.
        files: sorted by path; none is empty or hidden.
    """

    folder: str
    files: tuple[InputFile, ...]

    @property
    def total_bytes(self) -> int:
        """Size of the whole input."""
        return sum(file.size_bytes for file in self.files)


def list_input(input_path: str) -> InputListing:
    """List an input: recursively, without the files that Hadoop passes over.

    Args:
        input_path: a file or folder, local or of any fsspec scheme (s3a is listed as s3).

    Raises:
        MissingResourceError: the path does not exist, or holds no file with any content, or the library that
            reads its scheme is not installed.
    """
    if input_path.startswith("file:/") and not input_path.startswith("file://"):
        # As Hadoop writes it.
        input_path = f"file://{input_path.removeprefix('file:')}"
    filesystem, root = filesystem_of(input_path)
    if not filesystem.exists(root):
        raise MissingResourceError(
            f"The input path {input_path!r} does not exist.",
            remedy="Correct input_path, or create the data first.",
        )
    base = _folder_of(filesystem, root)
    files = tuple(
        InputFile(path=str(relative), size_bytes=int(info["size"]))
        for path, info in sorted(filesystem.find(root, detail=True).items())
        if info["size"] and not _is_hidden(relative := PurePosixPath(path).relative_to(base))
    )
    if not files:
        raise MissingResourceError(
            f"The input path {input_path!r} holds no file with content.",
            remedy="Correct input_path, or create the data first.",
        )
    is_folder = base == PurePosixPath(root)
    return InputListing(folder=_folder_in_scheme(input_path, is_folder=is_folder), files=files)


def header_bytes(input_path: str, listing: InputListing) -> int:
    """The bytes of the header lines of all files, each of which is taken to begin as the first does."""
    filesystem, root = filesystem_of(input_path)
    with filesystem.open(str(_folder_of(filesystem, root) / listing.files[0].path), "rb") as lines:
        first = len(lines.readline())
    return sum(min(first, file.size_bytes) for file in listing.files)


def rows(input_path: str, listing: InputListing, *, header: bool) -> Iterator[tuple[bytes, bytes]]:
    """All rows in order, as pairs: the header line of the row's file (empty without headers), the row."""
    filesystem, root = filesystem_of(input_path)
    base = _folder_of(filesystem, root)
    for file in listing.files:
        with filesystem.open(str(base / file.path), "rb") as lines:
            header_line = lines.readline() if header else b""
            for row in lines:
                yield header_line, row if row.endswith(b"\n") else row + b"\n"


def _folder_of(filesystem: Any, root: str) -> PurePosixPath:
    """The input's folder: itself, or the one that its only file lies in."""
    path = PurePosixPath(root)
    return path if filesystem.isdir(root) else path.parent


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


# ---------------------------------------------------------------------------


_COLUMNAR = (".parquet", ".orc", ".avro")
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".zip", ".xz")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What `{{ sample.… }}` offers in the application's arguments.

    Attributes:
        input: path or path pattern of the sample.
        scale: the share of the input, by bytes, that it holds.
        machines: how many machines the run has.
        partitions: how many files or pieces the sample has.
        iterations: iterations to train with, for iterative jobs.
    """

    input: str
    scale: float
    machines: int
    partitions: int
    iterations: int | None = None


@dataclass(frozen=True, kw_only=True)
class StagedInput:
    """A sample ready to be read: its path, the share of the input's bytes in it, its number of files."""

    path: str
    scale: float
    partitions: int


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
    """Take the sample that an experiment asks for.

    Args:
        experiment: tells the share and the number of partitions.
        input_path: the production input.
        method: one of `choices.SAMPLINGS`.
        header: each file begins with a header line ("first_rows" only).
        minimum_files: at least so many files ("files" only).
        seed: the same seed takes the same sample.
        staging: an empty folder, for what has to be written.

    Raises:
        InvalidParameterError: an unknown method, or one that does not suit the input.
        MissingResourceError: the input does not exist or is empty.
    """
    if method == FILES:
        staged = stage_files(
            input_path, scale=experiment.scale, minimum_files=minimum_files, seed=seed, staging=staging
        )
    elif method == FIRST_ROWS:
        staged = stage_first_rows(
            input_path, scale=experiment.scale, pieces=experiment.partitions, header=header, staging=staging
        )
    elif method == ARGUMENT:
        list_input(input_path)
        staged = StagedInput(path=input_path, scale=experiment.scale, partitions=experiment.partitions)
    else:
        raise InvalidParameterError(
            "sampling", method, "is no way of sampling", remedy=f"Use one of {', '.join(SAMPLINGS)}."
        )
    return Sample(
        input=staged.path,
        scale=staged.scale,
        machines=experiment.machines,
        partitions=staged.partitions,
        iterations=experiment.iterations,
    )


def stage_files(
    input_path: str, *, scale: float, minimum_files: int, seed: str, staging: Path
) -> StagedInput:
    """Choose a random subset of the input's files and make it readable under one path.

    Args:
        input_path: the target input.
        scale: the share of its bytes to choose.
        minimum_files: at least so many files, so that every core has one.
        seed: the same seed chooses the same files.
        staging: a folder for links; used for local inputs only.

    Raises:
        MissingResourceError: the input does not exist or is empty.
        InvalidParameterError: the input has fewer files than `minimum_files`.
    """
    listing = list_input(input_path)
    if len(listing.files) < minimum_files:
        raise InvalidParameterError(
            "input_path",
            input_path,
            f"has {len(listing.files)} files, and a run of this design needs {minimum_files}",
            remedy="Split the input into more files, or sample by first_rows.",
        )
    chosen = _choose(listing, scale=scale, minimum_files=minimum_files, seed=seed)
    is_local = "://" not in input_path or input_path.startswith("file://")
    return StagedInput(
        path=_link(listing.folder, chosen, staging) if is_local else _pattern(listing.folder, chosen),
        scale=sum(file.size_bytes for file in chosen) / listing.total_bytes,
        partitions=len(chosen),
    )


def stage_first_rows(
    input_path: str, *, scale: float, pieces: int, header: bool, staging: Path
) -> StagedInput:
    """Copy the first rows of line-oriented files, in as many pieces as the sample should have partitions.

    Args:
        input_path: the target input, of text files (CSV, JSON lines, logs).
        scale: the share of its bytes to copy.
        pieces: number of files to write.
        header: each file begins with a header line, which every piece gets.
        staging: the folder to write to; the machines must see it.

    Raises:
        MissingResourceError: the input does not exist or is empty.
        InvalidParameterError: the files are not line-oriented text, or hold nothing but headers.
    """
    listing = list_input(input_path)
    for file in listing.files:
        if file.path.lower().endswith(_COLUMNAR + _COMPRESSED):
            raise InvalidParameterError(
                "sampling",
                "first_rows",
                f"cannot cut {file.path}, which is no plain text",
                remedy="Use 'files'.",
            )
    # Rows are measured against rows: headers are none of them.
    rows_bytes = listing.total_bytes - (header_bytes(input_path, listing) if header else 0)
    if rows_bytes <= 0:
        raise InvalidParameterError(
            "header", header, f"leaves no rows of {input_path}", remedy="Its files begin with no header line."
        )
    staging.mkdir(parents=True, exist_ok=True)
    remaining_rows = rows(input_path, listing, header=header)
    piece_bytes = scale * rows_bytes / pieces
    copied_bytes = 0
    for number in range(pieces):
        with (staging / f"part-{number:05d}{PurePosixPath(listing.files[0].path).suffix}").open(
            "wb"
        ) as piece:
            for header_line, row in remaining_rows:
                if piece.tell() == 0:
                    piece.write(header_line)
                piece.write(row)
                copied_bytes += len(row)
                if copied_bytes >= (number + 1) * piece_bytes:
                    break
    # The last line of a file may lack the end that its copy has.
    copied_share = min(1.0, copied_bytes / rows_bytes)
    return StagedInput(path=str(staging), scale=copied_share, partitions=pieces)


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


def _link(folder: str, files: list[InputFile], staging: Path) -> str:
    source = Path(folder.removeprefix("file://")).resolve()
    for file in files:
        link = staging / file.path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source / file.path)
    return str(staging)


def _pattern(folder: str, files: list[InputFile]) -> str:
    """A Hadoop path pattern that matches exactly these files."""
    names = ",".join(_escape(file.path) for file in files)
    return f"{folder}/{{{names}}}" if len(files) > 1 else f"{folder}/{names}"


def _escape(path: str) -> str:
    return "".join(f"\\{character}" if character in "\\{}[]*?,^" else character for character in path)
