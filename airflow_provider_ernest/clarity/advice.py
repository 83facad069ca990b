"""What to change about a job or its machines, where its run's profile makes it safe to say.

Each advice rests on a figure of the profile, and there is none below a threshold: what would win little, or
what the figures do not show, is not told. What rests on a replay is told only where the replay of the run as
it was comes out right. A sample has fewer and smaller partitions than all of the input, and its driver
as much to do: what may come of that alone is told of no sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.run_profile import Advice, RunProfile, StageProfile

# ---------------------------------------------------------------------------
# What a run is bound by, as a sentence with its figures.


DRIVER_SHARE = 0.5
"""A run of which no task runs for so much of its time is bound by its driver, whatever tasks wait for."""

WORTH_TELLING_SHARE = 0.2
"""So much of its time without a task, or unmeasured, is told, whatever else binds the run."""

LEAST_PERCENT = 5.0
"""Waiting that wins less is not what binds a run, even where its resource is used most."""

_WITHOUT = {
    run_profile.NETWORK: ("Network-bound", "from an infinitely fast network"),
    run_profile.DISK: ("Disk-bound", "from infinitely fast disks"),
    run_profile.GARBAGE_COLLECTION: ("Bound by garbage collection", "without it"),
    run_profile.SCHEDULER: ("Bound by the scheduler's delay", "without it"),
    run_profile.SERIALISATION: ("Bound by serialisation", "without it"),
}

_PYTHON = "Bound by Python workers, computing or waiting (Spark does not tell which)"

Limits = dict[str, run_profile.ResourceLimit]


def bound_by(profile: RunProfile, most_used: Iterable[str]) -> str:
    """What binds the run.

    Args:
        profile: with its limits and the driver's time.
        most_used: what its stages are bound by in which most of the time goes, the most first.
    """
    if profile.driver_seconds >= DRIVER_SHARE * profile.seconds:
        return run_profile.DRIVER
    limits = _limits(profile)
    for resource in most_used:
        limit = limits.get(resource)
        if limit is None or limit.improvement_percent >= LEAST_PERCENT:
            return resource
    return run_profile.CPU


def headline_of(profile: RunProfile, *, unmeasured_share: float = 0.0) -> str:
    """The sentence, such as "CPU-bound: at most 2 % from a faster network, 1 % from faster disks".

    Args:
        profile: of the run, with what binds it.
        unmeasured_share: of the tasks' time, that Spark does not measure.
    """
    return f"{_bound(profile)}{_unmeasured(profile, unmeasured_share)}{_idle(profile)}"


def _bound(profile: RunProfile) -> str:
    limits = _limits(profile)
    limit = limits.get(profile.bottleneck)
    if profile.bottleneck in _WITHOUT and limit is not None:
        name, without = _WITHOUT[profile.bottleneck]
        return f"{name}: up to {_won(profile, limit)} {without}"
    if profile.bottleneck == run_profile.PYTHON_WORKER and limit is not None:
        return f"{_PYTHON}: at most {_won(profile, limit)} without their time"
    little = _little(limits)
    return f"{_unlimited(profile)}: {little}" if little else _unlimited(profile)


def _won(profile: RunProfile, limit: run_profile.ResourceLimit) -> str:
    won = max(0.0, profile.replayed_seconds - limit.seconds_without)
    figures = f"{in_words(won)} of {in_words(profile.replayed_seconds)}"
    return f"{_percent(limit.improvement_percent)} ({figures})"


def _unmeasured(profile: RunProfile, share: float) -> str:
    """What network and disks may have to do with in a run that computes, since it reads its input by them."""
    if profile.bottleneck != run_profile.CPU or share < WORTH_TELLING_SHARE:
        return ""
    went = f"{_percent(100 * share)} of its tasks' time went to, such as reading input or a busy host"
    return f"; Spark does not measure what {went}"


def _idle(profile: RunProfile) -> str:
    if profile.bottleneck == run_profile.DRIVER:
        return ""
    if profile.driver_seconds < WORTH_TELLING_SHARE * profile.seconds:
        return ""
    return f"; no task ran for {in_words(profile.driver_seconds)} of {in_words(profile.seconds)}"


def _unlimited(profile: RunProfile) -> str:
    """What no faster network and no faster disks help against."""
    if profile.bottleneck == run_profile.DRIVER:
        figures = f"{in_words(profile.driver_seconds)} of {in_words(profile.seconds)}"
        return f"Bound by the driver, with no task running for {figures}"
    if profile.bottleneck == run_profile.UNMEASURED:
        return "Bound by what Spark does not measure, such as reading input, a service or a busy host"
    return "CPU-bound"


def _little(limits: Limits) -> str:
    parts = []
    for resource, better in ((run_profile.NETWORK, "a faster network"), (run_profile.DISK, "faster disks")):
        limit = limits.get(resource)
        if limit is not None:
            won = limit.improvement_percent
            parts.append(f"{_percent(won)} from {better}" if won > 0 else f"nothing from {better}")
    told = ", ".join(parts)
    return f"at most {told}" if told and not told.startswith("nothing") else told


def _limits(profile: RunProfile) -> Limits:
    return {limit.resource: limit for limit in profile.limits}


def _percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 1 else f"{max(0.1, value):.1f} %"


def in_words(value: float) -> str:
    """Whole ones, and tenths of few."""
    return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"


# ---------------------------------------------------------------------------
# What to change about the stages of a job: their partitions, and the memory of what sorts and joins them.


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


# ---------------------------------------------------------------------------


WORTHLESS_PERCENT = 5.0
"""What wins less than that is nothing to buy."""

TRUSTED_ERROR_PERCENT = 10.0
"""Error of the replay of the run as it was; beyond that, nothing that rests on a replay is told."""

UNMEASURED_SHARE = 0.1
"""Of the tasks' time: more may be the reading of input over the network, which Spark does not measure."""

