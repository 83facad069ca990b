"""The facts of a run that a model wants to know; tests/integration reads what real Spark wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.runs import Experiment, RunMetrics
from airflow_provider_ernest.eventlog.files import application_of_name, find_event_log
from airflow_provider_ernest.eventlog.reading import EventLogProgress
from airflow_provider_ernest.eventlog.run_facts import read_run, run_metrics, run_seconds
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.spark.input import Sample
from airflow_provider_ernest.spark.runs import observe
from tests.unit.eventlog.event_log_texts import (
    REAL,
    block,
    ended,
    environment,
    executor,
    line,
    manager,
    removed,
    stage,
    started,
    task,
    write,
)

METRICS = {
    "Executor Run Time": 1500,
    "JVM GC Time": 250,
    "Peak Execution Memory": 9,
    "Disk Bytes Spilled": 7,
    "Input Metrics": {"Bytes Read": 11},
    "Shuffle Read Metrics": {"Remote Bytes Read": 2, "Local Bytes Read": 3},
}
FIRST = executor(0, at=103_000, cores=1, port=1)


def events(*executors: dict[str, Any], master: str = "spark://127.0.0.1:7077") -> list[dict[str, Any]]:
    told = environment(**{"spark.master": master})
    return [told, started(), *executors, task(1, metrics=METRICS), task(2), ended()]


def test_clean_time_runs_from_the_last_machine_to_the_end(tmp_path: Path):
    second = executor(1, at=112_000, cores=1, port=2)
    run = read_run(write(tmp_path / "app-1", *events(FIRST, second)))

    assert run_seconds(run, 2) == pytest.approx(48)
    assert run_seconds(run, 1) == pytest.approx(57)
    assert run_metrics(run) == RunMetrics(
        tasks=2,
        slots=2,
        executor_run_seconds=1.5,
        garbage_collection_seconds=0.25,
        idle_seconds=48.0,
        input_bytes=11,
        shuffle_read_bytes=5,
        spilled_bytes=7,
        peak_execution_memory_bytes=9,
    )


@pytest.mark.parametrize(
    ("told", "executors", "problem"),
    [
        pytest.param(
            events(FIRST),
            *(2, r"designed for 2 executors, and 1 registered \(10.0.0.1:1\)"),
            id="fewer than were asked for",
        ),
        pytest.param(
            events(FIRST, master="local[2]"), 1, r"local\[2\].*Remove \.master", id="inside its driver"
        ),
        pytest.param(events(FIRST)[:-1], 1, "app-1 has no end", id="without end"),
    ],
)
def test_what_is_no_measurement_of_a_run_time_is_refused(told, executors: int, problem: str, tmp_path: Path):
    with pytest.raises(SampleRunError, match=problem):
        run_seconds(read_run(write(tmp_path / "app-1", *told)), executors)


def test_a_log_that_cannot_be_read_is_told(tmp_path: Path):
    with pytest.raises(SampleRunError, match="no application starts in it"):
        read_run(write(tmp_path / "app-1", *events()[:1]))
    with pytest.raises(SampleRunError, match=r"Cannot read the event log .*absent"):
        read_run(tmp_path / "absent")


def test_model_and_profile_count_the_same_tasks(tmp_path: Path):
    """Of a run with a task that failed, one that was done twice, and one whose output was lost."""
    failed, copy, late = (
        task(3, reason="ExceptionFailure", metrics=METRICS),
        task(4, Index=1, Speculative=True, until=111_000, metrics=METRICS),
        task(1, reason="Resubmitted", metrics=METRICS),
    )
    *log, end = events(FIRST)
    run = read_run(write(tmp_path / "app-1", *log, task(5, metrics=METRICS), failed, copy, late, end))

    metrics, profile = run_metrics(run), profile_run(run)

    # 2 ran without metrics, 4 and 5 with them; 1 counts neither for itself nor for its copy 4.
    assert metrics.tasks == profile.tasks == 3
    assert profile.failed_tasks == 2
    assert (metrics.executor_run_seconds, metrics.input_bytes) == (3.0, 22)
    assert metrics.slots == profile.slots
    assert sum(stage.input_bytes for stage in profile.stages) == metrics.input_bytes


def test_what_spark_wrote_of_cache_and_tasks_is_told():
    """Four of its 28 attempts failed, so that the profile says 24 tasks as well."""
    metrics = run_metrics(read_run(REAL / "spark-3.5.5.zstd"))

    assert (metrics.tasks, metrics.slots, metrics.dominant_stage_tasks) == (24, 2, 4)
    assert (metrics.storage_memory_bytes, metrics.peak_execution_memory_bytes) == (911_002_828, 34_668_512)
    assert cache(metrics) == (36064, 36064, 0)


def test_the_event_log_in_a_folder_is_found(tmp_path: Path):
    """Neither files of checksums nor other folders are one."""
    (tmp_path / "checkpoints").mkdir()
    assert find_event_log(tmp_path) is None
    (tmp_path / ".app-1.inprogress.crc").write_bytes(b"crc")
    assert find_event_log(tmp_path) is None
    write(tmp_path / "app-1.inprogress")
    assert find_event_log(tmp_path) == tmp_path / "app-1.inprogress"
    (tmp_path / "eventlog_v2_app-1").mkdir()
    assert find_event_log(tmp_path) == tmp_path / "eventlog_v2_app-1"


@pytest.mark.parametrize(
    ("name", "application"),
    [
        ("app-1.lz4.inprogress", "app-1"),
        ("eventlog_v2_app-1", "app-1"),
        ("eventlog_v2_application_17_0001_2", "application_17_0001"),
        ("application_17_0001_1.snappy", "application_17_0001"),
        ("application_17_0001", "application_17_0001"),
    ],
)
def test_the_name_tells_the_application(name: str, application: str):
    assert application_of_name(name) == application


# Runs that lost a machine: seen in the log of a finished run, and in one that is still being written.

TWO = [executor(number, at=103_000, cores=1, host=f"10.0.0.{number}", port=8081) for number in (1, 2)]


def test_executors_that_were_to_fill_a_machine_each_and_shared_one_are_refused(tmp_path: Path):
    both = [executor(number, at=103_000, cores=1, port=8081) for number in (1, 2)]
    with pytest.raises(SampleRunError, match=r"The 2 executors of application app-1 shared 10.0.0.1:8081"):
        observed(tmp_path, *both, ended())


def observed(folder: Path, *events: dict[str, Any], executors_per_machine: int | None = 1):
    write(folder / "app-1", started(), *events)
    observation, _ = observe(
        Experiment(index=0, executors=2, scale=0.1, partitions=4),
        Sample(input="in", scale=0.1, executors=2, partitions=4),
        folder,
        instance_type="local",
        executors_per_machine=executors_per_machine,
        submitted_at=90.0,
        waited_seconds=0.0,
    )
    return observation


@pytest.mark.parametrize("executors_per_machine", [1, None])
def test_a_run_inside_its_driver_is_told_as_such_first(tmp_path, executors_per_machine):
    driver = executor("driver", at=101_000)
    inside = environment(**{"spark.master": "local[2]"}), driver, task(1, executor="driver"), ended()
    with pytest.raises(SampleRunError, match=r"local\[2\].*Remove \.master"):
        observed(tmp_path, *inside, executors_per_machine=executors_per_machine)


WAITS = environment(**{"spark.scheduler.maxRegisteredResourcesWaitingTime": "20s"})


def test_where_fewer_executors_came_in_time_the_run_counts_on_these(tmp_path):
    alone = executor(1, at=105_000)
    told = observed(
        tmp_path, WAITS, alone, task(1, executor="1", at=121_000), ended(), executors_per_machine=None
    )

    assert told.executors == 1
    assert (told.startup_seconds, told.waited_seconds) == (15.0, 15.0)
    assert told.seconds == 40.0, "from when Spark no longer waited for the other, to the end"


def test_executors_that_come_during_the_work_make_its_time_no_measurement(tmp_path):
    came = executor(1), executor(2, at=125_000)
    work = task(1, executor="1", at=121_000), task(2, executor="2", at=126_000)
    with pytest.raises(SampleRunError, match=r"1 of 2 executors came in time, and 1 more up to 4 s after"):
        observed(tmp_path, WAITS, *came, *work, ended(), executors_per_machine=None)


@pytest.mark.parametrize("replaced", [[], [executor(3)]], ids=["not replaced", "replaced"])
def test_a_lost_machine_makes_the_time_no_measurement(tmp_path, replaced):
    with pytest.raises(
        SampleRunError,
        match=r"app-1 lost executor 2 on machine 10\.0\.0\.2:8081 \(Worker shutting down\): its time does",
    ) as told:
        observed(tmp_path, *TWO, removed(2), *replaced, ended())
    assert told.value.retryable


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([*TWO, ended(), removed(1), removed(2)], id="went after the end"),
        # Spark starts another one in their place, before the run's time begins to count.
        pytest.param([removed(0), *TWO, ended()], id="never started"),
    ],
)
def test_executors_that_cost_the_run_nothing_are_not_lost(tmp_path, others):
    assert observed(tmp_path, *others).seconds == pytest.approx(57)
    progress = EventLogProgress()
    progress.read(tmp_path / "app-1")
    assert progress.lost is None


def test_a_loss_is_seen_while_the_log_is_written(tmp_path):
    progress = EventLogProgress()
    log = write(tmp_path / "app-1", started(), *TWO)
    progress.read(log)
    assert progress.lost is None
    with log.open("ab") as more:
        more.write(line(removed(2))[:-1])
        more.flush()
        progress.read(log)
        assert progress.lost is None, "the line is not whole yet"
        more.write(b"\n")
    progress.read(log)
    assert str(progress.lost) == "executor 2 on machine 10.0.0.2:8081 (Worker shutting down)"
    assert progress.executors == 2


# What the reader says of cache and tasks; the events are shaped as Spark 4.2 writes them.

MEMORY_ONLY = {"Use Disk": False, "Use Memory": True, "Use Off Heap": False, "Replication": 1}
MEMORY_AND_DISK = {**MEMORY_ONLY, "Use Disk": True}
DISK_ONLY = {**MEMORY_ONLY, "Use Disk": True, "Use Memory": False}
NONE = {**MEMORY_ONLY, "Use Memory": False}
MANAGERS = [
    manager("driver", 5000, **{"Maximum Onheap Memory": 5000}),
    manager("0", 1000, **{"Maximum Onheap Memory": 1000}),
    manager("1", 1500, **{"Maximum Onheap Memory": 1000}),
]
BROADCAST = block("broadcast_0_piece0", 77, executor="driver")


def reading(
    number: int = 0,
    *,
    tasks: int = 4,
    cached: dict[int, dict[str, Any]] | None = None,
    partitions: int = 4,
    submitted: int = 0,
    completed: int = 1,
) -> dict[str, Any]:
    """A stage of these data sets; Spark writes the sizes in "RDD Info" as 0, whatever is cached."""
    data_sets = [
        {"RDD ID": rdd, "Storage Level": level, "Number of Partitions": partitions, "Memory Size": 0}
        for rdd, level in {99: NONE, **(cached or {})}.items()
    ]
    told = {"Number of Tasks": tasks, "Submission Time": submitted, "RDD Info": data_sets}
    return stage(number, completed=completed, **told)


def metrics_of(folder: Path, *events: dict[str, Any]) -> RunMetrics:
    return run_metrics(read_run(write(folder / "app-1", started(), *events)))


def cache(metrics: RunMetrics) -> tuple[int | None, int | None, int | None]:
    return metrics.cache_wanted_bytes, metrics.cached_bytes, metrics.cached_on_disk_bytes


def blocks(count: int, *, rdd: int = 4, memory: int = 100) -> list[dict[str, Any]]:
    return [block(f"rdd_{rdd}_{number}", memory, executor=str(number % 2)) for number in range(count)]


@pytest.mark.parametrize(
    ("told", "wanted_held_on_disk"),
    [
        pytest.param([BROADCAST, *blocks(4), reading(cached={4: MEMORY_ONLY})], (400, 400, 0), id="fits"),
        # Nothing is logged of what found no room, and only the stage knows how many partitions there are.
        pytest.param([*blocks(3), reading(cached={4: MEMORY_ONLY})], (400, 300, 0), id="no room for one"),
        # The update of a block that leaves memory still says how large it was there.
        pytest.param(
            [
                block("rdd_4_0", 100),
                block("rdd_4_0", 100, 40, level=DISK_ONLY),
                block("rdd_4_1", 100),
                block("rdd_4_2", 0, 40, executor="1", level=DISK_ONLY),
                block("rdd_4_3", 0, 40, executor="1", level=DISK_ONLY),
                reading(cached={4: MEMORY_AND_DISK}),
            ],
            (400, 100, 120),
            id="went to disk",
        ),
        pytest.param(
            [
                *(block(f"rdd_4_{number}", 0, 40, level=DISK_ONLY) for number in range(4)),
                reading(cached={4: DISK_ONLY}),
            ],
            (0, 0, 0),
            id="wanted on disk only",
        ),
        # ``take`` on a cached data set reads the first of its partitions.
        pytest.param(
            [block("rdd_4_0", 100), reading(tasks=1, cached={4: MEMORY_ONLY})], (100, 100, 0), id="take"
        ),
        pytest.param([BROADCAST, reading(cached={4: MEMORY_ONLY})], (2000, 0, 0), id="nothing fits"),
        pytest.param(
            [
                *blocks(2),
                manager("1", event="Removed"),
                reading(tasks=2, partitions=2, cached={4: MEMORY_ONLY}),
            ],
            (200, 100, 0),
            id="lost with its executor",
        ),
        pytest.param([reading(cached={4: MEMORY_ONLY})], (None, None, None), id="no block updates"),
        pytest.param([BROADCAST, reading()], (0, 0, 0), id="nothing cached"),
    ],
)
def test_what_of_the_cache_is_wanted_held_and_on_disk(tmp_path: Path, told, wanted_held_on_disk):
    metrics = metrics_of(tmp_path, *MANAGERS, *told)

    assert cache(metrics) == wanted_held_on_disk
    wanted, held, _ = wanted_held_on_disk
    assert metrics.cache_share == (pytest.approx(held / wanted) if wanted else None)


def test_the_moment_of_the_largest_cache_counts(tmp_path: Path):
    """Two data sets one after the other need no more memory than the larger of them."""
    first, second = blocks(4), blocks(4, rdd=5, memory=150)
    unpersist = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 4}
    stages = [reading(0, cached={4: MEMORY_ONLY}), reading(1, cached={5: MEMORY_ONLY})]

    apart = metrics_of(tmp_path, *MANAGERS, *first, stages[0], unpersist, *second, stages[1])
    together = metrics_of(tmp_path, *MANAGERS, *first, stages[0], *second, stages[1], unpersist)

    assert cache(apart) == (600, 600, 0)
    assert cache(together) == (1000, 1000, 0)


def ran(number: int, milliseconds: int, *, peak_bytes: int = 0) -> dict[str, Any]:
    metrics = {"Executor Run Time": milliseconds, "Peak Execution Memory": peak_bytes}
    return task(number, stage=number, metrics=metrics)


def test_the_tasks_are_those_of_the_stages_in_which_the_time_goes(tmp_path: Path):
    metrics = metrics_of(
        tmp_path,
        reading(0, tasks=200, submitted=0, completed=10),
        reading(1, tasks=16, submitted=10, completed=50),
        reading(2, tasks=1, submitted=50, completed=60),
        *(ran(0, 2000, peak_bytes=60_000), ran(1, 6000, peak_bytes=10_000), ran(2, 1000)),
    )

    assert metrics.dominant_stage_tasks == 16
    assert (metrics.peak_execution_memory_bytes, metrics.peak_stage_tasks) == (60_000, 200)


def test_stages_that_run_beside_one_another_share_the_slots(tmp_path: Path):
    """The two inputs of a join: 8 and 12 tasks, which can all run at once."""
    metrics = metrics_of(
        tmp_path,
        reading(0, tasks=8, submitted=0, completed=30),
        reading(1, tasks=12, submitted=5, completed=20),
        reading(2, tasks=4, submitted=30, completed=40),
        *(ran(number, milliseconds) for number, milliseconds in enumerate((3000, 3000, 1000))),
    )

    assert metrics.dominant_stage_tasks == 20


# Passes over cached data: what the first one took, and which tasks of the others found their partition.


def passing(number: int, level: dict[str, Any], *runs: tuple[int, int]) -> list[dict[str, Any]]:
    """A stage over data set 4, with the milliseconds and the input bytes of each task, one after another."""
    kept = {"RDD ID": 4, "Storage Level": level, "Number of Partitions": 4, "Parent IDs": []}
    made = {"RDD ID": 90 + number, "Storage Level": NONE, "Number of Partitions": 4, "Parent IDs": [4]}
    at = 110_000 + 10_000 * number
    told = {"Number of Tasks": 4, "Submission Time": at, "RDD Info": [made, kept]}
    tasks = [
        task(
            10 * number + place,
            stage=number,
            at=at + 10 * place,
            metrics={"Executor Run Time": milliseconds, "Input Metrics": {"Bytes Read": read}},
        )
        for place, (milliseconds, read) in enumerate(runs)
    ]
    return [*tasks, stage(number, completed=at + 9_000, **told)]


FILLING = ((5_000, 10), (1_000, 10), (900, 10), (1_100, 10))
"""The first task warms its slot up."""


def test_a_task_that_made_its_partition_again_is_told_by_the_bytes_it_read(tmp_path: Path):
    again = ((20, 100), (30, 100), (950, 10), (40, 100))
    metrics = metrics_of(
        tmp_path,
        *[executor(0, cores=1), *MANAGERS, *blocks(3)],
        *passing(0, MEMORY_ONLY, *FILLING),
        *passing(1, MEMORY_ONLY, *again),
        *passing(2, MEMORY_ONLY, *again),
    )

    assert (metrics.cache_partitions, metrics.cache_reads) == (4, 2.0)
    assert (metrics.cache_missed_share, metrics.cache_missed_seconds) == (0.25, pytest.approx(1.9))
    assert metrics.cache_reading_seconds == pytest.approx(2.08)
    assert metrics.cache_filling_seconds == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("level", "source"),
    [
        pytest.param(MEMORY_ONLY, 90, id="made of about as many bytes"),
        pytest.param(MEMORY_AND_DISK, 10, id="read back from disk"),
    ],
)
def test_of_tasks_that_read_as_much_either_way_none_is_said_to_have_missed(tmp_path: Path, level, source):
    metrics = metrics_of(
        tmp_path,
        *[executor(0, cores=1), *MANAGERS, *blocks(3)],
        *passing(0, level, *[(1_000, source)] * 4),
        *passing(1, level, *[(20, 100)] * 3, (950, source)),
    )

    assert metrics.cache_reads == 1.0
    assert (metrics.cache_missed_share, metrics.cache_missed_seconds) == (None, None)


def test_the_first_tasks_of_all_slots_are_all_that_tells_where_there_are_no_others(tmp_path: Path):
    metrics = metrics_of(
        tmp_path,
        *[executor(0, cores=4), *MANAGERS, *blocks(4)],
        *passing(0, MEMORY_ONLY, *FILLING),
        *passing(1, MEMORY_ONLY, *[(20, 100)] * 4),
    )

    assert metrics.cache_filling_seconds == pytest.approx(8.0)
    assert metrics.cache_missed_share == 0.0


def test_what_the_driver_took_is_the_time_in_which_no_task_ran(tmp_path: Path):
    """Machines are there at 104 and the end is at 160; tasks overlap from 110 to 115, another ends at 130."""
    told = [
        *(executor(0, at=103_000, port=1), executor(1, at=104_000, port=2)),
        task(1, at=110_000, until=114_000),
        task(2, at=112_000, until=115_000, reason="ExceptionFailure"),
        task(3, at=120_000, until=130_000),
    ]

    assert metrics_of(tmp_path, *told, ended()).idle_seconds == pytest.approx(6 + 5 + 30)
    assert metrics_of(tmp_path, *told).idle_seconds is None, "without an end"
