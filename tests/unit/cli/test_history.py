"""`ernest history`: what it tells of folders of event logs, and the files that it writes."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from airflow_provider_ernest.cli.runs_file import runs_file_of
from airflow_provider_ernest.command_line import main
from airflow_provider_ernest.documents.runs import PastRun
from tests.unit.eventlog.event_log_texts import removed, write
from tests.unit.history.past_logs import events_of, log_of

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "ernest" / "history"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Of two jobs: one on several sizes and inputs, with a run that lost a machine; another once."""
    folder = tmp_path / "logs"
    sizes = [(1, 400), (2, 400), (4, 200), (8, 100), (2, 200), (4, 100), (8, 50)]
    for number, (machines, input_bytes) in enumerate(sizes):
        log_of(
            folder / "date=2026-01-01" / f"app-{number}",
            f"etl run {number}",
            application=f"app-{number}",
            machines=machines,
            input_bytes=input_bytes,
            end=110_000 + 100 * input_bytes // machines + 1000 * number,
        )
    *events, end = events_of("etl run 9", application="app-9")
    write(folder / "app-9", *events, removed(1, reason="Container killed by YARN"), end)
    log_of(folder / "report", "report", application="app-10")
    (folder / "_SUCCESS").touch()
    return folder


def test_the_jobs_of_a_folder_are_told(logs: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["history", str(logs)]) == 0
    said = capsys.readouterr().out
    etl = next(line for line in said.splitlines() if line.startswith("etl"))
    assert etl.split()[1:3] == ["7", "1"]
    assert "1 to 8 (4 sizes)" in etl
    assert "9 event logs: 9 runs of 2 jobs." in said
    assert "1: it lost executors" in said
    assert "1 other files and folders were passed over" in said


def test_where_no_log_is_the_user_reads_what_to_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app-1.inprogress").touch()
    assert main(["history", str(tmp_path / "logs")]) == 1
    said = capsys.readouterr().err
    assert f"There is no event log in {tmp_path / 'logs'} (passed over 1: empty)." in said
    assert "spark.eventLog.dir" in said


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["history", str(logs), "--output", str(tmp_path / "no" / "runs.csv")]) == 1
    told = capsys.readouterr()
    assert "cannot be written: No such file or directory" in told.err
    assert not told.out


def test_fit_and_design_read_the_runs_of_one_job(logs: Path, tmp_path: Path, capsys):
    runs = tmp_path / "runs.csv"
    assert main(["history", str(logs), "--output", str(runs)]) == 0
    observed = runs_file_of(runs.read_text(), "runs.csv", "etl").runs
    assert len(observed) == 7
    assert all(run.from_history for run in observed)
    assert {run.machines for run in observed} == {1, 2, 4, 8}
    assert main(["fit", str(runs), "--job", "etl", "--output", str(tmp_path / "model.json")]) == 0
    assert json.loads((tmp_path / "model.json").read_text())["job"] == "etl"
    bounds = ["--max-machines", "8", "--partitions", "100", "--cores-per-machine", "1"]
    assert main(["design", *bounds, "--observed", str(runs), "--job", "etl"]) == 0
    said = capsys.readouterr()
    assert "1 of the 8 runs" in said.err
    assert main(["fit", str(runs)]) == 1
    assert "--job: etl, report" in capsys.readouterr().err


def test_all_that_is_known_is_written_as_json(logs: Path, capsys):
    assert main(["history", str(logs), "--output", "-"]) == 0
    runs = [PastRun.from_dict(each) for each in json.loads(capsys.readouterr().out)]
    assert {run.job for run in runs} == {"etl", "report"}