FULL_SHARE = 0.5
"""A network that needs less than that of the time that could be won was not what tasks waited for."""


def advise(profile: RunProfile) -> tuple[Advice, ...]:
    """What to change, the most worth first.

    Args:
        profile: of the run, with all else that is known of it.
    """
    found = [*of_stages(profile)]
    if abs(profile.replay_error_percent) <= TRUSTED_ERROR_PERCENT:
        found += [*_of_limits(profile), *_of_stragglers(profile), *_of_sizes(profile)]
    found.sort(key=lambda each: -each[0])
    return tuple(advice for _, advice in found)


def _of_limits(profile: RunProfile) -> Iterator[Weighed]:
    """By what could be won at most."""
    yield from _of_the_network(profile)
    for resource, subject, text in (
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


def _of_the_network(profile: RunProfile) -> Iterator[Weighed]:
    """That it is slow, or those who send are, where its known rate shows that it was not full."""
    won = _won_percent(profile, run_profile.NETWORK)
    if won < WORTH_PERCENT:
        return
    text = "Take machines with a faster network, or make the job exchange less between them."
    subject, figure = "instance family", _limit_figure(profile, run_profile.NETWORK)
    is_known = profile.capacity is not None and profile.capacity.source != "achieved"
    needed = profile.ideal_seconds.get(run_profile.NETWORK)
    if is_known and needed is not None and needed < FULL_SHARE * won / 100.0 * profile.replayed_seconds:
        subject, text = (
            "shuffle",
            "Look at the machines that send shuffle data (their disks, garbage collection, other load): "
            "tasks wait for it, but the network is not full.",
        )
        figure += f"; the network needs {in_words(needed)} for it"
    yield won, Advice(subject=subject, text=text, figure=figure)


def _of_computing(profile: RunProfile) -> Iterator[Weighed]:
    """That network and disks are nothing to pay for."""
    if profile.bottleneck != run_profile.CPU or not profile.limits or not _tells_of_all_reading(profile):
        return
    network = _won_percent(profile, run_profile.NETWORK)
    disk = _won_percent(profile, run_profile.DISK)
    short_of_memory = _won_percent(profile, run_profile.GARBAGE_COLLECTION) >= WORTHLESS_PERCENT
    if max(network, disk) < WORTHLESS_PERCENT and not short_of_memory and not spilling(profile):
        yield (
            WORTHLESS_PERCENT,
            Advice(
                subject="instance family",
                text="Do not pay for a faster network or disks: compute-optimised machines suit the job if "
                "their memory is enough.",
                figure=f"at most {network:.0f} % from an infinitely fast network, {disk:.0f} % from disks",
            ),
        )


def _tells_of_all_reading(profile: RunProfile) -> bool:
    """Whether what the run did not wait for is nothing that it, or a larger one, needs."""
    task_seconds = sum(stage.task_seconds for stage in profile.stages) + profile.left_out_seconds
    return (
        profile.scale >= 1.0
        and profile.machines > 1
        and profile.unmeasured_seconds <= UNMEASURED_SHARE * task_seconds
        and _won_percent(profile, run_profile.PYTHON_WORKER) < WORTH_PERCENT
    )


def _of_stragglers(profile: RunProfile) -> Iterator[Weighed]:
    """By what stragglers of one cause cost."""
    for cause in profile.straggler_causes:
        won = profile.replayed_seconds - cause.seconds_without
        percent = 100.0 * won / max(profile.replayed_seconds, 1e-9)
        figure = f"{cause.tasks} tasks; up to {in_words(won)} of {in_words(profile.seconds)}"
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
    if profile.scale < 1.0:
        return
    if 2 * profile.driver_seconds >= profile.seconds:
        yield (
            100.0 * profile.driver_seconds / profile.seconds,
            Advice(
                subject="size",
                text="More or larger machines do not help: look at what the driver does between its jobs.",
                figure=f"no task ran for {in_words(profile.driver_seconds)} of {in_words(profile.seconds)}",
            ),
        )
        return
    replayed = {size.machines: size.seconds for size in profile.sizes}
    now, fewer = profile.replayed_seconds, replayed.get(profile.machines // 2)
    if profile.machines % 2 or fewer is None:
        return
    if fewer < (1 + WORTH_PERCENT / 100) * now:
        yield (
            WORTH_PERCENT,
            Advice(
                subject="size",
                text=f"Half as many machines ({profile.machines // 2}) are enough for this input, if their "
                "memory is.",
                figure=f"{in_words(fewer)} instead of {in_words(now)} by replay",
            ),
        )


def _won_percent(profile: RunProfile, resource: str) -> float:
    won = (limit.improvement_percent for limit in profile.limits if limit.resource == resource)
    return max(won, default=0.0)


def _limit_figure(profile: RunProfile, resource: str) -> str:
    limit = next(limit for limit in profile.limits if limit.resource == resource)
    return (
        f"{in_words(limit.blocked_seconds)} of waiting in all tasks; without it at best "
        f"{in_words(limit.seconds_without)} instead of {in_words(profile.replayed_seconds)}"
    )
