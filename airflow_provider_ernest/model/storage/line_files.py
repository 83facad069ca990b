"""Files of lines: what can be read of each, and whether that is all of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.storage.stored_files import is_whole_json

log = logging.getLogger(__name__)

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Content(Generic[Value]):
    """What a file holds that can be read.

    Attributes:
        lines: of text.
        values: what they say.
        is_whole: whether that is all of it.
        is_torn: whether something is missing for good: what else is there is no line of any version.
    """

    lines: Sequence[str] = ()
    values: Sequence[Value] = ()
    is_whole: bool = False
    is_torn: bool = False


def content_of(path: Any, read: Callable[[str], Value]) -> Content[Value] | OSError:
    """What a file holds; a warning in the log names each line that cannot be read.

    Args:
        path: a `pathlib.Path`, or anything with its methods.
        read: what a line says; it raises InvalidDocumentError for a line that is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, IsADirectoryError) as error:
        log.warning("Skipping %s, which is no text: %s", path, error)
        return Content(is_torn=isinstance(error, UnicodeDecodeError))
    except OSError as error:
        return error
    if not text:
        log.warning("Skipping %s, which is empty.", path)
        return Content(is_torn=True)
    lines, values, is_whole, is_torn = [], [], True, False
    for number, line in enumerate(text.split("\n")[: -1 if text.endswith("\n") else None], 1):
        try:
            values.append(read(line))
            lines.append(line)
        except InvalidDocumentError as error:
            is_whole = False
            is_torn = is_torn or not is_whole_json(line.encode("utf-8"))
            log.warning("Skipping line %d of %s, which cannot be read: %s", number, path, error)
    return Content(lines=lines, values=values, is_whole=is_whole, is_torn=is_torn)
