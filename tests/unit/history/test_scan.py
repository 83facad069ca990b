import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from multiprocessing import resource_tracker, spawn
from pathlib import Path

import psutil
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.history import reading
from airflow_provider_ernest.history.jobs import NO_JOB, JobNames
from airflow_provider_ernest.history.reading import in_processes
from airflow_provider_ernest.history.scan import Scan, profiles
from tests.unit.eventlog.event_log_texts import REAL, started, write
from tests.unit.history.past_logs import log_of


def test_what_was_read_is_not_read_again_unless_it_has_changed(tmp_path: Path):
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    for number in range(3):
        log_of(logs / f"app-{number}", f"etl 2024-01-0{number + 1}", application=f"app-{number}")
    first = Scan([logs], cache=cache)
    known = {run.application_id: run for run in first}
    assert first.read == 3
    assert {run.job for run in known.values()} == {"etl"}
    assert {run.event_log for run in known.values()} == {str(logs / name) for name in known}
    log_of(logs / "app-1", application="app-1", end=170_000)
    log_of(logs / "app-9", application="app-9")
    second = Scan([logs], cache=cache, names=JobNames(mapping={".*": "all"}))
    runs = {run.application_id: run for run in second}
    assert second.read == 2
    assert runs["app-1"].seconds == known["app-1"].seconds + 10
    assert {run.job for run in runs.values()} == {"all"}


def test_an_interrupted_scan_goes_on_where_it_was(tmp_path: Path):
    for number in range(4):
        log_of(tmp_path / "logs" / f"app-{number}", application=f"app-{number}")
    first = Scan([tmp_path / "logs"], cache=tmp_path / "cache", reader=in_processes(1))
    next(first)
    next(first)
    first.close()
    # As a process leaves it that was killed while it wrote.
    (kept,) = (tmp_path / "cache").iterdir()
    with kept.open("ab") as file:
        file.write(b'{"key": "0123')
    second = Scan([tmp_path / "logs"], cache=tmp_path / "cache")
    assert len(list(second)) == 4
    assert second.read == 2
    third = Scan([tmp_path / "logs"], cache=tmp_path / "cache")
    assert len(list(third)) == 4
    assert third.read == 0


def test_what_another_version_kept_is_removed_and_nothing_else(tmp_path: Path):
    log = log_of(tmp_path / "app-1")
    list(Scan([log], cache=tmp_path / "cache"))
    (kept,) = (tmp_path / "cache").iterdir()
    assert kept.parent.stat().st_mode & 0o077 == kept.stat().st_mode & 0o077 == 0, "its user's alone"
    other = kept.rename(kept.with_name(f"runs-{'0' * 16}.jsonl"))
    (kept.parent / "runs-2026.jsonl").write_text("of the user")
    again = Scan([log], cache=tmp_path / "cache")
    assert (len(list(again)), again.read, other.exists()) == (1, 1, False)
    assert len(list(kept.parent.iterdir())) == 2


def test_broken_logs_cost_only_themselves(tmp_path: Path):
    log_of(tmp_path / "app-1")
    (tmp_path / "noise").write_bytes(os.urandom(10_000))
    (tmp_path / "text").write_text("hello\nworld\n")
    (tmp_path / "other.json").write_text('{"a": 1}\n')
    (tmp_path / "damaged").write_bytes((REAL / "spark-3.5.5.zstd").read_bytes()[:200])
    (tmp_path / "half").write_bytes((REAL / "spark-4.0.1-python.zstd").read_bytes()[:-3000])
    found = Scan([tmp_path])
    runs = list(found)
    assert [run.application_id for run in runs if not run.failure] == ["app-1"]
    assert found.logs == 6
    assert len(runs) + found.unread.total() == 6
    assert all(str(tmp_path) not in reason for reason in found.unread)


