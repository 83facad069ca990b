"""What an ErnestSparkSubmitOperator records of production runs, and that recording fails none."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_ernest.documents import (
    Alternative,
    Billing,
    Configuration,
    DecisionRecord,
    Origin,
    ProductionRun,
)
from airflow_provider_ernest.operators import production_record, recording
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.operators.production_record import cost_of, prediction_for
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store_location import store_root
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


def test_the_cost_is_billed_as_the_decision_reckoned(submissions, context):
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


def test_predictions_of_other_types_and_of_mixes_are_not_those_of_the_run():
    mixed = replace(
        alternative(2, 50.0), composition=(Configuration(machines=1, instance_type="m5.large"),) * 2
    )
    other = replace(alternative(2, 60.0), instance_type="c5.large")
    decision = replace(
        DecisionRecord.from_dict(decided()).decision, alternatives=(mixed, other, alternative(2, 70.0))
    )
    assert prediction_for(2, decision).seconds == 70.0


def test_of_a_mix_only_the_run_as_it_was_decided_is_predicted():
    parts = (
        Configuration(machines=3, instance_type="m5.large"),
        Configuration(machines=2, instance_type="c5.large"),
    )
    decision = replace(
        DecisionRecord.from_dict(decided()).decision,
        config=Configuration(machines=5, instance_type="3 m5.large + 2 c5.large"),
        composition=parts,
        price_per_hour=None,
        billing=Billing(price_per_hour=0.1),
    )
    assert prediction_for(5, decision).seconds == 110.0
    assert prediction_for(3, decision).seconds is None
    assert cost_of(decision, machines=5, seconds=100) is None


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


def test_a_task_instance_that_takes_no_xcom_fails_no_run(submissions, context, ti, capsys, monkeypatch):
    def refuse(key: str, value: Any) -> None:
        raise RuntimeError("too large")

    monkeypatch.setattr(ti, "xcom_push", refuse)
    production(cluster=handle(), decision=decided()).execute(context)
    assert "not recorded: RuntimeError: too large" in capsys.readouterr().out


def test_code_that_cannot_be_read_leaves_the_hash_open(submissions, context, capsys):
    production(cluster=handle(), decision=decided(), application="/gone/job.py").execute(context)

    assert [run.artifact_sha256 for run in recorded()] == [None]
    assert "Cannot read the application '/gone/job.py'" in capsys.readouterr().out


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


def test_a_decision_that_left_no_record_is_a_warning(submissions, context, ti, capsys):
    """As the template of `ErnestTaskGroup.decision` renders it."""
    production(cluster=handle(), decision="null").execute(context)

    assert "not recorded: its decision has left no record to read" in capsys.readouterr().out
    assert ti.pushed == {}


def test_a_store_that_does_not_answer_holds_up_no_run(submissions, context, ti, capsys, monkeypatch):
    answer = Event()
    monkeypatch.setattr(recording, "MOST_SECONDS", 0.05)
    monkeypatch.setattr(ModelStore, "save", lambda self, run: answer.wait(60))

    production(cluster=handle(), decision=decided()).execute(context)

    assert ti.pushed["production_run"]["job"] == "enrich"
    assert "This production run is not recorded yet" in capsys.readouterr().out
    answer.set()


def test_a_place_for_event_logs_that_can_be_none_fails_no_run(submissions, context, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    operator = production(conn_id="lake", decision=decided(), conf={"spark.eventLog.dir": "/logs\0here"})
    monkeypatch.setattr(SparkSubmitHook, "submit", lambda hook, application: None)

    operator.execute(context)


def test_the_model_has_learned_before_the_profile_takes_its_time(submissions, context, monkeypatch):
    """A large one goes on beside what comes after it, which would be slower for that."""
    done: list[str] = []
    monkeypatch.setattr(production_record, "keep_marks", lambda *_, **__: done.append("learned"))
    monkeypatch.setattr(production_record, "keep_profile", lambda *_, **__: done.append("profiled"))
    submissions.writes_log("app-7", events("app-7", machines=4))

    production(cluster=handle(), decision=decided()).execute(context)

    assert done == ["learned", "profiled"]
