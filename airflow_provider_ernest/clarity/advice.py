"""What a run is bound by, as a sentence, and what to change if its profile makes that safe to say.

Each piece of advice rests on a figure of the profile, above a threshold. If it rests on a replay, the replay
of the run as it was must come out right. A sample has fewer and smaller partitions than the whole input, and
its driver as much to do: what may come of that alone is not said of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

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
    RunProfile,
    StageProfile,
)
from airflow_provider_ernest.words import count, data_amount, duration, percentage

# A run with no running task for so much of its time is bound by its driver, whatever tasks wait for.
_DRIVER_SHARE = 0.5

# So much of its time without a task, or unmeasured, is reported, whatever else binds the run.
_WORTH_TELLING_SHARE = 0.2

_WORTHLESS_PERCENT = 5.0  # waiting that wins less does not bind a run, even if its resource is used most
_WORTH_PERCENT = 10.0  # of the run: less is not worth a change

# Error of the replay of the run as it was: beyond that, nothing that rests on a replay is said.
TRUSTED_ERROR_PERCENT = 10.0

_FULL_SHARE = 0.5  # tasks waited for a full network only if it needs this share of the time that could be won
_IDLE_SHARE = 0.4  # of the slots' time in a stage, for want of tasks
_ROUNDS = 3  # a stage with more rounds of tasks fills its slots, whatever the last round does

# Tasks are too many only if they are so short and scheduling takes this share of their time.
_TINY_TASK_SECONDS, _SCHEDULING_SHARE = 0.2, 0.3

_MUCH_CARRIED_SECONDS = 0.05  # for each task of a stage to unpack its closure and to pack its result
_MUCH_OF_RESULTS = 5_000_000  # bytes of a stage for the driver; counts and sums bring far less

# So many tasks that each write less bytes on average write many small files.
_MANY_FILES, _SMALL_FILE = 50, 8_000_000

_SPILLED_SHARE = 0.1  # of what stages read; less spilled is no trouble

_WITHOUT = {
    NETWORK: "Network-bound: up to {} from an infinitely fast network",
    DISK: "Disk-bound: up to {} from infinitely fast disks",
    GARBAGE_COLLECTION: "Bound by garbage collection: up to {} without it",
    SCHEDULER: "Bound by the scheduler's delay: up to {} without it",
    SERIALISATION: "Bound by serialisation: up to {} without it",
    PYTHON_WORKER: "Bound by Python workers, computing or waiting (Spark does not tell which): at most {} "
    "without their time",
}

_Weighed = tuple[float, Advice]  # the percentage of the run that an advice is about, and the advice
_Remedy = tuple[str, str, str]  # subject, text and documentation of an advice

_SPARK = "https://spark.apache.org/docs/latest"


def bound_by(profile: RunProfile, most_used: Iterable[str]) -> str:
    """What binds the run: its driver, or the first of what its stages `most_used` that is worth saving."""
    if profile.driver_seconds >= _DRIVER_SHARE * profile.seconds:
        return DRIVER
    for resource in most_used:
        limit = profile.limit(resource)
        if limit is None or limit.improvement_percent >= _WORTHLESS_PERCENT:
            return resource
    return CPU


def headline_of(profile: RunProfile) -> str:
    """What binds the run, such as "CPU-bound: at most 2 % from a faster network, 1 % from faster disks"."""
    sentence = _bound(profile)
    # Network and disks may have to do with it: the run reads its input over them.
    unmeasured_share = profile.unmeasured_seconds / max(1e-9, profile.task_seconds)
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
    limits = {"a faster network": profile.limit(NETWORK), "faster disks": profile.limit(DISK)}
    told = ", ".join(
        f"{percentage(limit.improvement_percent) if limit.improvement_percent > 0 else 'nothing'} from "
        f"{better}"
        for better, limit in limits.items()
        if limit is not None
    )
    little = f"at most {told}" if told and not told.startswith("nothing") else told
    return f"{bound}: {little}" if little else bound


def _idle(profile: RunProfile) -> str:
    return f"{duration(profile.driver_seconds)} of {duration(profile.seconds)}"


def advise(profile: RunProfile) -> tuple[Advice, ...]:
    """What to change, the most worth first.

    A run that does not count only gets advice on spilling: what is missing in its log, or other machines,
    could overturn everything else.
    """
    asked: list[Callable[[RunProfile], Iterator[_Weighed]]] = [_of_spilling]
    if not profile.not_counted:
        asked += [_of_partitions, _of_results, _of_small_files, _of_reading]
        if abs(profile.replay_error_percent) <= TRUSTED_ERROR_PERCENT:
            asked += [_of_limits, _of_stragglers]
    found = [each for of in asked for each in of(profile)]
    if not found and not profile.not_counted:
        found += _of_bottleneck(profile)
    found.sort(key=lambda each: -each[0])
    return tuple(advice for _, advice in found)


def _weighed(profile: RunProfile, won: float, remedy: _Remedy, figure: str) -> _Weighed:
    subject, text, documentation = remedy
    advice = Advice(subject=subject, text=text, figure=figure, won_seconds=won, documentation=documentation)
    return 100.0 * won / profile.seconds, advice


def _saved(seconds: float, profile: RunProfile) -> str:
    return f"by this log up to {duration(seconds)} of {duration(profile.seconds)}"


def _of_partitions(profile: RunProfile) -> Iterator[_Weighed]:
    """A stage has too few tasks, a few more than its slots take in a round, or too many.

    A single task is left alone: what ends in one, such as a sum of all rows, often must.
    """
    for stage in profile.stages:
        share = 100.0 * stage.seconds / profile.seconds
        # A barrier stage must run all its tasks at once.
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
        page = f"{_SPARK}/tuning.html#level-of-parallelism"
        yield _weighed(profile, won, ("partitions", text, page), figure)


def _of_spilling(profile: RunProfile) -> Iterator[_Weighed]:
    """Memory was too small for what tasks sorted, joined or aggregated."""
    found = [
        stage for stage in profile.stages if stage.spilled_bytes > _SPILLED_SHARE * max(1, stage.read_bytes)
    ]
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
            documentation=f"{_SPARK}/tuning.html#memory-usage-of-reduce-tasks",
        )
        yield share, advice


def _named(stage: StageProfile) -> str:
    return f"stage {stage.stage_id} ({stage.name})" if stage.name else f"stage {stage.stage_id}"


def _of_results(profile: RunProfile) -> Iterator[_Weighed]:
    """The driver works alone on the results that tasks brought it."""
    fetching = [stage for stage in profile.stages if stage.result_bytes >= _MUCH_OF_RESULTS]
    won = sum(_alone_after(profile, stage) for stage in fetching)
    if profile.scale >= 1.0 and 100.0 * won >= _WORTH_PERCENT * profile.seconds:
        results = data_amount(sum(stage.result_bytes for stage in fetching))
        figure = f"{results} came as results, and no task ran for {duration(won)} after that"
        yield _weighed(profile, won, _LESS_TO_THE_DRIVER, f"{figure}: {_saved(won, profile)}")


def _of_small_files(profile: RunProfile) -> Iterator[_Weighed]:
    """Many small files are written, and put in order by the driver."""
    writing = [
        stage
        for stage in profile.stages
        if stage.tasks >= _MANY_FILES and 0 < stage.output_bytes < stage.tasks * _SMALL_FILE
    ]
    # Spark does not measure opening, closing and committing files.
    around = sum(stage.unmeasured_seconds + stage.blocked_seconds.get(SCHEDULER, 0.0) for stage in writing)
    won = around / profile.slots + sum(_alone_after(profile, stage) for stage in writing)
    if profile.scale >= 1.0 and 100.0 * won >= _WORTH_PERCENT * profile.seconds:
        written = data_amount(sum(stage.output_bytes for stage in writing))
        figure = (
            f"{count(sum(stage.tasks for stage in writing))} tasks wrote {written}, and {duration(around)} "
            f"of their time is neither computing nor waiting for disks: {_saved(won, profile)}"
        )
        yield _weighed(profile, won, _FEWER_FILES, figure)


def _alone_after(profile: RunProfile, stage: StageProfile) -> float:
    """Seconds from the end of a stage until another one runs or the run ends; 0 if one runs then."""
    later = (each.began_seconds for each in profile.stages if each.ended_seconds > stage.ended_seconds)
    return max(0.0, min(later, default=profile.seconds) - stage.ended_seconds)


def _of_reading(profile: RunProfile) -> Iterator[_Weighed]:
    """A run is bound by what Spark does not measure, in stages that read its input."""
    reading = [stage for stage in profile.stages if stage.reads_input]
    unmeasured = sum(stage.unmeasured_seconds for stage in reading)
    if profile.bottleneck == UNMEASURED and 2 * unmeasured >= profile.unmeasured_seconds > 0:
        share = 100.0 * unmeasured / max(profile.task_seconds, 1e-9)
        advice = Advice(
            subject="reading",
            text="Read less of the input: filter by its partitions, select columns, keep it as Parquet.",
            figure=f"{percentage(share)} of the tasks' time went to what Spark does not measure, where they "
            f"read {data_amount(sum(stage.input_bytes for stage in reading))} of input",
            documentation=f"{_SPARK}/sql-data-sources-parquet.html#partition-discovery",
        )
        yield share, advice


_LESS_TO_THE_DRIVER: _Remedy = (
    "driver",
    "Bring less to the driver: let executors aggregate or write what collect() and toPandas() fetch, and "
    "broadcast smaller tables.",
    f"{_SPARK}/configuration.html#application-properties",
)
_FEWER_FILES: _Remedy = (
    "files",
    "Write fewer files: coalesce what is written, or repartition it by its partition columns.",
    f"{_SPARK}/sql-performance-tuning.html#coalesce-hints-for-sql-queries",
)
_CALMER_SENDERS: _Remedy = (
    "shuffle",
    "Look at the machines that send shuffle data (their disks, garbage collection, other load): tasks wait "
    "for it, but the network is not full.",
    f"{_SPARK}/configuration.html#shuffle-behavior",
)
_REMEDIES: dict[str, _Remedy] = {
    DISK: (
        "instance family",
        "Put Spark's local directories on faster disks, such as those of storage-optimised machines.",
        f"{_SPARK}/hardware-provisioning.html#local-disks",
    ),
    GARBAGE_COLLECTION: (
        "garbage collection",
        "Give executors more memory (memory-optimised machines) or fewer cores each, or cache less or in "
        "serialised form.",
        f"{_SPARK}/tuning.html#garbage-collection-tuning",
    ),
    NETWORK: (
        "instance family",
        "Use machines with a faster network, or make the job exchange less data between them.",
        f"{_SPARK}/hardware-provisioning.html#network",
    ),
    PYTHON_WORKER: (
        "Python",
        "Replace Python functions of single rows (udf, rdd.map) by Spark's built-in functions, or by pandas "
        "UDFs, which get whole columns through Arrow.",
        f"{_SPARK}/api/python/tutorial/sql/arrow_pandas.html",
    ),
    SERIALISATION: (
        "serialisation",
        "Send less with each task and its result: broadcast long lists and large objects, or join with them "
        "as tables, select fewer columns, use Kryo for your own classes.",
        f"{_SPARK}/tuning.html#broadcasting-large-variables",
    ),
    INPUT_SKEW: (
        "skew",
        "Spread the data evenly: some tasks read much more than the others of their stage.",
        f"{_SPARK}/sql-performance-tuning.html#optimizing-skew-join",
    ),
    SLOW_HOST: (
        "slow host",
        "Replace the machine that was slower than the others; clusters that probe theirs do.",
        f"{_SPARK}/configuration.html#scheduling",
    ),
}


_WHERE_TO_LOOK: dict[str, _Remedy] = {
    **{name: _REMEDIES[name] for name in (DISK, GARBAGE_COLLECTION, NETWORK, PYTHON_WORKER, SERIALISATION)},
    DRIVER: (
        "driver",
        "Look at what the job does between its stages: what it collects, plans, lists or commits by itself "
        "while all executors wait. Fewer executors cost less and lose little.",
        f"{_SPARK}/web-ui.html#jobs-tab",
    ),
    SCHEDULER: (
        "partitions",
        "Make fewer, larger tasks: lower spark.sql.shuffle.partitions, coalesce small partitions, and read "
        "fewer, larger files.",
        f"{_SPARK}/tuning.html#level-of-parallelism",
    ),
    UNMEASURED: (
        "unmeasured",
        "See in a thread dump of an executor (Spark's web UI) what its tasks wait for: input, a service that "
        "they call, or a busy host.",
        f"{_SPARK}/web-ui.html#executors-tab",
    ),
}


def _of_bottleneck(profile: RunProfile) -> Iterator[_Weighed]:
    """Where to look for what binds a run, if nothing surer is known of it; nothing where that is its CPUs."""
    if profile.bottleneck in _WHERE_TO_LOOK:
        limit, won = profile.limit(profile.bottleneck), 0.0
        if profile.bottleneck == DRIVER:
            won = profile.driver_seconds
        elif limit is not None:
            won = max(0.0, profile.replayed_seconds - limit.seconds_without)
        yield _weighed(profile, won, _WHERE_TO_LOOK[profile.bottleneck], headline_of(profile))


def _of_limits(profile: RunProfile) -> Iterator[_Weighed]:
    """Waiting that could be saved."""
    is_rate_known = profile.capacity is not None and profile.capacity.source != "achieved"
    needed = profile.ideal_seconds.get(NETWORK, math.inf) if is_rate_known else math.inf
    for limit in profile.limits:
        if limit.improvement_percent < _WORTH_PERCENT or limit.resource not in _REMEDIES:
            continue
        if limit.resource == SERIALISATION and not _carry_much(profile):
            continue
        remedy = _REMEDIES[limit.resource]
        figure = (
            f"{duration(limit.blocked_seconds)} of waiting in all tasks; without it at best "
            f"{duration(limit.seconds_without)} instead of {duration(profile.replayed_seconds)}"
        )
        won = limit.improvement_percent / 100.0 * profile.replayed_seconds
        if limit.resource == NETWORK and needed < _FULL_SHARE * won:
            remedy = _CALMER_SENDERS
            figure += f"; the network needs {duration(needed)} for it"
        won_seconds = profile.replayed_seconds - limit.seconds_without
        yield limit.improvement_percent, _weighed(profile, won_seconds, remedy, figure)[1]


def _carry_much(profile: RunProfile) -> bool:
    """Whether what tasks carry takes long, rather than their number or the classes that first tasks load."""
    return any(
        stage.blocked_seconds.get(SERIALISATION, 0.0) - profile.slots * stage.warmup_seconds
        >= _MUCH_CARRIED_SECONDS * stage.tasks
        for stage in profile.stages
        if stage.tasks > 2 * profile.slots
    )


def _of_stragglers(profile: RunProfile) -> Iterator[_Weighed]:
    """Stragglers of one cause that cost much."""
    for cause in profile.straggler_causes:
        won = profile.replayed_seconds - cause.seconds_without
        percent = 100.0 * won / max(profile.replayed_seconds, 1e-9)
        if percent >= _WORTH_PERCENT and cause.cause in (INPUT_SKEW, SLOW_HOST):
            figure = f"{count(cause.tasks)} tasks; up to {duration(won)} of {duration(profile.seconds)}"
            yield percent, _weighed(profile, won, _REMEDIES[cause.cause], figure)[1]
