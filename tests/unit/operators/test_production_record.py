"""What an ErnestSparkSubmitOperator records of production runs, and that recording fails none."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Alternative, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.runs import RunConditions
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.record_run import RecordRunOperator
from airflow_provider_ernest.operators.task_context import event_logs, owner_of
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.spark.sizing import TASK_PROPERTY
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators.submissions import events, handle, production


def alternative(executors: int, seconds: float) -> Alternative:
    likely, nearly_certain = (seconds - 5, seconds + 5), (seconds - 10, seconds + 10)
    return examples.alternative(
        executors, seconds=seconds, likely_seconds=likely, nearly_certain_seconds=nearly_certain
    )


def decided(**changes: Any) -> dict[str, Any]:
    """4 machines at 0.36 $ per hour, of which 110 s are expected."""
    decision = examples.decision(
        4,
        price_per_hour=0.36,
        predicted_seconds=110.0,
        likely_seconds=(105.0, 115.0),
        nearly_certain_seconds=(100.0, 120.0),
        alternatives=(alternative(3, 140.0), alternative(4, 110.0)),
        model_id="a-model",
    )
    fields = {
        "id": "a-decision",
        "job": "enrich",
        "decision": decision,
        "scale": 1.5,
        "origin": None,
        **changes,
    }
    return examples.decision_record(**fields).to_dict()


def recorded() -> list[ProductionRun]:
    return ModelStore(store_root()).newest(ProductionRun, "enrich", "m5.large")


@pytest.fixture
def application(tmp_path: Path) -> str:
    job = tmp_path / "job.py"
    job.write_text("abc")
    return str(job)


def test_a_run_on_the_cluster_is_recorded_beside_its_prediction(submissions, context, ti, application):
    submissions.writes_log("app-7", events("app-7", executors=4))

    production(cluster=handle(), decision=decided(), application=application).execute(context)

    (run,) = recorded()
    assert ti.pushed["production_run"] == run.to_dict()
    assert (run.executors, run.scale, run.application_id) == (4, 1.5, "app-7")
    assert run.run_seconds == pytest.approx(100.0)
    assert run.startup_seconds >= 7.0, "from submission on, not from the start of the application"
    assert run.seconds == pytest.approx(run.run_seconds + run.startup_seconds)
    assert run.cost == pytest.approx(4 * 0.36 * run.seconds / 3600)
    assert (run.predicted_seconds, run.likely_seconds) == (110.0, (105.0, 115.0))
    assert run.nearly_certain_seconds == (100.0, 120.0)
    assert (run.model_id, run.decision_id) == ("a-model", "a-decision")
    assert run.artifact_sha256 == hashlib.sha256(b"abc").hexdigest()
    assert Path(run.event_log).name == "app-7"
    assert run.origin == Origin(dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id)


def test_the_prediction_is_that_for_the_machines_that_really_worked(submissions, context):
    submissions.writes_log("app-7", events("app-7", executors=3))
    production(cluster=handle(), decision=decided()).execute(context)
    submissions.writes_no_log()
    submissions.writes_log("app-8", events("app-8", executors=2))
    production(cluster=handle(), decision=decided()).execute(context)

    three, two = recorded()
    assert (three.executors, three.predicted_seconds) == (3, 140.0)
    assert (three.likely_seconds, three.nearly_certain_seconds) == ((135.0, 145.0), (130.0, 150.0))
    assert (two.executors, two.predicted_seconds, two.is_unusual) == (2, None, False)


def test_the_cost_is_billed_as_in_the_decision(submissions, context):
    submissions.writes_log("app-7", events("app-7", executors=4))
    billing = Billing(
        price_per_hour=0.36,
        increment_seconds=3600,
        master_price_per_hour=0.5,
        boot_seconds=60,
        training_dollars=7.0,
    )
    record = DecisionRecord.from_dict(decided())
    decision = replace(record.decision, billing=billing)

    production(cluster=handle(), decision=replace(record, decision=decision).to_dict()).execute(context)

    (run,) = recorded()
    assert run.cost == pytest.approx(4 * 0.36 + 0.5)


def test_machines_that_replaced_lost_ones_do_not_count(submissions, context, capsys):
    submissions.writes_log("app-7", events("app-7", executors=5, lost=1))

    production(cluster=handle(executors=5), decision=decided()).execute(context)

    assert [run.executors for run in recorded()] == [4]
    assert "lost executor 0 on machine 10.0.0.0 (taken back)" in capsys.readouterr().out


def test_without_a_cluster_the_log_is_found_by_the_runs_own_properties(submissions, context, monkeypatch):
    """As `ChooseConfigOperator` gives them, for a stock operator, too."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    folder = event_logs(context)
    (folder / "app-6.inprogress").touch()
    (folder / "app-5").touch()
    submissions.writes_log("app-7", events("app-7", executors=4))

    production(
        conn_id="lake", conf={"spark.eventLog.dir": f"file://{folder}"}, decision=json.dumps(decided())
    ).execute(context)

    (run,) = recorded()
    assert (run.application_id, run.event_log) == ("app-7", str(folder / "app-7"))
    assert run.run_seconds == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        ({}, "No event log of this run is on this host"),
        (
            {"app-7": events("app-7", executors=4), "app-8": events("app-8", executors=1)},
            "No event log of this run is on this host",
        ),
        ({"app-7": events("app-7", executors=4, end_seconds=None)}, "has no end"),
        ({"app-7": events("app-7", executors=1, master="local[2]")}, "ran inside its driver"),
        ({"app-7": [{"Event": "SparkListenerApplicationEnd"}]}, "cannot be used"),
        ({"app-7.zstd": []}, "no application starts in it"),
    ],
    ids=["none", "several", "no end", "local", "garbage", "compressed"],
)
def test_a_log_that_does_not_tell_leaves_the_time_of_spark_submit(submissions, context, capsys, logs, said):
    for name, log in logs.items():
        submissions.writes_log(name, log)

    production(cluster=handle(), decision=decided()).execute(context)

    (run,) = recorded()
    assert (run.executors, run.predicted_seconds) == (4, 110.0)
    assert 0.0 < run.seconds < 100.0, "not what a log says"
    assert run.run_seconds is None
    assert said in capsys.readouterr().out


