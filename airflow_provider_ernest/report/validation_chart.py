"""Each observed run against what the others predict of it."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.results import Fold
from airflow_provider_ernest.report.axes import logarithmic_axis
from airflow_provider_ernest.report.chart import Canvas, figure, frame, labels, path, point
from airflow_provider_ernest.report.contents import Contents
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import duration, machines, number, percent

BAND = 1.1
"""Predictions within 10 % lie in the band around the diagonal."""


def validation_chart(contents: Contents) -> Element:
    """Predicted from the others against measured, with the diagonal on which both are the same."""
    validation = contents.model.validation
    worst = max(validation.folds, key=lambda fold: abs(fold.error_percent))
    return figure(
        lambda canvas: _draw(contents, canvas),
        description=(
            f"Leave-one-out predictions against measured times of {len(validation.folds)} runs: the median "
            f"error is {validation.median_error_percent:.1f} %, the largest {worst.error_percent:+.1f} %, of "
            f"run {worst.index}."
        ),
        legend=[
            ("observed", "a run, with its number"),
            ("diagonal", "predicted = measured"),
            ("certain", "within 10 %"),
        ],
        caption=(
            "Each run is predicted by a model of all the others, without start-up. Points above the line "
            "were predicted too slow, points below it too fast."
        ),
        numbers=table(
            ["run", "machines", "scale", "seconds", "predicted from the others", "error"],
            (_row(fold) for fold in validation.folds),
        ),
    )


def _row(fold: Fold) -> list[str]:
    return [
        str(fold.index),
        str(fold.machines),
        percent(fold.scale),
        number(fold.seconds),
        number(fold.predicted_seconds),
        f"{fold.error_percent:+.1f} %",
    ]


def _draw(contents: Contents, canvas: Canvas) -> list[Element]:
    folds = contents.model.validation.folds
    values = [value for fold in folds for value in (fold.seconds, fold.predicted_seconds)]
    across = logarithmic_axis(values, start=canvas.left, end=canvas.right)
    up = logarithmic_axis(values, start=canvas.bottom, end=canvas.top)
    elements = frame(
        canvas, across=across, up=up, across_name="measured seconds", up_name="predicted seconds"
    )
    low, high = across.low, across.high
    band = [
        (low, low * BAND),
        (high / BAND, high),
        (high, high),
        (high, high / BAND),
        (low * BAND, low),
        (low, low),
    ]
    elements.append(path([(across.place(x), up.place(y)) for x, y in band], class_="certain", closed=True))
    ends = [(across.place(end), up.place(end)) for end in (low, high)]
    elements.append(path(ends, class_="diagonal"))
    places = [(across.place(fold.seconds), up.place(fold.predicted_seconds)) for fold in folds]
    for fold, (x, y) in zip(folds, places, strict=True):
        says = (
            f"run {fold.index}: {machines(fold.machines)}, {percent(fold.scale)} of the input: "
            f"{duration(fold.seconds)}, predicted {duration(fold.predicted_seconds)}"
        )
        elements.append(point(x, y, class_="observed", says=says))
    worst_first = sorted(range(len(folds)), key=lambda at: -abs(folds[at].error_percent))
    elements += labels(places, [str(fold.index) for fold in folds], first=worst_first)
    return elements
