"""What all charts have: a frame with axes, a legend, the same drawing for wide and for narrow screens.

The charts are SVG inside the page, without a script and without a library: their colours are the page's
own, light or dark, their text is text, and they are drawn twice, so that neither a phone nor a desktop
shows letters that are too small or too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias
from xml.etree.ElementTree import Element, tostring

from airflow_provider_ernest.words import tick

# ---------------------------------------------------------------------------
# From numbers to places on an axis, and the numbers that stand along it.


FEWEST_TICKS = 3

SHORTEST = 1e-3
"""An axis is no shorter."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a chart.

    Attributes:
        low, high: the numbers at its ends.
        start, end: where these are drawn, in pixels; the end may come before the start.
        ticks: numbers to be written along it.
        logarithmic: whether equal distances are equal ratios.
    """

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """The pixel of a number; numbers beyond the ends are drawn at the ends."""
        scale: Callable[[float], float] = math.log if self.logarithmic else float
        inside = min(max(value, self.low), self.high)
        share = (scale(inside) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.start + share * (self.end - self.start)


def logarithmic_axis(values: Sequence[float], *, start: float, end: float, margin: float = 1.15) -> Axis:
    """An axis around positive values, with ticks at 1, 2 and 5 times the powers of ten.

    Values that have no logarithm are left out: `Axis.place` draws them at the ends.
    """
    drawn = [value for value in values if math.isfinite(value) and value > 0]
    low, high = min(drawn) / margin, max(drawn) * margin
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**decade for decade in decades for factor in (1, 2, 5)]
    within = tuple(tick for tick in ticks if low <= tick <= high)
    if len(within) < FEWEST_TICKS:
        within = tuple(tick for tick in _round_numbers(low, high, least=5) if low <= tick <= high)
    return Axis(low=low, high=high, start=start, end=end, ticks=within, logarithmic=True)


def axis_from_zero(values: Sequence[float], *, start: float, end: float) -> Axis:
    """A linear axis from 0 to a round number above all values."""
    ticks = _round_numbers(0.0, max(values) * 1.05)
    return Axis(low=0.0, high=ticks[-1], start=start, end=end, ticks=ticks)


def axis_around(low: float, high: float, *, start: float, end: float) -> Axis:
    """A linear axis from 0, or a round number below what is less, to a round number above `high`."""
    low = min(low, 0.0)
    ticks = _round_numbers(low, max(high, low + SHORTEST))
    return Axis(low=ticks[0], high=ticks[-1], start=start, end=end, ticks=ticks)


def machines_axis(counts: Sequence[int], *, start: float, end: float) -> Axis:
    """A logarithmic axis with a band for each number of machines; ticks at doublings, or at few numbers all.

    The ends are those of the bands of the first and the last number; see `bands`.
    """
    edges = bands(counts)
    low, high = edges[0][0], edges[-1][1]
    doublings = tuple(2.0**power for power in range(14) if low <= 2.0**power <= high)
    enough = len(doublings) >= FEWEST_TICKS
    ticks = doublings if enough else tuple(float(count) for count in counts[:: max(1, len(counts) // 4)])
    return Axis(low=low, high=high, start=start, end=end, ticks=ticks, logarithmic=True)


def bands(counts: Sequence[int]) -> list[tuple[float, float]]:
    """For each of ascending numbers what lies nearer to it than to its neighbours, by ratio."""
    inner = [math.sqrt(left * right) for left, right in pairwise(counts)]
    first = counts[0] ** 2 / inner[0] if inner else counts[0] / 1.5
    last = counts[-1] ** 2 / inner[-1] if inner else counts[-1] * 1.5
    edges = [first, *inner, last]
    return list(pairwise(edges))


def _round_numbers(low: float, high: float, *, least: int = 4) -> tuple[float, ...]:
    """At least so many evenly spread round numbers, which reach from below `low` to above `high`."""
    rough = (high - low) / least
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough / 2)
    first, last = math.floor(low / step), math.ceil(high / step)
    return tuple(step * index for index in range(first, last + 1))


# ---------------------------------------------------------------------------
# Building HTML and SVG as a tree, so that whatever text goes into it is escaped when it is written.


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


# ---------------------------------------------------------------------------


LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 26.0, 44.0
"""Room around the plot for the numbers and names of the axes, in pixels."""


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """The room that a chart is drawn in, in pixels."""

    width: float
    height: float

    @property
    def left(self) -> float:
        """The left edge of the plot."""
        return LEFT

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.width - RIGHT

    @property
    def top(self) -> float:
        """Its upper edge."""
        return TOP

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.height - BOTTOM


LETTER_WIDTH, LINE_HEIGHT = 7.5, 16.0
"""About what a letter takes, in pixels."""

CANVASES = {"wide": Canvas(width=820, height=380), "narrow": Canvas(width=360, height=320)}
"""By the class that the style sheet shows or hides."""


def figure(
    draw: Callable[[Canvas], Iterable[Element]],
    *,
    description: str,
    legend: Sequence[tuple[str, str]],
    caption: str,
    numbers: Element,
    canvases: Mapping[str, Canvas] = CANVASES,
) -> Element:
    """A chart with what belongs to it.

    Args:
        draw: draws it.
        description: what it shows, for those who do not see it.
        legend: classes of the style sheet, each with what it stands for.
        caption: how to read it.
        numbers: the table of its numbers, which can be unfolded.
        canvases: the room for each kind of screen.
    """
    return tag(
        "figure",
        tag(
            "ul",
            *(
                tag("li", tag("span", class_=f"swatch {style}", aria_hidden="true"), meaning)
                for style, meaning in legend
            ),
            class_="legend",
        ),
        *(
            tag(
                "svg",
                *draw(canvas),
                class_=f"chart {name}",
                viewBox=f"0 0 {canvas.width:g} {canvas.height:g}",
                role="img",
                aria_label=description,
            )
            for name, canvas in canvases.items()
        ),
        tag("figcaption", caption),
        tag("details", tag("summary", "The numbers"), numbers),
    )


def frame(
    canvas: Canvas,
    *,
    across: Axis,
    up: Axis,
    across_name: str,
    up_name: str,
    up_number: Callable[[float], str] = tick,
) -> list[Element]:
    """The grid, the numbers along it, and the names of the axes; goes below everything else."""
    elements = []
    for value in up.ticks:
        y = up.place(value)
        elements.append(line(canvas.left, y, canvas.right, y, class_="grid"))
        elements.append(text(canvas.left - 8, y + 4, up_number(value), class_="tick end"))
    written_to = 0.0
    for value in across.ticks:
        x, words = across.place(value), tick(value)
        half = LETTER_WIDTH * (len(words) + 1) / 2
        elements.append(line(x, canvas.bottom, x, canvas.bottom + 4, class_="axis"))
        if x - half >= written_to:
            elements.append(text(x, canvas.bottom + 18, words, class_="tick middle"))
            written_to = x + half
    elements.append(line(canvas.left, canvas.bottom, canvas.right, canvas.bottom, class_="axis"))
    centre = (canvas.left + canvas.right) / 2
    elements.append(text(centre, canvas.height - 8, across_name, class_="name middle"))
    elements.append(text(4, 14, up_name, class_="name"))
    return elements


def line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> Element:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def text(x: float, y: float, words: str, *, class_: str) -> Element:
    """Words at a place."""
    return tag("text", words, x=x, y=y, class_=class_)


def path(points: Iterable[tuple[float, float]], *, class_: str, closed: bool = False) -> Element:
    """A line through points, or the area within them."""
    steps = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return tag("path", d=f"M{steps}{'Z' if closed else ''}", class_=class_)


def labels(
    places: Sequence[tuple[float, float]],
    words: Sequence[str],
    *,
    first: Sequence[int] = (),
    bold: int | None = None,
) -> list[Element]:
    """Words beside points, as far as they do not cover each other.

    Args:
        places: of the points, in pixels.
        words: as many.
        first: positions of those that get their room first.
        bold: the position of the one that is printed bold.
    """
    order = [*first, *(at for at in range(len(places)) if at not in first)]
    taken: list[tuple[float, float, float]] = []
    elements = []
    for at in order:
        x, y, width = places[at][0] + 8, places[at][1] - 8, LETTER_WIDTH * (len(words[at]) + 1)
        if all(
            x > left + other or left > x + width or abs(y - base) > LINE_HEIGHT for left, base, other in taken
        ):
            taken.append((x, y, width))
            elements.append(text(x, y, words[at], class_="note strong" if at == bold else "note"))
    return elements


def point(x: float, y: float, *, class_: str, says: str, radius: float = 4.5) -> Element:
    """A point that says what it is when the mouse rests on it."""
    return tag("circle", tag("title", says), cx=x, cy=y, r=radius, class_=class_)


# ---------------------------------------------------------------------------
# Tables of numbers.


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
