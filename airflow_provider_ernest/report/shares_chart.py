"""What the time is spent on, against the number of machines: why it does not get faster."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.axes import Axis, bands, machines_axis
from airflow_provider_ernest.report.chart import Canvas, figure, frame, path
from airflow_provider_ernest.report.contents import Contents, Prediction
from airflow_provider_ernest.report.markup import tag
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import machines, number, percent

WORTH_A_COLOUR = 0.01
"""Terms that never explain so large a share of the time are drawn together."""

OTHERS = "others"
MOST_COLOURS = 7


def shares_chart(contents: Contents) -> Element:
    """The share of each term in the time, stacked."""
    first, last = contents.predictions[0], contents.predictions[-1]
    shown = shown_parts(contents)
    meanings = {term.name: term.meaning for term in contents.model.terms}
    # As they are stacked: the first on top.
    legend = [
        (_style(contents, name), f"{name}: {meanings[name]}" if name in meanings else name)
        for name in reversed(shown)
    ]
    return figure(
        lambda canvas: _draw(contents, canvas, shown),
        description=(
            f"Shares of the time against machines. On {machines(first.machines)}: {_told(first, shown)}. "
            f"On {machines(last.machines)}: {_told(last, shown)}."
        ),
        legend=legend,
        caption=(
            "Only work that spreads shrinks with more machines. What takes most of the time at the right "
            "edge is what further machines cannot help."
        ),
        numbers=_numbers(contents),
    )


def shown_parts(contents: Contents) -> list[str]:
    """The names that have a colour of their own, in the order in which they are stacked, `OTHERS` last.

    What shrinks most from the first to the last number of machines is on top.
    """
    names = list(contents.predictions[0].parts)
    largest = {name: max(_share(each, name) for each in contents.predictions) for name in names}
    kept = [name for name in names if largest[name] >= WORTH_A_COLOUR]
    kept = sorted(kept, key=lambda name: -largest[name])[:MOST_COLOURS]
    first, last = contents.predictions[0], contents.predictions[-1]
    kept.sort(key=lambda name: _share(first, name) - _share(last, name))
    return kept if len(kept) == len(names) else [*kept, OTHERS]


def _style(contents: Contents, name: str) -> str:
    """The class of a part's colour: that of its place in the model, so that it is the same in all reports."""
    names = list(contents.predictions[0].parts)
    if len(names) > MOST_COLOURS:
        names = shown_parts(contents)
    return "part-others" if name == OTHERS else f"part-{names.index(name)}"


def _share(each: Prediction, name: str, shown: list[str] | None = None) -> float:
    """The share of a part of the time; that of `OTHERS` is what the shown ones leave."""
    if name == OTHERS and shown is not None:
        return max(0.0, 1.0 - sum(_share(each, other) for other in shown if other != OTHERS))
    return each.parts[name] / sum(each.parts.values())


def _told(each: Prediction, shown: list[str]) -> str:
    return ", ".join(f"{name} {percent(_share(each, name, shown))}" for name in shown)


def _draw(contents: Contents, canvas: Canvas, shown: list[str]) -> list[Element]:
    counts = [each.machines for each in contents.predictions]
    across = machines_axis(counts, start=canvas.left, end=canvas.right)
    up = Axis(low=0.0, high=1.0, start=canvas.bottom, end=canvas.top, ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
    elements = frame(
        canvas,
        across=across,
        up=up,
        across_name="machines",
        up_name="share of the time",
        up_number=lambda value: f"{100 * value:.0f} %",
    )
    floor = [0.0] * len(counts)
    for name in shown:
        ceiling = [
            below + _share(each, name, shown) for below, each in zip(floor, contents.predictions, strict=True)
        ]
        upper, lower = _steps(across, up, counts, ceiling), _steps(across, up, counts, floor)
        area = path([*upper, *lower[::-1]], class_=f"part {_style(contents, name)}", closed=True)
        area.append(tag("title", name))
        elements.append(area)
        floor = ceiling
    return elements


def _steps(across: Axis, up: Axis, counts: list[int], heights: list[float]) -> list[tuple[float, float]]:
    """The corners of a staircase with a step for each number of machines."""
    return [
        (across.place(edge), up.place(height))
        for edges, height in zip(bands(counts), heights, strict=True)
        for edge in edges
    ]


def _numbers(contents: Contents) -> Element:
    names = list(contents.predictions[0].parts)
    return table(
        ["machines", *names],
        (
            [
                str(each.machines),
                *(f"{number(each.parts[name])} ({percent(_share(each, name))})" for name in names),
            ]
            for each in contents.predictions
        ),
    )
