from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.run_facts import A_STREAM
from airflow_provider_ernest.history.observations import observations_of, past_run
from tests.unit.eventlog.event_log_texts import (
    ended,
    environment,
    executor,
    job,
    job_end,
    removed,
    stage,
    started,
    task,
    write,
)
from tests.unit.history.past_logs import events_of


def run_of(folder: Path, events: list[dict[str, Any]]) -> PastRun:
    path = write(folder / "app-1", *events)
    return past_run(read_event_log(str(path)), event_log=str(path))


def test_a_run_is_told_with_its_size_and_time(tmp_path: Path):
    run = run_of(tmp_path, events_of(executors=3, input_bytes=500, **{"spark.executor.memory": "4g"}))
    assert (run.failure, run.executors, run.executor_cores) == ("", 3, 2)
    assert (run.startup_seconds, run.seconds) == (1.0, 59.0)
    assert (run.input_bytes, run.executor_memory_megabytes) == (1500, 4096)
    assert run.metrics is not None
    assert run.metrics.tasks == 3
    assert run.started_at == "1970-01-01T00:01:40+00:00"


def with_events(*further: dict[str, Any], **told: Any) -> list[dict[str, Any]]:
    """The events of a run with further ones before its end."""
    *events, end = events_of(**told)
    return [*events, *further, end]


def busy_on(number: str, *, until: int = 145_000) -> list[dict[str, Any]]:
    """A job whose tasks take both slots of an executor to that moment."""
    place = int(number)
    return [
        job(10 + place, 10 + place),
        *(task(10 * place + each, executor=number, at=112_000, until=until) for each in (1, 2)),
        job_end(10 + place, at=until),
    ]


POD_DELETED = "The executor with id 1 was deleted by a user or the framework."
KILLED = "Executor killed by driver."
ADDED_OR_REMOVED = "were added or removed"
TAG = "spark.databricks.clusterUsageTags"


@pytest.mark.parametrize(
    ("events", "failure"),
    [
        (events_of()[:-1], "its log has no end"),
        (with_events(job(1, 1), job_end(1, at=130_000, result="JobFailed")), "its last job failed"),
        (with_events(job(1, 1)), "while one of its jobs still ran"),
        (with_events(removed(1, reason="Container killed by YARN for exceeding memory")), "lost executors"),
        (with_events(removed(1, at=110_500, reason=KILLED), *busy_on("0")), ADDED_OR_REMOVED),
        (
            with_events(*busy_on("0"), *busy_on("1"), executor(7, host="10.0.0.7", at=140_000)),
            ADDED_OR_REMOVED,
        ),
        # Spark drops events where its listeners do not keep up.
        ([each for each in events_of(executors=4) if each.get("Executor ID") != "3"], "is not whole"),
        (events_of(executors=4, dropped=1), "is not whole"),
        ([*events_of()[:-1], {**ended(), "ExitCode": 1}], "ended with exit code 1"),
        (with_events(removed(1, at=158_000, reason=POD_DELETED)), "lost executors"),
        ([started(), environment(), job(0), job_end(0), ended()], "no executor registered"),
        ([started(), executor("driver"), task(0, executor="driver"), ended()], "inside its driver"),
        ([each for each in events_of() if each["Event"] != "SparkListenerTaskEnd"], "no task succeeded"),
        (events_of(**{f"{TAG}.clusterName": "shared analytics"}), "shared cluster"),
    ],
)
def test_a_run_that_says_nothing_about_a_size_is_told_with_the_reason(events, failure: str, tmp_path: Path):
    run = run_of(tmp_path, events)
    assert failure in run.failure
    assert run.metrics is None


DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


