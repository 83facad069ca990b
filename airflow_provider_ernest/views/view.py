"""Views: frozen dataclasses that say what is shown. JSON answers and their description come of them."""

from __future__ import annotations

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
