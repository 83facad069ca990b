from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.clarity.monotasks import disk_bytes, resource_use
from airflow_provider_ernest.run_profile import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    UNMEASURED,
)
from tests.unit.eventlog.logs import event_log, executor, stage, task
from tests.unit.eventlog.random_logs import random_log


def parts_of(row, **stage_fields):
    log = event_log([row], stages=[stage(0, completed=10.0, **stage_fields)])
    return {part: float(seconds[0]) for part, seconds in resource_use(log).parts.items() if seconds[0] > 1e-9}


def test_a_task_s_time_is_split_by_what_it_did():
    row = task(
        seconds=10.0,
        run_seconds=8.0,
        cpu_seconds=3.0,
        fetch_wait_seconds=2.0,
        shuffle_write_seconds=1.0,
        garbage_collection_seconds=0.5,
        deserialise_seconds=0.75,
        result_serialisation_seconds=0.25,
    )

    assert parts_of(row) == pytest.approx(
        {
            CPU: 3.0 + 0.75 + 0.25,
            NETWORK: 2.0,
            DISK: 1.0,
            GARBAGE_COLLECTION: 0.5,
            SCHEDULER: 10.0 - 8.0 - 0.75 - 0.25,
            UNMEASURED: 8.0 - 3.0 - 2.0 - 1.0 - 0.5,
        }
    )


def test_writing_that_took_only_cpu_waited_for_no_disk():
    assert parts_of(task(seconds=4.0, cpu_seconds=4.0, shuffle_write_seconds=1.5)) == {CPU: 4.0}


def test_a_driver_that_fetches_a_large_result_holds_the_task_up():
    parts = parts_of(task(seconds=5.0, run_seconds=3.0, cpu_seconds=3.0, getting_result_seconds=2.0))

    assert parts == pytest.approx({CPU: 3.0, SCHEDULER: 2.0})


def test_sleeping_is_told_apart_from_computing_where_no_python_is_in_play():
    assert parts_of(task(seconds=10.0, cpu_seconds=1.0)) == pytest.approx({CPU: 1.0, UNMEASURED: 9.0})


def test_python_workers_get_what_the_jvm_did_not_do():
    """Spark's CPU time leaves them out: without this, a job whose work is in Python would look idle."""
    row = task(seconds=10.0, cpu_seconds=1.0, fetch_wait_seconds=2.0)

    assert parts_of(row, scopes=("PythonRDD",)) == pytest.approx({CPU: 1.0, NETWORK: 2.0, PYTHON_WORKER: 7.0})


def test_where_the_log_tells_of_python_it_gets_no_more():
    row = task(seconds=10.0, cpu_seconds=1.0, python_seconds=4.0)

    assert parts_of(row, scopes=("ArrowEvalPython",)) == pytest.approx(
        {CPU: 1.0, PYTHON_WORKER: 4.0, UNMEASURED: 5.0}
    )


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (("map", "PythonRDD"), True),
        (("MapInPandas",), True),
        (("MapInArrow",), True),
        (("BatchEvalPython",), True),
        (("WholeStageCodegen (1)", "Exchange"), False),
    ],
)
def test_stages_that_hand_their_rows_to_python(scopes, expected):
    log = event_log([task()], stages=[stage(0, name="count at python_job.py:12", scopes=scopes)])

    assert resource_use(log).in_python.tolist() == [expected]


def test_a_stage_runs_no_more_tasks_at_once_than_it_has_or_there_are_slots():
    log = event_log([task(0), task(0), *(task(1, 1.0) for _ in range(9))], executors=[executor(0, cores=4)])

    assert resource_use(log).parallelism.tolist() == [2.0, 4.0]


def test_without_executors_as_many_run_at_once_as_did():
    """As in a log that was cut off before they were told."""
    log = event_log([task(), task(launched=0.5), task(launched=1.0)], executors=[])

    assert resource_use(log).parallelism.tolist() == [2.0]


def test_what_is_spilled_is_written_and_read_again():
    log = event_log(
        [
            task(
                input_bytes=1,
                output_bytes=10,
                shuffle_written_bytes=100,
                shuffle_local_bytes=1_000,
                shuffle_remote_bytes=10_000,
                disk_spilled_bytes=100_000,
            )
        ]
    )

    assert disk_bytes(log.task_columns).tolist() == [211_111]


def test_a_run_without_tasks_uses_nothing():
    use = resource_use(event_log([], executors=[executor(0)]))

    assert use.stages == ()
    assert use.seconds(use.parts).tolist() == []


@pytest.mark.parametrize("seed", range(10))
def test_the_parts_are_not_negative_and_add_up_to_the_tasks(seed):
    log = random_log(seed)

    parts = resource_use(log).parts

    assert min(float(seconds.min()) for seconds in parts.values()) >= 0.0
    np.testing.assert_allclose(sum(parts.values()), log.task_columns.seconds, atol=1e-9)
