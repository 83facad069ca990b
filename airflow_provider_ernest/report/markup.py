"""Building HTML and SVG as a tree, so that whatever text goes into it is escaped when it is written."""

from __future__ import annotations

from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

Child: TypeAlias = "Element | str | None"
Attribute: TypeAlias = "str | float"


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Element:
    """An element.

    Args:
        name: of the tag.
        children: elements and texts in their order; None is left out.
        attributes: ``class_`` is class, ``aria_label`` is aria-label; numbers are rounded to hundredths.
    """
    element = Element(name, {_attribute(key): _value(value) for key, value in attributes.items()})
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            element.append(child)
            last = child
        elif child and last is None:
            element.text = (element.text or "") + child
        elif child and last is not None:
            last.tail = (last.tail or "") + child
    return element


def document(root: Element) -> str:
    """The HTML text of a page."""
    return f"<!DOCTYPE html>\n{tostring(root, encoding='unicode', method='html')}\n"


def _attribute(key: str) -> str:
    return key.removesuffix("_").replace("_", "-")


def _value(value: Attribute) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
