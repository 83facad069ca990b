"""What a run is bound by, as a sentence, and what to change, where its profile makes it safe to say.

Each advice rests on a figure of the profile, and there is none below a threshold: what would win little, or
what the figures do not show, is not advised. What rests on a replay is advised only where the replay of the
run as it was comes out right. A sample has fewer and smaller partitions than all of the input, and its driver
as much to do: what may come of that alone is not said of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from airflow_provider_ernest.documents.profiles import (
    CPU,
    DISK,
    DRIVER,
    GARBAGE_COLLECTION,
    INPUT_SKEW,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
    SLOW_HOST,
    UNMEASURED,
    Advice,
    ResourceLimit,
    RunProfile,
    StageProfile,
)
from airflow_provider_ernest.words import count, data_amount, duration, percentage

_DRIVER_SHARE = 0.5
"""A run of which no task runs for so much of its time is bound by its driver, whatever tasks wait for."""

_WORTH_TELLING_SHARE = 0.2
"""So much of its time without a task, or unmeasured, is reported, whatever else binds the run."""

_WORTHLESS_PERCENT = 5.0
"""Waiting that wins less does not bind a run, even where its resource is used most, and is nothing to buy."""

_WORTH_PERCENT = 10.0
"""Of the run: less is not worth a change."""

TRUSTED_ERROR_PERCENT = 10.0
"""Error of the replay of the run as it was; beyond that, nothing that rests on a replay is said."""

_UNMEASURED_SHARE = 0.1
"""Of the tasks' time: more may be the reading of input over the network, which Spark does not measure."""

_FULL_SHARE = 0.5
"""A network that needs less than that of the time that could be won was not what tasks waited for."""

_IDLE_SHARE = 0.4
"""Of the slots' time in a stage, for want of tasks."""

_ROUNDS = 3
"""A stage of more rounds of tasks than that fills its slots, whatever the last round does."""

_TINY_TASK_SECONDS = 0.2
"""Tasks whose scheduling takes a large share of their time are too many only if they are so short."""

_SCHEDULING_SHARE = 0.3

_MUCH_CARRIED_SECONDS = 0.05
"""That each task of a stage takes to unpack what it carries, and to pack its result."""

_MUCH_OF_RESULTS = 5_000_000
"""Bytes of a stage for the driver: what counts and sums bring is far less."""

_MANY_FILES, _SMALL_FILE = 50, 8_000_000
"""Tasks that each write less bytes than that on average write many small files."""

_SPILLED_SHARE = 0.1
"""Of what stages read; less spilled is no trouble."""

_WITHOUT = {
    NETWORK: "Network-bound: up to {} from an infinitely fast network",
    DISK: "Disk-bound: up to {} from infinitely fast disks",
    GARBAGE_COLLECTION: "Bound by garbage collection: up to {} without it",
    SCHEDULER: "Bound by the scheduler's delay: up to {} without it",
    SERIALISATION: "Bound by serialisation: up to {} without it",
    PYTHON_WORKER: "Bound by Python workers, computing or waiting (Spark does not tell which): at most {} "
    "without their time",
}

_Weighed = tuple[float, Advice]
"""The percentage of the run that an advice is about, and the advice."""

_SPARK = "https://spark.apache.org/docs/latest/"
_PARALLELISM = f"{_SPARK}tuning.html#level-of-parallelism"
_REDUCE_MEMORY = f"{_SPARK}tuning.html#memory-usage-of-reduce-tasks"
_HARDWARE = f"{_SPARK}hardware-provisioning.html"
_SHUFFLE = f"{_SPARK}configuration.html#shuffle-behavior"
_COLLECTION = f"{_SPARK}tuning.html#garbage-collection-tuning"
_ARROW = f"{_SPARK}api/python/tutorial/sql/arrow_pandas.html"
_BROADCAST = f"{_SPARK}tuning.html#broadcasting-large-variables"
_RESULTS = f"{_SPARK}configuration.html#application-properties"
_FILES = f"{_SPARK}sql-performance-tuning.html#coalesce-hints-for-sql-queries"
_PARQUET = f"{_SPARK}sql-data-sources-parquet.html#partition-discovery"
_SKEW = f"{_SPARK}sql-performance-tuning.html#optimizing-skew-join"
_SPECULATION = f"{_SPARK}configuration.html#scheduling"
"""What Spark itself says of them."""


