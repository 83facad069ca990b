"""Views: frozen dataclasses that say what is shown. JSON answers and their description come of them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, TypeVar

View = TypeVar("View")


def view_of(view: type[View], source: object, **others: Any) -> View:
    """A view of a document: its fields are the document's attributes of the same names.

    Args:
        view: a dataclass.
        source: what its fields are read from.
        others: the fields that are given, whether or not the source has such attributes.
    """
    names = [each.name for each in fields(view) if each.name not in others]  # type: ignore[arg-type]
    return view(**{name: getattr(source, name) for name in names}, **others)


def json_ready(content: Any) -> Any:
    """Views and documents as objects, tuples as lists; what is not finite is null.

    JSON has no NaN and no infinity: browsers refuse the whole answer for one of them.
    """
    # Airflow reads the options of all commands, and these load this module.
    import msgspec

    return _finite(msgspec.to_builtins(content))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
