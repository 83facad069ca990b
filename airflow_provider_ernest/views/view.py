"""Views: frozen dataclasses of what is shown. They define the JSON answers and the API's description."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, TypeVar

View = TypeVar("View")


def view_of(view: type[View], source: object, **others: Any) -> View:
    """A view with the source's attributes of the same names, and `others` instead of or besides these."""
    names = [each.name for each in fields(view) if each.name not in others]  # type: ignore[arg-type]
    return view(**{name: getattr(source, name) for name in names}, **others)


def json_ready(content: Any) -> Any:
    """Views and documents as objects, tuples as lists.

    NaN and infinity become null: browsers refuse a whole answer for one of them.
    """
    # Airflow reads the options of all commands, which imports this module.
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
