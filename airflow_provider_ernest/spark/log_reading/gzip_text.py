"""Text compressed by gzip, as those who archive logs leave it; of one member or several."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from airflow_provider_ernest.spark.log_reading.blocks import CHUNK_BYTES, DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_provider_ernest.spark.log_reading.blocks import Pieces

_STEP_BYTES = 4096
"""Where a step meets damage, what it has decompressed before is lost."""
_GZIP_WINDOW = 16 + zlib.MAX_WBITS


def gzip_text(pieces: Pieces) -> Iterator[bytes]:
    """The text.

    Raises:
        DamagedError: it is no such text from here on.
    """
    while not pieces.is_at_end:
        decompressor = zlib.decompressobj(_GZIP_WINDOW)
        while not decompressor.eof:
            data = decompressor.unconsumed_tail or pieces.read(_STEP_BYTES)
            try:
                text = decompressor.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise DamagedError(str(error)) from error
            if not data and not text and not decompressor.eof:
                raise DamagedError("it ends within a member")
            yield text
        pieces.give_back(len(decompressor.unused_data))
