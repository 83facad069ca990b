"""How the pictures look, and SVG files that are the same whenever they are drawn.

They are read on light pages and on dark ones. Each has a background of its own, and a style sheet that
exchanges the colours of background and writing where the reader prefers dark: should page and picture
disagree, the picture is still readable.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

BACKGROUND, INK, FAINT = "#ffffff", "#24292f", "#6e7781"

BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7"
"""Colours that colour-blind people tell apart too (Okabe and Ito 2008)."""

DARK = {
    BACKGROUND: "#131416",  # that of the documentation's theme
    INK: "#e6e8eb",
    FAINT: "#9aa4af",
    BLUE: "#2f8fd0",
    SKY: "#9ad4f7",
}
"""What stands for these colours on dark pages."""

FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""What readers see: their own fonts, none of which is wider than the one of the layout."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture of the documentation; screen readers read its title where the page gives no other text."""

    name: str
    title: str
    draw: Callable[[], Figure]


@contextmanager
def style() -> Iterator[None]:
    """The look of the pictures, whatever the reader's own matplotlib settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rc("axes", edgecolor=FAINT, facecolor=BACKGROUND, labelcolor=INK, titlelocation="left")
        mpl.rc("axes.spines", right=False, top=False)
        mpl.rc("figure", facecolor=BACKGROUND)
        # This font comes with matplotlib, so that the layout is the same everywhere.
        mpl.rc("font", family="DejaVu Sans", size=9.0)
        mpl.rc("savefig", facecolor=BACKGROUND)
        mpl.rc("svg", fonttype="none", hashsalt="airflow-provider-ernest")
        mpl.rc("text", color=INK)
        mpl.rc("xtick", color=FAINT, labelcolor=INK)
        mpl.rc("ytick", color=FAINT, labelcolor=INK)
        yield


def write(picture: Picture, folder: Path) -> Path:
    """Draw the picture into an SVG file of the folder; returns its path."""
    text = io.StringIO()
    nothing_of_today = {"Title": picture.title, "Date": None, "Creator": None}
    with style():
        picture.draw().savefig(text, format="svg", metadata=nothing_of_today)
    path = folder / f"{picture.name}.svg"
    svg = text.getvalue().replace("'DejaVu Sans'", FONTS.replace("'", "&quot;"))
    lines = svg.replace("</style>", f"{_dark_style()}</style>", 1).splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")
    return path


def _dark_style() -> str:
    """A style sheet that outdoes the colours that stand at each element."""
    rules = [
        f'[style*="{kind}: {light}"]{{{kind}:{dark} !important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    ]
    return "@media (prefers-color-scheme: dark){" + "".join(rules) + "}"
