"""Pieces of exactly so many bytes out of an open file."""

from __future__ import annotations

from typing import Any

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
