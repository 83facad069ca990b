"""``ernest survey`` on event logs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.eventlog.event_log_texts import write
from tests.unit.history.past_logs import events_of, log_of
from tests.unit.report_page import answers

DAY = 86_400_000
SECRET = "s3cr3t"


def moved(events: list[dict], milliseconds: int) -> list[dict]:
    """Events so much later: they have no other numbers of six digits."""
    told = re.sub(r"\b1\d{5}\b", lambda found: str(int(found[0]) + milliseconds), json.dumps(events))
    return json.loads(told)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A job that ran on each of five days, a second one that ran once, and something else."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for day in range(5):
        events = events_of(f"orders 2024-02-0{day + 1}", application=f"app-{day}", executors=4)
        write(folder / f"app-{day}", *moved(events, day * DAY))
    log_of(folder / "app-9", "<script>alert(1)</script>", application="app-9")
    (folder / "README").write_text("no log")
    return folder


def test_the_page_and_the_document_are_written(ernest, logs, tmp_path):
    page, document = tmp_path / "survey.html", tmp_path / "survey.json"
    options = ("--processes", 1, "--price", 0.192, "--html", page, "--output", document)
    assert f"written: page in {page}, survey in {document}" in ernest("survey", logs, *options).out
    assert answers(page.read_text())["api/survey"]["jobs"][0]["job"] == "orders"
    survey = Survey.from_dict(json.loads(document.read_text()))
    first, second = survey.jobs
    assert (first.job, first.runs) == ("orders", 5)
    assert second.job.startswith("<script>")
    assert first.price_per_hour == 0.192
    assert "exists already" in ernest("survey", logs, *options, code=1).err


def test_how_often_jobs_run_may_be_stated(ernest, tmp_path):
    log_of(tmp_path / "logs" / "app-1")
    options = ("survey", tmp_path / "logs", "--processes", 1, "--price", 0.192)
    assert "how often it runs is not known" in " ".join(ernest(*options).out.split())
    assert "1 job takes $" in ernest(*options, "--runs-per-month", 30).out


def test_a_survey_is_kept_in_a_store_where_its_page_finds_it(ernest, logs, tmp_path):
    told = ernest("survey", logs, "--processes", 1, "--store", tmp_path / "store").out
    assert "machine-hours a month" in told
    assert "$" not in told, "without a price"
    store = ModelStore(tmp_path / "store")
    (kept,) = store.survey_ids()
    assert f"written: survey {kept} in the store {tmp_path / 'store'}" in told
    assert store.load_survey(kept).jobs[0].job == "orders"


def test_a_price_may_be_of_one_type(ernest, tmp_path):
    node = {"spark.databricks.workerNodeTypeId": "m5.xlarge"}
    log_of(tmp_path / "logs" / "app-1", **node)
    document = tmp_path / "survey.json"
    ernest(
        *("survey", tmp_path / "logs", "--processes", 1, "--output", document),
        *("--price", "m5.xlarge=0.5", "--price", 9, "--price", "r5.xlarge=0.7"),
    )
    (job,) = Survey.from_dict(json.loads(document.read_text())).jobs
    assert job.price_per_hour == 0.5


@pytest.mark.parametrize("price", ["much", "m5.xlarge=-1", "=1"])
def test_a_price_that_is_none_is_refused(misunderstood, logs, price):
    assert "is neither dollars nor TYPE=DOLLARS" in misunderstood("survey", logs, "--price", price)


def test_what_an_application_was_given_stays_where_it_is(ernest, tmp_path):
    """No argument, no path, no text of a query."""
    folder = tmp_path / f"{SECRET}-folder"
    told = {
        "sun.java.command": f"org.apache.spark.deploy.SparkSubmit job.py --token {SECRET}-argument",
        "spark.app.secret": f"{SECRET}-property",
        "spark.sql.warehouse.dir": f"/data/{SECRET}-path",
    }
    events = events_of("etl", **told)
    query = {
        "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
        "executionId": 0,
        "description": f"select * from t where id = '{SECRET}-sql'",
        "details": f"{SECRET}-details",
        "physicalPlanDescription": f"Scan {SECRET}-plan",
        "sparkPlanInfo": {
            "nodeName": "Scan",
            "simpleString": f"{SECRET}-simple",
            "children": [],
            "metrics": [],
        },
        "time": 1_000,
    }
    folder.mkdir()
    write(folder / "app-1", events[0], events[1], query, *events[2:])
    page, document = tmp_path / "survey.html", tmp_path / "survey.json"
    said = ernest("survey", folder, "--processes", 1, "--html", page, "--output", document)
    for text in (said.out, said.err, page.read_text(), document.read_text()):
        assert SECRET not in text


def test_one_goal_is_stated(misunderstood, logs):
    assert "not allowed with" in misunderstood("survey", logs, "--within", 5, "--deadline-seconds", 60)
    assert "neither dollars" in misunderstood("survey", logs, "--price", 0)
    assert "not a probability" in misunderstood("survey", logs, "--confidence", 1.5)


def test_aws_is_asked_for_the_types_that_the_logs_tell(ernest, tmp_path, monkeypatch):
    from airflow_provider_ernest.cli import machines
    from airflow_provider_ernest.clusters.ec2 import prices

    asked = []

    def on_demand(_, instance_type, region):
        asked.append((instance_type, region))
        return 0.25

    monkeypatch.setattr(prices, "on_demand_price", on_demand)
    monkeypatch.setattr(
        machines, "clients_by_region", lambda args: dict.fromkeys(args.region, lambda *_, **__: None)
    )
    log_of(tmp_path / "logs" / "app-1", **{"spark.databricks.workerNodeTypeId": "m5.xlarge"})
    document = tmp_path / "survey.json"
    ernest("survey", tmp_path / "logs", "--processes", 1, "--aws-prices", "eu-west-1", "--output", document)
    (job,) = Survey.from_dict(json.loads(document.read_text())).jobs
    assert asked == [("m5.xlarge", "eu-west-1")]
    assert job.price_per_hour == 0.25
