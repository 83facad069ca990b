"""The reader against hand-written logs; tests/integration reads what real Spark wrote."""

import json
from pathlib import Path

import pytest
import zstandard

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.eventlog.files import application_of_name, find_event_log
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.run_facts import read_run, run_metrics, run_seconds
from airflow_provider_ernest.exceptions import SampleRunError
from tests.unit.eventlog.event_log_texts import REAL, task

METRICS = {
    "Executor Run Time": 1500,
    "JVM GC Time": 250,
    "Peak Execution Memory": 9,
    "Disk Bytes Spilled": 7,
    "Input Metrics": {"Bytes Read": 11},
    "Shuffle Read Metrics": {"Remote Bytes Read": 2, "Local Bytes Read": 3},
}


def executor(number: int, *, at: float, port: int) -> dict:
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": round(at * 1000),
        "Executor ID": str(number),
        "Executor Info": {
            "Host": "127.0.1.1",
            "Total Cores": 1,
            "Log Urls": {"stderr": f"http://127.0.1.1:{port}/logPage/?executorId={number}&logType=stderr"},
        },
    }


def events(*executors: dict, master: str = "spark://127.0.0.1:7077") -> list[dict]:
    return [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.master": master}},
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "job",
            "App ID": "app-1",
            "Timestamp": 100_000,
        },
        *executors,
        task(1, metrics=METRICS),
        task(2),
        {"Event": "SparkListenerApplicationEnd", "Timestamp": 160_000},
    ]


def write(path: Path, log: list[dict], *, tail: str = "") -> Path:
    path.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in log) + tail)
    return path


def test_clean_time_runs_from_the_last_machine_to_the_end(tmp_path: Path):
    log = write(tmp_path / "app-1", events(executor(0, at=103, port=1), executor(1, at=112, port=2)))

    run = read_run(log)

    assert run_seconds(run, 2) == pytest.approx(48)
    assert run_seconds(run, 1) == pytest.approx(57)
    assert run_metrics(run).to_dict() == {
        "schema": 1,
        "tasks": 2,
        "slots": 2,
        "executor_run_seconds": 1.5,
        "garbage_collection_seconds": 0.25,
        "input_bytes": 11,
        "shuffle_read_bytes": 5,
        "spilled_bytes": 7,
        "peak_execution_memory_bytes": 9,
        "storage_memory_bytes": None,
        "cache_wanted_bytes": None,
        "cached_bytes": None,
        "cached_on_disk_bytes": None,
        "dominant_stage_tasks": None,
    }


def test_two_executors_of_one_worker_are_one_machine(tmp_path: Path):
    log = write(tmp_path / "app-1", events(executor(0, at=103, port=1), executor(1, at=104, port=1)))

    with pytest.raises(SampleRunError, match=r"designed for 2 machines, and 1 registered \(127.0.1.1:1\)"):
        run_seconds(read_run(log), 2)


def test_a_job_that_runs_inside_its_driver_is_told(tmp_path: Path):
    log = write(tmp_path / "local-1", events(executor(0, at=103, port=1), master="local[2]"))

    with pytest.raises(SampleRunError, match=r"local\[2\].*Remove \.master"):
        run_seconds(read_run(log), 1)


def test_a_log_torn_at_any_byte_is_read_as_far_as_it_goes(tmp_path: Path):
    whole = write(tmp_path / "whole", events(executor(0, at=103, port=1)))
    content = whole.read_bytes()
    begins = content.index(b"\n", content.index(b"ApplicationStart"))
    for length in range(begins, len(content), 17):
        torn = tmp_path / "torn"
        torn.write_bytes(content[:length])
        run = read_run(torn)
        assert not run.is_complete
    assert read_run(whole).ended_at == 160.0


def test_a_log_in_which_no_application_starts_is_refused(tmp_path: Path):
    with pytest.raises(SampleRunError, match="no application starts in it"):
        read_run(write(tmp_path / "app-1", events()[:2]))


