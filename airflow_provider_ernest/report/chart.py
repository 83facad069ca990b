"""What all charts have: a frame with axes, a legend, the same drawing for wide and for narrow screens.

The charts are SVG inside the page, without a script and without a library: their colours are the page's
own, light or dark, their text is text, and they are drawn twice, so that neither a phone nor a desktop
shows letters that are too small or too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.axes import Axis
from airflow_provider_ernest.report.markup import tag
from airflow_provider_ernest.report.wording import tick

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
