"""The text of a file that may be compressed, piece by piece.

A file's first bytes show how it is compressed; its name may lie, or say nothing. The output of decompressors
is limited, piece by piece and in all, so that no file, however made, takes much memory, or time for its size.
Spark's codecs write blocks of Java libraries' own (not LZ4's frames, nor Snappy's framing), and several
streams may follow one another in a file.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any

from airflow_provider_ernest.eventlog.bounds import ALWAYS_UNPACKED_BYTES, MOST_UNPACKED_TIMES, Notes
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.words import count

CHUNK_BYTES = 1 << 18
MAX_BLOCK_BYTES = 16 << 20  # Spark's codecs make much smaller blocks, of ten to some hundred KiB


def text_of(content: Any, name: str, notes: Notes) -> Iterator[bytes]:
    """The pieces of an open file's text; if it is damaged or cut off, those before that, with a note.

    Raises:
        EventLogError: the library that decompresses it is not installed, or reading takes too long.
    """
    pieces = _Pieces(content)
    beginning = pieces.peek(max(len(magic) for magic, _ in _READERS))
    reader = next((reader for magic, reader in _READERS if beginning.startswith(magic)), _plain_text)
    unpacked_bytes = 0
    try:
        for chunk in reader(pieces):
            notes.check_time()
            unpacked_bytes += len(chunk)
            if unpacked_bytes > max(ALWAYS_UNPACKED_BYTES, MOST_UNPACKED_TIMES * pieces.read_bytes):
                raise _DamagedError(f"it unpacks to more than {count(MOST_UNPACKED_TIMES)} times its length")
            yield chunk
    except _DamagedError as error:
        notes.add_problem(f"{name} is damaged or was cut off: {error}. The rest is not read.")
    except ImportError as error:
        raise EventLogError(
            f"{name} is compressed, and the library that reads it cannot be imported: {error}.",
            remedy=f"Install it beside this package: pip install {error.name}.",
        ) from error


class _DamagedError(Exception):
    """A compressed file is damaged."""


class _Pieces:
    """Reads an open file in large chunks and gives pieces of any size."""

    def __init__(self, content: Any) -> None:
        self.read_bytes = 0
        self._content = content
        self._held = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next bytes without taking them; fewer at the file's end."""
        self._hold(size)
        return self._held[self._at : self._at + size]

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        """At most so many bytes; none at the end."""
        self._hold(1)
        return self._take(min(size, len(self._held) - self._at))

    def exactly(self, size: int, what: str) -> bytes:
        """Exactly so many bytes; damage if the file ends before."""
        if not 0 <= size <= MAX_BLOCK_BYTES:
            raise _DamagedError(f"{what} of {size} bytes")
        self._hold(size)
        if len(self._held) - self._at < size:
            raise _DamagedError(f"it ends within {what}")
        return self._take(size)

    @property
    def is_at_end(self) -> bool:
        return not self.peek(1)

    def _take(self, size: int) -> bytes:
        taken = self._held[self._at : self._at + size]
        self._at += size
        return taken

    def _hold(self, size: int) -> None:
        missing = size - (len(self._held) - self._at)
        if missing <= 0:
            return
        parts = [self._held[self._at :]]
        while missing > 0:
            chunk: bytes = self._content.read(max(missing, CHUNK_BYTES))
            if not chunk:
                break
            self.read_bytes += len(chunk)
            parts.append(chunk)
            missing -= len(chunk)
        self._held, self._at = b"".join(parts), 0


def _plain_text(pieces: _Pieces) -> Iterator[bytes]:
    return iter(pieces.read, b"")


def _streamed(text: Any, errors: tuple[type[Exception], ...]) -> Iterator[bytes]:
    """The pieces that a decompressing file gives; its errors are damage."""
    with text:
        while True:
            try:
                chunk = text.read1(CHUNK_BYTES)
            except errors as error:
                raise _DamagedError(str(error)) from error
            if not chunk:
                return
            yield chunk


def _gzip_text(pieces: _Pieces) -> Iterator[bytes]:
    source: Any = pieces
    return _streamed(gzip.GzipFile(fileobj=source, mode="rb"), (EOFError, OSError, zlib.error))


_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEADER = Struct("<8sBiii")  # magic, method and level, both lengths, checksum
_LZ4_METHODS, _LZ4_RAW, _LZ4_COMPRESSED = 0xF0, 0x10, 0x20
_LZ4_LEVEL_BASE = 10


