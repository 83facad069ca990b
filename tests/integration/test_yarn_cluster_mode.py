"""Sample runs on a real YARN whose drivers run there, too: observed, ended with their task, found again."""

from __future__ import annotations

import json
import multiprocessing
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.exceptions import SampleRunError
from tests.integration.conftest import wait_until
from tests.integration.sample_runs import SampleRun, execute
from tests.yarn_testbed import SMALL_QUEUE, YarnTestbed

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1200)]

APPENDER = """
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n
"""

HELD = ("--hold-task-seconds", "120")


@pytest.fixture
def run_on(yarn, input_files, tmp_path, monkeypatch):
    """The arguments of a `SampleRun` in cluster mode."""
    for name, value in {**yarn.environment(), "AIRFLOW_HOME": str(tmp_path / "airflow")}.items():
        monkeypatch.setenv(name, value)
    extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": yarn.web_url}
    fields = {"conn_type": "spark", "host": "yarn", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_YARN", json.dumps(fields))
    return {
        "spark_conn_id": "spark_yarn",
        "input_files": input_files,
        "cluster": {"event_log_uri": str(yarn.event_logs)},
    }


def running(yarn: YarnTestbed) -> Any:
    """The sample run that YARN has given the container of its driver."""
    found = yarn.get("apps?states=RUNNING")["apps"] or {"app": []}
    return next((each["id"] for each in found["app"] if each["name"] == "ernest-sample-0"), None)


@pytest.mark.parametrize("level", ["info", "warn"])
def test_its_event_log_is_found_by_the_application(yarn, run_on, tmp_path, monkeypatch, level):
    # Without a word of spark-submit's the application is found by its tag.
    logging = tmp_path / "log4j2.properties"
    logging.write_text(f"rootLogger.level = {level}\nrootLogger.appenderRef.stdout.ref = out\n{APPENDER}")
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={logging}")
    observation = SampleRun(**run_on, executors=2).execute()

    assert observation.executors == 2
    assert observation.metrics.tasks == 6
    log = read_run(observation.event_log)
    assert log.properties["spark.submit.deployMode"] == "cluster"
    assert yarn.get(f"apps/{observation.application_id}")["app"]["finalStatus"] == "SUCCEEDED"


def test_it_fails_with_what_yarn_says(run_on):
    with pytest.raises(
        SampleRunError, match=r"count_lines.py failed: .*yarn logs -applicationId application"
    ):
        SampleRun(**run_on, executors=1, arguments=("--fail",)).execute()


def test_it_ends_with_its_task(yarn, run_on):
    run = SampleRun(**run_on, executors=1, arguments=HELD)

    def end() -> str:
        try:
            return str(wait_until(lambda: running(yarn), seconds=90, what="a sample run on YARN"))
        finally:
            run.operator.on_kill()

    with ThreadPoolExecutor() as threads:
        ending = threads.submit(end)
        with pytest.raises(SampleRunError):
            run.execute()
    assert yarn.get(f"apps/{ending.result()}")["app"]["finalStatus"] == "KILLED"


def test_a_retry_ends_what_a_killed_try_has_left_and_runs_anew(yarn, run_on):
    spawned = multiprocessing.get_context("spawn")
    first = spawned.Process(target=execute, kwargs={**run_on, "executors": 1, "arguments": HELD})
    first.start()
    left = wait_until(lambda: running(yarn), seconds=90, what="a sample run on YARN")
    first.kill()
    first.join()
    assert yarn.get(f"apps/{left}")["app"]["state"] == "RUNNING"

    observation = SampleRun(**run_on, executors=1, try_number=2).execute()

    assert yarn.get(f"apps/{left}")["app"]["finalStatus"] == "KILLED"
    assert re.fullmatch(r"application_\d+_\d+", str(observation.application_id))
    assert observation.application_id != left


def test_in_a_full_queue_it_counts_on_the_executors_that_came(run_on):
    full = {"spark.yarn.queue": SMALL_QUEUE}
    observation = SampleRun(**run_on, executors=6, conf=full, wait_timeout_seconds=90).execute()
    # A quarter of twelve cores, less the application master's.
    assert observation.executors == 2
