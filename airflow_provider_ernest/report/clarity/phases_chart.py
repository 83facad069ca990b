"""The run from its submission to its end by OptEx's phases."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import RunProfile
from airflow_provider_ernest.report.clarity.bars import Bar, Part, bars_figure
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import duration, number, percent

PHASES = (
    ("initialisation", "initialisation_seconds", "part-others"),
    ("preparation", "preparation_seconds", "part-3"),
    ("variable sharing", "variable_sharing_seconds", "part-4"),
    ("computation", "computation_seconds", "part-0"),
    ("communication", "communication_seconds", "part-1"),
)
"""In their order: the name, the field of `PhaseSeconds` and the colour."""


def phases_chart(profile: RunProfile) -> Element:
    """One bar of the phases, one after the other."""
    total = profile.phases.total_seconds or 1.0
    phases = [(name, getattr(profile.phases, field), style) for name, field, style in PHASES]
    words = [f"{name} {duration(seconds)} ({percent(seconds / total)})" for name, seconds, _ in phases]
    return bars_figure(
        [
            Bar(
                name="Start-up and run",
                told=duration(profile.phases.total_seconds),
                parts=tuple(
                    Part(length=seconds, style=style, says=said)
                    for (_, seconds, style), said in zip(phases, words, strict=True)
                ),
            )
        ],
        description=f"Phases of the run: {', '.join(words)}.",
        legend=[(style, said) for (_, _, style), said in zip(phases, words, strict=True)],
        caption=(
            "The phases of OptEx: starting the application; the driver's work before and between tasks; "
            "sending broadcast variables; running tasks; what tasks wait for when they exchange data. "
            "They do not overlap, and add up to start-up and run."
        ),
        numbers=table(
            ["phase", "seconds", "share"],
            ([name, number(seconds), percent(seconds / total)] for name, seconds, _ in phases),
            words=[0],
        ),
    )