@pytest.mark.parametrize(
    "events",
    [
        with_events(removed(1, at=158_000, reason=KILLED)),
        with_events(removed(1, at=158_000, reason=POD_DELETED), **DYNAMIC),
        with_events(removed(1, at=158_000, reason="Executor decommission: spark scale down"), **DYNAMIC),
        [  # lost when all work is done
            *events_of(**{"spark.databricks.workerNodeTypeId": "i3.xlarge"})[:-1],
            *(removed(each, at=121_000, reason="Remote RPC client disassociated") for each in range(2)),
        ],
        # Replaced on its machine at once.
        with_events(removed(1, at=130_000, reason=KILLED), executor(5, host="10.0.0.1", at=130_000)),
        with_events(  # a job that failed and was caught
            job(1, 1), job_end(1, at=130_000, result="JobFailed"), job(2, 2), job_end(2, at=140_000)
        ),
    ],
)
def test_what_costs_a_run_nothing_lets_it_count(events, tmp_path: Path):
    run = run_of(tmp_path, events)
    assert (run.failure, run.executors, run.executor_cores) == ("", 2, 2)


LATE = [*busy_on("0"), *busy_on("1"), executor(7, host="10.0.0.7", at=140_000)]


def test_a_run_under_dynamic_allocation_counts_by_its_replay_on_fixed_sizes(tmp_path: Path):
    run = run_of(tmp_path, with_events(*LATE, **DYNAMIC))

    assert (run.failure, run.executors) == ("", 3)
    assert run.mean_executors == pytest.approx(2 + 20 / 59)
    assert [size.executors for size in run.replayed] == [2, 3]
    assert run.fixed_seconds == run.replayed[-1].seconds <= run.seconds
    assert run.metrics is not None

    observed = observations_of([run]).observations
    assert [each.executors for each in observed] == [2, 3]
    assert [each.seconds for each in observed] == [size.seconds for size in run.replayed]
    # Both are wrong about the same things: together they count as one run with a wider noise.
    errors = [each.replay_error for each in observed]
    assert errors == pytest.approx([2**0.5 * size.error for size in run.replayed])
    assert min(errors) > 0.05


def test_a_run_under_dynamic_allocation_that_lost_an_executor_does_not_count(tmp_path: Path):
    lost = removed(1, at=158_000, reason="Command exited with code 137")
    run = run_of(tmp_path, with_events(*LATE, lost, **DYNAMIC))
    assert "lost executors" in run.failure
    assert run.replayed == ()


def test_what_is_paid_begins_with_the_first_machine_and_not_in_the_queue(tmp_path: Path):
    events = events_of()
    for event in events:
        if event["Event"] == "SparkListenerApplicationStart":
            event["Timestamp"] -= 90_000
    one, other = (each for each in events if each["Event"] == "SparkListenerExecutorAdded")
    other["Timestamp"] += 4_000
    one["Timestamp"] -= 1_000

    run = run_of(tmp_path, events)

    assert (run.executors, run.startup_seconds) == (2, 95.0)
    assert run.executor_seconds == pytest.approx(2 * run.seconds + 5.0)
    assert run.unpaid_seconds == pytest.approx(92.5)


def test_a_batch_of_a_stream_that_takes_what_is_there_is_a_run(tmp_path: Path):
    """Of the trigger availableNow, or once: each batch follows the one before, and then the query ends."""
    stream = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"
    batches = [job(0, 0, **{"sql.streaming.queryId": "q"}), job_end(0)]
    asked = {"Event": f"{stream}StartedEvent", "id": "q", "runId": "r", "name": None}
    over = {"Event": f"{stream}TerminatedEvent", "id": "q", "runId": "r", "exception": None}
    *events, end = [
        each for each in events_of() if each["Event"] not in ("SparkListenerJobStart", "SparkListenerJobEnd")
    ]
    before, after = events[:4], events[4:]
    late = [job(9, 9, at=150_000, **{"sql.streaming.queryId": "q"}), job_end(9, at=151_000)]

    whole = run_of(tmp_path, [*before, asked, batches[0], *after, batches[1], over, end])
    cut = run_of(tmp_path, [*before, asked, batches[0], *after, batches[1], end])
    failed = run_of(
        tmp_path, [*before, asked, batches[0], *after, batches[1], {**over, "exception": "x"}, end]
    )
    waited = run_of(tmp_path, [*before, asked, batches[0], *after, batches[1], *late, over, end])

    assert whole.failure == ""
    assert {each.failure for each in (cut, failed, waited)} == {A_STREAM.reason}


