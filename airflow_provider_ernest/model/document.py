"""What all JSON documents have in common: how they are written, read back and checked."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from airflow_provider_ernest.exceptions import InvalidDocumentError

SCHEMA = 1


class Document:
    """Base of the documents: conversion to and from what JSON can hold."""

    schema: ClassVar[int] = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number."""
        import msgspec

        # By way of JSON, since its lists stay lists in XCom, where tuples become objects of Airflow's own.
        return {"schema": self.schema, **msgspec.json.decode(msgspec.json.encode(self))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document.

        Numbers may come as strings: Jinja makes strings of them when a DAG does not render native
        objects.

        Raises:
            InvalidDocumentError: the data does not have this document's form, or a newer schema.
        """
        import msgspec

        if not isinstance(data, dict):
            raise InvalidDocumentError(
                f"A {cls.__name__} document must be a mapping, not {type(data).__name__}: {data!r}."
            )
        schema = data.get("schema", SCHEMA)
        if schema != cls.schema:
            raise InvalidDocumentError(
                f"This {cls.__name__} document has schema {schema}; this version of the package reads "
                f"schema {cls.schema}.",
                remedy="Upgrade airflow-provider-ernest, or train the model again.",
            )
        try:
            return msgspec.convert(data, cls, strict=False)
        except msgspec.ValidationError as error:
            raise InvalidDocumentError(f"This is no {cls.__name__} document: {error}.") from error


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
