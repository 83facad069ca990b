"""The demo's Airflow, its client and its progress lines, against a real Airflow."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError
from benchmarks.demo.api import AirflowApi, AirflowApiError
from benchmarks.demo.progress import follow_run
from tests.integration.conftest import AIRFLOW_FOR_TESTS, ROOT, processes_mentioning, wait_until

pytestmark = pytest.mark.airflow

DAGS = """
    from airflow.sdk import DAG, task

    with DAG("squares", schedule=None):

        @task
        def numbers(dag_run=None):
            return [{"number": number} for number in dag_run.conf["numbers"]]

        @task(map_index_template="{{ task.op_kwargs['entry']['number'] }} squared")
        def square(entry):
            print("squaring", entry["number"])
            return entry["number"] ** 2

        @task(multiple_outputs=True)
        def summarise(squares):
            return {"sum": sum(squares), "squares": list(squares)}

        summarise(square.expand(entry=numbers()))

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


def start(api: AirflowApi, dag_id: str, **conf: object) -> str:
    api.wait_for_dag(dag_id)
    api.unpause(dag_id)
    return api.trigger(dag_id, conf=conf)


def test_a_mapped_run_is_followed_to_its_results(api):
    run_id = start(api, "squares", numbers=[2, 3])
    lines: list[str] = []
    tasks = {
        task.label: task
        for task in follow_run(api, "squares", run_id, timeout_seconds=300, write=lines.append)
    }

    assert set(tasks) == {"numbers", "square [2 squared]", "square [3 squared]", "summarise"}
    assert {task.state for task in tasks.values()} == {"success"}
    assert api.run_state("squares", run_id) == "success"
    assert api.xcom("squares", run_id, "square", map_index=1) == 9
    assert api.xcom("squares", run_id, "summarise") == {"sum": 13, "squares": [4, 9]}
    assert api.xcom("squares", run_id, "summarise", key="sum") == 13
    assert "squaring 3" in "\n".join(api.task_log("squares", run_id, tasks["square [3 squared]"]))

    text = "\n".join(lines)
    assert re.search(r"^ *\d+ s  square \[2 squared\] +success after \d+\.\d s$", text, re.MULTILINE)
    assert f"DAG run {run_id}: success (4 success)" in lines[-1]


def test_the_log_of_a_failed_task_is_shown(api):
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


def test_a_run_that_takes_too_long_is_named(api):
    run_id = start(api, "waiting")
    lines: list[str] = []
    wait_until(
        lambda: [task.state for task in api.task_instances("waiting", run_id)] == ["running"],
        seconds=120,
        what="the task's start",
    )
    with pytest.raises(TimeoutError, match=r"waiting, run .* has not ended in 4 s: .*sleep running for"):
        follow_run(api, "waiting", run_id, timeout_seconds=4, heartbeat_seconds=1, write=lines.append)
    assert any("... sleep running for" in line for line in lines)


def test_a_broken_file_shows_its_import_error(server, api):
    broken = server.dags_folder / "broken.py"
    broken.write_text("from airflow.sdk import DAG\n\nraise RuntimeError('no weather today')\n")
    try:
        with pytest.raises(AirflowApiError, match=r"(?s)no DAG 'broken'.*broken\.py.*no weather today"):
            api.wait_for_dag("broken")
    finally:
        broken.unlink()


def test_refusals_carry_airflows_own_words(server, api):
    with pytest.raises(AirflowApiError, match="no-such-dag") as refusal:
        api.unpause("no-such-dag")
    assert refusal.value.status == 404
    with pytest.raises(AirflowApiError) as refusal:
        AirflowApi(server.url, username="admin", password="wrong")
    assert refusal.value.status == 401


def test_the_password_is_nobody_elses_business(server):
    assert (server.home / "passwords.json").stat().st_mode & 0o077 == 0
    assert server.password not in (server.home / "airflow.log").read_text()


def test_a_start_that_takes_too_long_shows_the_log_and_leaves_nothing(tmp_path):
    server = AirflowServer(tmp_path / "home", tmp_path, start_timeout_seconds=0)
    with pytest.raises(AirflowStartError, match=r"not healthy after .* no API server.*airflow\.log"):
        server.start()
    assert not processes_mentioning(str(tmp_path))
    server.stop()  # once more does no harm


def test_an_airflow_that_cannot_start_says_why(tmp_path):
    environment = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+nonsense://"}
    server = AirflowServer(tmp_path / "home", tmp_path, environment=environment)
    with pytest.raises(AirflowStartError, match=r"(?s)ended with code .*nonsense"):
        server.start()


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


def test_nothing_is_left_when_the_program_is_killed_while_a_task_runs(server):
    # The last test of the file: the task that sleeps still runs, and has left an orphan.
    assert {"scheduler", "triggerer", "dag-processor", "3570", "3571"} <= last_words(server.home)
    server.process.kill()
    wait_until(lambda: processes_of(server.home) == [], seconds=60, what="the end of Airflow")