@pytest.mark.parametrize(
    ("amounts", "slots"),
    [({}, 8), ({"executor": "1", "task": "1"}, 1), ({"executor": "1", "task": "0.25"}, 4)],
)
def test_gpus_bound_how_many_tasks_run_at_once(amounts, slots: int, tmp_path: Path):
    told = {f"spark.{who}.resource.gpu.amount": amount for who, amount in amounts.items()}
    events = events_of(executors=1, **told)
    for event in events:
        if event["Event"] == "SparkListenerExecutorAdded":
            event["Executor Info"]["Total Cores"] = 8
    log = read_event_log(write(tmp_path / "app-1", *events))
    assert (log.slots, list(log.slots_by_executor.values())) == (slots, [slots])


def kept(number: int, *parents: int, partitions: int = 2, is_kept: bool = False) -> dict[str, Any]:
    return {
        "RDD ID": number,
        "Name": "x",
        "Parent IDs": list(parents),
        "Number of Partitions": partitions,
        "Storage Level": {"Use Memory": is_kept},
    }


def read_by(
    stages: dict[int, list[dict[str, Any]]], folder: Path, *further: dict[str, Any], tasks: int = 2
) -> int:
    """What a run counts as read whose stages read 100 bytes each, by their data sets."""
    events = events_of()[:4]
    for number, data_sets in stages.items():
        info = {"RDD Info": data_sets, "Number of Tasks": 2}
        events += [
            stage(number, **info),
            task(number, stage=number, metrics={"Input Metrics": {"Bytes Read": 100, "Records Read": 7}}),
            stage(number, completed=120_000, **info),
            *(each for each in further if each.get("after") == number),
        ]
    run = run_of(folder, [*events, events_of()[-1]])
    assert run.input_records == 7 * run.input_bytes // 100
    return run.input_bytes


CHAIN = [kept(1, 0, is_kept=True), kept(0)]
LONG_CHAIN = [kept(2, 1), *CHAIN]
PARTLY_KEPT = [kept(1, 0, is_kept=True, partitions=8), kept(0, partitions=8)]
DROPPED = {"Event": "SparkListenerUnpersistRDD", "RDD ID": 1, "after": 0}


@pytest.mark.parametrize(
    ("stages", "further", "read_bytes"),
    [
        ({0: LONG_CHAIN, 1: LONG_CHAIN, 2: [kept(3, 1), *CHAIN]}, [], 100),
        ({0: CHAIN, 1: [kept(5, 1, 4), kept(4), *CHAIN]}, [], 200),  # what is read beside it
        ({0: PARTLY_KEPT, 1: PARTLY_KEPT}, [], 200),
        ({0: CHAIN, 1: CHAIN}, [DROPPED], 200),
        ({0: CHAIN, 1: [kept(8, 9), kept(9, 8)]}, [], 200),  # circles end no reader
    ],
)
def test_what_comes_out_of_cached_data_is_not_counted_as_read_again(
    stages, further, read_bytes: int, tmp_path: Path
):
    assert read_by(stages, tmp_path, *further) == read_bytes


def test_the_type_of_the_machines_and_sparks_version_are_taken_where_the_log_tells(tmp_path: Path):
    selector = "spark.kubernetes.executor.node.selector.node.kubernetes.io/instance-type"
    assert run_of(tmp_path, events_of(**{selector: "m5.2xlarge"})).instance_type == "m5.2xlarge"
    first = {"Event": "DBCEventLoggingListenerMetadata", "Rollover Number": 0, "Spark Version": "3.4.1"}
    run = run_of(tmp_path, [first, *events_of(**{f"{TAG}.clusterNodeType": "i3.xlarge"})])
    assert (run.spark, run.instance_type) == ("3.4.1", "i3.xlarge")


def test_executors_that_share_a_machine_are_counted_each(tmp_path: Path):
    events = with_events(**{"spark.executor.memory": "1000m"})
    events[2:4] = [executor(number, host=f"10.0.0.{number % 2}") for number in range(6)]
    run = run_of(tmp_path, events)
    assert (run.executors, run.executor_cores, run.executor_memory_megabytes) == (6, 2, 1000)


def test_machines_are_told_apart_though_one_server_shows_the_logs_of_all(tmp_path: Path):
    events = events_of(executors=3)
    for each in events[2:5]:
        each["Executor Info"]["Log Urls"] = {"stderr": "https://logs.acme.com/view?stream=stderr"}
    assert run_of(tmp_path, events).executors == 3


