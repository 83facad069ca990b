"""Bars that lie, each below its name and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.chart import CANVASES, LETTER_WIDTH, Canvas, figure, line, text
from airflow_provider_ernest.report.markup import tag
from airflow_provider_ernest.report.wording import shortened

NAME_HEIGHT, BAR_HEIGHT, ROW_HEIGHT = 18.0, 14.0, 46.0
"""In pixels."""

SMALL_LETTER_WIDTH = 6.9
"""Of those that charts are written in, on average; figures and capitals are wider."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a bar.

    Attributes:
        length: in the unit of all bars.
        style: class of the style sheet.
        says: what it is, when the mouse rests on it.
    """

    length: float
    style: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of one or more pieces.

    Attributes:
        name: above it, to the left.
        told: its figure, to the right.
        parts: from left to right.
    """

    name: str
    told: str
    parts: tuple[Part, ...]

    @property
    def length(self) -> float:
        """Of all pieces."""
        return sum(part.length for part in self.parts)


def bars_figure(
    bars: Sequence[Bar],
    *,
    description: str,
    legend: Sequence[tuple[str, str]],
    caption: str,
    numbers: Element,
    mark: float | None = None,
) -> Element:
    """Bars of one unit, as long as the longest or the mark allows.

    Args:
        bars: at least one.
        description: what they show, for those who do not see them.
        legend: classes of the style sheet, each with what it stands for.
        caption: how to read it.
        numbers: the table of the numbers.
        mark: a length that all bars are compared with, drawn as a line across them.
    """
    most = max([*(bar.length for bar in bars), mark or 0.0]) or 1.0
    height = ROW_HEIGHT * len(bars)
    return figure(
        lambda canvas: _draw(bars, canvas, most=most, mark=mark),
        description=description,
        legend=legend,
        caption=caption,
        numbers=numbers,
        canvases={name: Canvas(width=canvas.width, height=height) for name, canvas in CANVASES.items()},
    )


def rectangle(x: float, y: float, width: float, height: float, *, style: str, says: str) -> Element:
    """An area that says what it is when the mouse rests on it."""
    return tag("rect", tag("title", says), x=x, y=y, width=width, height=height, class_=f"part {style}")


def letters(room: float) -> int:
    """As many stand in so many pixels, at least a few."""
    return max(3, int(room / SMALL_LETTER_WIDTH))


def _draw(bars: Sequence[Bar], canvas: Canvas, *, most: float, mark: float | None) -> list[Element]:
    elements = []
    unit = canvas.width / most
    for row, bar in enumerate(bars):
        top = row * ROW_HEIGHT
        room = canvas.width - LETTER_WIDTH * (len(bar.told) + 2)
        elements.append(text(0, top + 13, shortened(bar.name, letters(room)), class_="note strong"))
        elements.append(text(canvas.width, top + 13, bar.told, class_="note end"))
        left = 0.0
        for part in bar.parts:
            width = unit * part.length
            if width > 0:
                elements.append(
                    rectangle(left, top + NAME_HEIGHT, width, BAR_HEIGHT, style=part.style, says=part.says)
                )
            left += width
        if mark is not None:
            x = min(unit * mark, canvas.width - 1)
            elements.append(line(x, top + NAME_HEIGHT, x, top + NAME_HEIGHT + BAR_HEIGHT + 3, class_="now"))
    return elements
