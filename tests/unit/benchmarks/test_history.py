"""The corpus of event logs: what is planned, and what is packed of a log."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.eventlog.reading import read_event_log
from benchmarks.history.evaluation import MODEL, MODEL_OF_ALL, OTHER, USUAL, RecordedRun, said_of
from benchmarks.history.packing import pack, unpack
from benchmarks.history.report import report_lines
from benchmarks.history.schedule import LOCAL, MOST_MACHINES, PlannedRun, planned_runs

REAL_LOG = next(
    iter(sorted((Path(__file__).parents[1] / "eventlog" / "event_logs").glob("spark-4*python.zstd")))
)


def test_enough_runs_of_enough_jobs_at_several_sizes_and_inputs() -> None:
    runs = planned_runs()
    assert len(runs) >= 200
    assert len({run.id for run in runs}) == len(runs)
    for job_id in {run.job_id for run in runs}:
        of_job = [run for run in runs if run.job_id == job_id]
        assert len({run.machines for run in of_job}) >= 3
        assert max(run.files for run in of_job) > 1.5 * min(run.files for run in of_job)
        assert all(run.machines <= MOST_MACHINES[run.job.cluster] for run in of_job)
    assert len({run.job_id for run in runs}) >= 8
    local = sum(run.job.cluster == LOCAL for run in runs)
    assert 0.7 < local / len(runs) < 0.85


def test_the_plan_is_the_same_each_time() -> None:
    assert planned_runs() == planned_runs()


def test_a_part_of_the_runs_is_of_all_jobs() -> None:
    assert len(Counter(run.job_id for run in planned_runs()[:60])) == len(
        {run.job_id for run in planned_runs()}
    )


@pytest.fixture
def packed(tmp_path: Path) -> tuple[PlannedRun, Path, Path]:
    """A run, its log as Spark wrote it, and as it was packed."""
    run = planned_runs()[0]
    recorded, unpacked = tmp_path / "recorded", tmp_path / "unpacked"
    (recorded / "logs").mkdir(parents=True)
    unpacked.mkdir()
    log = recorded / "logs" / run.id
    events = [json.loads(line) for line in _lines()]
    events[0]["Somewhere"] = ["file:/home/somebody/secret/part-0.parquet", "/home/somebody/x.py"]
    log.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))
    pack([run], recorded, tmp_path / "archives")
    unpack(unpacked, packed=tmp_path / "archives")
    return run, log, unpacked / run.id


def _lines() -> list[str]:
    import io

    import zstandard

    stream = zstandard.ZstdDecompressor().stream_reader(REAL_LOG.read_bytes(), read_across_frames=True)
    return io.TextIOWrapper(stream, encoding="utf-8").read().splitlines()


def test_a_packed_log_tells_what_the_recorded_one_does(packed: tuple[PlannedRun, Path, Path]) -> None:
    run, recorded, log = packed
    then, now = read_event_log(recorded), read_event_log(log)
    assert now.started_at == pytest.approx(run.day.timestamp(), abs=0.01)
    assert now.ended_at - now.started_at == pytest.approx(then.ended_at - then.started_at, abs=0.01)
    assert now.stages[0].tasks == then.stages[0].tasks
    for column in ("run_seconds", "input_bytes", "python_seconds", "shuffle_written_bytes"):
        one, other = getattr(now.task_columns, column), getattr(then.task_columns, column)
        assert one.tolist() == pytest.approx(other.tolist(), nan_ok=True)
    assert not now.warnings


def test_a_packed_log_tells_no_folders(packed: tuple[PlannedRun, Path, Path]) -> None:
    _, _, log = packed
    assert "part-0.parquet" in log.read_text()
    for name in ("home", "somebody", "secret"):
        assert name not in log.read_text()


def _run(number: int, machines: int) -> RecordedRun:
    """Of a job of 10 seconds, and 20 more for the first input on one machine."""
    grown = 1 + number / 10
    past = PastRun(
        job="report",
        application_id=f"app-{number}",
        event_log=f"report-{number}",
        started_at=f"2026-03-{number + 1:02}T02:00:00+00:00",
        machines=machines,
        cores_per_machine=1,
        seconds=10 + 20 * grown / machines,
        input_bytes=round(1e9 * grown),
    )
    return RecordedRun(job="report", number=number, past=past, profile=None, failed=False)


def test_a_run_is_predicted_from_those_before_it_and_on_other_machines_from_none_like_it() -> None:
    runs = [_run(number, machines) for number, machines in enumerate((2, 2, 4, 2, 4, 2, 2))]
    said = said_of("report", runs)
    by_model = [each for each in said if each.method == MODEL_OF_ALL]
    asked = {(each.run, each.runs): each.case for each in by_model}
    assert asked[1, 1] == USUAL
    assert asked[2, 2] == OTHER
    assert (4, 5) not in asked
    assert (6, 5) in asked
    # Of the usual machines alone, a model of the terms' own says nothing, and with both it is right.
    assert [each.error for each in said if each.method == MODEL and (each.run, each.runs) == (2, 2)] == [None]
    [last] = [each for each in said if each.method == MODEL and (each.run, each.runs) == (6, 5)]
    assert last.error == pytest.approx(0.0, abs=0.03)
    assert last.held == (True, True)
    lines = "\n".join(report_lines(runs, said))
    assert "7 real runs of 1 jobs" in lines
    assert "2: 5, 4: 2" in lines
