"""What the seconds of predictions are spent on: the parts of each term, which add up."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from airflow_provider_ernest.prediction.predict import ModelForecast
from airflow_provider_ernest.prediction.terms import term_named
from benchmarks.pictures.drawing import (
    BACKGROUND,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Picture,
)
from benchmarks.pictures.simulated import PRODUCTION_MACHINES, model

COLOURS = {
    "scale/machines": BLUE,
    "scale/sqrt(machines)": SKY,
    "scale": ORANGE,
    "1": GREEN,
    "log(machines)": PURPLE,
    "machines": VERMILION,
}
"""Of the terms, in the order in which their parts are stacked: first what more machines make smaller."""


def shares_picture() -> Picture:
    """For several numbers of machines on the whole input."""
    return Picture(
        name="shares",
        title="Share of each term in the predicted seconds of the whole input, by machines",
        draw=_draw,
    )


def _draw() -> Figure:
    figure = Figure(figsize=(7.4, 2.9))
    axes = figure.subplots()
    figure.subplots_adjust(left=0.125, right=0.9, top=0.88, bottom=0.27)
    parts = ModelForecast(model(), machines=PRODUCTION_MACHINES).contributions()
    seconds = np.array([[part[name] for name in COLOURS] for part in parts])
    totals = seconds.sum(axis=1)
    shares = 100.0 * seconds / totals[:, None]
    rows = np.arange(len(PRODUCTION_MACHINES))
    for position, (name, colour) in enumerate(COLOURS.items()):
        left = shares[:, :position].sum(axis=1)
        axes.barh(
            rows,
            shares[:, position],
            left=left,
            height=0.72,
            color=colour,
            edgecolor=BACKGROUND,
            linewidth=0.8,
            label=term_named(name).meaning,
        )
    for row, total in zip(rows, totals, strict=True):
        axes.text(101.0, float(row), f"{total:,.0f} s", va="center", color=INK)
    axes.set_yticks(rows, [f"{count} machines" for count in PRODUCTION_MACHINES])
    axes.set_xticks([0, 25, 50, 75, 100], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlim(0.0, 100.0)
    axes.invert_yaxis()
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title("What a prediction for the whole input is made of", fontsize=10)
    axes.tick_params(axis="x", labelcolor=FAINT)
    figure.legend(loc="lower center", ncols=3, frameon=False, fontsize=8.2, columnspacing=1.4)
    return figure