def test_a_log_with_too_many_tasks_is_left_out_and_a_copy_counts_once(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_TASKS", 3)
    log_of(tmp_path / "app-1", executors=4)
    for folder in ("a", "b"):
        log_of(tmp_path / folder / "app-2", application="app-2", executors=2)
    found = Scan([tmp_path])
    assert [run.application_id for run in found] == ["app-2"]
    assert found.unread.pop("a copy of another log") == 1
    assert "more than 3 tasks" in next(iter(found.unread))


def test_shells_servers_and_queries_are_no_jobs_unless_the_user_names_them(tmp_path: Path):
    names = ("PySparkShell", "Thrift JDBC/ODBC Server", "", "select a from b")
    for number, name in enumerate(names):
        log_of(tmp_path / f"app-{number}", name, application=f"app-{number}")
    assert [(run.failure, run.metrics) for run in Scan([tmp_path])] == [(NO_JOB, None)] * 4
    mapped = Scan([tmp_path], names=JobNames(mapping={"Server": "dashboards"}))
    assert [run.job for run in mapped if not run.failure] == ["dashboards"]


def _hanging(path: Path) -> Path:
    """A log that keeps its reader waiting without end: of its files, the second is a pipe."""
    path.mkdir()
    write(path / "events_1_app-3", started(**{"App ID": "app-3"}))
    os.mkfifo(path / "events_2_app-3")
    return path


def _readers() -> list[psutil.Process]:
    """The processes that read; the standard library starts another, which keeps count of semaphores."""
    return [each for each in psutil.Process().children() if _is_reader(each)]


def _is_reader(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False


def _read_or_die(what, source, most_tasks, most_seconds):
    if Path(source).name == "app-3":
        os.kill(os.getpid(), signal.SIGKILL)
    return reading.read_log(what, source, most_tasks, most_seconds)


def test_a_process_that_is_killed_costs_the_log_that_it_read(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "read_log", _read_or_die)
    for number in range(6):
        log_of(tmp_path / f"app-{number}", application=f"app-{number}")
    found = Scan([tmp_path], reader=in_processes(2))
    assert {run.application_id for run in found} == {f"app-{number}" for number in (0, 1, 2, 4, 5)}
    assert dict(found.unread) == {"reading it ended its process": 1}


def test_a_log_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_SECONDS", 0.5)
    log_of(tmp_path / "app-1")
    _hanging(tmp_path / "eventlog_v2_app-3")
    found = Scan([tmp_path], reader=in_processes(2))
    assert len(list(found)) == 1
    assert list(found.unread) == ["not read within 0.5 s"]
    assert not _readers()


def test_a_scan_that_is_closed_leaves_no_process(tmp_path: Path):
    log_of(tmp_path / "app-1")
    _hanging(tmp_path / "eventlog_v2_app-3")
    found = Scan([tmp_path], reader=in_processes(2))
    next(found)
    assert _readers()
    found.close()
    assert not _readers()


def test_processes_end_with_the_one_that_asked(tmp_path: Path):
    pipe = _hanging(tmp_path / "eventlog_v2_app-3") / "events_2_app-3"
    program = "import sys; from airflow_provider_ernest.history.scan import Scan; list(Scan(sys.argv[1:]))"
    asking = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    with pipe.open("wb"):
        children = psutil.Process(asking.pid).children()
        asking.kill()
        asking.wait()
        _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


def test_processes_do_not_run_the_program_of_the_one_that_asked(tmp_path: Path):
    log = log_of(tmp_path / "app-1")
    program = tmp_path / "program.py"
    scan = f"print(len(list(Scan([{str(log)!r}]))))"
    program.write_text(f"from airflow_provider_ernest.history.scan import Scan\nprint('begun')\n{scan}\n")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("begun\n1\n", "")


def test_where_no_process_can_be_started_that_is_said(tmp_path: Path):
    resource_tracker.ensure_running()
    python = spawn.get_executable()
    spawn.set_executable("/bin/false")
    try:
        with pytest.raises(MissingResourceError, match="cannot be started"):
            list(Scan([log_of(tmp_path / "app-1")]))
    finally:
        spawn.set_executable(python)


def test_a_cache_that_cannot_be_written_is_refused(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidParameterError, match="cache"):
        Scan([tmp_path], cache=tmp_path / "file" / "below")


def test_profiles_of_runs_are_made_once(tmp_path: Path):
    runs = list(Scan([REAL / "spark-4.0.1-python.zstd"]))
    [(run, profile)] = profiles(runs, cache=tmp_path)
    assert run == runs[0]
    assert profile is not None
    assert profile.application_id == run.application_id
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_bytes())["profile"]["application_id"] == run.application_id
    assert list(profiles(runs, cache=tmp_path)) == [(run, profile)]
    gone = replace(run, event_log=str(tmp_path / "gone"))
    assert list(profiles([gone])) == [(gone, None)]