def bound_by(profile: RunProfile, most_used: Iterable[str]) -> str:
    """What binds the run.

    Args:
        profile: with its limits and the driver's time.
        most_used: what its stages are bound by in which most of the time goes, the most first.
    """
    if profile.driver_seconds >= _DRIVER_SHARE * profile.seconds:
        return DRIVER
    for resource in most_used:
        limit = profile.limit(resource)
        if limit is None or limit.improvement_percent >= _WORTHLESS_PERCENT:
            return resource
    return CPU


def headline_of(profile: RunProfile, *, unmeasured_share: float = 0.0) -> str:
    """What binds the run, such as "CPU-bound: at most 2 % from a faster network, 1 % from faster disks"."""
    sentence = _bound(profile)
    # Network and disks may have to do with it, since the run reads its input by them.
    if profile.bottleneck == CPU and unmeasured_share >= _WORTH_TELLING_SHARE:
        sentence += (
            f"; Spark does not measure what {percentage(100 * unmeasured_share)} of its tasks' time "
            "went to, such as reading input or a busy host"
        )
    idle = profile.driver_seconds >= _WORTH_TELLING_SHARE * profile.seconds
    return (
        f"{sentence}; no task ran for {_idle(profile)}" if idle and profile.bottleneck != DRIVER else sentence
    )


def _bound(profile: RunProfile) -> str:
    limit = profile.limit(profile.bottleneck)
    if limit is not None and profile.bottleneck in _WITHOUT:
        won = duration(max(0.0, profile.replayed_seconds - limit.seconds_without))
        figures = f"{won} of {duration(profile.replayed_seconds)}"
        return _WITHOUT[profile.bottleneck].format(f"{percentage(limit.improvement_percent)} ({figures})")
    bound = "CPU-bound"
    if profile.bottleneck == DRIVER:
        bound = f"Bound by the driver, with no task running for {_idle(profile)}"
    if profile.bottleneck == UNMEASURED:
        bound = "Bound by what Spark does not measure, such as reading input, a service or a busy host"
    little = _little(profile)
    return f"{bound}: {little}" if little else bound


def _little(profile: RunProfile) -> str:
    """What faster network and disks would win of a run that is bound by neither."""
    limits = {"a faster network": profile.limit(NETWORK), "faster disks": profile.limit(DISK)}
    told = ", ".join(
        f"{percentage(limit.improvement_percent) if limit.improvement_percent > 0 else 'nothing'} from "
        f"{better}"
        for better, limit in limits.items()
        if limit is not None
    )
    return f"at most {told}" if told and not told.startswith("nothing") else told


def _idle(profile: RunProfile) -> str:
    return f"{duration(profile.driver_seconds)} of {duration(profile.seconds)}"


def advise(profile: RunProfile) -> tuple[Advice, ...]:
    """What to change, the most worth first.

    Of a run that does not count only what the tasks show that are there: what its log does not tell, or other
    machines than it had, could turn over all else.
    """
    counts = not profile.not_counted
    found = [*_of_spilling(profile)]
    if counts:
        found += [
            *_of_partitions(profile),
            *_of_results(profile),
            *_of_small_files(profile),
            *_of_reading(profile),
        ]
    if counts and abs(profile.replay_error_percent) <= TRUSTED_ERROR_PERCENT:
        found += [
            *_of_limits(profile),
            *_of_computing(profile),
            *_of_stragglers(profile),
            *_of_sizes(profile),
        ]
    found.sort(key=lambda each: -each[0])
    return tuple(advice for _, advice in found)


def _saving(
    profile: RunProfile, won_seconds: float, *, subject: str, text: str, figure: str, documentation: str
) -> _Weighed:
    """An advice that is about what the log says it saves."""
    advice = Advice(
        subject=subject, text=text, figure=figure, won_seconds=won_seconds, documentation=documentation
    )
    return 100.0 * won_seconds / profile.seconds, advice


def _saved(seconds: float, profile: RunProfile) -> str:
    return f"by this log up to {duration(seconds)} of {duration(profile.seconds)}"


