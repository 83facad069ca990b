"""What the stock operators of the example DAGs ask for, with the values that the decision pushes."""

from __future__ import annotations

import json
import shlex
from typing import Any

import boto3
import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.common.compat.sdk import XComNotFound
from botocore.client import BaseClient
from moto import mock_aws

from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.settings.values import optional_document
from tests.unit.dags.example_run import ExampleRun, handle

REGION = "eu-west-1"
LOGIN = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": REGION}
TENTH = 1.1


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch):
    """What AWS is asked, by operation; boto3 checks the types, moto answers."""
    extra = {"region_name": REGION}
    connection = {"conn_type": "aws", "login": "testing", "password": "testing", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(connection))
    calls: dict[str, dict[str, Any]] = {}
    send = BaseClient._make_api_call

    def noted(client: BaseClient, operation: str, arguments: dict[str, Any]) -> Any:
        calls[operation] = arguments
        return send(client, operation, arguments)

    monkeypatch.setattr(BaseClient, "_make_api_call", noted)
    with mock_aws():
        yield calls


def standalone(instance_type: str, *, cores: int, gigabytes: int, price: float = 0.2) -> dict[str, Any]:
    """A training cluster on EC2, with the heap that an executor has there."""
    memory = int((gigabytes - 1) * 1024 / TENTH)
    return handle("ec2", instance_type, cores=cores, memory_megabytes=memory, price_per_hour=price)


def submitted(run: ExampleRun, connection: str, task: str = "enrich_all_flights") -> list[str]:
    """The command line of spark-submit of a DAG's production."""
    operator = run.rendered(task)
    assert operator._conn_id == connection
    return operator._get_hook()._build_spark_submit_command(operator.application)


@pytest.mark.parametrize(
    ("name", "connection", "master", "cores"),
    [
        ("example_ernest_yarn", "spark_yarn", "yarn", 4),
        ("example_ernest_kubernetes", "spark_kubernetes", "k8s://https://127.0.0.1:6443", 3),
    ],
)
def test_spark_submit_asks_for_an_executor_a_machine(name, connection, master, cores, monkeypatch):
    host, _, port = master.rpartition(":") if "k8s" in master else (master, "", "")
    uri = {"conn_type": "spark", "host": host, "port": int(port) if port else None, "extra": {}}
    monkeypatch.setenv(f"AIRFLOW_CONN_{connection.upper()}", json.dumps(uri))
    # The stock hook wants a client of Kubernetes to be installed; it needs it only to end a driver.
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
    run = ExampleRun(name, deadline_seconds=2400)
    run.train(handle("existing", "there", cores=cores, executors=16))
    executors = run.decide()["executors"]

    command = submitted(run, connection)

    assert 1 < executors <= 16
    assert command[command.index("--master") + 1] == master
    conf = dict(one.split("=", 1) for at, one in enumerate(command) if command[at - 1] == "--conf")
    assert conf["spark.executor.instances"] == str(executors)
    assert conf["spark.executor.cores"] == str(cores)
    assert conf["spark.executor.memory"] == "10240m"
    assert conf["spark.dynamicAllocation.enabled"] == "false"
    if "kubernetes" in name:
        assert conf["spark.kubernetes.executor.request.cores"] == str(cores)


