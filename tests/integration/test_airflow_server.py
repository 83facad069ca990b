"""The demo's Airflow, its client and its progress lines, against a real Airflow."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError
from benchmarks.demo.api import AirflowApi, AirflowApiError
from benchmarks.demo.progress import follow_run
from tests.integration.conftest import processes_mentioning, wait_until

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowServer]:
    root = tmp_path_factory.mktemp("airflow")
    dags = root / "dags"
    dags.mkdir()
    (dags / "tiny.py").write_text(textwrap.dedent(DAGS))
    with AirflowServer(root / "home", dags) as server:
        yield server


@pytest.fixture
def api(server: AirflowServer) -> Iterator[AirflowApi]:
    with server.api() as api:
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
    assert server.password not in server.log_file.read_text()


def test_a_start_that_takes_too_long_shows_the_log_and_leaves_nothing(tmp_path):
    server = AirflowServer(tmp_path / "home", tmp_path, start_timeout_seconds=0)
    with pytest.raises(AirflowStartError, match=r"not healthy after .* no API server.*airflow\.log"):
        server.start()
    assert not processes_mentioning(str(tmp_path))


def test_an_airflow_that_cannot_start_says_why(tmp_path):
    environment = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql+nonsense://"}
    server = AirflowServer(tmp_path / "home", tmp_path, environment=environment)
    with pytest.raises(AirflowStartError, match=r"(?s)ended with code .*nonsense"):
        server.start()


def processes_of(server: AirflowServer) -> list[psutil.Process]:
    """All of its processes, by an environment variable that they inherit from one another."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("AIRFLOW_HOME") == str(server.home) and process.status() != "zombie":
                found.append(process)
        except psutil.Error:
            continue
    return found


def last_words(server: AirflowServer) -> set[str]:
    """The last word of each of its processes' command lines."""
    words = set()
    for process in processes_of(server):
        with contextlib.suppress(psutil.Error, IndexError):
            words.add(process.cmdline()[-1])
    return words


def test_nothing_is_left_after_the_stop(server):
    # The last test of the shared server: it still runs the task that sleeps, which has left an orphan.
    assert {"scheduler", "triggerer", "dag-processor", "3570", "3571"} <= last_words(server)
    server.stop()
    assert processes_of(server) == []
    server.stop()  # once more does no harm


def test_nothing_is_left_when_the_program_is_killed_while_a_task_runs(tmp_path):
    (tmp_path / "tiny.py").write_text(textwrap.dedent(DAGS))
    program = """
        import sys, time
        from pathlib import Path
        from benchmarks.demo.airflow_server import AirflowServer

        root = Path(sys.argv[1])
        with AirflowServer(root / "home", root) as server, server.api() as api:
            api.wait_for_dag("waiting")
            api.unpause("waiting")
            api.trigger("waiting")
            time.sleep(3600)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    server = AirflowServer(tmp_path / "home", tmp_path)
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as process:
        try:
            wait_until(
                lambda: process.poll() is not None or {"3570", "3571"} <= last_words(server),
                seconds=300,
                what="the start of the task",
            )
            assert process.poll() is None
        finally:
            process.kill()
    wait_until(lambda: processes_of(server) == [], seconds=60, what="the end of Airflow")
