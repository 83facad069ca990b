"""What a run is bound by, in a sentence, and what to change about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_ernest.clarity.advice import advise, bound_by, headline_of
from airflow_provider_ernest.documents import profiles
from airflow_provider_ernest.documents.profiles import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    Capacity,
    RunProfile,
)
from tests.unit.run_profiles import bare, network_bound

GIGABYTE = 10**9


def limit(resource, percent, *, of=60.0):
    return profiles.ResourceLimit(
        resource=resource,
        blocked_seconds=100.0,
        share_percent=10.0,
        seconds_without=of * (1 - percent / 100),
        improvement_percent=percent,
    )


def a_stage(seconds=30.0, tasks=32, began=5.0, **fields):
    told = {"stage_id": 4, "name": "count at job.py:12", "task_seconds": 30.0 * tasks, **fields}
    return profiles.StageProfile(**told, tasks=tasks, began_seconds=began, ended_seconds=began + seconds)


def straggling(cause):
    """Three tasks that cost a quarter of the run, and three that cost next to nothing."""
    return {
        "straggler_causes": (
            profiles.StragglerCause(cause=cause, tasks=3, excess_seconds=40.0, seconds_without=45.0),
            profiles.StragglerCause(cause=cause, tasks=3, excess_seconds=4.0, seconds_without=58.0),
        )
    }


def advice_on(**fields):
    """On a run of 60 s on 4 machines with 16 slots."""
    own = {"executors": 4, "slots": 16, "seconds": 60.0, "replayed_seconds": 60.0, "bottleneck": ""}
    return advise(bare(**{**own, **fields}))


WAITING = {"limits": (limit(NETWORK, 40.0),)}
MEASURED = Capacity(cores=4, network_gigabytes_per_second=1.0, source="measured")
TINY_TASKS = a_stage(tasks=1600, task_seconds=80.0, blocked_seconds={profiles.SCHEDULER: 40.0})


ADVISED = {
    "a network that is worth it": (
        WAITING,
        "instance family",
        "faster network",
        "100 s of waiting in all tasks; without it at best 36 s instead of 60 s",
    ),
    "what the tasks themselves achieved says not that it was not full": (
        {
            **WAITING,
            "capacity": Capacity(cores=4, network_gigabytes_per_second=1.0),
            "ideal_seconds": {NETWORK: 3.0},
        },
        "instance family",
        "faster network",
        "36 s instead of 60 s",
    ),
    "a network that was not full is not to be bought": (
        {**WAITING, "capacity": MEASURED, "ideal_seconds": {NETWORK: 3.0}},
        "shuffle",
        "Look at the machines that send shuffle data",
        "; the network needs 3 s for it",
    ),
    "fewer partitions than slots": (
        {"stages": (a_stage(tasks=4),)},
        "partitions",
        "stage 4 (count at job.py:12)",
        "4 tasks on 16 slots leave 75 % of them idle in a stage that takes 30 s",
    ),
    "tiny tasks": (
        {"stages": (TINY_TASKS,)},
        "partitions",
        "Make fewer partitions",
        "1,600 tasks of 50 ms each, 50 % of it scheduling",
    ),
    "spilling": (
        {"stages": (a_stage(shuffle_local_bytes=2 * GIGABYTE, spilled_bytes=3 * GIGABYTE), a_stage(5.0))},
        "memory",
        "stage 4",
        "3.00 GB spilled to disk, in stages that take 50 % of the time",
    ),
    "skew": (straggling(profiles.INPUT_SKEW), "skew", "", "3 tasks; up to 15 s of 60 s"),
    "slow host": (straggling(profiles.SLOW_HOST), "slow host", "", "3 tasks; up to 15 s of 60 s"),
    "rows that go through Python": (
        {"limits": (limit(profiles.PYTHON_WORKER, 30.0),)},
        "Python",
        "Python functions of single rows (udf, rdd.map) by Spark's built-in",
        "100 s of waiting in all tasks; without it at best 42 s instead of 60 s",
    ),
    "tasks that carry much": (
        {
            "limits": (limit(profiles.SERIALISATION, 30.0),),
            "stages": (
                a_stage(tasks=160, blocked_seconds={profiles.SERIALISATION: 30.0}, warmup_seconds=1.0),
            ),
        },
        "serialisation",
        "broadcast long lists and large objects",
        "at best 42 s instead of 60 s",
    ),
    "a heap that is full": (
        {"limits": (limit(GARBAGE_COLLECTION, 30.0),)},
        "garbage collection",
        "more memory (memory-optimised machines) or fewer cores each",
        "at best 42 s",
    ),
    "results that the driver works on": (
        {"stages": (a_stage(result_bytes=GIGABYTE), a_stage(stage_id=5, began=50.0, seconds=10.0))},
        "driver",
        "let executors aggregate or write what collect() and toPandas() fetch",
        "1.00 GB came as results, and no task ran for 15 s after that: by this log up to 15 s of 60 s",
    ),
    "many small files": (
        {"stages": (a_stage(tasks=640, output_bytes=GIGABYTE, unmeasured_seconds=160.0),)},
        "files",
        "Write fewer files",
        "640 tasks wrote 1.00 GB, and 2 min 40 s of their time is neither computing nor waiting for disks: "
        "by this log up to 35 s of 60 s",
    ),
    "input that takes long to come": (
        {
            "bottleneck": profiles.UNMEASURED,
            "unmeasured_seconds": 600.0,
            "stages": (a_stage(reads_input=True, unmeasured_seconds=480.0, input_bytes=GIGABYTE),),
        },
        "reading",
        "Read less of the input",
        "50 % of the tasks' time went to what Spark does not measure, where they read 1.00 GB of input",
    ),
}


@pytest.mark.parametrize("case", ADVISED)
def test_what_is_advised_with_its_figure(case: str):
    fields, subject, text, figure = ADVISED[case]
    (advice,) = advice_on(**fields)

    assert advice.subject == subject
    assert text in advice.text
    assert figure in advice.figure
    assert advice.documentation.startswith("https://spark.apache.org/docs/latest/")
    assert 0.0 <= advice.won_seconds < 60.0


NOT_ADVISED = {
    "nothing is known": {},
    **{f"{each} wins little": {"limits": (limit(each, 9.0),)} for each in profiles.BLOCKING},
    "a replay that is wrong": {**WAITING, "replayed_seconds": 70.0},
    **{f"{tasks} tasks": {"stages": (a_stage(tasks=tasks),)} for tasks in (1, 16, 31, 32, 49, 200)},
    "a short stage": {"stages": (a_stage(seconds=3.0, tasks=4),)},
    "tiny tasks cannot be cut": {"stages": (a_stage(tasks=4, task_seconds=0.4),)},
    "others fill the slots": {"stages": (a_stage(tasks=4), a_stage(tasks=60, stage_id=5))},
    "long tasks, however they are scheduled": {
        "stages": (a_stage(tasks=160, task_seconds=800.0, blocked_seconds={profiles.SCHEDULER: 400.0}),)
    },
    "a little spilled": {"stages": (a_stage(input_bytes=GIGABYTE, spilled_bytes=GIGABYTE // 20),)},
    # All of the input would make more partitions, longer tasks, and more work for the machines.
    "few of a sample": {"stages": (a_stage(tasks=4, reads_input=True),), "scale": 0.1},
    "few shuffled of a sample": {"stages": (a_stage(tasks=4),), "scale": 0.1},
    "tiny tasks of a sample": {"stages": (TINY_TASKS,), "scale": 0.1},
    "results of a sample": {"stages": (a_stage(result_bytes=GIGABYTE),), "scale": 0.1},
    "few results": {"stages": (a_stage(result_bytes=GIGABYTE // 1000),)},
    **{
        why: {"limits": (limit(profiles.SERIALISATION, 30.0),), "stages": (stage,)}
        for why, stage in {
            "classes that first tasks load": a_stage(
                tasks=160, blocked_seconds={profiles.SERIALISATION: 30.0}, warmup_seconds=2.0
            ),
            "few tasks, all of them first ones": a_stage(blocked_seconds={profiles.SERIALISATION: 30.0}),
            "little in each of many tasks": a_stage(
                tasks=1600, blocked_seconds={profiles.SERIALISATION: 30.0}
            ),
        }.items()
    },
    "results while other tasks run": {
        "stages": (a_stage(result_bytes=GIGABYTE), a_stage(stage_id=5, began=20.0, seconds=40.0))
    },
    "large files": {"stages": (a_stage(tasks=640, output_bytes=40 * GIGABYTE),)},
    "few small files": {"stages": (a_stage(tasks=32, output_bytes=GIGABYTE // 9),)},
    "stragglers of no known cause": straggling(profiles.UNEXPLAINED),
    "first tasks": straggling(profiles.FIRST_TASK),
}


@pytest.mark.parametrize("case", NOT_ADVISED)
def test_where_nothing_is_advised(case: str):
    assert advice_on(**NOT_ADVISED[case]) == ()


@pytest.mark.parametrize("bottleneck", sorted({*profiles.BLOCKING, profiles.DRIVER, profiles.UNMEASURED}))
def test_whatever_binds_a_run_there_is_something_to_do(bottleneck: str):
    limits = (limit(bottleneck, 6.0),) if bottleneck in profiles.BLOCKING else ()
    (told,) = advice_on(bottleneck=bottleneck, limits=limits, driver_seconds=35.0)
    assert told.figure == headline_of(
        bare(seconds=60.0, replayed_seconds=60.0, bottleneck=bottleneck, limits=limits, driver_seconds=35.0)
    )
    assert advice_on(bottleneck=bottleneck, limits=limits, not_counted="its log ends early") == ()


def test_what_is_worth_most_comes_first():
    told = advice_on(
        limits=(limit(NETWORK, 12.0), limit(GARBAGE_COLLECTION, 20.0), limit(DISK, 15.0)),
        stages=(a_stage(seconds=40.0, tasks=2),),
    )

    assert [each.subject for each in told] == [
        *("partitions", "garbage collection", "instance family", "instance family")
    ]
    assert "disks" in told[2].text


def profile(bottleneck: str = CPU, **percents: float) -> RunProfile:
    limits = tuple(limit(name.replace("_", " "), percent, of=44.0) for name, percent in percents.items())
    return bare(seconds=44.0, replayed_seconds=44.0, bottleneck=bottleneck, limits=limits)


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (
            profile(network=2.0, disk=1.2),
            "CPU-bound: at most 2 % from a faster network, 1.2 % from faster disks",
        ),
        (
            profile(NETWORK, network=41.0),
            "Network-bound: up to 41 % (18 s of 44 s) from an infinitely fast network",
        ),
        (
            profile(profiles.PYTHON_WORKER, Python_worker=68.0),
            "Bound by Python workers, computing or waiting (Spark does not tell which): at most 68 % (29.9 s "
            "of 44 s) without their time",
        ),
        (
            profile(GARBAGE_COLLECTION, garbage_collection=30.0),
            "Bound by garbage collection: up to 30 % (13.2 s of 44 s) without it",
        ),
        (
            replace(profile(profiles.DRIVER, network=1.0), driver_seconds=30.0),
            "Bound by the driver, with no task running for 30 s of 44 s: at most 1 % from a faster network",
        ),
        (
            profile(profiles.UNMEASURED, network=2.0),
            "Bound by what Spark does not measure, such as reading input, a service or a busy host: at most "
            "2 % from a faster network",
        ),
        (bare(), "CPU-bound"),
    ],
)
def test_the_sentence_and_its_figures(run: RunProfile, sentence: str):
    assert headline_of(run) == sentence


def test_what_spark_does_not_measure_is_told_of_a_run_that_computes():
    run = replace(profile(network=2.0), stages=(a_stage(task_seconds=100.0),))
    assert headline_of(replace(run, unmeasured_seconds=10.0)) == headline_of(run)
    assert headline_of(replace(run, unmeasured_seconds=30.0)) == (
        "CPU-bound: at most 2 % from a faster network; Spark does not measure what 30 % of its tasks' time "
        "went to, such as reading input or a busy host"
    )


@pytest.mark.parametrize(
    ("driver_seconds", "most_used_first", "bound"),
    [
        (2.4, [NETWORK], NETWORK),
        (2.4, [CPU], CPU),
        (2.4, [profiles.UNMEASURED], profiles.UNMEASURED),
        # Without disks the run would win next to nothing.
        (2.4, [DISK], CPU),
        (2.4, [DISK, profiles.UNMEASURED, CPU], profiles.UNMEASURED),
        (21.9, [NETWORK], NETWORK),
        (22.0, [NETWORK], profiles.DRIVER),
    ],
)
def test_what_is_used_most_and_waited_for_binds_the_run(driver_seconds, most_used_first, bound):
    assert bound_by(network_bound(driver_seconds=driver_seconds), most_used_first) == bound
