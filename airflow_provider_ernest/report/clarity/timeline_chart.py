"""The stages of a run over time, each in the colour of what it is bound by."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import RunProfile, StageProfile
from airflow_provider_ernest.report.axes import Axis, axis_around
from airflow_provider_ernest.report.chart import CANVASES, Canvas, figure, line, text
from airflow_provider_ernest.report.clarity.bars import letters, rectangle
from airflow_provider_ernest.report.clarity.resources import style, within
from airflow_provider_ernest.report.clarity.stage_tables import stage_number
from airflow_provider_ernest.report.markup import Child
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import duration, number, shortened, tick

MOST_STAGES = 30
"""So many have a bar: those that took longest."""

ROW_HEIGHT, BAR_HEIGHT = 22.0, 14.0
TOP, BOTTOM = 6.0, 44.0
NAMES_WIDTH = {"wide": 230.0, "narrow": 40.0}
"""For the names of the stages, in pixels; narrow screens show their numbers only."""

NARROWEST_BAR = 2.0


def timeline_chart(profile: RunProfile) -> Element:
    """A row for each of the longest stages, in the order in which they began."""
    shown = longest(profile.stages, MOST_STAGES)
    height = TOP + ROW_HEIGHT * len(shown) + BOTTOM
    slowest = max(profile.stages, key=lambda stage: stage.seconds)
    return figure(
        lambda canvas: _draw(shown, canvas),
        description=(
            f"{len(shown)} stages over time; the longest is stage {stage_number(slowest)}, "
            f"{duration(slowest.seconds)}{_bound(slowest)}."
        ),
        legend=_legend(shown),
        caption=" ".join(_caption(profile, len(shown))),
        numbers=_numbers(profile.stages),
        canvases={name: Canvas(width=canvas.width, height=height) for name, canvas in CANVASES.items()},
    )


def longest(stages: Sequence[StageProfile], most: int) -> list[StageProfile]:
    """As many of the stages, those that took longest, in the order in which they began."""
    kept = sorted(stages, key=lambda stage: -stage.seconds)[:most]
    return sorted(kept, key=lambda stage: (stage.began_seconds, stage.stage_id, stage.attempt))


def _bound(stage: StageProfile) -> str:
    return f", bound by {within(stage.bottleneck)}" if stage.bottleneck else ""


def _legend(shown: Sequence[StageProfile]) -> list[tuple[str, str]]:
    found = dict.fromkeys(stage.bottleneck for stage in shown)
    return [
        (style(name), f"bound by {within(name)}" if name else "nothing is known of what it is bound by")
        for name in found
    ]


def _caption(profile: RunProfile, shown: int) -> list[str]:
    words = ["Seconds count from the moment that all machines were there. Where no bar is, no task ran:"]
    words.append("the driver worked or waited.")
    left_out = len(profile.stages) - shown + profile.stages_left_out
    if left_out:
        words.append(f"{left_out:,} shorter {'stage has' if left_out == 1 else 'stages have'} no bar.")
    return words


def _draw(shown: Sequence[StageProfile], canvas: Canvas) -> list[Element]:
    names = NAMES_WIDTH["narrow" if canvas.width == CANVASES["narrow"].width else "wide"]
    across = axis_around(
        min(stage.began_seconds for stage in shown),
        max(stage.ended_seconds for stage in shown),
        start=names,
        end=canvas.right,
    )
    elements = _frame(across, canvas)
    for row, stage in enumerate(shown):
        top = TOP + ROW_HEIGHT * row
        left = across.place(stage.began_seconds)
        width = max(NARROWEST_BAR, across.place(stage.ended_seconds) - left)
        words = (
            f"{stage_number(stage)} {stage.name}" if names > NAMES_WIDTH["narrow"] else stage_number(stage)
        )
        elements.append(text(0, top + 12, shortened(words, letters(names - 8)), class_="note"))
        says = f"stage {stage_number(stage)}, {stage.name}: {duration(stage.seconds)}{_bound(stage)}"
        elements.append(rectangle(left, top + 1, width, BAR_HEIGHT, style=style(stage.bottleneck), says=says))
    return elements


def _frame(across: Axis, canvas: Canvas) -> list[Element]:
    elements = []
    for value in across.ticks:
        x = across.place(value)
        elements.append(line(x, TOP, x, canvas.bottom, class_="grid"))
        elements.append(text(x, canvas.bottom + 16, tick(value), class_="tick middle"))
    elements.append(line(across.start, canvas.bottom, across.end, canvas.bottom, class_="axis"))
    centre = (across.start + across.end) / 2
    elements.append(text(centre, canvas.height - 8, "seconds", class_="name middle"))
    return elements


def _numbers(stages: Sequence[StageProfile]) -> Element:
    rows: list[list[Child]] = [
        [
            stage_number(stage),
            stage.name,
            number(stage.began_seconds),
            number(stage.ended_seconds),
            number(stage.seconds),
            ", ".join(map(str, stage.parents)),
        ]
        for stage in stages
    ]
    return table(["stage", "name", "from, s", "to, s", "seconds", "after stages"], rows, words=[1, 5])
