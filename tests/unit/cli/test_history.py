"""`ernest history`: what it tells of folders of event logs, and the files that it writes."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.models import runs_of
from tests.unit.eventlog.event_log_texts import removed, write
from tests.unit.history.past_logs import events_of, log_of

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "ernest" / "history"


@pytest.fixture
def history(ernest):
    return lambda *argv, code=0: ernest("history", *argv, code=code)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Of two jobs: one on several sizes and inputs, with a run that lost a machine; another once."""
    folder = tmp_path / "logs"
    sizes = [(1, 400), (2, 400), (4, 200), (8, 100), (2, 200), (4, 100), (8, 50)]
    for number, (executors, input_bytes) in enumerate(sizes):
        log_of(
            folder / "date=2026-01-01" / f"app-{number}",
            f"etl run {number}",
            application=f"app-{number}",
            executors=executors,
            input_bytes=input_bytes,
            end=110_000 + 100 * input_bytes // executors + 1000 * number,
        )
    *events, end = events_of("etl run 9", application="app-9")
    write(folder / "app-9", *events, removed(1, reason="Container killed by YARN"), end)
    log_of(folder / "report", "report", application="app-10")
    (folder / "_SUCCESS").touch()
    return folder


def test_the_jobs_of_a_folder_are_told(logs, history):
    said = history(logs).out
    etl = next(line for line in said.splitlines() if line.startswith("etl"))
    assert etl.split()[1:3] == ["7", "1"]
    assert "1 to 8 (4 sizes)" in etl
    assert "9 event logs: 9 runs of 2 jobs." in said
    assert "1: it lost executors" in said
    assert "1 other files and folders were passed over" in said


def test_where_no_log_is_the_user_reads_what_to_name(tmp_path, history):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app-1.inprogress").touch()
    said = history(tmp_path / "logs", code=1).err
    assert f"There is no event log in {tmp_path / 'logs'} (passed over 1: empty)." in said
    assert "spark.eventLog.dir" in said


def test_fit_and_design_read_the_runs_of_one_job(logs, tmp_path, history, ernest):
    runs = tmp_path / "runs.csv"
    history(logs, "--output", runs)
    observed = runs_of(runs.read_text(), "runs.csv", "etl").runs
    assert len(observed) == 7
    assert all(run.from_history for run in observed)
    assert {run.executors for run in observed} == {1, 2, 4, 8}
    ernest("fit", runs, "--job", "etl", "--output", tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["job"] == "etl"
    bounds = ["--max-executors", "8", "--partitions", "100", "--executor-cores", "1"]
    assert "1 of the 8 runs" in ernest("design", *bounds, "--observed", runs, "--job", "etl").err
    assert "--job: etl, report" in ernest("fit", runs, code=1).err


def test_rows_of_a_database_are_not_told_as_bytes(tmp_path, history, ernest):
    """Spark counts the records that it reads by JDBC, and no bytes."""
    (tmp_path / "logs").mkdir()
    for day, records in enumerate((1000, 2000)):
        events = events_of(f"load 2026-01-0{day + 1}", application=f"app-{day}", input_bytes=records)
        told = json.dumps(events).replace("Bytes Read", "Records Read")
        write(tmp_path / "logs" / f"app-{day}", *json.loads(told))
    assert "3,000 records" in history(tmp_path / "logs", "--output", tmp_path / "runs.csv").out
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["input_bytes"], row["input_records"]) for row in rows] == [("0", "2000"), ("0", "4000")]
    assert float(rows[1]["scale"]) == 2 * float(rows[0]["scale"])
    said = ernest("survey", tmp_path / "logs", "--processes", "1").out
    assert re.search(r"input [24],000 records", said)


def test_the_second_time_nothing_is_read_unless_nothing_may_be_kept(logs, own_cache, history):
    first = history(logs, "--no-cache").out
    assert not own_cache.exists()
    assert history(logs).out == first
    assert history(logs).out == first.replace("9 event logs:", "9 event logs, 9 of them known from before:")
    assert "0 runs of 0 jobs" in history(logs, "--since", "1980-01-01").out


def test_jobs_are_told_apart_as_the_user_says(logs, tmp_path, history):
    mapping = tmp_path / "jobs.json"
    mapping.write_text('{"^report": "Weekly report"}')
    said = history(logs, "--job-pattern", r"(run \d+)", "--mapping", mapping).out
    assert "run 3" in said
    assert "Weekly report" in said


def test_versions_of_a_model_are_one_job_unless_the_user_says_otherwise(tmp_path, history, ernest):
    logs = tmp_path / "logs"
    for number in range(5):
        log_of(logs / f"app-{number}", f"churn-v{number}", application=f"app-{number}")
    said = history(logs, "--output", "-")
    assert {each["job"] for each in json.loads(said.out)} == {"churn"}
    joined = "5 names that differ only in a number or ending (churn-v0 to churn-v4) count as one job"
    assert f"churn: {joined}" in said.err
    assert "5 runs of 5 jobs" in history(logs, "--job-pattern", "(churn-v[0-9])").out
    surveyed = ernest("survey", logs, "--processes", "1").out
    assert "5 names that differ only in a number" in " ".join(surveyed.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--output", "no/runs.csv"], "cannot be written: No such file or directory"),
        (["--job-pattern", "("], "--job-pattern"),
        (["--job-pattern", "etl"], "group"),
        (["--mapping", "no.json"], "no.json"),
        *((["--mapping", text], "is no mapping") for text in ("[]", "{", '{"a": 1}', "[" * 100_000)),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_read(options, told, logs, tmp_path, history):
    if told == "is no mapping":
        (tmp_path / "jobs.json").write_text(options[1])
        options = ["--mapping", tmp_path / "jobs.json"]
    said = history(logs, *options, code=1)
    assert told in said.err
    assert not said.out


def test_hostile_names_command_no_terminal(tmp_path, history):
    log_of(tmp_path / "logs" / "app-1\x1b[31m", "e\x1b[31mtl\n=cmd()\u202e", application="=cmd()")
    said = history(tmp_path / "logs", "--format", "csv")
    assert "\x1b" not in said.out + said.err
    (row,) = csv.DictReader(io.StringIO(said.out))
    assert "\n" not in row["job"]
    assert row["application_id"] == "'=cmd()"
