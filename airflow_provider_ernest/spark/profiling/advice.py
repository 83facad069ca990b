"""What to change about a job or its machines, where its run's profile makes it safe to say.

Each advice rests on a figure of the profile, and there is none below a threshold: what would win little, or
what the figures do not show, is not told. What rests on a replay is told only where the replay of the run as
it was comes out right. A sample of the input has fewer partitions than the input: what may come of that alone
is told of no sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from airflow_provider_ernest.model.documents import run_profile

Advice = run_profile.Advice
RunProfile = run_profile.RunProfile
StageProfile = run_profile.StageProfile

WORTH_PERCENT = 10.0
"""Of the run: less is not worth a change."""

WORTHLESS_PERCENT = 5.0
"""What wins less than that is nothing to buy."""

TRUSTED_ERROR_PERCENT = 10.0
"""Error of the replay of the run as it was; beyond that, nothing that rests on a replay is told."""

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


def advise(profile: RunProfile) -> tuple[Advice, ...]:
    """What to change, the most worth first.

    Args:
        profile: of the run, with all else that is known of it.
    """
    found = [*_of_stages(profile)]
    if abs(profile.replay_error_percent) <= TRUSTED_ERROR_PERCENT:
        found += [*_of_limits(profile), *_of_stragglers(profile), *_of_sizes(profile)]
    found.sort(key=lambda each: -each[0])
    return tuple(advice for _, advice in found)


def _of_limits(profile: RunProfile) -> Iterator[Weighed]:
    """By what could be won at most."""
    for resource, subject, text in (
        (
            run_profile.NETWORK,
            "instance family",
            "Take machines with a faster network, or make the job exchange less between them.",
        ),
        (
            run_profile.DISK,
            "instance family",
            "Put Spark's local directories on faster disks, such as those of storage-optimised machines.",
        ),
        (
            run_profile.GARBAGE_COLLECTION,
            "garbage collection",
            "Give executors more memory (memory-optimised machines), or cache less or in serialised form.",
        ),
    ):
        won = _won_percent(profile, resource)
        if won >= WORTH_PERCENT:
            yield won, Advice(subject=subject, text=text, figure=_limit_figure(profile, resource))
    yield from _of_computing(profile)


def _of_computing(profile: RunProfile) -> Iterator[Weighed]:
    """That network and disks are nothing to pay for."""
    if profile.bottleneck != run_profile.CPU or not profile.limits:
        return
    network = _won_percent(profile, run_profile.NETWORK)
    disk = _won_percent(profile, run_profile.DISK)
    if max(network, disk) < WORTHLESS_PERCENT:
        yield (
            WORTHLESS_PERCENT,
            Advice(
                subject="instance family",
                text="Do not pay for a faster network or disks: compute-optimised machines suit the job if "
                "their memory is enough.",
                figure=f"at most {network:.0f} % from an infinitely fast network, {disk:.0f} % from disks",
            ),
        )


def _of_stages(profile: RunProfile) -> Iterator[Weighed]:
    """By how stages are partitioned, and what they spilled."""
    for stage in profile.stages:
        share = 100.0 * stage.seconds / profile.seconds
        sampled = profile.scale < 1.0 and stage.reads_input
        if share >= WORTH_PERCENT and stage.tasks > 1 and not sampled:
            yield from _of_partitions(stage, profile.slots, share)
    yield from _of_spilling(profile)


def _of_partitions(stage: StageProfile, slots: int, share: float) -> Iterator[Weighed]:
    """That a stage has too few tasks, or a few more than its slots take in a round, or too many.

    A single task is left alone: what ends in one, such as a sum of all rows, often must.
    """
    rounds = math.ceil(stage.tasks / slots)
    idle = 1.0 - stage.tasks / (rounds * slots)
    delay = stage.blocked_seconds.get(run_profile.SCHEDULER, 0.0) / max(stage.task_seconds, 1e-9)
    if rounds <= ROUNDS and idle >= IDLE_SHARE:
        yield (
            share * idle,
            Advice(
                subject="partitions",
                text=f"Repartition what {_named(stage)} reads: to a multiple of the slots, or to many more.",
                figure=f"{stage.tasks} tasks on {slots} slots leave {100 * idle:.0f} % of them idle in a "
                f"stage that takes {_seconds(stage.seconds)}",
            ),
        )
    elif stage.task_seconds < TINY_TASK_SECONDS * stage.tasks and delay >= SCHEDULING_SHARE:
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
    spilling = [
        stage for stage in profile.stages if stage.spilled_bytes > SPILLED_SHARE * max(1, _read(stage))
    ]
    share = 100.0 * sum(stage.seconds for stage in spilling) / profile.seconds
    if spilling and share >= WORTH_PERCENT:
        worst = max(spilling, key=lambda stage: stage.spilled_bytes)
        spilled = sum(stage.spilled_bytes for stage in spilling)
        yield (
            share,
            Advice(
                subject="memory",
                text="Give executors more memory, as on memory-optimised machines, or make more partitions "
                f"of what {_named(worst)} reads.",
                figure=f"{_size(spilled)} spilled to disk, in stages that take {share:.0f} % of the time",
            ),
        )


def _of_stragglers(profile: RunProfile) -> Iterator[Weighed]:
    """By what stragglers of one cause cost."""
    for cause in profile.straggler_causes:
        won = profile.replayed_seconds - cause.seconds_without
        percent = 100.0 * won / max(profile.replayed_seconds, 1e-9)
        figure = f"{cause.tasks} tasks; up to {_seconds(won)} of {_seconds(profile.seconds)}"
        if percent < WORTH_PERCENT:
            continue
        if cause.cause == run_profile.INPUT_SKEW:
            text = "Spread the data evenly: some tasks read much more than the others of their stage."
            yield percent, Advice(subject="skew", text=text, figure=figure)
        elif cause.cause == run_profile.SLOW_HOST:
            text = "Replace the machine that was slower than the others; clusters that probe theirs do."
            yield percent, Advice(subject="slow host", text=text, figure=figure)


def _of_sizes(profile: RunProfile) -> Iterator[Weighed]:
    """That machines do not help."""
    if 2 * profile.driver_seconds >= profile.seconds:
        yield (
            100.0 * profile.driver_seconds / profile.seconds,
            Advice(
                subject="size",
                text="More or larger machines do not help: look at what the driver does between its jobs.",
                figure=f"no task ran for {_seconds(profile.driver_seconds)} of {_seconds(profile.seconds)}",
            ),
        )
        return
    replayed = {size.machines: size.seconds for size in profile.sizes}
    now, fewer = profile.replayed_seconds, replayed.get(profile.machines // 2)
    if profile.machines % 2 or profile.scale < 1.0 or fewer is None:
        return
    if fewer < (1 + WORTH_PERCENT / 100) * now:
        yield (
            WORTH_PERCENT,
            Advice(
                subject="size",
                text=f"Half as many machines ({profile.machines // 2}) are enough for this input, if their "
                "memory is.",
                figure=f"{_seconds(fewer)} instead of {_seconds(now)} by replay",
            ),
        )


def _won_percent(profile: RunProfile, resource: str) -> float:
    won = (limit.improvement_percent for limit in profile.limits if limit.resource == resource)
    return max(won, default=0.0)


def _limit_figure(profile: RunProfile, resource: str) -> str:
    limit = next(limit for limit in profile.limits if limit.resource == resource)
    return (
        f"{_seconds(limit.blocked_seconds)} of waiting in all tasks; without it at best "
        f"{_seconds(limit.seconds_without)} instead of {_seconds(profile.replayed_seconds)}"
    )


def _read(stage: StageProfile) -> int:
    return stage.input_bytes + stage.shuffle_remote_bytes + stage.shuffle_local_bytes


def _named(stage: StageProfile) -> str:
    return f"stage {stage.stage_id} ({stage.name})" if stage.name else f"stage {stage.stage_id}"


def _size(count: int) -> str:
    return f"{count / 1e9:,.1f} GB" if count >= 1e8 else f"{count / 1e6:,.1f} MB"


def _seconds(value: float) -> str:
    return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"
