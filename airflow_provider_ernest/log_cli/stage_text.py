"""The stages of a run and their stragglers as lines of text."""

from __future__ import annotations

from airflow_provider_ernest.log_cli.text_table import known_columns, titled_table, wrapped
from airflow_provider_ernest.model.run_profile import RunProfile, StageProfile, Straggler
from airflow_provider_ernest.report.clarity.most_to_be_won import share_without
from airflow_provider_ernest.report.clarity.resources import short
from airflow_provider_ernest.report.clarity.stage_tables import (
    amounts,
    counts,
    quantile,
    stage_number,
    waiting,
)
from airflow_provider_ernest.report.clarity.timeline_chart import longest
from airflow_provider_ernest.report.wording import duration, percent, shortened

MOST_STAGES = 20
"""So many are listed: those that took longest."""

MOST_STRAGGLERS = 5

LONGEST_NAME = 26
"""Of a stage, in letters."""


def stage_lines(profile: RunProfile) -> list[str]:
    """What the longest stages did with their time, and what data they moved."""
    shown = longest(profile.stages, MOST_STAGES)
    every = len(profile.stages) + profile.stages_left_out
    title = "stages" if len(shown) == every else f"the {len(shown)} longest of {every:,} stages"
    title += ", with their median and longest task in seconds, warm-up of first tasks left out"
    columns = {
        "stage": [stage_number(stage) for stage in shown],
        "name": [shortened(stage.name, LONGEST_NAME) for stage in shown],
        "seconds": [f"{stage.seconds:,.1f}" for stage in shown],
        "tasks": [f"{stage.tasks:,}" for stage in shown],
        "median": [quantile(stage, 0.5) for stage in shown],
        "longest": [quantile(stage, 1.0) for stage in shown],
        "bound by": [short(stage.bottleneck) for stage in shown],
        "waits for": [_waits(stage) for stage in shown],
    }
    known = known_columns(columns)
    lines = titled_table(
        title, tuple(known), zip(*known.values(), strict=True), words=("name", "bound by", "waits for")
    )
    return lines + _data_lines(shown)


def straggler_lines(profile: RunProfile) -> list[str]:
    """The stragglers by cause, and the worst of them."""
    lines = titled_table(
        "stragglers: tasks that took over 1.5 times their stage's median, warm-up of first tasks included",
        ("cause", "tasks", "too long by", "seconds without", "won at most"),
        (
            (
                each.cause,
                f"{each.tasks:,}",
                duration(each.excess_seconds),
                f"{each.seconds_without:,.1f}",
                percent(share_without(profile, each.seconds_without)),
            )
            for each in profile.straggler_causes
        ),
        words=("cause",),
    )
    if not profile.stragglers:
        return lines
    worst = [f"- {_told(each)}" for each in profile.stragglers[:MOST_STRAGGLERS]]
    return [*lines, *(line for words in worst for line in wrapped(words, indent="  ", further="    "))]


def _told(each: Straggler) -> str:
    host = f" on {each.host}" if each.host else ""
    because = f": {each.evidence}" if each.evidence else ""
    return (
        f"stage {each.stage_id}, task {each.task_id}{host}: {each.seconds:.1f} s (median "
        f"{each.median_seconds:.1f} s), {each.cause}{because}"
    )


def _waits(stage: StageProfile) -> str:
    return ", ".join(f"{short(name)} {percent(share)}" for name, share in waiting(stage)[:1])


def _data_lines(shown: list[StageProfile]) -> list[str]:
    figures = known_columns(
        {
            "input": amounts(stage.input_bytes for stage in shown),
            "fetched": amounts(stage.shuffle_remote_bytes for stage in shown),
            "read locally": amounts(stage.shuffle_local_bytes for stage in shown),
            "shuffle written": amounts(stage.shuffle_written_bytes for stage in shown),
            "spilled": amounts(stage.spilled_bytes for stage in shown),
            "output": amounts(stage.output_bytes for stage in shown),
            "failed": counts(stage.failed_tasks for stage in shown),
            "stragglers": counts(stage.stragglers for stage in shown),
        }
    )
    rows = [
        (stage_number(stage), *cells)
        for stage, cells in zip(shown, zip(*figures.values(), strict=True), strict=False)
        if any(cells)
    ]
    return titled_table(
        "what they moved, and how many of their tasks failed or took too long", ("stage", *figures), rows
    )
