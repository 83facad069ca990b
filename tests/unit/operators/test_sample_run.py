"""What a sample run hands on and keeps, with a spark-submit that starts no Spark; tests/integration has real
ones."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import replace
from typing import Any

import boto3
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, XComArg
from moto import mock_aws

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.emr.steps import StepRun
from airflow_provider_ernest.clusters.local import ClusterDirectory
from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.profiles import SAMPLE, ProfileRecord
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError, SampleRunError
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators import sample_run as module
from airflow_provider_ernest.operators import task_context
from airflow_provider_ernest.operators.sample_run import (
    DriverSubmission,
    SampleRunOperator,
    submission,
)
from airflow_provider_ernest.settings import SampledInput
from airflow_provider_ernest.spark.runs import RunLimits, RunRequest
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.airflow_versions import DagSerialization
from tests.unit.clusters.emr.conftest import started
from tests.unit.operators.stated import sampled, spark_job
from tests.unit.operators.submissions import events, handle


def test_an_observation_names_the_task_instance_that_made_it(sample_run, submissions, context, ti):
    ti.map_index, ti.try_number = 2, 3
    submissions.writes_log("app-7", events("app-7", executors=2))
    operator = sample_run()

    observation = Observation.from_dict(operator.execute(context))

    assert observation.origin == Origin(
        dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id, map_index=2, try_number=3
    )
    assert observation.seconds == pytest.approx(100.0)
    assert observation.application_id == operator.application_id == "app-7"


AS_TEXT = ['{"a": 1}', "1.10", "0x10", "{{ '007' }}"]


def test_in_a_dag_that_renders_to_objects_what_spark_is_given_stays_text(sample_run, submissions, context):
    submissions.writes_log("app-7", events("app-7", executors=2))
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
    submissions.writes_log("app-7", events("app-7", executors=2))
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


def test_what_hinders_the_record_does_not_fail_the_run_that_was_paid_for(
    sample_run, submissions, context, capsys, monkeypatch
):
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "/dev/null/store")
    submissions.writes_log("app-7", events("app-7", executors=2))
    assert sample_run().execute(context)
    assert "Why the run took this long is not known" in capsys.readouterr().out


def test_the_event_log_is_read_once_for_the_observation_and_the_profile(
    sample_run, submissions, context, monkeypatch
):
    from airflow_provider_ernest.eventlog import run_facts
    from tests.unit.test_privacy import explained

    read, opened = run_facts.read_event_log, []
    monkeypatch.setattr(run_facts, "read_event_log", lambda log: opened.append(log) or read(log))
    submissions.writes_log("app-7", explained("app-7", executors=2))

    observed = sample_run().execute(context)

    kept = ModelStore(store_root()).newest(ProfileRecord, "enrich", "lake")
    assert [(one.purpose, one.profile.application_id) for one in kept] == [(SAMPLE, "app-7")]
    assert kept[0].profile.startup_seconds == observed["startup_seconds"], "both from submission on"
    assert len(opened) == 1


def test_a_run_that_failed_names_its_application_and_its_reason(sample_run, submissions, context, ti):
    submissions.writes_log("app-7.inprogress", events("app-7", executors=2, end_seconds=None))
    submissions.fails_with(1)
    operator = sample_run()

    with pytest.raises(SampleRunError, match="exit code 1"):
        operator.execute(context)
    assert operator.application_id == "app-7"
    assert "failed: spark-submit ended with exit code 1." in ti.pushed["failure"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"job": spark_job("/gone/job.py")}, r"application '/gone/job\.py'"),
        ({"input": {"path": "/gone/input"}}, "/gone/input"),
        ({"cluster": handle(executors=1)}, r"executors=2 is more than cluster ernest-1 has \(1\)"),
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

        def run(self) -> None:
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
            SampleRunOperator(task_id=name, experiment={}, job=spark_job(), input=sampled(), cluster={})
            for name in ("early", "late", "last")
        )
        runs: Any = SampleRunOperator.partial(
            task_id="runs",
            job=replace(spark_job(), application=XComArg(early), conf={"spark.mine": XComArg(late)}),
            input=SampledInput(path=XComArg(last)),
            cluster={},
        ).expand(experiment=[{}])

    assert runs.upstream_task_ids == {"early", "late", "last"}
    DagSerialization.from_dict(DagSerialization.to_dict(dag))


LOG = logging.getLogger("test")


def reached(kind: str, **changes: Any) -> ClusterHandle:
    each = {"memory_megabytes": 2048}
    return examples.cluster(
        3, each=each, **{"kind": kind, "name": "c", "instance_type": "m5.large", **changes}
    )


@pytest.fixture
def request_for(tmp_path):
    def make(**changes: Any) -> RunRequest:
        fields = {
            "name": "ernest-sample-3",
            "owner": "5f2a",
            "application": "s3://code/job.py",
            "application_args": ["a b"],
            "executors": 2,
            "executor_cores": 2,
            "directory": tmp_path,
            "limits": RunLimits(wait_seconds=60.0),
            "conf": {"spark.sql.shuffle.partitions": "8"},
            **changes,
        }
        return RunRequest(**fields)

    return make


def hook_of(submitted: Any) -> Any:
    assert isinstance(submitted, DriverSubmission)
    return submitted._hook


def command(submitted: Any) -> list[str]:
    return hook_of(submitted)._build_spark_submit_command("job.py")


def conf(submitted: Any) -> dict[str, str]:
    parts = command(submitted)
    return dict(parts[at + 1].split("=", 1) for at, part in enumerate(parts) if part == "--conf")


def test_a_local_cluster_is_reached_by_its_address_with_its_secret(request_for, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ERNEST__CLUSTERS", str(tmp_path))
    directory = ClusterDirectory(tmp_path / "here")
    directory.create()
    directory.write_secret("0f" * 32, defaults="")
    cluster = reached("local", directory=str(directory.path), authenticates=True)
    submitted = submission(cluster, request=request_for(), log=LOG)

    assert command(submitted)[1:3] == ["--master", "spark://127.0.0.1:7077"]
    assert command(submitted)[-2:] == ["job.py", "a b"]
    told = conf(submitted)
    assert told["spark.cores.max"] == "4"
    assert told["spark.executor.memory"] == "2048m"
    assert told["spark.sql.shuffle.partitions"] == "8"
    assert told["spark.eventLog.dir"] == str(tmp_path)
    assert told["spark.driver.host"] == "127.0.0.1"
    assert told["spark.ui.enabled"] == "false"
    assert hook_of(submitted)._env == {"SPARK_LOCAL_IP": "127.0.0.1"}
    assert hook_of(submitted)._secret == "0f" * 32

    directory.clear()
    with pytest.raises(ClusterLostError, match=r"Cluster c has ended"):
        submission(cluster, request=request_for(), log=LOG)


def test_a_cluster_on_ec2_gets_its_secret_and_the_way_back(request_for, monkeypatch):
    monkeypatch.setattr(task_context, "cluster_secret", lambda asked: f"secret of {asked.name}")
    cluster = reached("ec2", authenticates=True, encrypts=True, python="python3.11")
    submitted = submission(cluster, request=request_for(), log=LOG)

    told = conf(submitted)
    assert told["spark.authenticate"] == "true"
    assert told["spark.network.crypto.enabled"] == "true"
    assert told["spark.pyspark.python"] == "python3.11"
    assert told["spark.pyspark.driver.python"] == sys.executable
    assert told["spark.driver.host"] == "127.0.0.1", "the address of the route to the master"
    assert hook_of(submitted)._secret == "secret of c"
    assert "secret of c" not in " ".join(command(submitted))


def test_what_the_job_sets_wins_over_the_cluster_but_not_over_the_experiment(request_for):
    own = {"spark.executor.memory": "1g", "spark.driver.host": "127.0.0.9", "spark.cores.max": "99"}
    own |= {"spark.ui.enabled": "true"}
    submitted = submission(reached("ec2"), request=request_for(conf=own), log=LOG)

    told = conf(submitted)
    assert told["spark.executor.memory"] == "1g"
    assert told["spark.driver.host"] == "127.0.0.9"
    assert told["spark.cores.max"] == "4"
    assert told["spark.ui.enabled"] == "false"


def test_an_existing_cluster_is_reached_by_its_connection(request_for, monkeypatch):
    fields = {"conn_type": "spark", "host": "yarn", "extra": {"queue": "nightly"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_THERE", json.dumps(fields))
    cluster = reached("existing", spark_conn_id="spark_there", master_url="yarn")

    submitted = submission(cluster, request=request_for(), log=LOG)

    parts = command(submitted)
    assert parts[parts.index("--master") + 1] == "yarn"
    assert parts[parts.index("--queue") + 1] == "nightly"
    assert conf(submitted)["spark.executor.instances"] == "2"
    assert "spark.executor.memory" in conf(submitted)


ANSWERS = {"yarn_resourcemanager_webapp_address": "127.0.0.1:8088"}


@pytest.mark.parametrize(
    ("options", "extra"),
    [({}, {"deploy-mode": "cluster", **ANSWERS}), ({"deploy_mode": "cluster"}, ANSWERS)],
    ids=["by the connection", "by the option"],
)
def test_a_driver_on_the_cluster_is_told_nothing_of_this_host(request_for, monkeypatch, options, extra):
    cluster = on_yarn(monkeypatch, extra, directory="/shared/logs", driver_host="10.0.0.9")
    submitted = submission(
        cluster, request=request_for(options=options, conf={"spark.yarn.tags": "finance"}), log=LOG
    )

    parts, told = command(submitted), conf(submitted)
    assert parts[parts.index("--deploy-mode") + 1] == "cluster"
    assert not {"spark.driver.host", "spark.pyspark.driver.python"} & told.keys()
    assert told["spark.eventLog.dir"] == "file:///shared/logs"
    assert told["spark.yarn.tags"] == "finance,ernest-5f2a"
    assert told["spark.executor.instances"] == "2"


@pytest.mark.parametrize(
    ("extra", "directory", "named"),
    [
        (ANSWERS, None, r"nothing tells where its event log will lie.*State event_log_uri"),
        (
            {},
            "hdfs://n/logs",
            r"spark_conn_id='spark_there' does not tell where YARN's ResourceManager answers.*"
            r'"yarn_resourcemanager_webapp_address": "http://HOST:8088"',
        ),
    ],
)
def test_a_driver_that_could_not_be_observed_or_ended_is_refused(
    request_for, monkeypatch, extra, directory, named
):
    cluster = on_yarn(monkeypatch, extra, directory=directory)
    with pytest.raises(InvalidParameterError, match=named):
        submission(cluster, request=request_for(options={"deploy_mode": "cluster"}), log=LOG)


def on_yarn(monkeypatch: pytest.MonkeyPatch, extra: dict[str, str], **changes: Any) -> ClusterHandle:
    fields = {"conn_type": "spark", "host": "yarn", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_THERE", json.dumps(fields))
    return reached("existing", spark_conn_id="spark_there", master_url="yarn", **changes)


@pytest.fixture
def emr(monkeypatch):
    login = {"conn_type": "aws", "login": "testing", "password": "testing"}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DATA", json.dumps(login))
    with mock_aws():
        yield boto3.client("emr", "eu-west-1", aws_access_key_id="testing", aws_secret_access_key="testing")


def on_emr(emr: Any) -> ClusterHandle:
    return reached(
        "emr",
        name=started(emr),
        master_url="yarn",
        directory="s3://ernest-logs/spark",
        aws_conn_id="aws_data",
        region="eu-west-1",
        expires_at="2126-01-01T00:00:00+00:00",
    )


def test_a_run_on_emr_is_a_step_of_its_job_flow(request_for, emr):
    """That its three machines are noticed shows that it was asked, through its connection."""
    submitted = submission(on_emr(emr), request=request_for(executors=4), log=LOG)

    assert isinstance(submitted, StepRun)
    with pytest.raises(ClusterLostError, match=r"needs 4 machines; job flow j-\w+ has 3"):
        submitted.run()
