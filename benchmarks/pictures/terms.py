"""What each term looks like against machines and against scale."""

from __future__ import annotations

import re

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.terms import TERMS, Term, term_named
from benchmarks.pictures.drawing import BLUE, FAINT, ORANGE, Picture

MOST_MACHINES = 16
FIXED_MACHINES = 8
FIXED_SCALE = 1.0

MEMORY_CLIFF = "max(scale/machines - 0.05, 0)"
"""A term of a user's own: work that appears once a machine has more than a twentieth of the input."""

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
        f"{term.name} against 1 to {MOST_MACHINES} machines at scale {FIXED_SCALE:g}, "
        f"and against scale 0 to 1 on {FIXED_MACHINES} machines"
    )
    return Picture(name=name, title=title, draw=lambda: _draw(term))


def _draw(term: Term) -> Figure:
    figure = Figure(figsize=SIZE)
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.03, right=0.97, top=0.92, bottom=0.36, wspace=0.16)
    machines = np.geomspace(1.0, MOST_MACHINES, 49)
    _curve(left, machines, term.column(machines=machines, scale=np.full_like(machines, FIXED_SCALE)), BLUE)
    _label(left, [1, MOST_MACHINES // 2, MOST_MACHINES], "machines")
    scale = np.linspace(0.001, 1.0, 49)
    _curve(right, scale, term.column(machines=np.full_like(scale, FIXED_MACHINES), scale=scale), ORANGE)
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
