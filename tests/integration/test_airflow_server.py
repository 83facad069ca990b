"""The demo's Airflow, its client and its progress lines, against a real Airflow."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError
from benchmarks.demo.api import AirflowApi
from benchmarks.demo.progress import follow_run
from tests.integration.conftest import AIRFLOW_FOR_TESTS, ROOT, processes_mentioning, wait_until

pytestmark = pytest.mark.airflow

DAGS = """
    from airflow.sdk import DAG, task

    with DAG("failing", schedule=None):

        @task
        def divide():
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise ValueError("the moon is in the wrong quarter") from error

        @task
        def never():
            pass

        divide() >> never()

    with DAG("waiting", schedule=None):

        @task
        def sleep():
            import subprocess

            # The shell ends at once and leaves an orphan, in a session of its own.
            subprocess.run(["sh", "-c", "sleep 3571 > /dev/null 2>&1 &"], start_new_session=True)
            subprocess.run(["sleep", "3570"])

        sleep()
"""


PROGRAM = """
    import json, sys, time
    from pathlib import Path
    from benchmarks.demo.airflow_server import AirflowServer

    root, environment = Path(sys.argv[1]), json.loads(sys.argv[2])
    report = lambda text: print(text, file=sys.stderr)
    with AirflowServer(root / "home", root / "dags", environment=environment, report=report) as server:
        print(json.dumps({"url": server.url, "password": server.password}), flush=True)
        time.sleep(3600)
"""


@dataclass
class Program:
    """A program that runs an Airflow, as the demo does, until it is killed."""

    root: Path
    process: subprocess.Popen[str]
    url: str
    password: str

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def dags_folder(self) -> Path:
        return self.root / "dags"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    root = tmp_path_factory.mktemp("airflow")
    (root / "dags").mkdir()
    (root / "dags" / "tiny.py").write_text(textwrap.dedent(DAGS))
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(root), json.dumps(AIRFLOW_FOR_TESTS)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            assert told, "it ended; its last words are above"
            yield Program(root, process, **json.loads(told))
        finally:
            process.kill()


@pytest.fixture
def api(server: Program) -> Iterator[AirflowApi]:
    with AirflowApi(server.url, username="admin", password=server.password) as api:
        yield api


def start(api: AirflowApi, dag_id: str) -> str:
    api.wait_for_dag(dag_id)
    api.unpause(dag_id)
    return api.trigger(dag_id)


def test_a_run_is_followed_and_the_log_of_a_failed_task_is_shown(api):
    run_id = start(api, "failing")
    lines: list[str] = []
    tasks = {
        task.task_id: task
        for task in follow_run(api, "failing", run_id, timeout_seconds=300, write=lines.append)
    }

    assert {name: task.state for name, task in tasks.items()} == {
        "divide": "failed",
        "never": "upstream_failed",
    }
    text = "\n".join(lines)
    assert "ValueError: the moon is in the wrong quarter" in text
    assert "caused by ZeroDivisionError: division by zero" in text
    assert "failed (1 failed, 1 upstream_failed)" in lines[-1]


def test_the_password_is_nobody_elses_business(server):
    assert (server.home / "passwords.json").stat().st_mode & 0o077 == 0
    assert server.password not in (server.home / "airflow.log").read_text()


def test_a_start_that_takes_too_long_shows_the_log_and_leaves_nothing(tmp_path):
    server = AirflowServer(tmp_path / "home", tmp_path, start_timeout_seconds=0)
    with pytest.raises(AirflowStartError, match=r"not healthy after .* no API server.*airflow\.log"):
        server.start()
    assert not processes_mentioning(str(tmp_path))
    server.stop()  # once more does no harm


def processes_of(home: Path) -> list[psutil.Process]:
    """All of an Airflow's processes, by an environment variable that they inherit from one another."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("AIRFLOW_HOME") == str(home) and process.status() != "zombie":
                found.append(process)
        except psutil.Error:
            continue
    return found


def last_words(home: Path) -> set[str]:
    """The last word of each of its processes' command lines."""
    words = set()
    for process in processes_of(home):
        with contextlib.suppress(psutil.Error, IndexError):
            words.add(process.cmdline()[-1])
    return words


def test_nothing_is_left_when_the_program_is_killed_while_a_task_runs(server, api):
    start(api, "waiting")
    started = {"scheduler", "triggerer", "dag-processor", "3570", "3571"}
    wait_until(lambda: started <= last_words(server.home), seconds=120, what="the task and its orphan")
    server.process.kill()
    wait_until(lambda: processes_of(server.home) == [], seconds=60, what="the end of Airflow")
