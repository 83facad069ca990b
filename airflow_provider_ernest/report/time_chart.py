"""The predicted time against the number of machines."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.axes import Axis, logarithmic_axis, machines_axis
from airflow_provider_ernest.report.chart import Canvas, figure, frame, line, path, point, text
from airflow_provider_ernest.report.contents import Contents, Prediction
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import duration, machines, number, percent

FURTHEST = 20.0
"""Intervals are cut off at so many times the prediction, or nothing else could be told apart."""

HALF_COLUMN = 9.0
"""Half the width of an interval that is not a band, in pixels."""


def time_chart(contents: Contents) -> Element:
    """Prediction, intervals, observed runs, deadline and choice."""
    predictions = contents.predictions
    fastest = min(predictions, key=lambda each: each.seconds)
    first, last = predictions[0], predictions[-1]
    legend = [
        ("line", f"predicted at scale {contents.scale:g}"),
        ("likely", "80 % of runs"),
        ("certain", "95 % of runs"),
        ("observed", "observed runs, mostly on samples"),
    ]
    fewest, most = contents.observed_machines
    if first.machines < fewest or last.machines > most:
        legend.append(("line beyond", f"outside the {fewest} to {most} machines observed"))
    if contents.decision is not None:
        legend.append(("chosen", "chosen"))
    return figure(
        lambda canvas: _draw(contents, canvas),
        description=(
            f"Predicted time against machines: {duration(first.seconds)} on {machines(first.machines)}, "
            f"{duration(last.seconds)} on {machines(last.machines)}; the fastest is "
            f"{duration(fastest.seconds)} on {machines(fastest.machines)}."
        ),
        legend=legend,
        caption=(
            "From submission to end, start-up included. Samples read less of the input, so their runs lie "
            "below the line. Both axes are logarithmic: work that spreads perfectly falls along a straight "
            "line, and where the line flattens, more machines no longer help."
        ),
        numbers=_numbers(contents),
    )


def _draw(contents: Contents, canvas: Canvas) -> list[Element]:
    predictions, runs = contents.predictions, contents.model.observations
    counts = sorted({each.machines for each in predictions} | {run.machines for run in runs})
    deadline = contents.latest_seconds
    across = machines_axis(counts, start=canvas.left, end=canvas.right)
    shown = [run.seconds + run.startup_seconds for run in runs]
    shown += [
        min(max(bound, each.seconds / FURTHEST), each.seconds * FURTHEST)
        for each in predictions
        for bound in each.nearly_certain_seconds
    ]
    up = logarithmic_axis([*shown, *([deadline] if deadline else [])], start=canvas.bottom, end=canvas.top)

    elements = frame(canvas, across=across, up=up, across_name="machines", up_name="seconds")
    elements += [_band(contents, across, up, style) for style in ("certain", "likely")]
    elements += _curve(contents, across, up)
    if deadline:
        y = up.place(deadline)
        elements.append(line(canvas.left, y, canvas.right, y, class_="goal"))
        elements.append(text(canvas.right, y - 6, _deadline(contents), class_="note end"))
    elements += [
        point(
            across.place(run.machines),
            up.place(run.seconds + run.startup_seconds),
            class_="observed",
            says=f"run {run.index}: {machines(run.machines)}, {percent(run.scale)} of the input, "
            f"{duration(run.seconds + run.startup_seconds)}",
        )
        for run in runs
    ]
    if (chosen := contents.chosen) is not None:
        elements.append(_marked(across, up, chosen, class_="chosen"))
    return elements


def _deadline(contents: Contents) -> str:
    assert contents.goal is not None
    words = f"deadline {duration(contents.goal.deadline_seconds or 0.0)}"
    boot = contents.billing.boot_seconds if contents.billing else 0.0
    return f"{words} less {duration(boot)} to boot" if boot else words


def _band(contents: Contents, across: Axis, up: Axis, style: str) -> Element:
    """The area of one interval; a column where there is a single number of machines."""
    lower, upper = [], []
    for each in contents.predictions:
        x = across.place(each.machines)
        low, high = each.likely_seconds if style == "likely" else each.nearly_certain_seconds
        for place in (x,) if len(contents.predictions) > 1 else (x - HALF_COLUMN, x + HALF_COLUMN):
            lower.append((place, up.place(low)))
            upper.append((place, up.place(high)))
    return path([*upper, *lower[::-1]], class_=style, closed=True)


def _curve(contents: Contents, across: Axis, up: Axis) -> list[Element]:
    """The prediction as a line, dashed outside the numbers of machines that were observed."""
    predictions = contents.predictions
    if len(predictions) == 1:
        return [_marked(across, up, predictions[0], class_="line-point")]
    fewest, most = contents.observed_machines
    inside = [at for at, each in enumerate(predictions) if fewest <= each.machines <= most]
    if not inside:
        parts = [(predictions, "line beyond")]
    else:
        start, end = inside[0], inside[-1] + 1
        parts = [
            (predictions[: start + 1], "line beyond"),
            (predictions[start:end], "line"),
            (predictions[end - 1 :], "line beyond"),
        ]
    return [
        path([(across.place(each.machines), up.place(each.seconds)) for each in part], class_=style)
        for part, style in parts
        if len(part) > 1
    ]


def _marked(across: Axis, up: Axis, each: Prediction, *, class_: str) -> Element:
    says = f"{machines(each.machines)}: {duration(each.seconds)}"
    return point(across.place(each.machines), up.place(each.seconds), class_=class_, says=says, radius=7)


def _numbers(contents: Contents) -> Element:
    chosen = contents.chosen
    return table(
        ["machines", "seconds", "80 %, from", "to", "95 %, from", "to", "not supported by the runs"],
        (
            [
                str(each.machines),
                *(
                    number(value)
                    for value in (each.seconds, *each.likely_seconds, *each.nearly_certain_seconds)
                ),
                each.extrapolates,
            ]
            for each in contents.predictions
        ),
        words=[6],
        chosen=None if chosen is None else contents.predictions.index(chosen),
    )
