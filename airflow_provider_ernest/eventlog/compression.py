"""The text of a file that may be compressed, piece by piece.

The beginning of a file tells how it is compressed; its name may lie, or say nothing. What a decompressor
returns is bounded for what it is given, piece by piece and in all, so that no file, however made, takes much
memory, or time for its size.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.eventlog.bounds import ALWAYS_UNPACKED_BYTES, MOST_UNPACKED_TIMES
from airflow_provider_ernest.exceptions import EventLogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airflow_provider_ernest.eventlog.bounds import Notes


# ---------------------------------------------------------------------------
# Pieces of exactly so many bytes out of an open file.


CHUNK_BYTES = 1 << 18
MAX_BLOCK_BYTES = 16 << 20
"""No codec of Spark makes larger blocks: their sizes are some ten or hundred KiB."""


class DamagedError(Exception):
    """What is wrong with a compressed file, in words."""


class Pieces:
    """Reads an open file in large chunks and gives what is asked for.

    Args:
        content: the open file.

    Attributes:
        read_bytes: of the file so far.
    """

    def __init__(self, content: Any) -> None:
        self.read_bytes = 0
        self._content = content
        self._held = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay; fewer where the file ends."""
        self._hold(size)
        return self._held[self._at : self._at + size]

    def some(self) -> bytes:
        """Whatever comes next, at least one byte; nothing at the end."""
        if self._at == len(self._held):
            return self._next(CHUNK_BYTES)
        rest = self._held[self._at :]
        self._held, self._at = b"", 0
        return rest

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """At most so many bytes, as files give them; nothing at the end."""
        self._hold(1)
        return self._take(min(size, len(self._held) - self._at))

    def exactly(self, size: int, what: str) -> bytes:
        """Exactly so many bytes.

        Args:
            size: in bytes.
            what: is read, for the error.

        Raises:
            DamagedError: the file ends before.
        """
        if not 0 <= size <= MAX_BLOCK_BYTES:
            raise DamagedError(f"{what} of {size} bytes")
        self._hold(size)
        if len(self._held) - self._at < size:
            raise DamagedError(f"it ends within {what}")
        return self._take(size)

    def give_back(self, size: int) -> None:
        """Put back so many of the bytes read last that a decompressor did not want.

        The next of several streams begins there. Nothing is copied: there may be very many of them.
        """
        self._at -= size

    @property
    def is_at_end(self) -> bool:
        """Whether nothing follows."""
        return not self.peek(1)

    def _take(self, size: int) -> bytes:
        taken = self._held[self._at : self._at + size]
        self._at += size
        return taken

    def _next(self, size: int) -> bytes:
        data: bytes = self._content.read(size)
        self.read_bytes += len(data)
        return data

    def _hold(self, size: int) -> None:
        missing = size - (len(self._held) - self._at)
        if missing <= 0:
            return
        parts = [self._held[self._at :]]
        while missing > 0:
            chunk = self._next(max(missing, CHUNK_BYTES))
            if not chunk:
                break
            parts.append(chunk)
            missing -= len(chunk)
        self._held, self._at = b"".join(parts), 0


# ---------------------------------------------------------------------------
# Text compressed by gzip, as those who archive logs leave it; of one member or several.


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


# ---------------------------------------------------------------------------
# Text compressed by LZ4 in the blocks of lz4-java's ``LZ4BlockOutputStream``: not LZ4's frames.
#
# A block is a header of 21 bytes (magic, a byte of method and level, both lengths and a checksum as
# little-endian integers of 32 bits) and its data; one without data ends a stream, and another may follow.


LZ4_BLOCK_MAGIC = b"LZ4Block"
_HEADER = Struct("<8sBiii")
_METHODS, _LZ4_RAW, _LZ4_COMPRESSED = 0xF0, 0x10, 0x20
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
        if magic != LZ4_BLOCK_MAGIC or method not in (_LZ4_RAW, _LZ4_COMPRESSED):
            raise DamagedError("a block without LZ4's header")
        data = pieces.exactly(packed_bytes, "a block")
        if not 0 <= text_bytes <= 1 << (_LEVEL_BASE + level):
            raise DamagedError(f"a block that says to hold {text_bytes} bytes")
        if method == _LZ4_RAW or not data:
            yield data
            continue
        try:
            yield bytes(cramjam.lz4.decompress_block(data, output_len=text_bytes))
        except cramjam.DecompressionError as error:
            raise DamagedError(str(error)) from error


# ---------------------------------------------------------------------------
# Text compressed by LZF in the blocks of compress-lzf's ``LZFOutputStream``: the rarest of Spark's codecs.
#
# A block is ``ZV``, a byte that tells whether it is compressed, its length and, where it is, that of its
# text, as big-endian integers of 16 bits. No library that is kept up reads it, so it is decoded here, and
# slower.


LZF_MAGIC = b"ZV"
_LZF_RAW, _LZF_COMPRESSED = 0, 1
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
        if not header.startswith(LZF_MAGIC) or kind not in (_LZF_RAW, _LZF_COMPRESSED):
            raise DamagedError("a block without LZF's header")
        text_bytes = size if kind == _LZF_RAW else int.from_bytes(pieces.exactly(2, "a header"), "big")
        data = pieces.exactly(size, "a block")
        text = data if kind == _LZF_RAW else _expanded(data, text_bytes)
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


# ---------------------------------------------------------------------------
# Text compressed by Snappy in the blocks of snappy-java's ``SnappyOutputStream``: not Snappy's framing.
#
# A stream begins with 8 bytes of magic and two big-endian versions; each block is its length, likewise of 32
# bits, and raw Snappy. Another stream may follow, with a header of its own.


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


# ---------------------------------------------------------------------------
# Text compressed by Zstandard: Spark's default. Spark ends a frame at each flush, so there are many.


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


# ---------------------------------------------------------------------------


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