def test_model_and_profile_count_the_same_tasks(tmp_path: Path):
    """Of a run with a task that failed, one that was done twice, and one whose output was lost."""
    failed, copy, late = (
        task(3, reason="ExceptionFailure", metrics=METRICS),
        task(4, Index=1, Speculative=True, until=111_000, metrics=METRICS),
        task(1, reason="Resubmitted", metrics=METRICS),
    )
    log = events(executor(0, at=103, port=1))
    log[-1:-1] = [task(5, metrics=METRICS), failed, copy, late]
    path = write(tmp_path / "app-1", log)

    metrics, profile = run_metrics(read_run(path)), profile_run(read_event_log(path))

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
    assert (metrics.cache_wanted_bytes, metrics.cached_bytes, metrics.cached_on_disk_bytes) == (
        36064,
        36064,
        0,
    )


def test_what_is_malformed_costs_no_run_that_was_paid_for(tmp_path: Path):
    """As it costs no profile."""
    odd = [
        {"Event": "SparkListenerTaskEnd", "Stage ID": "zero"},
        {"Event": "SparkListenerExecutorAdded", "Timestamp": 10**21},
        {"Event": "SparkListenerBlockManagerAdded"},
        {"Event": "SparkListenerStageCompleted"},
        {"Event": "SparkListenerBlockUpdated", "Block Updated Info": {"Block ID": "rdd_0_0"}},
        {"Event": "SparkListenerUnpersistRDD", "RDD ID": None},
        {"Event": "SparkListenerApplicationStart", "Timestamp": "today"},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.task.cpus": "many"}},
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": []},
    ]
    whole = write(tmp_path / "whole", events(executor(0, at=103, port=1)))
    path = write(tmp_path / "app-1", [*odd, *events(executor(0, at=103, port=1))])

    assert run_metrics(read_run(path)) == run_metrics(read_run(whole))
    assert run_seconds(read_run(path), 1) == run_seconds(read_run(whole), 1)


def test_a_log_without_end_has_no_run_time(tmp_path: Path):
    log = write(tmp_path / "app-1.inprogress", events(executor(0, at=103, port=1))[:-1])

    with pytest.raises(SampleRunError, match="app-1 has no end"):
        run_seconds(read_run(log), 1)


def test_checksum_files_are_no_event_logs(tmp_path: Path):
    assert find_event_log(tmp_path) is None
    (tmp_path / ".app-1.inprogress.crc").write_bytes(b"crc")
    assert find_event_log(tmp_path) is None
    write(tmp_path / "app-1.inprogress", [])
    assert find_event_log(tmp_path) == tmp_path / "app-1.inprogress"


def test_folders_of_rolled_logs_are_event_logs_and_others_are_not(tmp_path: Path):
    (tmp_path / "checkpoints").mkdir()
    assert find_event_log(tmp_path) is None
    (tmp_path / "eventlog_v2_app-1").mkdir()
    assert find_event_log(tmp_path) == tmp_path / "eventlog_v2_app-1"


@pytest.mark.parametrize(
    ("name", "application"),
    [
        ("app-1", "app-1"),
        ("app-1.inprogress", "app-1"),
        ("app-1.zstd", "app-1"),
        ("app-1.lz4.inprogress", "app-1"),
        ("eventlog_v2_app-1", "app-1"),
        ("eventlog_v2_application_17_0001_2", "application_17_0001"),
        ("application_17_0001_1.snappy", "application_17_0001"),
        ("application_17_0001", "application_17_0001"),
        ("spark-1f.2e", "spark-1f.2e"),
    ],
)
def test_the_name_tells_the_application(name: str, application: str):
    assert application_of_name(name) == application


def test_a_compressed_and_a_rolled_log_tell_of_the_same_run(tmp_path: Path):
    plain = write(tmp_path / "app-1", events(executor(0, at=103, port=1), executor(1, at=112, port=2)))
    packed = tmp_path / "app-1.zstd"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    rolled = tmp_path / "eventlog_v2_app-1"
    rolled.mkdir()
    lines = plain.read_bytes().splitlines(keepends=True)
    (rolled / "events_1_app-1").write_bytes(b"".join(lines[:4]))
    (rolled / "events_2_app-1").write_bytes(b"".join(lines[4:]))

    runs = [read_run(log) for log in (plain, packed, rolled)]
    assert run_seconds(runs[0], 2) == run_seconds(runs[1], 2) == run_seconds(runs[2], 2) == pytest.approx(48)
    assert run_metrics(runs[0]) == run_metrics(runs[1]) == run_metrics(runs[2])


def test_a_log_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(SampleRunError, match=r"Cannot read the event log .*absent"):
        read_run(tmp_path / "absent")