def test_production_runs_as_today_before_any_run_is_known_and_then_as_decided(monkeypatch):
    uri = {"conn_type": "spark", "host": "yarn", "extra": {}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_YARN", json.dumps(uri))

    def conf(run: ExampleRun) -> dict[str, str]:
        command = submitted(run, "spark_yarn", "production")
        return dict(one.split("=", 1) for at, one in enumerate(command) if command[at - 1] == "--conf")

    run = ExampleRun("example_ernest_history", deadline_seconds=2400)
    run.decide()
    today = {"spark.executor.cores": "4", "spark.executor.memory": "8g"}
    assert {name: value for name, value in conf(run).items() if "ernest" not in name} == today

    run = ExampleRun("example_ernest_history", deadline_seconds=2400)
    run.train(handle("existing", "production"))
    executors = run.decide()["executors"]
    assert conf(run)["spark.executor.instances"] == str(executors)
    assert conf(run)["spark.executor.memory"] == "8192m"


def test_services_that_need_a_number_get_the_fallback_before_any_run_is_known():
    run = ExampleRun("example_ernest_history_aws")
    pushed = {}
    for group in ("ernest", "ernest_serverless", "ernest_glue"):
        run.run(f"{group}.choose_config")
        pushed[group] = {
            key: value for (task, key), value in run.xcoms.items() if task.startswith(f"{group}.")
        }

    assert pushed["ernest_glue"]["glue"] == {"WorkerType": "G.1X", "NumberOfWorkers": 11}
    assert "spark.executor.instances=10" in pushed["ernest"]["spark_arguments"]
    assert (
        "spark.executor.instances=10"
        in pushed["ernest_serverless"]["emr_serverless"]["sparkSubmitParameters"]
    )
    assert run.xcoms["ernest_glue.choose_config", "fallback_reason"]


def test_emr_starts_the_machines_and_the_executors_decided_on(asked):
    run = ExampleRun("example_ernest_emr")
    run.train(handle("emr", "m5.xlarge", price_per_hour=0.24))
    executors = run.decide()["executors"]

    for task in ("job_flow", "create_job_flow", "steps"):
        run.run(task)
    production = run.rendered("production")
    production.wait_for_completion = False  # moto runs no steps
    production.execute(run.context(production))

    emr = boto3.client("emr", **LOGIN)
    job_flow_id = run.xcoms["create_job_flow", "return_value"]
    groups = emr.list_instance_groups(ClusterId=job_flow_id)["InstanceGroups"]
    assert {
        (one["InstanceGroupType"], one["InstanceType"], one["RequestedInstanceCount"]) for one in groups
    } == {
        ("MASTER", "m5.xlarge", 1),
        ("CORE", "m5.xlarge", executors),
    }
    (step,) = emr.list_steps(ClusterId=job_flow_id)["Steps"]
    command = step["Config"]["Args"]
    assert command[0] == "spark-submit"
    assert f"spark.executor.instances={executors}" in command
    assert "spark.executor.memory=10240m" in command, "as in the sample runs"
    assert command[-3:] == [f"s3://my-bucket/{place}" for place in ("jobs/job.py", "input", "output")]
    assert asked["RunJobFlow"]["AutoTerminationPolicy"] == {"IdleTimeout": 900}

    run.run("end_job_flow")
    assert [one["Status"]["State"] for one in emr.list_clusters()["Clusters"]] == ["TERMINATED"]


def test_emr_serverless_gets_workers_of_the_number_and_size_decided_on(asked):
    serverless = boto3.client("emr-serverless", **LOGIN)
    application = serverless.create_application(name="jobs", releaseLabel="emr-7.5.0", type="SPARK")[
        "applicationId"
    ]
    role = "arn:aws:iam::123456789012:role/jobs"
    variables = {"emr_serverless_application": application, "emr_serverless_role": role}
    run = ExampleRun("example_ernest_emr_serverless", variables=variables)
    run.train(handle("emr", "m5.xlarge"))
    executors = run.decide()["executors"]

    run.run("job_driver")
    production = run.rendered("production")
    production.wait_for_completion = False
    production.execute(run.context(production))

    sent = asked["StartJobRun"]
    assert (sent["applicationId"], sent["executionRoleArn"]) == (application, role)
    submit = sent["jobDriver"]["sparkSubmit"]
    assert submit["entryPointArguments"] == ["s3://my-bucket/input", "s3://my-bucket/output"]
    conf = shlex.split(submit["sparkSubmitParameters"])
    assert {f"spark.executor.instances={executors}", "spark.executor.cores=4"} <= set(conf)
    assert "spark.dynamicAllocation.enabled=false" in conf


def test_glue_runs_with_a_worker_more_than_machines_were_decided_on(asked):
    iam = boto3.client("iam", **LOGIN)
    iam.create_role(RoleName="AWSGlueServiceRole", AssumeRolePolicyDocument="{}")
    run = ExampleRun("example_ernest_glue")
    run.train(standalone("m5.xlarge", cores=4, gigabytes=16))
    executors = run.decide()["executors"]

    production = run.rendered("production")
    production.hook.initialize_job(production.script_args, production.run_job_kwargs)

    assert 1 < executors <= 20
    assert asked["StartJobRun"] == {
        "JobName": "ernest-production",
        "Arguments": {"--input": "s3://my-bucket/input", "--output": "s3://my-bucket/output"},
        "WorkerType": "G.1X",
        "NumberOfWorkers": executors + 1,
    }
    assert "MaxCapacity" not in asked["CreateJob"], "which a worker type excludes"


def test_databricks_starts_a_cluster_of_the_number_and_type_decided_on(monkeypatch):
    hooks = pytest.importorskip("airflow.providers.databricks.hooks.databricks")
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(hooks.DatabricksHook, "submit_run", lambda hook, json: sent.append(json) or 7)
    monkeypatch.setattr(hooks.DatabricksHook, "get_run_page_url", lambda hook, run_id: "https://databricks/7")
    run = ExampleRun("example_ernest_databricks")
    run.train(standalone("m5d.xlarge", cores=4, gigabytes=16))
    executors = run.decide()["executors"]

    run.run("new_cluster")
    production = run.rendered("production")
    production.wait_for_termination = False
    production.execute(run.context(production))

    (request,) = sent
    assert 0 < int(request["timeout_seconds"]) <= 24 * 3600, "after which a run that hangs costs no more"
    cluster = request["new_cluster"]
    # The operator makes text of numbers, which the API takes.
    assert (int(cluster["num_workers"]), cluster["node_type_id"]) == (executors, "m5d.xlarge")
    assert "autoscale" not in cluster
    assert cluster["spark_conf"] == {"spark.locality.wait": "0s"}
    assert cluster["spark_version"]


@pytest.mark.parametrize(("speed", "expected"), [(1.0, "m5.large"), (4.0, "c5.xlarge")])
def test_ec2_starts_a_cluster_of_the_size_and_type_decided_on(speed, expected):
    run = ExampleRun("example_ernest_ec2_production", deadline_seconds=2400)
    run.train(standalone("m5.large", cores=2, gigabytes=8, price=0.1), branch="ernest.m5_large")
    dearer = standalone("c5.xlarge", cores=4, gigabytes=8, price=0.17)
    run.train(dearer, branch="ernest.c5_xlarge", speed=speed)
    decided = run.decide()

    create = run.rendered("production_cluster")
    spec = create._spec()

    assert decided["instance_type"] == spec.instance_type == expected
    assert spec.machines == decided["executors"] == decided["config"]["executors"]
    assert spec.launch_template == "ernest-spark"
    production = run.rendered("enrich_all_flights")
    assert production.conf["spark.executor.cores"] == {"m5.large": "2", "c5.xlarge": "4"}[expected]
    record = DecisionRecord.from_dict(optional_document("decision", production.decision))
    assert record.decision.config.instance_type == expected


@pytest.mark.parametrize(
    ("name", "task", "key", "trained"),
    [
        # No worker has as many cores, or it is no type of machine there.
        ("example_ernest_glue", "production", "glue", standalone("m5.large", cores=2, gigabytes=8)),
        ("example_ernest_emr", "job_flow", "emr_instance_groups", handle("emr", "lake", price_per_hour=0.2)),
    ],
)
def test_what_cannot_be_said_stops_the_task_and_not_only_its_size(name, task, key, trained):
    run = ExampleRun(name)
    run.train(trained)
    decided = run.decide()

    assert key in decided["unavailable"]
    with pytest.raises(XComNotFound):
        run.rendered(task)
