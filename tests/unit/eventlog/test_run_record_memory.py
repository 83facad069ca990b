"""What the reader says of cache and tasks; the events are shaped as Spark 4.2 writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import RunMetrics
from airflow_provider_ernest.eventlog.run_facts import read_run, run_metrics
from tests.unit.eventlog.event_log_texts import started
from tests.unit.eventlog.event_log_texts import task as task_ended

MEMORY_ONLY = {"Use Disk": False, "Use Memory": True, "Use Off Heap": False, "Replication": 1}
MEMORY_AND_DISK = {**MEMORY_ONLY, "Use Disk": True}
DISK_ONLY = {**MEMORY_ONLY, "Use Disk": True, "Use Memory": False}
NONE = {**MEMORY_ONLY, "Use Memory": False}


def manager(event: str, executor: str, **fields: Any) -> dict:
    return {
        "Event": f"SparkListenerBlockManager{event}",
        "Block Manager ID": {"Executor ID": executor},
        **fields,
    }


EXECUTORS = [
    manager("Added", "driver", **{"Maximum Memory": 5000, "Maximum Onheap Memory": 5000}),
    manager("Added", "0", **{"Maximum Memory": 1000, "Maximum Onheap Memory": 1000}),
    manager("Added", "1", **{"Maximum Memory": 1500, "Maximum Onheap Memory": 1000}),
]


def block(
    executor: str, rdd: int, partition: int, memory: int, disk: int = 0, level: dict = MEMORY_ONLY
) -> dict:
    return {
        "Event": "SparkListenerBlockUpdated",
        "Block Updated Info": {
            "Block Manager ID": {"Executor ID": executor},
            "Block ID": f"rdd_{rdd}_{partition}",
            "Storage Level": level,
            "Memory Size": memory,
            "Disk Size": disk,
        },
    }


def broadcast() -> dict:
    event = block("driver", 0, 0, 77)
    event["Block Updated Info"]["Block ID"] = "broadcast_0_piece0"
    return event


def stage(
    number: int = 0,
    *,
    tasks: int = 4,
    cached: dict[int, dict] | None = None,
    partitions: int = 4,
    submitted: int = 0,
    completed: int = 1,
) -> dict:
    """Spark writes the sizes in "RDD Info" as 0, whatever is cached."""
    return {
        "Event": "SparkListenerStageCompleted",
        "Stage Info": {
            "Stage ID": number,
            "Number of Tasks": tasks,
            "Submission Time": submitted,
            "Completion Time": completed,
            "RDD Info": [
                {
                    "RDD ID": rdd,
                    "Storage Level": level,
                    "Number of Partitions": partitions,
                    "Number of Cached Partitions": 0,
                    "Memory Size": 0,
                    "Disk Size": 0,
                }
                for rdd, level in {99: NONE, **(cached or {})}.items()
            ],
        },
    }


def task(number: int, milliseconds: int) -> dict:
    metrics = {"Executor Run Time": milliseconds, "Peak Execution Memory": 10 * milliseconds}
    return task_ended(number, stage=number, metrics=metrics)


def read(tmp_path: Path, *events: dict) -> RunMetrics:
    log = tmp_path / "app-1"
    log.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in (started(), *events)))
    return run_metrics(read_run(log))


def cache(metrics: RunMetrics) -> tuple[int | None, int | None, int | None]:
    return metrics.cache_wanted_bytes, metrics.cached_bytes, metrics.cached_on_disk_bytes


def test_storage_memory_is_the_heap_of_the_executors(tmp_path: Path):
    assert read(tmp_path, *EXECUTORS).storage_memory_bytes == 2000


def test_a_replaced_executor_counts_once(tmp_path: Path):
    replacement = manager("Added", "2", **{"Maximum Memory": 1000})
    metrics = read(tmp_path, *EXECUTORS, manager("Removed", "1"), replacement)

    assert metrics.storage_memory_bytes == 2000


def test_a_cache_that_fits(tmp_path: Path):
    blocks = [block(str(number % 2), 4, number, 100) for number in range(4)]
    metrics = read(tmp_path, *EXECUTORS, broadcast(), *blocks, stage(cached={4: MEMORY_ONLY}))

    assert cache(metrics) == (400, 400, 0)
    assert metrics.cache_share == 1.0


def test_partitions_that_found_no_room_are_taken_to_be_as_large_as_the_others(tmp_path: Path):
    """Nothing is logged of them, and only the stage knows how many there are."""
    blocks = [block("0", 4, number, 100) for number in range(3)]
    metrics = read(tmp_path, *EXECUTORS, *blocks, stage(cached={4: MEMORY_ONLY}))

    assert cache(metrics) == (400, 300, 0)
    assert metrics.cache_share == pytest.approx(0.75)


def test_what_went_to_disk_is_told_apart(tmp_path: Path):
    """The update of a block that leaves memory still says how large it was there."""
    evicted = {**DISK_ONLY}
    metrics = read(
        tmp_path,
        *EXECUTORS,
        block("0", 4, 0, 100),
        block("0", 4, 0, 100, 40, evicted),
        block("0", 4, 1, 100),
        block("1", 4, 2, 0, 40, evicted),
        block("1", 4, 3, 0, 40, evicted),
        stage(cached={4: MEMORY_AND_DISK}),
    )

    assert cache(metrics) == (400, 100, 120)


def test_the_moment_of_the_largest_cache_counts(tmp_path: Path):
    """Two data sets one after the other need no more memory than the larger of them."""
    first = [block("0", 4, number, 100) for number in range(4)]
    second = [block("0", 5, number, 150) for number in range(4)]
    unpersist = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 4}
    stages = [stage(0, cached={4: MEMORY_ONLY}), stage(1, cached={5: MEMORY_ONLY})]

    apart = read(tmp_path, *EXECUTORS, *first, stages[0], unpersist, *second, stages[1])
    together = read(tmp_path, *EXECUTORS, *first, stages[0], *second, stages[1], unpersist)

    assert cache(apart) == (600, 600, 0)
    assert cache(together) == (1000, 1000, 0)


def test_data_wanted_on_disk_only_wants_no_memory(tmp_path: Path):
    blocks = [block("0", 4, number, 0, 40, DISK_ONLY) for number in range(4)]

    assert cache(read(tmp_path, *EXECUTORS, *blocks, stage(cached={4: DISK_ONLY}))) == (0, 0, 0)


def test_partitions_that_were_not_read_are_not_wanted(tmp_path: Path):
    """``take`` on a cached data set reads the first of its partitions."""
    metrics = read(tmp_path, *EXECUTORS, block("0", 4, 0, 100), stage(tasks=1, cached={4: MEMORY_ONLY}))

    assert cache(metrics) == (100, 100, 0)


def test_a_cache_in_which_nothing_fits_wants_more_than_there_is(tmp_path: Path):
    metrics = read(tmp_path, *EXECUTORS, broadcast(), stage(cached={4: MEMORY_ONLY}))

    assert cache(metrics) == (2000, 0, 0)
    assert metrics.cache_share == 0.0


def test_the_blocks_of_a_lost_executor_are_gone(tmp_path: Path):
    events = [block("0", 4, 0, 100), block("1", 4, 1, 100), manager("Removed", "1")]
    metrics = read(tmp_path, *EXECUTORS, *events, stage(tasks=2, partitions=2, cached={4: MEMORY_ONLY}))

    assert cache(metrics) == (200, 100, 0)


def test_nothing_is_said_of_the_cache_without_block_updates(tmp_path: Path):
    silent = read(tmp_path, *EXECUTORS, stage(cached={4: MEMORY_ONLY}))
    nothing_cached = read(tmp_path, *EXECUTORS, broadcast(), stage())

    assert cache(silent) == (None, None, None)
    assert cache(nothing_cached) == (0, 0, 0)
    assert silent.cache_share is None
    assert nothing_cached.cache_share is None


def test_the_tasks_are_those_of_the_stages_in_which_the_time_goes(tmp_path: Path):
    metrics = read(
        tmp_path,
        stage(0, tasks=200, submitted=0, completed=10),
        stage(1, tasks=16, submitted=10, completed=50),
        stage(2, tasks=1, submitted=50, completed=60),
        task(0, 2000),
        task(1, 6000),
        task(2, 1000),
    )

    assert metrics.dominant_stage_tasks == 16
    assert metrics.peak_execution_memory_bytes == 60_000


def test_stages_that_run_beside_one_another_share_the_slots(tmp_path: Path):
    """The two inputs of a join: 8 and 12 tasks, which can all run at once."""
    metrics = read(
        tmp_path,
        stage(0, tasks=8, submitted=0, completed=30),
        stage(1, tasks=12, submitted=5, completed=20),
        stage(2, tasks=4, submitted=30, completed=40),
        task(0, 3000),
        task(1, 3000),
        task(2, 1000),
    )

    assert metrics.dominant_stage_tasks == 20


def test_tasks_of_several_cores_take_as_many_slots(tmp_path: Path):
    environment = {
        "Event": "SparkListenerEnvironmentUpdate",
        "Spark Properties": {"spark.master": "spark://there:7077", "spark.task.cpus": "2"},
    }
    executor = {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": 1000,
        "Executor ID": "0",
        "Executor Info": {"Host": "there", "Total Cores": 8},
    }

    assert read(tmp_path, environment, executor).slots == 4
