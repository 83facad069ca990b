"""What a sample run hands on and keeps, with a spark-submit that starts no Spark; tests/integration has real
ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, XComArg

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.profiles import SAMPLE, ProfileRecord
from airflow_provider_ernest.documents.runs import Observation, ObservationRecord
from airflow_provider_ernest.exceptions import ClusterLostError, SampleRunError
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators import sample_run as module
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.settings import SampledInput
from airflow_provider_ernest.store.store import ModelStore
from tests.airflow_versions import DagSerialization
from tests.unit.operators.stated import sampled, spark_job
from tests.unit.operators.submissions import events, handle


def test_an_observation_names_the_task_instance_that_made_it(sample_run, submissions, context, ti):
    ti.map_index, ti.try_number = 2, 3
    submissions.writes_log("app-7", events("app-7", machines=2))
    operator = sample_run()

    observation = Observation.from_dict(operator.execute(context))

    assert observation.origin == Origin(
        dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id, map_index=2, try_number=3
    )
    assert observation.seconds == pytest.approx(100.0)
    assert observation.application_id == operator.application_id == "app-7"


AS_TEXT = ['{"a": 1}', "1.10", "0x10", "{{ '007' }}"]


def test_in_a_dag_that_renders_to_objects_what_spark_is_given_stays_text(sample_run, submissions, context):
    submissions.writes_log("app-7", events("app-7", machines=2))
    job = spark_job(
        sample_run().job["application"],
        args=AS_TEXT,
        conf={"spark.mine": "1.10", "spark.yours": "{{ '0x10' }}"},
    )
    sample_run(job=job, native=True).execute(context)

    assert submissions.last["argv"][-4:] == ['{"a": 1}', "1.10", "0x10", "007"]
    assert (submissions.conf()["spark.mine"], submissions.conf()["spark.yours"]) == ("1.10", "0x10")


def test_what_the_job_is_given_names_the_sample_and_is_rendered_when_it_is_known(
    sample_run, submissions, context
):
    submissions.writes_log("app-7", events("app-7", machines=2))
    job = spark_job(
        sample_run().job["application"],
        args=("{{ sample.machines }}", "{{ ti.dag_id }}"),
        conf={"spark.mine": "{{ ti.dag_id }}"},
    )
    sample_run(job=job).execute(context)

    sample, *others = submissions.last["argv"][-3:]
    assert "/staging/" in sample
    assert others == ["2", "nightly"]
    assert submissions.conf()["spark.mine"] == "nightly"
    assert submissions.conf()["spark.executor.instances"] == "2"


@pytest.mark.parametrize("hindered", [{"store": "/dev/null/store"}, {"conditions": "{"}])
def test_what_hinders_the_record_does_not_fail_the_run_that_was_paid_for(
    sample_run, submissions, context, capsys, hindered
):
    submissions.writes_log("app-7", events("app-7", machines=2))
    assert sample_run(**hindered).execute(context)
    assert "The observation is not recorded" in capsys.readouterr().out


@pytest.mark.parametrize("profile", [True, False])
def test_the_event_log_is_read_once_for_the_observation_and_the_profile(
    sample_run, submissions, context, monkeypatch, profile
):
    from airflow_provider_ernest.eventlog import run_facts
    from tests.unit.test_privacy import explained

    read, opened = run_facts.read_event_log, []
    monkeypatch.setattr(run_facts, "read_event_log", lambda log: opened.append(log) or read(log))
    submissions.writes_log("app-7", explained("app-7", machines=2))

    sample_run(profile=profile).execute(context)

    kept = ModelStore(store_root()).newest(ProfileRecord, "enrich", "lake")
    assert [(one.purpose, one.profile.application_id) for one in kept] == [(SAMPLE, "app-7")] * profile
    startups = {
        one.observation.startup_seconds
        for one in ModelStore(store_root()).newest(ObservationRecord, "enrich", "lake")
    }
    assert {one.profile.startup_seconds for one in kept} <= startups, "both from submission on"
    assert len(opened) == 1


def test_a_run_that_failed_names_its_application_and_its_reason(sample_run, submissions, context, ti):
    submissions.writes_log("app-7.inprogress", events("app-7", machines=2, end_seconds=None))
    submissions.fails_with(1)
    operator = sample_run()

    with pytest.raises(SampleRunError, match="exit code 1"):
        operator.execute(context)
    assert operator.application_id == "app-7"
    assert "failed: spark-submit ended with exit code 1." in ti.pushed["failure"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"cores_per_machine": None}, r"cores_per_machine=None .*spark_conn_id='lake' offers"),
        ({"job": spark_job("/gone/job.py")}, r"application '/gone/job\.py'"),
        ({"input": {"path": "/gone/input"}}, "/gone/input"),
        ({"cluster": handle(machines=1)}, r"machines=2 is more than cluster ernest-1 has \(1\)"),
        ({"cluster": handle(kind="emr")}, r"path=.* is a local path, which the machines of EMR cannot read"),
        (
            {"cluster": handle(kind="emr"), "input": sampled("s3://data/in", sampling="first_rows")},
            r"sampling='first_rows' copies rows to a folder of the Airflow worker",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_before_it_is_submitted(
    sample_run, submissions, context, fields, named
):
    with pytest.raises(AirflowFailException, match=named):
        sample_run(**fields).execute(context)
    assert submissions.last is None


def test_arguments_that_name_no_sample_are_refused(sample_run, submissions, context):
    operator = sample_run(job=spark_job(sample_run().job["application"], application_args=["--all"]))
    with pytest.raises(AirflowFailException, match=r"names no \{\{ sample.input \}\}"):
        operator.execute(context)
    assert submissions.last is None


def test_a_killed_task_ends_its_run_whichever_way_it_went(sample_run, context, monkeypatch):
    class Endless:
        waited_seconds = 0.0
        ended = False

        def run(self, application: str) -> None:
            operator.on_kill()
            assert self.ended
            raise ClusterLostError("ended")

        def end(self) -> None:
            self.ended = True

    monkeypatch.setattr(module, "submission", lambda *_, **__: Endless())
    operator = sample_run()
    with pytest.raises(ClusterLostError, match="ended"):
        operator.execute(context)


def test_mapped_runs_wait_for_the_outputs_of_tasks_anywhere_in_their_settings(sample_run):
    with DAG("nightly", schedule=None) as dag:
        early, late, last = (
            SampleRunOperator(
                task_id=name, experiment={}, job=spark_job(), input=sampled(), spark_conn_id="lake"
            )
            for name in ("early", "late", "last")
        )
        runs: Any = SampleRunOperator.partial(
            task_id="runs",
            job=replace(spark_job(), application=XComArg(early), conf={"spark.mine": XComArg(late)}),
            input=SampledInput(path=XComArg(last)),
        ).expand(experiment=[{}])

    assert runs.upstream_task_ids == {"early", "late", "last"}
    DagSerialization.from_dict(DagSerialization.to_dict(dag))
