"""A cluster's specification from the template fields of its operator, which Jinja may have made text of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.rendered import (
    number,
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
    whole_number,
)
from airflow_provider_ernest.stated import texts, truth

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Spec = TypeVar("Spec", bound=DataclassInstance)


def spec_of(kind: type[Spec], values: Mapping[str, Any]) -> Spec:
    """A specification, each value read as the type of its field demands.

    Args:
        kind: dataclass of the specification.
        values: by the names of its fields; more are ignored.

    Raises:
        InvalidParameterError: a value that is none of its field's type, or that the specification refuses.
    """
    return kind(**{one.name: _READERS[str(one.type)](one.name, values[one.name]) for one in fields(kind)})


def text_by_name(parameter: str, value: Any) -> dict[str, str]:
    """A mapping of texts, given as one or as JSON.

    Raises:
        InvalidParameterError: the value is neither.
    """
    given = optional_document(parameter, value)
    return {str(name): str(text) for name, text in (given or {}).items()}


def _text(parameter: str, value: Any) -> str:
    if value is None:
        raise InvalidParameterError(parameter, value, "is no text")
    return str(value)


def _optional_text(_: str, value: Any) -> str | None:
    return optional_text(value)


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "int": whole_number,
    "int | None": optional_whole_number,
    "float": number,
    "float | None": optional_number,
    "bool": truth,
    "str": _text,
    "str | None": _optional_text,
    "tuple[str, ...]": texts,
    "Mapping[str, str]": text_by_name,
}
"""By a field's annotation."""
