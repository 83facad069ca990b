"""Text compressed by LZF in the blocks of compress-lzf's ``LZFOutputStream``: the rarest of Spark's codecs.

A block is ``ZV``, a byte that tells whether it is compressed, its length and, where it is, that of its text,
as big-endian integers of 16 bits. No library that is kept up reads it, so it is decoded here, and slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.spark.log_reading.blocks import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow_provider_ernest.spark.log_reading.blocks import Pieces

LZF_MAGIC = b"ZV"
_RAW, _COMPRESSED = 0, 1
_LITERALS_BELOW = 32
_LONG = 7 + 2


def lzf_text(pieces: Pieces) -> Iterator[bytes]:
    """The text.

    Raises:
        DamagedError: it is no such text from here on.
    """
    while not pieces.is_at_end:
        header = pieces.exactly(5, "a header")
        kind, size = header[2], int.from_bytes(header[3:], "big")
        if not header.startswith(LZF_MAGIC) or kind not in (_RAW, _COMPRESSED):
            raise DamagedError("a block without LZF's header")
        text_bytes = size if kind == _RAW else int.from_bytes(pieces.exactly(2, "a header"), "big")
        data = pieces.exactly(size, "a block")
        text = data if kind == _RAW else _expanded(data, text_bytes)
        if len(text) != text_bytes:
            raise DamagedError("a block that does not hold what it says")
        yield text


def _expanded(data: bytes, text_bytes: int) -> bytes:
    """A block's text: literals, and references to what came before (Lehmann's LibLZF)."""
    text = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            control = data[at]
            if control < _LITERALS_BELOW:
                text += data[at + 1 : at + control + 2]
                at += control + 2
                continue
            length = (control >> 5) + 2
            if length == _LONG:
                at += 1
                length += data[at]
            begin = len(text) - ((control & 0x1F) << 8) - data[at + 1] - 1
            at += 2
            if begin < 0:
                raise DamagedError("a block that refers to what comes before it")
            known = text[begin : begin + length]
            # A reference may reach into what it writes: then the known part comes over and over.
            text += known if len(known) == length else (known * (length // len(known) + 1))[:length]
    except IndexError as error:
        raise DamagedError("a block that ends within a reference") from error
    if len(text) > text_bytes:
        raise DamagedError("a block that holds more than it says")
    return bytes(text)
