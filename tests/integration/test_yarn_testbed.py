"""The test bed for YARN: executors stand on several hosts there, and all ends with the bed's process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_provider_ernest.eventlog.run_facts import read_run
from tests.integration.conftest import processes_mentioning, wait_until
from tests.integration.yarn_runs import YarnRun
from tests.yarn_testbed import YarnTestbed

pytestmark = pytest.mark.spark

HOLD_ONE = """
import sys, time
from pathlib import Path
from tests.yarn_testbed import YarnTestbed

with YarnTestbed(Path(sys.argv[1]), nodes=1):
    print("ready", flush=True)
    time.sleep(600)
"""


def test_executors_stand_on_several_hosts_of_a_stopped_and_a_new_node(yarn):
    yarn.stop_node(1)
    states = {node["nodeHostName"]: node["state"] for node in yarn.get("nodes")["nodes"]["node"]}
    assert states == {"127.0.0.2": "SHUTDOWN", "127.0.0.3": "RUNNING", "127.0.0.4": "RUNNING"}
    yarn.start_node(1)

    run = YarnRun(yarn, executors=6, arguments=(12, 0.1))
    assert run.wait() == 0, run.output
    executors = read_run(run.log).executors
    assert len(executors) == 6
    assert {executor.host for executor in executors} == set(yarn.hosts)


@pytest.mark.usefixtures("yarn")
def test_when_its_process_is_killed_all_of_it_ends(tmp_path):
    directory = tmp_path / "killed"
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD_ONE, str(directory)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout
        assert owner.stdout.readline() == "ready\n"
        run = YarnRun(YarnTestbed(directory, nodes=1), executors=1, arguments=(2, 600))
        run.wait_for_executors(1)
    finally:
        owner.kill()
        owner.communicate()
    wait_until(lambda: not processes_mentioning(str(directory)), seconds=30, what="the end of YARN")
    assert run.wait() != 0, "Spark says that its application was killed"
