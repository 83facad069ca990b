"""What is drawn: each term, a prediction with its intervals, and the parts of predictions."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airflow_provider_ernest.decision.offers import LIKELY, NEARLY_CERTAIN
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.predict import predict_interval, predict_seconds
from airflow_provider_ernest.prediction.terms import TERMS, Term, term_named
from benchmarks.pictures.drawing import (
    BACKGROUND,
    BLUE,
    FAINT,
    INK,
    ORANGE,
    VERMILION,
    Picture,
)
from benchmarks.pictures.simulated import (
    PRODUCTION_MACHINES,
    SAMPLE_RUNS,
    model,
    production_seconds,
    sample_runs,
)

MOST_EXECUTORS = 16
FIXED_MACHINES = 8
FIXED_SCALE = 1.0

MEMORY_CLIFF = "max(scale/executors - 0.05, 0)"
"""A term of a user's own: work that appears once an executor has more than a twentieth of the input."""

SIZE = (3.3, 1.05)
"""Inches: a row of a table."""


def term_pictures() -> list[Picture]:
    """One for each term of the library, and one for a term by formula."""
    return [_picture(term, _name(term.meaning)) for term in TERMS.values()] + [
        _picture(term_named(MEMORY_CLIFF), "term_memory_cliff")
    ]


def _name(meaning: str) -> str:
    """The name of the file: the meaning up to its first comma or bracket."""
    return "term_" + re.sub(r"\W+", "_", re.split("[,(]", meaning)[0].strip())


def _picture(term: Term, name: str) -> Picture:
    title = (
        f"{term.name} against 1 to {MOST_EXECUTORS} executors at scale {FIXED_SCALE:g}, "
        f"and against scale 0 to 1 on {FIXED_MACHINES} executors"
    )
    return Picture(name=name, title=title, draw=lambda: _draw_term(term))


