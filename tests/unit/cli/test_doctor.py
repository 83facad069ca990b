import json
from pathlib import Path

import pytest

from tests.ec2_testbed import EC2Api


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with Java and spark-submit, and no credentials of AWS."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, says in (("java", 'openjdk version "17.0.9" 2023-10-17'), ("spark-submit", "Spark")):
        (programs / name).write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        (programs / name).chmod(0o755)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "JAVA_HOME", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "PATH": f"{programs}:/usr/bin:/bin",
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return programs


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


def states(said: str) -> dict[str, str]:
    return {each["check"]: each["state"] for each in json.loads(said)["checks"]}


def test_a_host_that_has_all_is_ready(ernest, tmp_path):
    said = ernest("doctor", "--for", "local")

    assert "local: ready, as far as can be told" in said.out
    assert f"{tmp_path}/airflow/ernest/store is not there yet, and can be made" in said.out
    assert not (tmp_path / "airflow").exists(), "nothing is made by looking"


def test_without_java_each_kind_but_emr_is_not_ready_and_the_remedy_is_told(ernest, host):
    (host / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    said = ernest("doctor", "--for", "local", "--for", "existing", code=1)

    assert "local: not ready, for want of Java" in said.out
    assert "Java: Install a Java runtime of at least version 17" in said.out
    assert said.err.startswith("ernest doctor: Not ready for local, existing.")
    assert "emr: not ready, for want of boto3" in ernest("doctor").out, (
        "of nothing in particular it only tells"
    )


def test_a_host_without_spark_submit(ernest, host, monkeypatch):
    (host / "spark-submit").unlink()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert "There is no spark-submit on the PATH" in ernest("doctor", "--for", "ec2", code=1).out


def test_a_spark_submit_that_pip_installed_need_not_be_on_the_path(ernest, host):
    """As where a service starts Python by its path: the environment's programs lie beside it."""
    (host / "spark-submit").unlink()
    said = ernest("doctor", "--for", "local").out

    assert "local: ready, as far as can be told" in said
    assert "pyspark/bin/spark-submit; a stock SparkSubmitOperator finds it on the PATH only" in said


def test_a_store_that_cannot_be_written_to_is_told(ernest, tmp_path):
    (tmp_path / "file").write_text("")
    said = ernest("doctor", "--for", "local", "--store", tmp_path / "file" / "store", code=1)

    assert "local: not ready, for want of store" in said.out
    assert "AIRFLOW__ERNEST__STORE" in said.out


def test_nothing_is_left_in_the_store(ernest, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    ernest("doctor", "--for", "local", "--store", store)

    assert [*store.iterdir()] == []


def test_the_master_of_the_connection_is_told(ernest, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_PROD", "spark://spark%3A%2F%2Fmaster:7077")
    said = ernest("doctor", "--for", "existing", "--connection", "spark_prod")
    assert "spark_prod is spark://master:7077" in said.out

    said = ernest("doctor", "--for", "existing", "--connection", "spark_none", code=1)
    assert "There is no Airflow connection 'spark_none'" in said.out


@pytest.mark.usefixtures("credentials")
def test_rights_on_ec2_are_judged_by_aws_and_nothing_is_started(ernest, api: EC2Api):
    asked = ("doctor", "--for", "ec2", "--region", "us-east-1", "--endpoint-url", api.endpoint_url)
    found = states(ernest(*asked, "--format", "json").out)

    assert found["credentials"] == found["ec2:DescribeInstances"] == found["ec2:DescribeSubnets"] == "ok"
    assert not api.live_instances()


@pytest.mark.usefixtures("credentials")
def test_a_right_that_is_missing_is_named_with_the_policy(ernest, api: EC2Api):
    asked = ("doctor", "--for", "ec2", "--region", "us-east-1", "--endpoint-url", api.endpoint_url)
    api.fail("DescribeSubnets", code="UnauthorizedOperation", status=403)
    said = ernest(*asked, code=1)

    assert "ec2: not ready, for want of ec2:DescribeSubnets" in said.out
    assert "DescribeSubnets in us-east-1: UnauthorizedOperation" in said.out
    assert "Allow what docs/iam_policy.json of this package lists." in said.out


def test_without_credentials_no_right_is_asked_for(ernest):
    said = ernest("doctor", "--for", "ec2", "--region", "eu-west-1", code=1)

    assert "boto3 finds no credentials" in said.out
    assert "ec2:DescribeSubnets" not in said.out
    assert "boto3, credentials" not in said.out