def test_without_a_decision_nothing_is_recorded(submissions, context, ti):
    production(cluster=handle()).execute(context)
    production(cluster=handle(), decision="None").execute(context)

    assert ti.pushed == {}
    assert not store_root().exists()


def test_a_run_that_failed_is_no_observation(submissions, context, ti):
    submissions.writes_log("app-7", events("app-7", executors=4))
    submissions.fails_with(3)
    operator = production(cluster=handle(), decision=decided())

    with pytest.raises(AirflowException, match="exit code 3"):
        operator.execute(context)

    assert recorded() == []
    assert "production_run" not in ti.pushed
    assert operator.application_id == "app-7", "its log is what one wants to see"


@pytest.mark.parametrize(
    ("decision", "store", "said"),
    [
        ("no document", "", "is not JSON"),
        ({"schema": 99}, "", "schema 99"),
        (decided(job=""), "", "names no job"),
        (decided(), "/dev/null/store", "StoreError"),
        (decided(), "nowhere://models", "not recorded"),
    ],
)
def test_what_hinders_the_record_fails_no_run(
    submissions, context, capsys, monkeypatch, decision, store, said
):
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", store)
    production(cluster=handle(), decision=decision).execute(context)

    output = capsys.readouterr().out
    assert "This production run is not recorded" in output
    assert said in output