def _of_partitions(profile: RunProfile) -> Iterator[_Weighed]:
    """That a stage has too few tasks, or a few more than its slots take in a round, or too many.

    A single task is left alone: what ends in one, such as a sum of all rows, often must.
    """
    for stage in profile.stages:
        share = 100.0 * stage.seconds / profile.seconds
        # As many as run at once are what a barrier stage is made of.
        if share < _WORTH_PERCENT or stage.tasks < 2 or profile.scale < 1.0 or stage.is_barrier:
            continue
        slots, is_tiny = profile.slots, stage.task_seconds < _TINY_TASK_SECONDS * stage.tasks
        rounds = math.ceil(stage.tasks / slots)
        idle = 1.0 - stage.tasks / (rounds * slots)
        delay = stage.blocked_seconds.get(SCHEDULER, 0.0) / max(stage.task_seconds, 1e-9)
        if rounds <= _ROUNDS and idle >= _IDLE_SHARE and not is_tiny and profile.ran_alone(stage):
            won = stage.seconds * idle
            text = f"Repartition what {_named(stage)} reads: to a multiple of the slots, or to many more."
            figure = (
                f"{count(stage.tasks)} tasks on {slots} slots leave {percentage(100 * idle)} of them idle in "
                f"a stage that takes {duration(stage.seconds)}"
            )
        elif is_tiny and delay >= _SCHEDULING_SHARE:
            won = stage.seconds * delay
            text = f"Make fewer partitions of what {_named(stage)} reads."
            figure = (
                f"{count(stage.tasks)} tasks of {count(1000 * stage.task_seconds / stage.tasks)} ms each, "
                f"{percentage(100 * delay)} of it scheduling: {_saved(won, profile)}"
            )
        else:
            continue
        yield _saving(
            profile, won, subject="partitions", text=text, figure=figure, documentation=_PARALLELISM
        )


def _of_spilling(profile: RunProfile) -> Iterator[_Weighed]:
    """That memory was too small for what tasks sorted, joined or aggregated."""
    found = _spilling(profile)
    share = 100.0 * sum(stage.seconds for stage in found) / profile.seconds
    if found and share >= _WORTH_PERCENT:
        worst = max(found, key=lambda stage: stage.spilled_bytes)
        spilled = sum(stage.spilled_bytes for stage in found)
        advice = Advice(
            subject="memory",
            text="Give executors more memory, as on memory-optimised machines, or make more partitions "
            f"of what {_named(worst)} reads.",
            figure=f"{data_amount(spilled)} spilled to disk, in stages that take {percentage(share)} of the "
            "time",
            documentation=_REDUCE_MEMORY,
        )
        yield share, advice


def _spilling(profile: RunProfile) -> list[StageProfile]:
    """The stages whose tasks had too little memory."""
    return [
        stage for stage in profile.stages if stage.spilled_bytes > _SPILLED_SHARE * max(1, stage.read_bytes)
    ]


def _named(stage: StageProfile) -> str:
    return f"stage {stage.stage_id} ({stage.name})" if stage.name else f"stage {stage.stage_id}"


def _of_results(profile: RunProfile) -> Iterator[_Weighed]:
    """That the driver works alone on what tasks have brought it."""
    fetching = [stage for stage in profile.stages if stage.result_bytes >= _MUCH_OF_RESULTS]
    won = sum(_alone_after(profile, stage) for stage in fetching)
    if profile.scale >= 1.0 and 100.0 * won >= _WORTH_PERCENT * profile.seconds:
        results = data_amount(sum(stage.result_bytes for stage in fetching))
        yield _saving(
            profile,
            won,
            subject="driver",
            text="Bring less to the driver: let executors aggregate or write what collect() and toPandas() "
            "fetch, and broadcast smaller tables.",
            figure=f"{results} came as results, and no task ran for {duration(won)} after that: "
            f"{_saved(won, profile)}",
            documentation=_RESULTS,
        )


