"""The files of an input, listed and read wherever fsspec can: local, S3 and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.file_systems import filesystem_of

if TYPE_CHECKING:
    from collections.abc import Iterator


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
