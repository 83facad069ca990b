"""The stages and their stragglers in tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import UNMEASURED, RunProfile, StageProfile, Straggler
from airflow_provider_ernest.report.clarity.most_to_be_won import share_without
from airflow_provider_ernest.report.clarity.resources import short, within
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import data_amount, duration, number, percent, shortened

LEAST_SHARE = 0.05
"""Of a stage's task time; less waiting is not worth naming."""

NO_BREAK = "\N{NO-BREAK SPACE}"

LONGEST_NAME = 36
"""Of a stage, in letters; the numbers of the timeline have it in full."""


def stage_number(stage: StageProfile) -> str:
    """Spark's number, with that of the attempt where it is not the first."""
    return f"{stage.stage_id}.{stage.attempt}" if stage.attempt else str(stage.stage_id)


STAGES_IN_WORDS = (
    "Fetched is shuffle data from other machines, read locally that of the machine itself. The median and "
    "the longest task are without the warm-up of executors' first tasks."
)
"""How to read the table of the stages."""

STRAGGLERS_IN_WORDS = (
    "Tasks that took over 1.5 times the median of their stage, here with the warm-up of first tasks in both. "
    "They were too long by what they took over it; the run without is replayed with each of them taking the "
    "median."
)
"""How to read the tables of stragglers."""


def stage_table(profile: RunProfile) -> Element:
    """What each stage did; columns of which nothing is known are left out."""
    stages = profile.stages
    columns = {
        "stage": [stage_number(stage) for stage in stages],
        "name": [shortened(stage.name, LONGEST_NAME) for stage in stages],
        "seconds": [number(stage.seconds) for stage in stages],
        "bound by": [short(stage.bottleneck) for stage in stages],
        "waits for": [_waits(stage) for stage in stages],
        "tasks": [_tasks(stage) for stage in stages],
        "median task, s": [quantile(stage, 0.5) for stage in stages],
        "longest task, s": [quantile(stage, 1.0) for stage in stages],
        "stragglers": counts(stage.stragglers for stage in stages),
        "input": amounts(stage.input_bytes for stage in stages),
        "fetched": amounts(stage.shuffle_remote_bytes for stage in stages),
        "read locally": amounts(stage.shuffle_local_bytes for stage in stages),
        "shuffle written": amounts(stage.shuffle_written_bytes for stage in stages),
        "spilled": amounts(stage.spilled_bytes for stage in stages),
        "output": amounts(stage.output_bytes for stage in stages),
    }
    known = {name: cells for name, cells in columns.items() if any(cells)}
    return table(
        list(known),
        list(zip(*known.values(), strict=True)),
        words=[at for at, name in enumerate(known) if name in ("name", "bound by", "waits for")],
    )


def waiting(stage: StageProfile) -> list[tuple[str, float]]:
    """What its tasks waited for with the share of their time, the most first; without what is little."""
    if stage.task_seconds <= 0:
        return []
    waited = {**stage.blocked_seconds, UNMEASURED: stage.unmeasured_seconds}
    shares = ((name, seconds / stage.task_seconds) for name, seconds in waited.items())
    return sorted((each for each in shares if each[1] >= LEAST_SHARE), key=lambda each: -each[1])


def cause_table(profile: RunProfile) -> Element:
    """The stragglers by their cause."""
    return table(
        ["cause", "tasks", "too long by", "the run without", "won at most"],
        (
            [
                each.cause,
                f"{each.tasks:,}",
                duration(each.excess_seconds),
                duration(each.seconds_without),
                percent(share_without(profile, each.seconds_without)),
            ]
            for each in profile.straggler_causes
        ),
        words=[0],
    )


def straggler_table(stragglers: Sequence[Straggler]) -> Element:
    """The worst of them, one by one."""
    return table(
        ["stage", "task", "host", "seconds", "median of the stage", "cause", "because"],
        (
            [
                str(each.stage_id),
                str(each.task_id),
                each.host,
                number(each.seconds),
                number(each.median_seconds),
                each.cause,
                each.evidence,
            ]
            for each in stragglers
        ),
        words=[2, 5, 6],
    )


def _waits(stage: StageProfile) -> str:
    told = (f"{within(short(name))} {percent(share)}" for name, share in waiting(stage)[:2])
    return ", ".join(each.replace(" %", NO_BREAK + "%") for each in told)


def _tasks(stage: StageProfile) -> str:
    return f"{stage.tasks:,} + {stage.failed_tasks:,} failed" if stage.failed_tasks else f"{stage.tasks:,}"


def quantile(stage: StageProfile, share: float) -> str:
    """The seconds that such a share of its tasks did not exceed."""
    seconds = stage.quantiles_seconds
    return number(seconds[round(share * (len(seconds) - 1))]) if seconds else ""


def counts(values: Iterable[int]) -> list[str]:
    """Numbers, and nothing for none."""
    return [f"{value:,}" if value else "" for value in values]


def amounts(values: Iterable[int]) -> list[str]:
    """Bytes with their unit, and nothing for none."""
    return [data_amount(value) if value else "" for value in values]