def _of_small_files(profile: RunProfile) -> Iterator[_Weighed]:
    """That many small files are written, and put in order by the driver."""
    writing = [
        stage
        for stage in profile.stages
        if stage.tasks >= _MANY_FILES and 0 < stage.output_bytes < stage.tasks * _SMALL_FILE
    ]
    # To open, close and commit a file is nothing that Spark measures.
    around = sum(stage.unmeasured_seconds + stage.blocked_seconds.get(SCHEDULER, 0.0) for stage in writing)
    won = around / profile.slots + sum(_alone_after(profile, stage) for stage in writing)
    if profile.scale >= 1.0 and 100.0 * won >= _WORTH_PERCENT * profile.seconds:
        written = data_amount(sum(stage.output_bytes for stage in writing))
        yield _saving(
            profile,
            won,
            subject="files",
            text="Write fewer files: coalesce what is written, or repartition it by its partition columns.",
            figure=f"{count(sum(stage.tasks for stage in writing))} tasks wrote {written}, and "
            f"{duration(around)} of their time is neither computing nor waiting for disks: "
            f"{_saved(won, profile)}",
            documentation=_FILES,
        )


def _alone_after(profile: RunProfile, stage: StageProfile) -> float:
    """Seconds from the end of a stage until another one runs, or the run ends; 0 where one runs then."""
    later = (each.began_seconds for each in profile.stages if each.ended_seconds > stage.ended_seconds)
    return max(0.0, min(later, default=profile.seconds) - stage.ended_seconds)


def _of_reading(profile: RunProfile) -> Iterator[_Weighed]:
    """That a run is bound by what Spark does not measure, where its input is read."""
    reading = [stage for stage in profile.stages if stage.reads_input]
    unmeasured = sum(stage.unmeasured_seconds for stage in reading)
    if profile.bottleneck == UNMEASURED and 2 * unmeasured >= profile.unmeasured_seconds > 0:
        share = 100.0 * unmeasured / max(profile.task_seconds, 1e-9)
        advice = Advice(
            subject="reading",
            text="Read less of the input: filter by its partitions, select columns, keep it as Parquet.",
            figure=f"{percentage(share)} of the tasks' time went to what Spark does not measure, where they "
            f"read {data_amount(sum(stage.input_bytes for stage in reading))} of input",
            documentation=_PARQUET,
        )
        yield share, advice


_AGAINST_WAITING = {
    DISK: (
        "instance family",
        "Put Spark's local directories on faster disks, such as those of storage-optimised machines.",
        f"{_HARDWARE}#local-disks",
    ),
    GARBAGE_COLLECTION: (
        "garbage collection",
        "Give executors more memory (memory-optimised machines) or fewer cores each, or cache less or in "
        "serialised form.",
        _COLLECTION,
    ),
    NETWORK: (
        "instance family",
        "Take machines with a faster network, or make the job exchange less between them.",
        f"{_HARDWARE}#network",
    ),
    PYTHON_WORKER: (
        "Python",
        "Put Spark's built-in functions in the place of Python's for single rows (udf, rdd.map), or pandas "
        "UDFs, which take columns by Arrow.",
        _ARROW,
    ),
    SERIALISATION: (
        "serialisation",
        "Send less with each task and its result: broadcast long lists and large objects, or join with them "
        "as tables, select fewer columns, take Kryo for classes of your own.",
        _BROADCAST,
    ),
}


def _of_limits(profile: RunProfile) -> Iterator[_Weighed]:
    """By what could be won at most."""
    for limit in profile.limits:
        if limit.improvement_percent < _WORTH_PERCENT or limit.resource not in _AGAINST_WAITING:
            continue
        if limit.resource == SERIALISATION and not _carry_much(profile):
            continue
        subject, text, documentation = _AGAINST_WAITING[limit.resource]
        figure = (
            f"{duration(limit.blocked_seconds)} of waiting in all tasks; without it at best "
            f"{duration(limit.seconds_without)} instead of {duration(profile.replayed_seconds)}"
        )
        needed = profile.ideal_seconds.get(NETWORK)
        if limit.resource == NETWORK and needed is not None and _was_not_full(profile, limit, needed):
            subject, text, documentation = (
                "shuffle",
                "Look at the machines that send shuffle data (their disks, garbage collection, other load): "
                "tasks wait for it, but the network is not full.",
                _SHUFFLE,
            )
            figure += f"; the network needs {duration(needed)} for it"
        advice = Advice(
            subject=subject,
            text=text,
            figure=figure,
            won_seconds=profile.replayed_seconds - limit.seconds_without,
            documentation=documentation,
        )
        yield limit.improvement_percent, advice


