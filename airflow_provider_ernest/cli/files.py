"""Reading and writing files by name, ``-`` being standard input and output."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from airflow_provider_ernest.exceptions import (
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)

STANDARD = "-"


def read_text(name: str) -> str:
    """The content of a file, without a byte order mark.

    Raises:
        MissingResourceError: it cannot be read.
        InvalidDocumentError: it is not UTF-8 text.
    """
    try:
        content = sys.stdin.buffer.read() if name == STANDARD else Path(name).read_bytes()
    except OSError as error:
        raise MissingResourceError(
            f"{name} cannot be read: {error.strerror}.", remedy="Check the path and its permissions."
        ) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocumentError(
            f"{described(name)} is not UTF-8 text: {error}.", remedy="Give a CSV or JSON file."
        ) from error


def described(name: str) -> str:
    """The file's name for a message."""
    return "Standard input" if name == STANDARD else name


def refuse_to_overwrite(name: str | None, *, force: bool) -> None:
    """Refuse an output that is there already, before any work is done for it.

    Raises:
        InvalidParameterError: the file exists, and `force` is not set.
    """
    if name is not None and name != STANDARD and not force and Path(name).exists():
        raise InvalidParameterError(
            "output", name, "exists already", remedy="Choose another name, or overwrite it with --force."
        )


def write_text(name: str, text: str, *, force: bool) -> None:
    """Write a file, which appears whole or not at all.

    Args:
        name: of the file.
        text: its content. What UTF-8 cannot express is written as a character reference.
        force: whether it may be there already.

    Raises:
        InvalidParameterError: it cannot be written, or is there already and `force` is not set.
    """
    if name == STANDARD:
        sys.stdout.write(text)
        return
    refuse_to_overwrite(name, force=force)
    path = Path(name)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(text.encode("utf-8", errors="xmlcharrefreplace"))
        temporary.replace(path)
    except OSError as error:
        raise InvalidParameterError(
            "output",
            name,
            f"cannot be written: {error.strerror}",
            remedy="Check that its folder exists and may be written to.",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
