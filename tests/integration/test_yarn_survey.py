"""A survey whose logs are read on Spark: on the YARN of the tests, and on a cluster of local processes."""

from __future__ import annotations

import json
import sys

import pytest

from airflow_provider_ernest.command_line import main
from benchmarks.recordings import HISTORY, unpack

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

SMALL = ("--spark-conf", "spark.executor.memory=512m", "--spark-conf", "spark.driver.memory=512m")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """The logs of three jobs, and one that is damaged."""
    folder = tmp_path_factory.mktemp("recorded") / "logs"
    unpack(HISTORY, folder)
    for log in folder.iterdir():
        if not log.name.startswith(("invoices", "sessions")):
            log.unlink()
    (folder / "damaged").write_bytes(next(folder.iterdir()).read_bytes()[:300])
    return folder


@pytest.fixture
def survey_of(logs, tmp_path, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)

    def survey(name: str, *options: str) -> str:
        file = tmp_path / name
        assert (
            main(["survey", str(logs), "--no-cache", "--price", "0.1", "--output", str(file), *options]) == 0
        )
        told = json.loads(file.read_text())
        # The moment, and the id that begins with it.
        return file.read_text().replace(told["id"], "").replace(told["at"], "")

    return survey


def test_a_survey_on_yarn_and_on_local_executors_is_that_of_one_machine(yarn, survey_of, monkeypatch):
    here = survey_of("here")
    assert survey_of("local", "--on", "spark", "--master", "local-cluster[2,1,512]", *SMALL) == here
    for name, value in yarn.environment().items():
        monkeypatch.setenv(name, value)
    assert survey_of("yarn", "--on", "spark", "--master", "yarn", *SMALL) == here
    applications = yarn.get("apps")["apps"]["app"]
    read = [each for each in applications if each["name"] == "ernest-event-logs"]
    assert [each["finalStatus"] for each in read] == ["SUCCEEDED"] * 2
    written = [log.name for log in yarn.event_logs.iterdir()]
    assert not [each for each in read if f"eventlog_v2_{each['id']}" in written], "it would be in a survey"