def _carry_much(profile: RunProfile) -> bool:
    """Whether what tasks carry takes long: not their number, nor the classes that first tasks load."""
    return any(
        stage.blocked_seconds.get(SERIALISATION, 0.0) - profile.slots * stage.warmup_seconds
        >= _MUCH_CARRIED_SECONDS * stage.tasks
        for stage in profile.stages
        if stage.tasks > 2 * profile.slots
    )


def _was_not_full(profile: RunProfile, limit: ResourceLimit, needed_seconds: float) -> bool:
    """Whether the known rate of the network shows that it was not what tasks waited for."""
    is_known = profile.capacity is not None and profile.capacity.source != "achieved"
    won = limit.improvement_percent / 100.0 * profile.replayed_seconds
    return is_known and needed_seconds < _FULL_SHARE * won


def _of_computing(profile: RunProfile) -> Iterator[_Weighed]:
    """That network and disks are nothing to pay for."""
    if profile.bottleneck != CPU or not profile.limits or not _tells_of_all_reading(profile):
        return
    network, disk = _won_percent(profile, NETWORK), _won_percent(profile, DISK)
    short_of_memory = _won_percent(profile, GARBAGE_COLLECTION) >= _WORTHLESS_PERCENT
    if max(network, disk) < _WORTHLESS_PERCENT and not short_of_memory and not _spilling(profile):
        advice = Advice(
            subject="instance family",
            text="Do not pay for a faster network or disks: compute-optimised machines suit the job if their "
            "memory is enough.",
            figure=f"at most {percentage(network)} from an infinitely fast network, {percentage(disk)} from "
            "disks",
            documentation=f"{_HARDWARE}#cpu-cores",
        )
        yield _WORTHLESS_PERCENT, advice


def _tells_of_all_reading(profile: RunProfile) -> bool:
    """Whether what the run did not wait for is nothing that it, or a larger one, needs."""
    return (
        profile.scale >= 1.0
        and profile.machines > 1
        and profile.unmeasured_seconds <= _UNMEASURED_SHARE * profile.task_seconds
        and _won_percent(profile, PYTHON_WORKER) < _WORTH_PERCENT
    )


def _won_percent(profile: RunProfile, resource: str) -> float:
    limit = profile.limit(resource)
    return max(0.0, limit.improvement_percent) if limit else 0.0


def _of_stragglers(profile: RunProfile) -> Iterator[_Weighed]:
    """By what stragglers of one cause cost."""
    advised = {
        INPUT_SKEW: (
            "skew",
            "Spread the data evenly: some tasks read much more than the others of their stage.",
            _SKEW,
        ),
        SLOW_HOST: (
            "slow host",
            "Replace the machine that was slower than the others; clusters that probe theirs do.",
            _SPECULATION,
        ),
    }
    for cause in profile.straggler_causes:
        won = profile.replayed_seconds - cause.seconds_without
        percent = 100.0 * won / max(profile.replayed_seconds, 1e-9)
        if percent >= _WORTH_PERCENT and cause.cause in advised:
            subject, text, documentation = advised[cause.cause]
            advice = Advice(
                subject=subject,
                text=text,
                figure=f"{count(cause.tasks)} tasks; up to {duration(won)} of {duration(profile.seconds)}",
                won_seconds=won,
                documentation=documentation,
            )
            yield percent, advice


def _of_sizes(profile: RunProfile) -> Iterator[_Weighed]:
    """That machines do not help."""
    if profile.scale < 1.0:
        return
    if 2 * profile.driver_seconds >= profile.seconds:
        advice = Advice(
            subject="size",
            text="More or larger machines do not help: look at what the driver does between its jobs.",
            figure=f"no task ran for {_idle(profile)}",
        )
        yield 100.0 * profile.driver_seconds / profile.seconds, advice
        return
    replayed = {size.machines: size.seconds for size in profile.sizes}
    now, fewer = profile.replayed_seconds, replayed.get(profile.machines // 2)
    if profile.machines % 2 == 0 and fewer is not None and fewer < (1 + _WORTH_PERCENT / 100) * now:
        advice = Advice(
            subject="size",
            text=f"Half as many machines ({profile.machines // 2}) are enough for this input, if their "
            "memory is.",
            figure=f"{duration(fewer)} instead of {duration(now)} by replay",
        )
        yield _WORTH_PERCENT, advice
