"""Documents from template fields, which Jinja may have made text of; single values are read by `stated`."""

from __future__ import annotations

import json
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import NOTHING as NOTHING
from airflow_provider_ernest.stated import number as number
from airflow_provider_ernest.stated import optional_number as optional_number
from airflow_provider_ernest.stated import optional_text as optional_text
from airflow_provider_ernest.stated import optional_whole_number as optional_whole_number
from airflow_provider_ernest.stated import whole_number as whole_number


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
