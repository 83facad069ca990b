"""Text compressed by LZ4 in the blocks of lz4-java's ``LZ4BlockOutputStream``: not LZ4's frames.

A block is a header of 21 bytes (magic, a byte of method and level, both lengths and a checksum as
little-endian integers of 32 bits) and its data; one without data ends a stream, and another may follow.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from airflow_provider_ernest.spark.log_reading.blocks import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_provider_ernest.spark.log_reading.blocks import Pieces

LZ4_BLOCK_MAGIC = b"LZ4Block"
_HEADER = Struct("<8sBiii")
_METHODS, _RAW, _COMPRESSED = 0xF0, 0x10, 0x20
_LEVEL_BASE = 10


def lz4_text(pieces: Pieces) -> Iterator[bytes]:
    """The text.

    Raises:
        DamagedError: it is no such text from here on.
        ImportError: of cramjam.
    """
    import cramjam

    while not pieces.is_at_end:
        magic, token, packed_bytes, text_bytes, _ = _HEADER.unpack(pieces.exactly(_HEADER.size, "a header"))
        method, level = token & _METHODS, token & ~_METHODS
        if magic != LZ4_BLOCK_MAGIC or method not in (_RAW, _COMPRESSED):
            raise DamagedError("a block without LZ4's header")
        data = pieces.exactly(packed_bytes, "a block")
        if not 0 <= text_bytes <= 1 << (_LEVEL_BASE + level):
            raise DamagedError(f"a block that says to hold {text_bytes} bytes")
        if method == _RAW or not data:
            yield data
            continue
        try:
            yield bytes(cramjam.lz4.decompress_block(data, output_len=text_bytes))
        except cramjam.DecompressionError as error:
            raise DamagedError(str(error)) from error
