"""Lines out of a stream of bytes, in memory that no stream can make large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.spark.log_reading.blocks import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from airflow_provider_ernest.spark.log_reading.notes import Notes

MAX_LINE_BYTES = 16 << 20
"""Longer lines are passed over. The longest of real logs are the plans of large queries, some megabytes."""


def lines_of(
    chunks: Iterable[bytes], notes: Notes, *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    """The lines of a text, without their ends; the last may be one that was cut off.

    Args:
        chunks: the text, cut anywhere.
        notes: what is told of lines that are passed over.
        max_line_bytes: of the longest line that is kept.
    """
    # One line that goes over many chunks is put together once, not chunk by chunk.
    parts: list[bytes] = []
    held_bytes = 0
    for chunk in _small(chunks):
        first, *others = chunk.split(b"\n")
        held_bytes += len(first)
        if held_bytes <= max_line_bytes:
            parts.append(first)
        else:
            parts.clear()
        if not others:
            continue
        if held_bytes <= max_line_bytes:
            yield b"".join(parts)
        else:
            notes.too_long_lines += 1
        last = others.pop()
        yield from others
        parts, held_bytes = [last], len(last)
    if held_bytes > max_line_bytes:
        notes.too_long_lines += 1
    elif held_bytes:
        yield b"".join(parts)


def _small(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text in pieces of which even the shortest lines take little memory."""
    for chunk in chunks:
        if len(chunk) <= CHUNK_BYTES:
            yield chunk
            continue
        for at in range(0, len(chunk), CHUNK_BYTES):
            yield chunk[at : at + CHUNK_BYTES]
