"""The text of a file that may be compressed, piece by piece.

The beginning of a file tells how it is compressed; its name may lie, or say nothing. What a decompressor
returns is bounded for what it is given, piece by piece and in all, so that no file, however made, takes much
memory, or time for its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.spark.log_reading.blocks import DamagedError, Pieces
from airflow_provider_ernest.spark.log_reading.bounds import ALWAYS_UNPACKED_BYTES, MOST_UNPACKED_TIMES
from airflow_provider_ernest.spark.log_reading.gzip_text import gzip_text
from airflow_provider_ernest.spark.log_reading.lz4_text import LZ4_BLOCK_MAGIC, lz4_text
from airflow_provider_ernest.spark.log_reading.lzf_text import LZF_MAGIC, lzf_text
from airflow_provider_ernest.spark.log_reading.snappy_text import SNAPPY_MAGIC, snappy_text
from airflow_provider_ernest.spark.log_reading.zstd_text import zstd_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airflow_provider_ernest.spark.log_reading.notes import Notes

_KINDS: tuple[tuple[bytes, Callable[[Pieces], Iterator[bytes]]], ...] = (
    (b"\x28\xb5\x2f\xfd", zstd_text),
    (LZ4_BLOCK_MAGIC, lz4_text),
    (SNAPPY_MAGIC, snappy_text),
    (b"\x1f\x8b", gzip_text),
    (LZF_MAGIC, lzf_text),
)


def text_of(content: Any, name: str, notes: Notes) -> Iterator[bytes]:
    """The pieces of a file's text.

    Args:
        content: the open file; it is read on from where it stands.
        name: of the file, for what is told.
        notes: where it is told that the file is damaged or was cut off; what came before is given.

    Raises:
        EventLogError: the library that decompresses it is not installed, or reading takes too long.
    """
    pieces = Pieces(content)
    beginning = pieces.peek(max(len(magic) for magic, _ in _KINDS))
    reader = next((reader for magic, reader in _KINDS if beginning.startswith(magic)), _plain)
    try:
        yield from _bounded(reader(pieces), pieces, notes)
    except DamagedError as error:
        notes.tell(f"{name} is damaged or was cut off: {error}. What comes after that is not read.")
    except ImportError as error:
        raise EventLogError(
            f"{name} is compressed, and the library that reads it cannot be imported: {error}.",
            remedy=f"Install it beside this package: pip install {error.name}.",
        ) from error


def _bounded(text: Iterator[bytes], pieces: Pieces, notes: Notes) -> Iterator[bytes]:
    unpacked_bytes = 0
    for chunk in text:
        notes.bounds.check_time()
        unpacked_bytes += len(chunk)
        if unpacked_bytes > max(ALWAYS_UNPACKED_BYTES, MOST_UNPACKED_TIMES * pieces.read_bytes):
            raise DamagedError(f"it unpacks to more than {MOST_UNPACKED_TIMES:,} times its length")
        yield chunk


def _plain(pieces: Pieces) -> Iterator[bytes]:
    while chunk := pieces.some():
        yield chunk
