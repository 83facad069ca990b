"""Text compressed by Snappy in the blocks of snappy-java's ``SnappyOutputStream``: not Snappy's framing.

A stream begins with 8 bytes of magic and two big-endian versions; each block is its length, likewise of 32
bits, and raw Snappy. Another stream may follow, with a header of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.spark.log_reading.blocks import MAX_BLOCK_BYTES, DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_provider_ernest.spark.log_reading.blocks import Pieces

SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_VERSIONS_BYTES = 8


def snappy_text(pieces: Pieces) -> Iterator[bytes]:
    """The text.

    Raises:
        DamagedError: it is no such text from here on.
        ImportError: of cramjam.
    """
    import cramjam

    while not pieces.is_at_end:
        if pieces.peek(len(SNAPPY_MAGIC)) == SNAPPY_MAGIC:
            pieces.exactly(len(SNAPPY_MAGIC) + _VERSIONS_BYTES, "a header")
            continue
        size = int.from_bytes(pieces.exactly(4, "a block's length"), "big")
        data = pieces.exactly(size, "a block")
        try:
            # It believes what a block says of its size, and takes the memory.
            if cramjam.snappy.decompress_raw_len(data) > MAX_BLOCK_BYTES:
                raise DamagedError("a block that says to hold more than any of Spark's")
            yield bytes(cramjam.snappy.decompress_raw(data))
        except cramjam.DecompressionError as error:
            raise DamagedError(str(error)) from error