def test_rows_of_a_database_are_not_told_as_bytes(tmp_path: Path, capsys):
    """Spark counts the records that it reads by JDBC, and no bytes."""
    for day, records in enumerate((1000, 2000)):
        events = json.dumps(
            events_of(f"load 2026-01-0{day + 1}", application=f"app-{day}", input_bytes=records)
        )
        events = json.loads(events.replace("Bytes Read", "Records Read"))
        path = tmp_path / "logs" / f"app-{day}"
        path.parent.mkdir(exist_ok=True)
        write(path, *events)
    assert main(["history", str(tmp_path / "logs"), "--output", str(tmp_path / "runs.csv")]) == 0
    assert "3,000 records" in capsys.readouterr().out
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["input_bytes"], row["input_records"]) for row in rows] == [("0", "2000"), ("0", "4000")]
    assert float(rows[1]["scale"]) == 2 * float(rows[0]["scale"])
    assert main(["survey", str(tmp_path / "logs"), "--processes", "1"]) == 0
    assert re.search(r"input [24],000 records", capsys.readouterr().out)


def test_the_second_time_nothing_is_read(logs: Path, own_cache: Path, capsys):
    assert main(["history", str(logs)]) == 0
    first = capsys.readouterr().out
    assert own_cache.exists()
    assert main(["history", str(logs)]) == 0
    assert capsys.readouterr().out == first.replace(
        "9 event logs:", "9 event logs, 9 of them known from before:"
    )


def test_nothing_is_kept_where_that_is_asked_for(logs: Path, own_cache: Path):
    assert main(["history", str(logs), "--no-cache"]) == 0
    assert not own_cache.exists()


def test_jobs_are_told_apart_as_the_user_says(logs: Path, tmp_path: Path, capsys):
    mapping = tmp_path / "jobs.json"
    mapping.write_text('{"^report": "Weekly report"}')
    assert main(["history", str(logs), "--job-pattern", r"(run \d+)", "--mapping", str(mapping)]) == 0
    said = capsys.readouterr().out
    assert "run 3" in said
    assert "Weekly report" in said


def test_versions_of_a_model_are_one_job_unless_the_user_says_otherwise(tmp_path: Path, capsys):
    for number in range(5):
        log_of(tmp_path / "logs" / f"app-{number}", f"churn-v{number}", application=f"app-{number}")
    logs = str(tmp_path / "logs")
    assert main(["history", logs, "--output", "-"]) == 0
    said = capsys.readouterr()
    assert {each["job"] for each in json.loads(said.out)} == {"churn"}
    assert (
        "churn: 5 names that differ only in a number or ending (churn-v0 to churn-v4) count as one job"
        in said.err
    )
    assert main(["history", logs, "--job-pattern", "(churn-v[0-9])"]) == 0
    assert "5 runs of 5 jobs" in capsys.readouterr().out
    assert main(["survey", logs, "--processes", "1"]) == 0
    assert "5 names that differ only in a number" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--job-pattern", "("], "--job-pattern"),
        (["--job-pattern", "etl"], "group"),
        (["--mapping", "no.json"], "no.json"),
    ],
)
def test_what_cannot_be_is_refused(options, told, logs: Path, capsys):
    assert main(["history", str(logs), *options]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[]", "{", '{"a": 1}', "[" * 100_000])
def test_a_mapping_that_is_none_is_refused(text, logs: Path, tmp_path: Path, capsys):
    (tmp_path / "jobs.json").write_text(text)
    assert main(["history", str(logs), "--mapping", str(tmp_path / "jobs.json")]) == 1
    assert "is no mapping" in capsys.readouterr().err


def test_runs_before_a_date_are_left_out(logs: Path, capsys):
    assert main(["history", str(logs), "--since", "1980-01-01"]) == 0
    assert "0 runs of 0 jobs" in capsys.readouterr().out


def test_hostile_names_command_no_terminal(tmp_path: Path, capsys):
    log_of(tmp_path / "logs" / "app-1\x1b[31m", "e\x1b[31mtl\n=cmd()\u202e", application="=cmd()")
    assert main(["history", str(tmp_path / "logs"), "--format", "csv"]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    (row,) = csv.DictReader(io.StringIO(said.out))
    assert "\n" not in row["job"]
    assert row["application_id"] == "'=cmd()"


def test_a_bar_is_drawn_on_a_terminal_alone(logs: Path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["history", str(logs)]) == 0
    assert "] 9 of 9 event logs read" in capsys.readouterr().err
