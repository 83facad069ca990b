"""The digest that each stored document bears: what a disk or a copy has changed in it is found on reading.

It is no signature: whoever may write to a store may write digests, too.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.document import Document
from airflow_provider_ernest.model.storage.stored_files import decode_json

DIGEST = "digest"
"""Its field in the JSON, beside those of the document."""

BY_HAND = (
    "If it was edited on purpose, move the file out of the store, delete its field `digest`, and import it: "
    "`ernest store import FILE`."
)


def with_digest(document: Document) -> dict[str, Any]:
    """The document as JSON-compatible builtins, with its digest."""
    return sealed(document.to_dict())


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """The data with its digest."""
    return {**data, DIGEST: _digest_of(data)}


def without_digest(data: Any) -> Any:
    """What bore a digest, without it.

    Raises:
        InvalidDocumentError: it bears none, or that of something else.
    """
    if not isinstance(data, dict):
        raise InvalidDocumentError(f"A document must be a mapping, not {type(data).__name__}.")
    told = {name: value for name, value in data.items() if name != DIGEST}
    if DIGEST not in data:
        raise InvalidDocumentError("It bears no digest, so this package has not stored it.", remedy=BY_HAND)
    if data[DIGEST] != _digest_of(told):
        raise InvalidDocumentError(
            "Its content does not agree with its digest: it was changed after it was stored.", remedy=BY_HAND
        )
    return told


def damage_in(content: bytes) -> str:
    """What is wrong with the content of a file, as a sentence; empty where it can be what somebody wrote.

    What is nested too deeply to be read, and JSON that bears no digest, counts as that.
    """
    if not content.strip():
        return "It is empty."
    if not content.strip(b"\0"):
        return "It holds nothing but zeros."
    try:
        data = decode_json(content.decode("utf-8"))
    except UnicodeDecodeError:
        return f"It is not text of UTF-8, {len(content):,} bytes."
    except InvalidDocumentError as error:
        if isinstance(error.__cause__, RecursionError):
            return ""
        return f"It ends or breaks off in the middle of its JSON, {len(content):,} bytes."
    if isinstance(data, dict) and DIGEST in data:
        try:
            without_digest(data)
        except InvalidDocumentError as error:
            return str(error)
    return ""


def _digest_of(data: dict[str, Any]) -> str:
    """SHA-256 of the JSON without white space, its fields in the order of their names."""
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()
