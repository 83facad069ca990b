"""Tasks that held their stage up, and why."""

from __future__ import annotations

import re

import numpy as np
import pytest

from airflow_provider_ernest.clarity.blocked_time import WORST, find_stragglers
from airflow_provider_ernest.documents.models import UNEXPLAINED
from airflow_provider_ernest.documents.profiles import (
    COLLECTION,
    FIRST_TASK,
    INPUT_SKEW,
    SLOW_DISK,
    SLOW_FETCH,
    SLOW_HOST,
)
from tests.unit.eventlog.logs import event_log, executor, task

HOSTS = 3


def waves(*, late: dict | None = None, waves: int = 5, stage: int = 0, began: float = 0.0):
    """Tasks of about a second on three hosts of one slot; the last but one has what `late` says."""
    generator = np.random.default_rng(stage)
    rows = []
    for place in range(HOSTS * waves):
        seconds = 1.0 + 0.05 * generator.random()
        columns = {"input_bytes": 100_000_000, "input_records": 1000}
        if late and place == HOSTS * waves - 2:
            columns |= late
            seconds = columns.pop("seconds")
        rows.append(task(stage, began + 1.1 * (place // HOSTS), seconds, executor=place % HOSTS, **columns))
    return rows


def only_straggler(log):
    found = find_stragglers(log)
    assert found.count == len(found.worst) == 1
    return found.worst[0]


@pytest.mark.filterwarnings("error")
def test_the_only_task_that_read_anything_is_skewed_whatever_the_others_took():
    rows = [task(0, 0.0, 0.0, executor=place) for place in range(HOSTS)]
    rows.append(task(0, 1.0, 2.0, input_bytes=100_000_000))
    straggler = only_straggler(event_log(rows))
    assert straggler.cause == INPUT_SKEW
    assert straggler.evidence == "read 100 MB where the median task of its stage read nothing"


@pytest.mark.parametrize(
    ("late", "cause", "figure"),
    [
        ({"input_bytes": 300_000_000}, INPUT_SKEW, "3.0 times as much .*300 MB against 100 MB"),
        ({"input_records": 3000}, INPUT_SKEW, "3.0 times as much"),
        ({"fetch_wait_seconds": 1.9}, SLOW_FETCH, r"waited 1.9 s \(median 0 s\) for shuffle data"),
        ({"shuffle_write_seconds": 1.8}, SLOW_DISK, r"waited 1.8 s \(median 0 s\) to write shuffle data"),
        ({"disk_spilled_bytes": 2_000_000_000}, SLOW_DISK, "spilled 2.00 GB where .* spilled nothing"),
        ({"garbage_collection_seconds": 2.0}, COLLECTION, "collected garbage for 2 s"),
        ({}, UNEXPLAINED, "no metric"),
        ({"fetch_wait_seconds": 0.4, "input_bytes": 120_000_000}, UNEXPLAINED, ""),
        ({"run_seconds": 1.0}, UNEXPLAINED, "scheduler delay with 2 s"),
    ],
)
def test_the_cause_is_what_explains_the_excess(late, cause, figure):
    straggler = only_straggler(event_log(waves(late={"seconds": 3.0, **late})))
    assert straggler.cause == cause
    assert re.search(figure, straggler.evidence), straggler.evidence
    assert straggler.host == "10.0.0.2"
    assert straggler.seconds == pytest.approx(3.0)
    assert straggler.median_seconds == pytest.approx(1.02, abs=0.05)


def slow_host_rows(*, waiting: str | None = None):
    """The third host takes three times as long in two stages."""
    rows = []
    for stage in (0, 1):
        for place in range(16):
            slow = place % 4 == 3
            columns = {waiting: 2.0} if waiting and slow else {}
            at = 10.0 * stage + (place // 4) * 2.2
            rows.append(task(stage, at, 3.0 if slow else 1.0, executor=2 if slow else place % 2, **columns))
    return rows


FIRST_ONES = [
    task(0, (0.0 if place < HOSTS else 3.0 + 1.1 * (place // HOSTS)), 3.0 if place < HOSTS else 1.0)
    | {"executor": place % HOSTS}
    for place in range(15)
]
READING_MORE = [
    row | {"input_bytes": 300_000_000 if row["executor"] == 2 else 100_000_000} for row in slow_host_rows()
]


@pytest.mark.parametrize(
    ("rows", "cause", "tasks", "evidence"),
    [
        pytest.param(
            slow_host_rows(),
            SLOW_HOST,
            8,
            "10.0.0.3 took 3.0 times as long as the other hosts",
            id="a slow host",
        ),
        pytest.param(
            slow_host_rows(waiting="fetch_wait_seconds"), SLOW_HOST, 8, "10.0.0.3 took", id="a slow link"
        ),
        pytest.param(READING_MORE, INPUT_SKEW, 8, "read 3.0 times as much", id="a host that reads more"),
        pytest.param(FIRST_ONES, FIRST_TASK, 3, "took 2 s longer", id="first tasks of executors"),
    ],
)
def test_what_many_have_in_common_is_the_cause(rows, cause, tasks, evidence):
    found = find_stragglers(event_log(rows))
    assert [(each.cause, each.tasks) for each in found.causes] == [(cause, tasks)]
    assert evidence in found.worst[0].evidence
    assert sum(found.by_stage.values()) == tasks


def test_what_a_cause_costs_is_the_run_without_it():
    rows = waves(late={"seconds": 9.0, "fetch_wait_seconds": 8.0})
    log = event_log(rows, executors=[executor(number) for number in range(HOSTS)])
    (cause,) = find_stragglers(log).causes
    assert cause.excess_seconds == pytest.approx(8.0, abs=0.1)
    whole = log.ended_at - log.ready_at
    assert whole == pytest.approx(4 * 1.1 + 9.0)
    assert cause.seconds_without == pytest.approx(4 * 1.1 + 1.05, abs=0.1)


def test_failed_tasks_are_no_stragglers_and_short_ones_are_not_waited_for():
    late = {"seconds": 5.0, "succeeded": False}
    assert find_stragglers(event_log(waves(late=late))).count == 0
    rows = [task(0, 0.1 * place, 0.09 if place == 7 else 0.01) for place in range(8)]
    assert find_stragglers(event_log(rows)).count == 0


def test_only_the_worst_are_told_one_by_one_and_all_count():
    rows = []
    for place in range(100):
        late = place % 4 == 3
        rows.append(task(0, 10.0 * place, 3.0 + place / 100 if late else 1.0))
    found = find_stragglers(event_log(rows))
    assert found.count == 25
    assert len(found.worst) == WORST
    seconds = [straggler.seconds for straggler in found.worst]
    assert seconds == sorted(seconds, reverse=True)
    assert sum(cause.tasks for cause in found.causes) == 25


def test_the_order_of_rows_is_of_no_account():
    rows = [
        {"task_id": number, **row}
        for number, row in enumerate(
            waves(late={"seconds": 3.0, "fetch_wait_seconds": 1.9}) + slow_host_rows()
        )
    ]
    order = np.random.default_rng(0).permutation(len(rows))
    assert find_stragglers(event_log([rows[place] for place in order])) == find_stragglers(event_log(rows))


def test_next_to_nothing_read_explains_no_seconds():
    """The other tasks read nothing at all, and this one too little to take time for it."""
    rows = [task(0, 0.1 * place, 1.0, executor=place % HOSTS) for place in range(9)]
    rows.append(
        task(0, 2.0, 5.0, garbage_collection_seconds=4.0, shuffle_local_bytes=60, shuffle_read_records=1)
    )
    assert only_straggler(event_log(rows)).cause == COLLECTION
