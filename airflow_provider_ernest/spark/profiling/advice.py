"""What to change about a job or its machines, where its run's profile makes it safe to say.

Each advice rests on a figure of the profile, and there is none below a threshold: what would win little, or
what the figures do not show, is not told. What rests on a replay is told only where the replay of the run as
it was comes out right. A sample has fewer and smaller partitions than all of the input, and its driver
as much to do: what may come of that alone is told of no sample.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.profiling.headline import in_words
from airflow_provider_ernest.spark.profiling.stage_advice import WORTH_PERCENT, Weighed, of_stages, spilling

Advice = run_profile.Advice
RunProfile = run_profile.RunProfile

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
