"""What a user of ``ernest analyze`` hears before all else: what was lost, and that a run does not count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.profiles import (
    DECOMMISSIONED,
    HEAP_FULL,
    KILLED_FOR_MEMORY,
    LOST,
    NODE_LOST,
    PREEMPTED,
)
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.run_facts import LET_GO, cause_of
from airflow_provider_ernest.history.observations import past_run
from tests.unit.eventlog.event_log_texts import (
    ended,
    executor,
    job,
    job_end,
    removed,
    stage,
    started,
    task,
    write,
)
from tests.unit.history.past_logs import events_of, log_of

YARN = (
    "Container killed by YARN for exceeding physical memory limits. 5.5 GB of 5.5 GB physical memory used. "
    "Consider boosting spark.executor.memoryOverhead."
)


@pytest.fixture
def analyzed(ernest):
    """Gives what `analyze` tells of a log, without line ends."""
    return lambda log: " ".join(ernest("analyze", log).out.split())


def run_that_lost(path: Path, reason: str, *, description: str | None = None) -> Path:
    """The second of two executors goes at half time, and with it a task that is made again on the first."""
    failed = task(1, executor="1", until=118_000, reason="ExecutorLostFailure")
    if description is not None:
        failed["Task End Reason"] = {"Reason": "ExceptionFailure", "Description": description}
    return write(
        path,
        started(),
        executor(0, host="10.0.0.1"),
        executor(1, host="10.0.0.2"),
        job(0, 0),
        stage(0),
        task(0, executor="0"),
        failed,
        *([removed(1, at=118_000, reason=reason)] if reason else []),
        task(2, executor="0", at=119_000, until=130_000, Index=1),
        stage(0, completed=130_000),
        job_end(0, at=130_000),
        ended(131_000),
    )


def test_an_executor_that_was_killed_for_its_memory_is_told_first(analyzed, ernest, tmp_path):
    log = run_that_lost(tmp_path / "log", YARN)

    said = analyzed(log)

    assert said.startswith(
        f"job (app-1) 1 executor killed, probably for memory: 1 on 10.0.0.2 ({YARN.rstrip('.')}). 1 task had "
        "to be made again, 8 s of their time lost. Give executors more memory beside their heap ("
        "spark.executor."
    )
    assert "This run does not count: it lost executors, probably killed for their memory." in said
    assert (
        past_run(read_event_log(log), event_log="log").failure
        == "it lost executors, probably killed for their memory"
    )
    (loss,) = json.loads(ernest("analyze", log, "--output", "-").out)["losses"]
    assert (loss["cause"], loss["failed_tasks"], loss["lost_seconds"]) == ("memory", 1, 8.0)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (YARN, KILLED_FOR_MEMORY),
        ("Container from a bad node: container_1 on host: n1. Exit status: 137.", KILLED_FOR_MEMORY),
        ("Command exited with code 137", KILLED_FOR_MEMORY),
        (
            "The executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).",
            KILLED_FOR_MEMORY,
        ),
        ("The executor with id 3 was terminated; container: OOMKilled", KILLED_FOR_MEMORY),
        ("Executor exited with code 52 (OutOfMemoryError)", HEAP_FULL),
        ("Command exited with code 52", HEAP_FULL),
        ("Container container_1 exited from explicit termination request (143).", LET_GO),
        (
            "Exit status: -100. Diagnostics: Container released on a *lost* node.",
            NODE_LOST,
        ),
        ("Container container_1 was preempted.", PREEMPTED),
        ("Container marked as failed. Exit status: -102. Diagnostics: preempted by scheduler", PREEMPTED),
        ("Executor decommission: worker is decommissioned", DECOMMISSIONED),
        ("Worker shutting down.", LOST),
        ("Command exited with code 1370", LOST),
        ("Executor killed by driver.", LET_GO),
        ("Executor 3 idle for 60 s", LET_GO),
    ],
)
def test_the_cause_is_told_by_what_spark_says(reason, cause):
    assert cause_of(reason) == cause


@pytest.mark.parametrize(
    ("reason", "description", "told", "untold"),
    [
        (
            "Command exited with code 52",
            None,
            [
                "1 executor ended by a full heap: 1 on 10.0.0.2 (Command exited with code 52).",
                "Give executors more heap (spark.executor.memory)",
                "This run does not count: it lost executors, probably killed for their memory.",
            ],
            "memoryOverhead",
        ),
        (
            "",
            "Python worker exited unexpectedly (crashed)",
            ["Python workers ended unexpectedly: 1 task had to be made again. A worker that is killed"],
            "does not count",
        ),
    ],
)
def test_each_loss_has_its_own_sentence_and_remedy(analyzed, tmp_path, reason, description, told, untold):
    said = analyzed(run_that_lost(tmp_path / "log", reason, description=description))

    assert all(each in said for each in told)
    assert untold not in said


def test_a_log_that_is_not_whole_is_told_so_and_gives_no_advice_that_the_rest_could_turn_over(
    analyzed, tmp_path
):
    """On six slots, 7 tasks leave five of them idle in the second round; of all 11 tasks one would be."""
    whole = log_of(tmp_path / "whole", executors=3, tasks=7)
    torn = log_of(tmp_path / "torn", executors=3, tasks=7, dropped=4)

    assert "what to change - Repartition what stage 0" in analyzed(whole)
    said = analyzed(torn)

    assert said.startswith(
        "etl 2024-01-31 (app-1) This run does not count: its log is not whole: 4 of 11 tasks are"
    )
    assert "what to change" not in said
    assert past_run(read_event_log(torn), event_log="torn").failure.endswith("4 of 11 tasks are missing")


def as_barrier(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for event in events:
        if "Stage Info" in event:
            event["Stage Info"]["RDD Info"] = [{"RDD ID": 1, "Name": "PythonRDD", "Barrier": True}]
    return events


def test_a_barrier_stage_is_not_repartitioned_nor_given_fewer_slots_than_tasks(ernest, analyzed, tmp_path):
    """Eight tasks on four machines of two slots: Spark refuses it with fewer (BarrierJobSlotsNumberCheck)."""
    events = as_barrier(events_of(executors=4, tasks=8))

    said = ernest("analyze", write(tmp_path / "log", *events))

    assert "All 8 tasks of a barrier stage must run at once" in said.err
    sizes = said.out.partition("on other numbers of executors")[2].splitlines()[2:]
    assert [line.split()[0] for line in sizes if line.strip()][:1] == ["4"]
    fewer = analyzed(write(tmp_path / "fewer", *as_barrier(events_of(executors=6, tasks=7))))
    plain = analyzed(write(tmp_path / "plain", *events_of(executors=6, tasks=7)))
    assert "epartition" not in fewer
    assert "Repartition" in plain


def test_what_could_not_be_fetched_is_made_again_and_is_no_delay_of_the_scheduler(analyzed, tmp_path):
    metrics = {"Executor Run Time": 5_000, "Executor CPU Time": 5_000_000_000}
    lost = task(1, stage=1, at=112_000, until=142_000, reason="FetchFailed")
    again = [
        {**each, "Stage Attempt ID": 1}
        for each in (
            task(2, stage=0, at=143_000, until=148_000, metrics=metrics),
            task(3, stage=1, at=148_000, until=153_000, metrics=metrics),
        )
    ]
    failure = "org.apache.spark.shuffle.FetchFailedException: Failed to connect to 10.0.0.2:7337"
    log = write(
        tmp_path / "log",
        started(),
        executor(0),
        job(0, 0, 1),
        stage(0),
        task(0, at=107_000, until=112_000, metrics=metrics),
        stage(0, completed=112_000),
        stage(1, **{"Parent IDs": [0], "Submission Time": 112_000}),
        lost,
        stage(
            1, completed=142_000, **{"Failure Reason": failure, "Parent IDs": [0], "Submission Time": 112_000}
        ),
        stage(0, attempt=1, **{"Submission Time": 142_500, "Number of Tasks": 1}),
        again[0],
        stage(0, attempt=1, completed=148_000, **{"Submission Time": 142_500, "Number of Tasks": 1}),
        stage(1, attempt=1, **{"Parent IDs": [0], "Submission Time": 148_000}),
        again[1],
        stage(1, attempt=1, completed=153_000, **{"Parent IDs": [0], "Submission Time": 148_000}),
        job_end(0, at=153_000),
        ended(154_000),
    )

    said = analyzed(log)

    assert f"Shuffle data could not be fetched ({failure}): 2 tasks had to be made again, 10 s of" in said
    assert read_event_log(log).task_columns.scheduler_delay_seconds.max() < 1.0


def test_all_memory_of_an_executor_is_counted_that_is_paid_for(tmp_path):
    asked = {"cores": 2, "memory": 4096, "memoryOverhead": 1024, "offHeap": 512, "pyspark.memory": 256}
    profile = {
        "Event": "SparkListenerResourceProfileAdded",
        "Resource Profile Id": 0,
        "Executor Resource Requests": {
            name: {"Resource Name": name, "Amount": amount, "Discovery Script": "", "Vendor": ""}
            for name, amount in asked.items()
        },
        "Task Resource Requests": {"cpus": {"Resource Name": "cpus", "Amount": 1.0}},
    }
    events = events_of(**{"spark.executor.memory": "4g"})

    heap, all_of_it = (
        past_run(read_event_log(write(tmp_path / name, *each)), event_log=name).executor_memory_megabytes
        for name, each in {"heap": events, "all": [*events[:1], profile, *events[1:]]}.items()
    )

    assert (heap, all_of_it) == (4096, 5888)


def test_a_survey_of_runs_none_of_which_counts_does_not_ask_for_the_price_it_has(
    ernest, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log_of(tmp_path / "logs" / "app-1", dropped=5)

    said = ernest("survey", tmp_path / "logs", "--price", "0.2", "--processes", "1").out

    assert "No price is known" not in said
    assert "No run counts, so nothing is known of other sizes" in said
    assert "its log is not whole" in said
