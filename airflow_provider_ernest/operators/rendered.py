"""Template fields back to values: Jinja renders everything as text unless a DAG renders natively."""

from __future__ import annotations

import json
import math
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError

NOTHING = (None, "", "None")
"""What stands for no value."""


def number(parameter: str, value: Any) -> float:
    """A finite number.

    Raises:
        InvalidParameterError: the value is none, or neither a number nor the text of one.
    """
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = math.nan
    if not math.isfinite(result) or isinstance(value, bool):
        raise InvalidParameterError(
            parameter,
            value,
            "is not a finite number",
            remedy="Give a number or a template that renders to one.",
        )
    return result


def whole_number(parameter: str, value: Any) -> int:
    """A whole number.

    Raises:
        InvalidParameterError: the value is not one.
    """
    result = number(parameter, value)
    if result != int(result):
        raise InvalidParameterError(parameter, value, "is not a whole number")
    return int(result)


def optional_number(parameter: str, value: Any) -> float | None:
    """A finite number, or None where none (or an empty or "None" text, as Jinja renders it) is given."""
    return None if value in NOTHING else number(parameter, value)


def optional_whole_number(parameter: str, value: Any) -> int | None:
    """A whole number, or None where none is given."""
    return None if value in NOTHING else whole_number(parameter, value)


def optional_text(value: Any) -> str | None:
    """A text, or None where none (or an empty or "None" text, as Jinja renders it) is given."""
    return None if value in NOTHING else str(value)


def optional_document(parameter: str, value: Any) -> dict[str, Any] | None:
    """A document as a mapping, given as one or as JSON text; None where none is given.

    Raises:
        InvalidParameterError: the text is no JSON object.
    """
    if value in NOTHING:
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InvalidParameterError(
                parameter, value, "is no JSON", remedy="Render documents with the filter tojson."
            ) from None
    if value is not None and not isinstance(value, dict):
        raise InvalidParameterError(parameter, value, "is no document")
    return value


def document(parameter: str, value: Any) -> dict[str, Any]:
    """A document as a mapping, given as one or as JSON text.

    Raises:
        InvalidParameterError: there is none, or the text is no JSON object.
    """
    given = optional_document(parameter, value)
    if given is None:
        raise InvalidParameterError(
            parameter, value, "names nothing", remedy="Pass the output of the task that made it."
        )
    return given
