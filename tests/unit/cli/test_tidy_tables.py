from pathlib import Path

import pandas as pd
import pytest

from airflow_provider_ernest.cli import analyze as tidy_tables
from airflow_provider_ernest.cli.analyze import FILES, refuse_tables, write_tables
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import InvalidParameterError
from tests.unit.cli.conftest import LOG, Analyze
from tests.unit.eventlog.logs import event_log, executor, stage, task


def test_all_tables_of_a_real_run(analyze: Analyze, tmp_path: Path):
    folder = tmp_path / "new" / "tables"
    code, out, _ = analyze(LOG, "--csv", folder)
    assert code == 0
    assert out.endswith(f"written: tables in {folder}\n")
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    log = read_event_log(LOG)
    tasks = pd.read_csv(folder / "tasks.csv")
    assert len(tasks) == len(log.task_columns)
    assert tasks["seconds"].sum() == pytest.approx(log.task_columns.seconds.sum(), abs=1e-3)
    assert tasks["scheduler_delay_seconds"].sum() == pytest.approx(
        log.task_columns.scheduler_delay_seconds.sum(), abs=1e-3
    )
    assert tasks["succeeded"].tolist() == log.task_columns.succeeded.tolist()
    assert tasks["launched_at"].tolist() == pytest.approx(log.task_columns.launched_at.tolist())
    stages = pd.read_csv(folder / "stages.csv")
    assert stages["name"].tolist() == [stage.name for stage in log.stages]
    assert pd.read_csv(folder / "executors.csv")["host"].tolist() == [each.host for each in log.executors]
    assert len(pd.read_csv(folder / "jobs.csv")) == len(log.jobs)
    assert len(pd.read_csv(folder / "sql_executions.csv")) == len(log.sql_executions)


def test_unknowns_are_empty_and_several_numbers_in_one_cell(tmp_path: Path):
    log = event_log(
        [task(0, 0.0, 1.0), task(1, 1.0, 1.0)],
        stages=[
            stage(0, completed=1.0, name='a "quoted", name\nin lines'),
            stage(2, submitted=None, parents=[0, 1]),
        ],
        executors=[executor(0)],
    )
    write_tables(log, str(tmp_path), force=False)
    stages = pd.read_csv(tmp_path / "stages.csv")
    assert stages["name"][0] == 'a "quoted", name\nin lines'
    assert stages["parents"][1] == "0 1"
    assert pd.isna(stages["submitted_at"][1])
    assert pd.read_csv(tmp_path / "executors.csv")["removed_at"].isna().all()
    assert pd.read_csv(tmp_path / "tasks.csv")["python_seconds"].isna().all()


def test_many_tasks_are_written_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tidy_tables, "_ROWS_AT_ONCE", 3)
    write_tables(event_log([task(0, number, 1.0) for number in range(10)]), str(tmp_path), force=False)
    assert pd.read_csv(tmp_path / "tasks.csv")["task_id"].tolist() == list(range(10))


def test_foreign_files_are_not_overwritten_unless_asked(analyze: Analyze, tmp_path: Path):
    (tmp_path / "tasks.csv").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine, too")
    code, out, err = analyze(LOG, "--csv", tmp_path)
    assert (code, out) == (1, "")
    assert f"--csv={str(tmp_path)!r} has tasks.csv already" in err
    assert "--force" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "tasks.csv"]
    assert (tmp_path / "tasks.csv").read_text() == "mine"
    assert analyze(LOG, "--csv", tmp_path, "--force")[0] == 0
    assert (tmp_path / "tasks.csv").read_text() != "mine"
    assert (tmp_path / "notes.txt").read_text() == "mine, too"


def test_a_file_is_no_folder(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("mine")
    for force in (False, True):
        with pytest.raises(InvalidParameterError, match="is no folder"):
            refuse_tables(str(file), force=force)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidParameterError, match="cannot be written to"):
        write_tables(event_log([task()]), str(tmp_path / "file" / "tables"), force=False)


def test_a_table_that_breaks_off_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(value: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tidy_tables, "_cell", full)
    with pytest.raises(InvalidParameterError, match="No space left on device"):
        write_tables(event_log([task()]), str(tmp_path), force=False)
    assert list(tmp_path.iterdir()) == []