SUBMIT = "org.apache.spark.deploy.SparkSubmit"
YARN, RUNNER = "org.apache.spark.deploy.yarn.ApplicationMaster", "org.apache.spark.deploy.PythonRunner"
WRAPPER = "org.apache.spark.deploy.worker.DriverWrapper"


def _command(words: str) -> dict[str, Any]:
    return {
        "Event": "SparkListenerEnvironmentUpdate",
        "Spark Properties": {},
        "System Properties": {"sun.java.command": words},
    }


@pytest.mark.parametrize(
    ("command", "main", "folder"),
    [
        (f"{SUBMIT} --class com.acme.Etl --conf a=b s3://x/etl.jar joe secret", "com.acme.Etl", None),
        (f"{SUBMIT} --verbose --name x /home/joe/jobs/load.py --password hunter2", "load.py", "jobs"),
        (f"{SUBMIT} --jars a.jar,b.jar etl.jar", "etl.jar", None),
        (f"{SUBMIT} --jars /lib/a.jar --py-files /lib/b.py load.py /data/other.py", "load.py", None),
        (f"{SUBMIT} '/jobs/a b/load.py'", None, None),
        # Spark's own tells no quotes: the value of a property has several words.
        (f"{SUBMIT} --conf spark.x=-XX:+A -Dx=y -XX:-Z --conf spark.y=1 /jobs/load.py", "load.py", "jobs"),
        (f"{YARN} --class {RUNNER} --primary-py-file load.py --arg secret", "load.py", None),
        (f"{WRAPPER} spark://W@1:2 /x/etl.jar com.acme.Etl secret", "com.acme.Etl", None),
        ("com.acme.Etl secret", "com.acme.Etl", None),
        (f"{SUBMIT} pyspark-shell", None, None),
        (f"{SUBMIT} --class org.apache.spark.repl.Main --name Spark shell spark-shell", None, None),
        ("com.databricks.backend.daemon.driver.DriverDaemon", None, None),
        ("", None, None),
        ("-", None, None),
        ("a" * 100_000, None, None),
    ],
)
def test_of_the_command_only_the_program_and_its_folders_name_are_kept(
    command: str, main: str | None, folder: str | None, tmp_path: Path
):
    run = run_of(tmp_path, with_events(_command(command)))
    assert (run.main, run.main_folder) == (main, folder)
    assert not [private for private in ("secret", "hunter2", "joe") if private in str(run.to_dict())]


def test_settings_tell_no_places_and_no_secrets(tmp_path: Path):
    run = run_of(
        tmp_path,
        events_of(
            **{
                "spark.sql.shuffle.partitions": "400",
                "spark.hadoop.fs.s3a.secret.key": "hunter2",
                "spark.sql.extra": "s3://bucket/of/joe",
                "spark.driver.port": "12345",
                "spark.app.id": "app-1",
                "spark.executor.instances": "7",
            }
        ),
    )
    told = dict(run.settings)
    assert told["spark.sql.shuffle.partitions"] == "400"
    assert set(told) == {"spark.sql.shuffle.partitions", "spark.sql.extra"}
    assert "joe" not in str(run.settings)


TAGS = '[{"key":"Creator","value":"joe"},{"key":"RunName","value":"nightly load"}]'


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        ({"spark.glue.JOB_NAME": "nightly"}, "nightly"),
        ({"spark.openlineage.parentJobName": "dag.load"}, "dag.load"),
        ({f"{TAG}.clusterName": "job-12-run-7"}, "Databricks job 12"),
        ({f"{TAG}.clusterName": "job-12-run-7-big", f"{TAG}.clusterAllTags": TAGS}, "nightly load big"),
        ({f"{TAG}.clusterName": "job-12-run-7", f"{TAG}.clusterAllTags": '[{"key": 1}'}, "Databricks job 12"),
        ({}, "Spark shell"),
    ],
)
def test_where_the_application_has_no_name_the_platform_names_it(properties, name: str, tmp_path: Path):
    assert run_of(tmp_path, events_of("Spark shell", **properties)).job == name
