"""Tables of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.markup import Child, tag

LONG = 40
"""Cells with more letters are given room, instead of many short lines."""


def table(
    heading: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    words: Sequence[int] = (),
    chosen: int | None = None,
) -> Element:
    """A table that scrolls by itself where the screen is too narrow for it.

    Args:
        heading: what each column holds.
        rows: their cells.
        words: the columns that hold words; the others are numbers, and stand to the right.
        chosen: the row that is marked.
    """
    styles = ["words" if column in words else "number" for column in range(len(heading))]
    head = tag(
        "tr",
        *(tag("th", name, scope="col", class_=style) for name, style in zip(heading, styles, strict=True)),
    )
    body = []
    for position, row in enumerate(rows):
        cells = (
            tag("td", cell, class_=f"{style} long" if isinstance(cell, str) and len(cell) > LONG else style)
            for cell, style in zip(row, styles, strict=True)
        )
        body.append(tag("tr", *cells, class_="chosen" if position == chosen else "row"))
    whole = tag("table", tag("thead", head), tag("tbody", *body))
    # A region that scrolls must be within reach of the keyboard.
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=", ".join(heading))