def _draw_term(term: Term) -> Figure:
    figure = Figure(figsize=SIZE)
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.03, right=0.97, top=0.92, bottom=0.36, wspace=0.16)
    executors = np.geomspace(1.0, MOST_EXECUTORS, 49)
    _curve(
        left, executors, term.column(executors=executors, scale=np.full_like(executors, FIXED_SCALE)), BLUE
    )
    _label(left, [1, MOST_EXECUTORS // 2, MOST_EXECUTORS], "executors")
    scale = np.linspace(0.001, 1.0, 49)
    _curve(right, scale, term.column(executors=np.full_like(scale, FIXED_MACHINES), scale=scale), ORANGE)
    _label(right, [0.0, 0.5, 1.0], "scale")
    return figure


def _curve(axes: Axes, x: FloatArray, seconds: FloatArray, colour: str) -> None:
    """From 0 to a little above the largest value: what counts is the shape."""
    axes.plot(x, seconds, color=colour, linewidth=2.2, solid_capstyle="round", clip_on=False)
    axes.fill_between(x, seconds, color=colour, alpha=0.15, linewidth=0.0)
    axes.set_ylim(0.0, 1.15 * float(seconds.max()))


def _label(axes: Axes, at: list[float], name: str) -> None:
    axes.set_xlim(0.0, at[-1])
    axes.set_xticks(at, [f"{value:g}" for value in at])
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(length=2.5, width=0.6, pad=2.0, labelsize=8.0)
    axes.set_xlabel(name, labelpad=1.0, fontsize=8.0, color=FAINT)


MACHINES_OF_THE_LEFT = 8
DECIMALS = 2
"""Of drawn seconds, so that the last bits of a sum do not show in the file."""


def prediction_picture() -> Picture:
    """Against scale on one number of executors, and against executors for the whole input."""
    title = "Prediction with intervals of 80 and 95 %, from eight simulated sample runs"
    return Picture(name="prediction", title=title, draw=_draw_prediction)


def _draw_prediction() -> Figure:
    figure = Figure(figsize=(7.4, 3.5))
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.07, right=0.985, top=0.87, bottom=0.24, wspace=0.2)
    _against_scale(left)
    _against_machines(right)
    handles, labels = right.get_legend_handles_labels()
    sample_handles, sample_labels = left.get_legend_handles_labels()
    figure.legend(
        [sample_handles[-1], *handles],
        [sample_labels[-1], *labels],
        loc="lower center",
        ncols=5,
        frameon=False,
        fontsize=8.5,
        columnspacing=1.4,
    )
    return figure


def _against_scale(axes: Axes) -> None:
    scale = np.geomspace(0.02, 1.0, 60)
    _bands(axes, scale, executors=np.full(len(scale), MACHINES_OF_THE_LEFT), scale=scale)
    seen = [run for run in sample_runs() if run.executors == MACHINES_OF_THE_LEFT]
    axes.plot(
        [run.scale for run in seen],
        [run.seconds for run in seen],
        "o",
        color=INK,
        markersize=5.0,
        label="sample runs",
    )
    _observed(axes, [run.scale for run in sample_runs()], f"samples: up to {100 * _largest_scale():g} %")
    axes.set_xscale("log")
    _ticks(axes, [0.02, 0.05, 0.1, 0.2, 0.5, 1.0], ["2 %", "5 %", "10 %", "20 %", "50 %", "100 %"])
    axes.set_xlabel("share of the input (scale)")
    axes.set_title(f"Seconds on {MACHINES_OF_THE_LEFT} executors", fontsize=10)


def _against_machines(axes: Axes) -> None:
    executors = np.unique(np.round(np.geomspace(2.0, 64.0, 40)))
    _bands(axes, executors, executors=executors, scale=np.ones(len(executors)))
    axes.plot(
        PRODUCTION_MACHINES,
        np.round(production_seconds(), DECIMALS),
        "D",
        color=BACKGROUND,
        markeredgecolor=VERMILION,
        markeredgewidth=1.6,
        markersize=5.0,
        label="production runs, made afterwards",
    )
    counts = [count for count, _ in SAMPLE_RUNS]
    _observed(axes, [float(count) for count in counts], f"samples: {min(counts)} to {max(counts)} executors")
    axes.set_xscale("log", base=2)
    _ticks(axes, [2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    axes.set_xlabel("executors")
    axes.set_title("Seconds for the whole input", fontsize=10)


def _bands(axes: Axes, x: FloatArray, *, executors: FloatArray, scale: FloatArray) -> None:
    for level, opacity in ((NEARLY_CERTAIN, 0.16), (LIKELY, 0.28)):
        bounds = predict_interval(model(), executors=executors, level=level, scale=scale)
        low, high = (np.round(bound, DECIMALS) for bound in bounds)
        axes.fill_between(
            x, low, high, color=BLUE, alpha=opacity, linewidth=0.0, label=f"{100 * level:g} % interval"
        )
    seconds = np.round(predict_seconds(model(), executors=executors, scale=scale), DECIMALS)
    axes.plot(x, seconds, color=BLUE, linewidth=2.0, label="prediction")
    axes.set_yscale("log")


def _observed(axes: Axes, values: list[float], label: str) -> None:
    """A bar along the axis over what was observed."""
    axes.axvspan(min(values), max(values), ymax=0.022, color=INK, linewidth=0.0)
    axes.annotate(
        label,
        (min(values), 0.022),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=8.0,
        color=INK,
    )
    axes.axvline(max(values), color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))


def _largest_scale() -> float:
    return max(share for _, share in SAMPLE_RUNS)


def _ticks(axes: Axes, at: list[float], names: list[str]) -> None:
    axes.set_xticks(at, names)
    axes.set_xlim(at[0] / 1.1, at[-1] * 1.1)
    axes.minorticks_off()
    low, high = axes.get_ylim()
    low /= 1.25  # room for the words above the axis
    axes.set_ylim(low, high)
    seconds = [tick for tick in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if low <= tick <= high]
    axes.set_yticks(seconds, [f"{tick:,}" for tick in seconds])
    axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.35)
    axes.set_axisbelow(True)
    axes.tick_params(length=2.5, width=0.6)
