"""What to change about the stages of a job: their partitions, and the memory of what sorts and joins them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.profiling.headline import in_words

Advice = run_profile.Advice
RunProfile = run_profile.RunProfile
StageProfile = run_profile.StageProfile

WORTH_PERCENT = 10.0
"""Of the run: less is not worth a change."""

IDLE_SHARE = 0.4
"""Of the slots' time in a stage, for want of tasks."""

ROUNDS = 3
"""A stage of more rounds of tasks than that fills its slots, whatever the last round does."""

TINY_TASK_SECONDS = 0.2
"""Tasks whose scheduling takes a large share of their time are too many only if they are so short."""

SCHEDULING_SHARE = 0.3

SPILLED_SHARE = 0.1
"""Of what stages read; less spilled is no trouble."""

Weighed = tuple[float, Advice]
"""An advice, with the percentage of the run that it is about."""


def of_stages(profile: RunProfile) -> Iterator[Weighed]:
    """By how stages are partitioned, and what they spilled, with the percentage of the run of each."""
    for stage in profile.stages:
        share = 100.0 * stage.seconds / profile.seconds
        if share >= WORTH_PERCENT and stage.tasks > 1 and profile.scale >= 1.0:
            yield from _of_partitions(profile, stage, share)
    yield from _of_spilling(profile)


def _of_partitions(profile: RunProfile, stage: StageProfile, share: float) -> Iterator[Weighed]:
    """That a stage has too few tasks, or a few more than its slots take in a round, or too many.

    A single task is left alone: what ends in one, such as a sum of all rows, often must.
    """
    slots, is_tiny = profile.slots, stage.task_seconds < TINY_TASK_SECONDS * stage.tasks
    rounds = math.ceil(stage.tasks / slots)
    idle = 1.0 - stage.tasks / (rounds * slots)
    delay = stage.blocked_seconds.get(run_profile.SCHEDULER, 0.0) / max(stage.task_seconds, 1e-9)
    if rounds <= ROUNDS and idle >= IDLE_SHARE and not is_tiny and _ran_alone(profile, stage):
        yield (
            share * idle,
            Advice(
                subject="partitions",
                text=f"Repartition what {_named(stage)} reads: to a multiple of the slots, or to many more.",
                figure=f"{stage.tasks} tasks on {slots} slots leave {100 * idle:.0f} % of them idle in a "
                f"stage that takes {in_words(stage.seconds)}",
            ),
        )
    elif is_tiny and delay >= SCHEDULING_SHARE:
        yield (
            share * delay,
            Advice(
                subject="partitions",
                text=f"Make fewer partitions of what {_named(stage)} reads.",
                figure=f"{stage.tasks} tasks of {1000 * stage.task_seconds / stage.tasks:.0f} ms each, "
                f"{100 * delay:.0f} % of it scheduling",
            ),
        )


def _of_spilling(profile: RunProfile) -> Iterator[Weighed]:
    """That memory was too small for what tasks sorted, joined or aggregated."""
    found = spilling(profile)
    share = 100.0 * sum(stage.seconds for stage in found) / profile.seconds
    if found and share >= WORTH_PERCENT:
        worst = max(found, key=lambda stage: stage.spilled_bytes)
        spilled = sum(stage.spilled_bytes for stage in found)
        yield (
            share,
            Advice(
                subject="memory",
                text="Give executors more memory, as on memory-optimised machines, or make more partitions "
                f"of what {_named(worst)} reads.",
                figure=f"{_size(spilled)} spilled to disk, in stages that take {share:.0f} % of the time",
            ),
        )


def spilling(profile: RunProfile) -> list[StageProfile]:
    """The stages whose tasks had too little memory."""
    return [stage for stage in profile.stages if stage.spilled_bytes > SPILLED_SHARE * max(1, _read(stage))]


def _ran_alone(profile: RunProfile, stage: StageProfile) -> bool:
    """Whether no other stage could take the slots that this one left."""
    return not any(
        other.began_seconds < stage.ended_seconds and stage.began_seconds < other.ended_seconds
        for other in profile.stages
        if other is not stage
    )


def _read(stage: StageProfile) -> int:
    return stage.input_bytes + stage.shuffle_remote_bytes + stage.shuffle_local_bytes


def _named(stage: StageProfile) -> str:
    return f"stage {stage.stage_id} ({stage.name})" if stage.name else f"stage {stage.stage_id}"


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:,.1f} MB"
