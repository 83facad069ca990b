"""What all JSON documents have in common: how they are written, read back and checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, get_args, get_type_hints

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.model.migrations import FIRST, migrated

SCHEMA = FIRST
"""Of documents whose form has never changed; see `migrations`."""


class Document:
    """Base of the documents: conversion to and from what JSON can hold."""

    schema: ClassVar[int] = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number."""
        import msgspec

        # By way of JSON, since its lists stay lists in XCom, where tuples become objects of Airflow's own.
        return _with_schema(type(self), msgspec.json.decode(msgspec.json.encode(self)))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document.

        Numbers may come as strings: Jinja makes strings of them when a DAG does not render native
        objects. Data of an earlier schema is read as what it would be today.

        Raises:
            InvalidDocumentError: the data does not have this document's form, or a newer schema.
        """
        import msgspec

        if not isinstance(data, dict):
            raise InvalidDocumentError(
                f"A {cls.__name__} document must be a mapping, not {type(data).__name__}: {data!r}."
            )
        data = _of_current_schema(cls, data)
        try:
            return msgspec.convert(data, cls, strict=False)
        # Whole numbers beyond all floats are told by those who compare them.
        except (msgspec.ValidationError, ArithmeticError) as error:
            raise InvalidDocumentError(f"This is no {cls.__name__} document: {error}.") from error


Change = Callable[[type[Document], dict[str, Any]], dict[str, Any]]


def _with_schema(form: type[Document], data: dict[str, Any]) -> dict[str, Any]:
    """The data with its schema, and with those of the documents in it whose form has changed."""
    data = {"schema": form.schema, **data}
    for field, inner in _versioned_fields(form):
        data[field] = _each(data[field], inner, _with_schema)
    return data


def _of_current_schema(form: type[Document], data: dict[str, Any]) -> dict[str, Any]:
    """The data, and that of the documents in it, in the form of today.

    Raises:
        InvalidDocumentError: there is no way from its schema to that.
    """
    schema = data.get("schema", SCHEMA)
    if schema != form.schema:
        changed = migrated(form.__name__, data, schema=form.schema)
        if changed is None:
            raise InvalidDocumentError(
                f"This {form.__name__} document has schema {schema}; this version of the package reads "
                f"schema {form.schema}.",
                remedy="Upgrade airflow-provider-ernest, or train the model again.",
            )
        data = changed
    for field, inner in _versioned_fields(form):
        if field in data:
            data = {**data, field: _each(data[field], inner, _of_current_schema)}
    return data


def _each(value: Any, form: type[Document], change: Change) -> Any:
    """A field's value with its document, or each of its documents, changed."""
    if isinstance(value, dict):
        return change(form, value)
    if isinstance(value, list | tuple):
        return [_each(part, form, change) for part in value]
    return value


VersionedFields = tuple[tuple[str, type[Document]], ...]
_versioned: dict[type[Document], VersionedFields] = {}


def _versioned_fields(form: type[Document]) -> VersionedFields:
    """The fields of a class that hold documents whose form has changed, or that of others in them.

    Most have none: reading and writing them costs nothing more.
    """
    if form not in _versioned:
        _versioned[form] = tuple(
            (field, inner)
            for field, hint in get_type_hints(form).items()
            for inner in _documents_in(hint)
            if inner.schema != SCHEMA or _versioned_fields(inner)
        )
    return _versioned[form]


def _documents_in(hint: Any) -> Iterator[type[Document]]:
    if isinstance(hint, type) and issubclass(hint, Document):
        yield hint
    for part in get_args(hint):
        yield from _documents_in(part)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise InvalidDocumentError(problem)


def positive(**values: float) -> None:
    """Refuse what is not a finite number above 0, by name."""
    for name, value in values.items():
        _require(math.isfinite(value) and value > 0, f"{name}={value!r} is not a finite number above 0.")


def not_negative(**values: float) -> None:
    """Refuse what is not a finite number of at least 0, by name."""
    for name, value in values.items():
        _require(
            math.isfinite(value) and value >= 0, f"{name}={value!r} is not a finite number of at least 0."
        )
