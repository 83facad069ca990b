"""A run's profile in words, for terminal and pages."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ernest.documents.profiles import (
    CORE,
    CPU,
    DECOMMISSIONED,
    GRAPHX,
    HEAP_FULL,
    KILLED_FOR_MEMORY,
    LOST,
    MLLIB,
    NODE_LOST,
    PREEMPTED,
    PYTHON_WORKER_KILLED,
    SHUFFLE_LOST,
    SQL,
    STREAMING,
    UNMEASURED,
    ExecutorLoss,
    RunProfile,
    StageProfile,
    WhatIf,
)
from airflow_provider_ernest.words import as_percent, count, counted, duration, number, signed_percentage

_CATEGORIES = {SQL: "SQL", STREAMING: "streaming", MLLIB: "MLlib", GRAPHX: "GraphX", CORE: "RDDs"}

_LOST = {
    KILLED_FOR_MEMORY: (
        "killed, probably for memory",
        "Give executors more memory beside their heap (spark.executor.memoryOverhead, of Python workers "
        "spark.executor.pyspark.memory) or fewer cores each (spark.executor.cores), or smaller partitions.",
    ),
    HEAP_FULL: (
        "ended by a full heap",
        "Give executors more heap (spark.executor.memory) or fewer cores each (spark.executor.cores), "
        "or make smaller partitions.",
    ),
    SHUFFLE_LOST: (
        "Shuffle data could not be fetched",
        "It was on executors that were lost: an external shuffle service (spark.shuffle.service.enabled) or "
        "spark.storage.decommission.shuffleBlocks.enabled keeps it.",
    ),
    PYTHON_WORKER_KILLED: (
        "Python workers ended unexpectedly",
        "A worker that is killed for its memory ends so: give executors more of it beside their heap "
        "(spark.executor.memoryOverhead) or fewer cores each, or make smaller partitions.",
    ),
    PREEMPTED: (
        "preempted",
        "Others with a higher priority took their place: use a queue or machines that are not preempted.",
    ),
    DECOMMISSIONED: (
        "decommissioned",
        "They were taken away in order; spark.storage.decommission.enabled saves what lay there.",
    ),
    NODE_LOST: (
        "lost with their node",
        "Its NodeManager stopped, or its machine failed or was taken away, as spot machines are.",
    ),
    LOST: ("lost", ""),
}
"""By cause: what became of the executors, or what happened if none is named, and what to do."""

_MOST_NAMED = 3

LEAST_UNMEASURED = 0.1
"""Smaller shares of the tasks' time are not mentioned as unexplained."""

LEAST_SHARE = 0.05
"""Smaller shares of a stage's task time are not mentioned as waiting."""


def cautions(profile: RunProfile) -> list[str]:
    """What to read first: what the run lost, and why it does not count."""
    told = [_loss(loss) for loss in profile.losses]
    if profile.not_counted:
        told.append(
            f"This run does not count: {profile.not_counted}. What follows is only what its log tells, "
            "without advice that the rest could refute."
        )
    return told


def _loss(loss: ExecutorLoss) -> str:
    became, remedy = _LOST[loss.cause]
    lost = f", {duration(loss.lost_seconds)} of their time lost" if loss.lost_seconds else ""
    again = f"{counted(loss.failed_tasks, 'task')} had to be made again{lost}"
    because = f" ({loss.because.rstrip('.')})" if loss.because else ""
    if not loss.executors:
        return f"{became}{because}: {again}. {remedy}"
    named = ", ".join(loss.executors[:_MOST_NAMED])
    further = len(loss.executors) - _MOST_NAMED
    others = f" and {count(further)} more" if further > 0 else ""
    executors = counted(len(loss.executors), "executor")
    return f"{executors} {became}: {named}{others}{because}. {again}. {remedy}".strip()


def category_name(category: str) -> str:
    """The kind of job: SQL, streaming, MLlib, GraphX or RDDs."""
    return _CATEGORIES.get(category, category)


def short(resource: str) -> str:
    """What tasks need or wait for, in a narrow column."""
    return {CPU: "CPU", UNMEASURED: "unmeasured"}.get(resource, resource)


def unmeasured_in_words(profile: RunProfile) -> str:
    """How much of the tasks' time is unexplained, as a sentence; empty if it is little."""
    total = sum(stage.task_seconds for stage in profile.stages) + profile.left_out_seconds
    share = profile.unmeasured_seconds / total if total > 0 else 0.0
    if share < LEAST_UNMEASURED:
        return ""
    return (
        f"For {as_percent(share)} of their time tasks neither computed nor waited for anything that Spark "
        "measures: they read input, called a service, or shared their cores with others."
    )


def what_if_in_words(each: WhatIf) -> str:
    """Its time, and by how many percent that is longer or shorter."""
    is_same = abs(each.change_percent) < 0.5
    return f"{duration(each.seconds)} ({'no change' if is_same else signed_percentage(each.change_percent)})"


def share_without(profile: RunProfile, seconds: float) -> float:
    """The share by which a run of that many seconds is shorter than the replayed one."""
    return max(0.0, 1.0 - seconds / profile.replayed_seconds) if profile.replayed_seconds > 0 else 0.0


def stage_number(stage: StageProfile) -> str:
    """Spark's number, with the attempt's if it is not the first."""
    return f"{stage.stage_id}.{stage.attempt}" if stage.attempt else str(stage.stage_id)


def waiting(stage: StageProfile) -> list[tuple[str, float]]:
    """What its tasks waited for with the share of their time, the most first, without small shares."""
    if stage.task_seconds <= 0:
        return []
    waited = {**stage.blocked_seconds, UNMEASURED: stage.unmeasured_seconds}
    shares = ((name, seconds / stage.task_seconds) for name, seconds in waited.items())
    return sorted((each for each in shares if each[1] >= LEAST_SHARE), key=lambda each: -each[1])


def quantile(stage: StageProfile, share: float) -> str:
    """The seconds that this share of its tasks did not exceed."""
    seconds = stage.quantiles_seconds
    return number(seconds[round(share * (len(seconds) - 1))]) if seconds else ""


def longest(stages: Sequence[StageProfile], most: int) -> list[StageProfile]:
    """The stages that took longest, in the order in which they began."""
    kept = sorted(stages, key=lambda stage: -stage.seconds)[:most]
    return sorted(kept, key=lambda stage: (stage.began_seconds, stage.stage_id, stage.attempt))
