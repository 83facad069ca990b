"""What an ErnestSparkSubmitOperator records of production runs, and that recording fails none."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Alternative, DecisionRecord, ProductionRun
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators.submissions import events, handle, production


def alternative(machines: int, seconds: float) -> Alternative:
    likely, nearly_certain = (seconds - 5, seconds + 5), (seconds - 10, seconds + 10)
    return examples.alternative(
        machines, seconds=seconds, likely_seconds=likely, nearly_certain_seconds=nearly_certain
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
    submissions.writes_log("app-7", events("app-7", machines=4))

    production(cluster=handle(), decision=decided(), application=application).execute(context)

    (run,) = recorded()
    assert ti.pushed["production_run"] == run.to_dict()
    assert (run.machines, run.scale, run.application_id) == (4, 1.5, "app-7")
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
    submissions.writes_log("app-7", events("app-7", machines=3))
    production(cluster=handle(), decision=decided()).execute(context)
    submissions.writes_no_log()
    submissions.writes_log("app-8", events("app-8", machines=2))
    production(cluster=handle(), decision=decided()).execute(context)

    three, two = recorded()
    assert (three.machines, three.predicted_seconds) == (3, 140.0)
    assert (three.likely_seconds, three.nearly_certain_seconds) == ((135.0, 145.0), (130.0, 150.0))
    assert (two.machines, two.predicted_seconds, two.is_unusual) == (2, None, False)


def test_the_cost_is_billed_as_in_the_decision(submissions, context):
    """What the sample runs cost was paid before: it is no cost of this run."""
    submissions.writes_log("app-7", events("app-7", machines=4))
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
    submissions.writes_log("app-7", events("app-7", machines=5, lost=1))

    production(cluster=handle(machines=5), decision=decided()).execute(context)

    assert [run.machines for run in recorded()] == [4]
    assert "lost executor 0 on machine 10.0.0.0 (taken back)" in capsys.readouterr().out


def test_without_a_cluster_the_log_is_found_by_the_runs_own_properties(submissions, context, monkeypatch):
    """As `ChooseConfigOperator` gives them, for a stock operator, too."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    folder = event_logs(context)
    (folder / "app-6.inprogress").touch()
    (folder / "app-5").touch()
    submissions.writes_log("app-7", events("app-7", machines=4))

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
            {"app-7": events("app-7", machines=4), "app-8": events("app-8", machines=1)},
            "No event log of this run is on this host",
        ),
        ({"app-7": events("app-7", machines=4, end_seconds=None)}, "has no end"),
        ({"app-7": events("app-7", machines=1, master="local[2]")}, "ran inside its driver"),
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
    assert (run.machines, run.predicted_seconds) == (4, 110.0)
    assert 0.0 < run.seconds < 100.0, "not what a log says"
    assert run.run_seconds is None
    assert said in capsys.readouterr().out


def test_without_a_decision_nothing_is_recorded(submissions, context, ti):
    production(cluster=handle()).execute(context)
    production(cluster=handle(), decision="None").execute(context)

    assert ti.pushed == {}
    assert not store_root().exists()


def test_a_run_that_failed_is_no_observation(submissions, context, ti):
    submissions.writes_log("app-7", events("app-7", machines=4))
    submissions.fails_with(3)
    operator = production(cluster=handle(), decision=decided())

    with pytest.raises(AirflowException, match="exit code 3"):
        operator.execute(context)

    assert recorded() == []
    assert "production_run" not in ti.pushed
    assert operator.application_id == "app-7", "its log is what one wants to see"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"decision": "no document"}, "is no JSON"),
        ({"decision": {"schema": 99}}, "schema 99"),
        ({"decision": decided(job="")}, "names no job"),
        ({"decision": decided(), "store": "/dev/null/store"}, "StoreError"),
        ({"decision": decided(), "store": "nowhere://models"}, "not recorded"),
    ],
)
def test_what_hinders_the_record_fails_no_run(submissions, context, capsys, changes, said):
    production(cluster=handle(), **changes).execute(context)

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
    """The stock operator goes on with it instead of submitting it again."""
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
