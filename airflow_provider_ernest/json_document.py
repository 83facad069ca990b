"""What all JSON documents have in common: how they are written, read back and checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Self, cast, get_args, get_origin, get_type_hints

from airflow_provider_ernest.exceptions import InvalidDocumentError

SCHEMA = 1
"""Of the documents that this version of the package reads and writes."""

MADE_BY_HAND = "Correct it, or leave it out; a document of a newer version needs that one: upgrade then."


class Document:
    """Base of the documents: conversion to and from what JSON can hold."""

    is_part: ClassVar[bool] = False
    """Whether it is read from documents that have further fields, which do not matter here."""

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number."""
        import msgspec

        # By way of JSON, since its lists stay lists in XCom, where tuples become objects of Airflow's own.
        return {"schema": SCHEMA, **msgspec.json.decode(msgspec.json.encode(self))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document.

        Numbers may come as strings: Jinja makes strings of them when a DAG does not render native
        objects.

        Raises:
            InvalidDocumentError: the data does not have this document's form: a field of it is unknown or
                missing, or a number of it is not finite; or it has another schema.
        """
        import msgspec

        if not isinstance(data, dict):
            raise InvalidDocumentError(
                f"A {cls.__name__} document must be a mapping, not {type(data).__name__}: {data!r}."
            )
        schema = data.get("schema", SCHEMA)
        if schema != SCHEMA or isinstance(schema, bool):
            raise InvalidDocumentError(
                f"This {cls.__name__} document has schema {schema}; this version of the package reads "
                f"schema {SCHEMA}.",
                remedy="Upgrade airflow-provider-ernest, or train the model again.",
            )
        _refuse_unknown_fields(cls, data, "")
        try:
            document = msgspec.convert(data, cls, strict=False)
        # Whole numbers beyond all floats are told by those who compare them.
        except (msgspec.ValidationError, ArithmeticError) as error:
            raise InvalidDocumentError(f"This is no {cls.__name__} document: {error}.") from error
        _refuse_infinite(document, "")
        return document


def _refuse_unknown_fields(form: type[Document], data: Mapping[str, Any], where: str) -> None:
    """A misspelt field would be passed over in silence, and its default taken in its place."""
    known = _fields(form)
    if form.is_part:
        return
    for name in data.keys() - known.names:
        raise InvalidDocumentError(
            f"This is no {form.__name__} document: {f'{where}{name}'!r} is unknown.", remedy=MADE_BY_HAND
        )
    for name, inner in known.documents:
        value = data.get(name)
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, dict):
                _refuse_unknown_fields(inner, part, f"{where}{name}.")


def _refuse_infinite(value: Any, where: str) -> None:
    """No document of this package holds a number that JSON cannot."""
    if type(value) is float:
        if not math.isfinite(value):
            raise InvalidDocumentError(f"{where}={value!r} is not a finite number.")
    elif isinstance(value, Document):
        for name in _fields(type(value)).measured:
            _refuse_infinite(getattr(value, name), f"{where}.{name}" if where else name)
    elif isinstance(value, tuple | list):
        for part in value:
            _refuse_infinite(part, where)
    elif isinstance(value, dict):
        for name, part in value.items():
            _refuse_infinite(part, f"{where}.{name}")


class _Fields(NamedTuple):
    """The fields of a class.

    Attributes:
        names: of all, and of the schema: what was a document by itself says that also inside another one.
        documents: of those that hold documents, with their class.
        measured: the names of those that may hold fractions, also in documents of theirs.
    """

    names: frozenset[str]
    documents: tuple[tuple[str, type[Document]], ...]
    measured: tuple[str, ...]


_known_fields: dict[type[Document], _Fields] = {}
_learning = Lock()


def _fields(form: type[Document]) -> _Fields:
    """The fields of a class, which msgspec may read documents into from then on, also in several threads."""
    import msgspec

    if form not in _known_fields:
        with _learning:
            # What msgspec learns of a class it shows to other threads before it is whole, and they crash.
            msgspec.json.Decoder(form)
            _known_fields[form] = _fields_of(form)
    return _known_fields[form]


def _fields_of(form: type[Document]) -> _Fields:
    hints = get_type_hints(form)
    types = {field.name: [*_types_in(hints[field.name])] for field in fields(cast("Any", form))}
    inner = {
        name: next((each for each in found if issubclass(each, Document)), None)
        for name, found in types.items()
    }
    return _Fields(
        names=frozenset({*types, "schema"}),
        documents=tuple((name, each) for name, each in inner.items() if each is not None),
        measured=tuple(name for name, found in types.items() if inner[name] or float in found),
    )


def _types_in(hint: Any) -> Iterator[type]:
    if get_origin(hint) is None and isinstance(hint, type):
        yield hint
    for part in get_args(hint):
        yield from _types_in(part)


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