def _lz4_text(pieces: _Pieces) -> Iterator[bytes]:
    """Blocks of lz4-java's ``LZ4BlockOutputStream``; one without data ends a stream."""
    import cramjam

    while not pieces.is_at_end:
        header = pieces.exactly(_LZ4_HEADER.size, "a header")
        magic, token, packed_bytes, text_bytes, _ = _LZ4_HEADER.unpack(header)
        method, level = token & _LZ4_METHODS, token & ~_LZ4_METHODS
        if magic != _LZ4_MAGIC or method not in (_LZ4_RAW, _LZ4_COMPRESSED):
            raise _DamagedError("a block without LZ4's header")
        data = pieces.exactly(packed_bytes, "a block")
        if not 0 <= text_bytes <= 1 << (_LZ4_LEVEL_BASE + level):
            raise _DamagedError(f"a block that says to hold {text_bytes} bytes")
        if method == _LZ4_RAW or not data:
            yield data
            continue
        try:
            yield bytes(cramjam.lz4.decompress_block(data, output_len=text_bytes))
        except cramjam.DecompressionError as error:
            raise _DamagedError(str(error)) from error


_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_SNAPPY_VERSIONS_BYTES = 8


def _snappy_text(pieces: _Pieces) -> Iterator[bytes]:
    """A header and blocks of snappy-java's ``SnappyOutputStream``: each its length and raw Snappy."""
    import cramjam

    while not pieces.is_at_end:
        if pieces.peek(len(_SNAPPY_MAGIC)) == _SNAPPY_MAGIC:
            pieces.exactly(len(_SNAPPY_MAGIC) + _SNAPPY_VERSIONS_BYTES, "a header")
            continue
        size = int.from_bytes(pieces.exactly(4, "a block's length"), "big")
        data = pieces.exactly(size, "a block")
        try:
            # cramjam allocates what the block claims.
            if cramjam.snappy.decompress_raw_len(data) > MAX_BLOCK_BYTES:
                raise _DamagedError("a block that says to hold more than any of Spark's")
            yield bytes(cramjam.snappy.decompress_raw(data))
        except cramjam.DecompressionError as error:
            raise _DamagedError(str(error)) from error


_ZSTD_WINDOW_BYTES = 128 << 20  # zstd's own limit; Spark's frames ask for 8 MiB at most


def _zstd_text(pieces: _Pieces) -> Iterator[bytes]:
    """Spark's default: many frames, since a flush ends one. An incomplete frame is read as far as it goes."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    source: Any = pieces
    text = decompressor.stream_reader(source, CHUNK_BYTES, read_across_frames=True, closefd=False)
    return _streamed(text, (zstandard.ZstdError,))


_LZF_MAGIC = b"ZV"
_LZF_RAW, _LZF_COMPRESSED = 0, 1
_LZF_LITERALS_BELOW = 32
_LZF_LONG = 7 + 2


def _lzf_text(pieces: _Pieces) -> Iterator[bytes]:
    """Blocks of compress-lzf's ``LZFOutputStream``, which no maintained library reads."""
    while not pieces.is_at_end:
        header = pieces.exactly(5, "a header")
        kind, size = header[2], int.from_bytes(header[3:], "big")
        if not header.startswith(_LZF_MAGIC) or kind not in (_LZF_RAW, _LZF_COMPRESSED):
            raise _DamagedError("a block without LZF's header")
        text_bytes = size if kind == _LZF_RAW else int.from_bytes(pieces.exactly(2, "a header"), "big")
        data = pieces.exactly(size, "a block")
        text = data if kind == _LZF_RAW else _expanded(data, text_bytes)
        if len(text) != text_bytes:
            raise _DamagedError("a block that does not hold what it says")
        yield text


def _expanded(data: bytes, text_bytes: int) -> bytes:
    """A block's text: literals, and references to earlier text (Lehmann's LibLZF)."""
    text = bytearray()
    at, end = 0, len(data)
    try:
        while at < end:
            control = data[at]
            if control < _LZF_LITERALS_BELOW:
                text += data[at + 1 : at + control + 2]
                at += control + 2
                continue
            length = (control >> 5) + 2
            if length == _LZF_LONG:
                at += 1
                length += data[at]
            begin = len(text) - ((control & 0x1F) << 8) - data[at + 1] - 1
            at += 2
            if begin < 0:
                raise _DamagedError("a block that refers to what comes before it")
            known = text[begin : begin + length]
            # A reference may reach into what it writes: then the known part is repeated.
            text += known if len(known) == length else (known * (length // len(known) + 1))[:length]
    except IndexError as error:
        raise _DamagedError("a block that ends within a reference") from error
    if len(text) > text_bytes:
        raise _DamagedError("a block that holds more than it says")
    return bytes(text)


_READERS: tuple[tuple[bytes, Callable[[_Pieces], Iterator[bytes]]], ...] = (  # by a file's first bytes
    (b"\x28\xb5\x2f\xfd", _zstd_text),
    (_LZ4_MAGIC, _lz4_text),
    (_SNAPPY_MAGIC, _snappy_text),
    (b"\x1f\x8b", _gzip_text),
    (_LZF_MAGIC, _lzf_text),
)