def test_a_run_that_spark_submit_does_not_wait_for_has_no_time(submissions, context, capsys, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    conf = {"spark.yarn.submit.waitAppCompletion": "false"}
    production(conn_id="lake", conf=conf, decision=decided()).execute(context)

    assert recorded() == []
    assert "spark.yarn.submit.waitAppCompletion let spark-submit end before it" in capsys.readouterr().out


def test_a_run_of_an_earlier_attempt_has_no_time(submissions, context, capsys, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    operator = production(conn_id="lake", decision=decided())
    hook = operator._get_hook()
    operator._hook = hook
    monkeypatch.setattr(hook, "submit", lambda application: None)
    operator.execute(context)

    assert recorded() == []
    assert "an earlier attempt had submitted it" in capsys.readouterr().out


def test_a_store_that_does_not_answer_holds_up_no_run(submissions, context, ti, capsys, monkeypatch):
    answer = Event()
    monkeypatch.setattr(recording, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(ModelStore, "save", lambda self, run: answer.wait(60))

    production(cluster=handle(), decision=decided()).execute(context)

    assert ti.pushed["production_run"]["job"] == "enrich"
    assert "This production run is not recorded yet" in capsys.readouterr().out
    answer.set()


PRODUCTION = {
    "task_id": "production",
    "map_index": -1,
    "state": "success",
    "operator": "X",
    "duration": 130.0,
}
VERSION = {"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"}


@pytest.fixture
def breadcrumbs(ti) -> list[dict[str, Any]]:
    """What Airflow tells of the tasks of this run."""
    rows = [{**PRODUCTION, "task_id": "before", "duration": 1.0}, dict(PRODUCTION)]
    ti.get_task_breadcrumbs = lambda dag_id, run_id: iter(rows)
    return rows


def record(context: Any, **changes: Any) -> ProductionRun | None:
    fields = {"decision": decided(), "production_task_id": "production", **changes}
    RecordRunOperator(task_id="record_run", **fields).execute(context)
    return next(iter(recorded()), None)


def write_log(
    path: Any, *, started: float = 1_000_000.0, version: Any = VERSION, task: str | None = None, **told: Any
) -> str:
    """An event log of a run on 4 machines, submitted by a task: 7 s until they are there, then 100 s."""
    lines = [version] if version else []
    for event in events("app-7", **{"executors": 4, **told}):
        if task and "Spark Properties" in event:
            event["Spark Properties"][TASK_PROPERTY] = task
        if "Timestamp" in event:
            event["Timestamp"] += round(started * 1000)
        lines.append(event)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return str(path)


def test_airflows_own_time_of_the_task_counts_where_nothing_else_tells(context, ti, breadcrumbs):
    run = record(context)

    assert (run.seconds, run.run_seconds, run.executors) == (130.0, None, 4)
    assert (run.predicted_seconds, run.is_unusual) == (110.0, True)
    assert (run.model_id, run.decision_id) == ("a-model", "a-decision")
    assert ti.pushed["production_run"] == run.to_dict()


def test_what_is_stated_counts_more(context, breadcrumbs):
    run = record(context, seconds="118.5", executors="3")

    assert (run.seconds, run.executors, run.predicted_seconds) == (118.5, 3, 140.0)
    assert run.cost == pytest.approx(3 * 0.36 * 118.5 / 3600)


@pytest.mark.parametrize("in_folder", [False, True])
def test_the_event_log_tells_the_work_itself(context, breadcrumbs, tmp_path, in_folder):
    path = write_log(tmp_path / "app-7")
    run = record(context, event_log=str(tmp_path) if in_folder else path)

    assert run.run_seconds == pytest.approx(100.0)
    assert run.startup_seconds == pytest.approx(7.0), "the decision tells of none"
    assert run.seconds == pytest.approx(107.0)
    assert (run.application_id, run.event_log) == ("app-7", path)
    assert run.conditions == RunConditions(spark="4.2.0")


def test_the_start_up_before_the_log_begins_counts_as_decided(context, breadcrumbs, tmp_path):
    document = decided()
    document["decision"]["startup_seconds"] = 25.0
    path = write_log(tmp_path / "app-7")

    run = record(context, decision=document, event_log=path)

    assert (run.startup_seconds, run.seconds) == (25.0, pytest.approx(125.0))


def test_a_password_in_the_logs_address_is_in_no_warning(context, breadcrumbs, capsys):
    assert record(context, event_log="nowhere://me:hunter2@host/app-7").seconds == 130.0
    output = capsys.readouterr().out
    assert "The event log nowhere://host/app-7 cannot be used" in output
    assert "hunter2" not in output


@pytest.mark.parametrize("given", ["the log", "its folder", "its folder and others"])
def test_a_log_as_spark_writes_it_by_default_is_read(context, breadcrumbs, tmp_path, given):
    lines = Path(write_log(tmp_path / "plain")).read_bytes().splitlines(keepends=True)
    logs = tmp_path / "logs"
    rolled = logs / "eventlog_v2_app-7"
    rolled.mkdir(parents=True)
    (rolled / "appstatus_app-7").touch()
    for number, part in enumerate((lines[:3], lines[3:]), start=1):
        packed = zstandard.ZstdCompressor().compress(b"".join(part))
        (rolled / f"events_{number}_app-7.zstd").write_bytes(packed)
    if given == "its folder and others":
        (logs / "eventlog_v2_app-70").mkdir()
        (logs / "app-6.lz4").touch()
    place = rolled if given == "the log" else logs
    run = record(context, event_log=str(place), application_id="app-7")

    assert (run.run_seconds, run.application_id) == (pytest.approx(100.0), "app-7")
    assert (run.event_log, run.conditions) == (str(rolled), RunConditions(spark="4.2.0"))


def test_of_many_logs_in_a_folder_it_is_the_newest_that_names_the_task(context, ti, breadcrumbs, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    task = {"dag_id": ti.dag_id, "run_id": ti.run_id, "task_id": "production", "try_number": 1}
    own = owner_of({"ti": SimpleNamespace(**task)})
    submitted_by = {"app-5": own, "app-6": own, "app-7": "another", "app-8": None}
    for number, (name, task) in enumerate(submitted_by.items(), start=1):
        written = write_log(logs / name, task=task, executors=number)
        os.utime(written, (number, number))

    # The operator is asked for no id; a template that finds none says None.
    run = record(context, event_log=str(logs), application_id="None")

    assert (run.event_log, run.executors) == (str(logs / "app-6"), 2)


@pytest.mark.parametrize("content", ["gone", "several", "garbage"])
def test_a_log_that_cannot_be_used_leaves_airflows_time(context, breadcrumbs, tmp_path, capsys, content):
    path = tmp_path / "app-7"
    if content == "several":
        write_log(path)
        write_log(tmp_path / "app-8")
        path = tmp_path
    elif content == "garbage":
        path.write_bytes(b"\0\1\2")

    run = record(context, event_log=str(path))

    assert run.seconds == 130.0
    assert "event log" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "has not ended in this DAG run"),
        ([{**PRODUCTION, "state": "skipped"}], "ended as skipped"),
        ([{**PRODUCTION, "state": "failed"}], "ended as failed"),
        ([{**PRODUCTION, "map_index": index} for index in range(3)], "is mapped: its 3 runs"),
        ([{**PRODUCTION, "map_index": 0}], "is mapped: its 1 runs"),
        ([{**PRODUCTION, "duration": None}], "how long it took is not known"),
        ([{**PRODUCTION, "duration": 0.0}], "how long it took is not known"),
    ],
    ids=["not there", "skipped", "failed", "mapped", "mapped once", "no duration", "no time"],
)
def test_a_task_that_was_no_such_run_is_not_recorded(context, ti, breadcrumbs, capsys, rows, said):
    breadcrumbs[:] = rows

    assert record(context) is None
    assert "production_run" not in ti.pushed
    output = capsys.readouterr().out
    assert "This production run is not recorded: " in output
    assert said in output


def test_an_airflow_that_does_not_tell_asks_for_what_does(context, capsys):
    assert record(context) is None
    output = capsys.readouterr().out
    assert "Airflow does not tell how long the task production ran" in output
    assert "give its seconds, its event_log or its production_task_id" in output
    assert record(context, seconds=100).seconds == 100.0


@pytest.mark.parametrize(
    "changes",
    [
        {"decision": "null"},
        {"seconds": "soon"},
        {"seconds": -3},
        {"executors": 2.5},
    ],
)
def test_whatever_hinders_the_record_fails_no_task(context, breadcrumbs, capsys, changes):
    record(context, **changes)

    assert "not recorded" in capsys.readouterr().out


def test_the_code_is_hashed_with_what_it_was_submitted_with(context, breadcrumbs, tmp_path):
    job, library = tmp_path / "job.py", tmp_path / "lib.zip"
    job.write_text("abc")
    library.write_text("def")
    alone = hashlib.sha256(b"abc").hexdigest()

    assert record(context, application=str(job)).artifact_sha256 == alone
    record(context, application=str(job), submit_options={"py_files": str(library)})
    assert recorded()[-1].artifact_sha256 not in (None, alone)


def found_earlier(ti: Any, **found: Any) -> dict[str, Any]:
    """A decision of this DAG run, at whose beginning this was found."""
    asked = []

    def pull(*, task_ids: str, key: str) -> Any:
        asked.append(task_ids)
        return found.get(key)

    ti.xcom_pull = pull
    ti.asked = asked
    origin = {"dag_id": ti.dag_id, "run_id": ti.run_id, "task_id": "sizing.ernest.choose_config"}
    return {**decided(), "origin": origin}


def test_code_and_conditions_are_those_found_at_the_beginning_of_the_run(context, ti, breadcrumbs, tmp_path):
    then = RunConditions(spark="4.1.0", settings={"spark.a": "aa"}, executor_cores=2)
    document = found_earlier(ti, artifact_sha256="ab" * 32, conditions={"m5.large": then.to_dict()})

    run = record(context, decision=document, event_log=write_log(tmp_path / "app-7"))

    assert run.artifact_sha256 == "ab" * 32
    assert run.conditions == RunConditions(spark="4.2.0", settings={"spark.a": "aa"}, executor_cores=2)
    assert set(ti.asked) == {"sizing.ernest.find_model"}


def test_the_release_of_a_service_is_not_taken_for_a_version(context, ti, breadcrumbs, tmp_path):
    then = RunConditions(spark="emr-7.5.0")
    document = found_earlier(ti, conditions={"m5.large": then.to_dict()})
    path = write_log(tmp_path / "app-7", version={**VERSION, "Spark Version": "3.5.2-amzn-1"})

    assert record(context, decision=document, event_log=path).conditions == then


def test_a_decision_of_another_run_tells_nothing_of_this_one(context, ti, breadcrumbs):
    document = found_earlier(ti, artifact_sha256="ab" * 32)
    document["origin"]["run_id"] = "yesterday"

    assert record(context, decision=document).artifact_sha256 is None


def test_a_run_within_bounds_is_recorded_beside_its_prediction(context, breadcrumbs, tmp_path, capsys):
    document = decided()
    document["decision"]["bounds"] = {"minimum": 1, "initial": 1, "maximum": 8}
    document["decision"]["config"]["executors"] = 8
    path = Path(write_log(tmp_path / "app-7"))
    dynamic = '"spark.dynamicAllocation.enabled":"true","spark.master"'
    path.write_text(path.read_text().replace('"spark.master"', dynamic))
    run = record(context, decision=document, event_log=str(path))

    assert (run.is_dynamic, run.executors) == (True, 4), "the most that it had"
    assert run.predicted_seconds == 110.0
    # Of 107 s all four were there in 100.
    assert run.cost == pytest.approx(4 * 0.36 * 100.0 / 3600)
    assert run.replayed is None
    assert "it cannot be replayed" in capsys.readouterr().out, "for it ran no task"
