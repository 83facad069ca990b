"""Text compressed by Zstandard: Spark's default. Spark ends a frame at each flush, so there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.spark.log_reading.blocks import CHUNK_BYTES, DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_provider_ernest.spark.log_reading.blocks import Pieces

_MAX_WINDOW_BYTES = 128 << 20
"""What a frame may ask for; Spark's frames ask for 8 MiB at the most, and zstd's own limit is this one."""


def zstd_text(pieces: Pieces) -> Iterator[bytes]:
    """The text. Of a frame that was cut off as much as there is, and nothing is told: the last line shows it.

    Raises:
        DamagedError: it is no such text from here on.
        ImportError: of zstandard.
    """
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
    source: Any = pieces
    with decompressor.stream_reader(source, CHUNK_BYTES, read_across_frames=True, closefd=False) as text:
        while True:
            try:
                chunk = text.read1(CHUNK_BYTES)
            except zstandard.ZstdError as error:
                raise DamagedError(str(error)) from error
            if not chunk:
                return
            yield chunk
