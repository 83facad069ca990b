from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.ec2 import cluster
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError, StoreError
from airflow_provider_ernest.hooks.aws import aws_clients
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.task_context import (
    cluster_identity,
    cluster_secret,
    event_logs,
    folder,
    origin_of,
    path_name,
)
from tests import examples


def test_attempts_of_one_task_never_share_a_folder(ti, context):
    first = event_logs(context)
    ti.try_number = 2
    second = event_logs(context)
    ti.map_index = 3

    assert first.is_dir()
    assert second.is_dir()
    assert len({first, second, event_logs(context)}) == 3
    below = first.relative_to(folder("event_logs"))
    assert not set(str(below)) & set(":+ %"), "which Hadoop refuses"


def test_different_run_ids_that_look_alike_stay_apart():
    assert path_name("a:b") != path_name("a+b")
    assert path_name("../../etc") not in ("..", "../../etc")
    assert "/" not in path_name("../../etc")
    assert path_name("plain_name-1") == "plain_name-1"


def test_store_lies_below_airflows_home_unless_configured(context, tmp_path, monkeypatch):
    assert store_root() == tmp_path / "airflow" / "ernest" / "store"
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "elsewhere"))
    assert store_root() == tmp_path / "elsewhere"
    assert store_root("/given") == Path("/given")
    assert str(store_root("file:///shared/models")) == "file:///shared/models"


@pytest.mark.parametrize("root", ["nonsense://models", "~nobody-of-this-name/models"])
def test_a_store_of_no_known_kind_is_a_store_error(root):
    with pytest.raises(StoreError, match=rf"{root}.* cannot be opened"):
        store_root(root)


def test_a_task_that_is_not_mapped_has_no_index(ti, context):
    ti.map_index = None
    assert origin_of(context).map_index == -1


HANDLE = examples.cluster(1, authenticates=True, aws_conn_id="lake", region="eu-west-1")


@pytest.fixture(autouse=True)
def connection(monkeypatch: pytest.MonkeyPatch):
    """The connection "lake"; nothing of the developer's own AWS configuration."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AIRFLOW_CONN_AWS_DEFAULT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")

    def set_up(**extra) -> None:
        fields = {"conn_type": "aws", "login": "testing", "password": "testing"}
        extra = {"region_name": "eu-west-1", "endpoint_url": "http://127.0.0.1:9", **extra}
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps({**fields, "extra": extra}))

    set_up()
    return set_up


def test_clients_are_those_of_the_connection_and_made_once():
    clients = aws_clients("lake", None)
    ec2 = clients("ec2")

    assert (ec2.meta.region_name, ec2.meta.endpoint_url) == ("eu-west-1", "http://127.0.0.1:9")
    assert clients("ec2") is ec2
    assert clients("ssm") is not ec2
    assert ec2.meta.config.retries["mode"] == "standard"


def test_the_given_region_wins_and_so_do_the_connections_own_settings(connection):
    connection(config_kwargs={"connect_timeout": 33, "retries": {"mode": "adaptive", "max_attempts": 2}})
    ec2 = aws_clients("lake", "us-west-2")("ec2")

    assert ec2.meta.region_name == "us-west-2"
    assert ec2.meta.config.connect_timeout == 33
    assert ec2.meta.config.retries["mode"] == "adaptive"


def test_a_connection_that_is_absent_is_no_reason_to_take_other_credentials():
    clients = aws_clients("absent", "eu-west-1")
    with pytest.raises(MissingResourceError, match=r"no Airflow connection 'absent'.*Add it"):
        clients("ec2")


@pytest.mark.parametrize("aws_conn_id", ["aws_default", None])
def test_boto3_finds_the_credentials_where_airflow_has_none(aws_conn_id):
    assert aws_clients(aws_conn_id, "eu-west-1")("ec2").meta.region_name == "eu-west-1"


def test_a_region_that_nothing_tells_is_asked_for(connection):
    connection(region_name=None)
    with pytest.raises(InvalidParameterError, match=r"region_name=None .* 'lake'"):
        aws_clients("lake", None)("ec2")


def test_without_the_amazon_provider_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", None)
    with pytest.raises(MissingResourceError, match=r"pip install 'airflow-provider-ernest\[ec2\]'"):
        aws_clients("lake", None)("ec2")


def test_a_secret_is_fetched_where_the_cluster_is_and_masked_in_logs(monkeypatch):
    from tests.airflow_versions import redact

    asked = []

    def fetch(ec2, cluster_name):
        asked.append((ec2.meta.region_name, cluster_name))
        return "0f" * 32

    monkeypatch.setattr(cluster, "cluster_secret", fetch)
    assert cluster_secret(HANDLE) == "0f" * 32
    assert asked == [("eu-west-1", "ernest-1")]
    assert "0f" * 32 not in str(redact(f"secret {'0f' * 32}"))


def test_machines_belong_to_the_task_instance(context, ti):
    one = cluster_identity(context)
    assert (one.dag_id, one.task_id, one.map_index, one.try_number) == (ti.dag_id, ti.task_id, -1, 1)
    ti.map_index, ti.try_number = 3, 2
    other = cluster_identity(context)
    assert (other.map_index, other.try_number) == (3, 2)
    assert other.cluster_name != one.cluster_name


def test_requests_are_not_logged_however_talkative_airflow_is(api, context, caplog):
    # At level DEBUG botocore logs requests and answers whole, user-data with the secret among them.
    caplog.set_level(logging.DEBUG)
    logging.getLogger("botocore").setLevel(logging.NOTSET)
    aws_clients("aws_default", None)("ec2").describe_instances()
    assert not [record for record in caplog.records if record.name.startswith("botocore.endpoint")]


def test_a_deployment_that_nobody_named_is_made_once_in_the_store(context, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "store"))
    made = cluster_identity(context).deployment
    assert cluster_identity(context).deployment == made
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "another"))
    assert cluster_identity(context).deployment != made
    monkeypatch.setenv("AIRFLOW__ERNEST__DEPLOYMENT", "prod-eu")
    assert cluster_identity(context).cluster_name.startswith("ernest-prod-eu-")


@pytest.mark.parametrize("named", ["*", "prod?", "a b", "-x", "x" * 41])
def test_a_deployment_that_filters_would_take_for_a_pattern_is_refused(context, monkeypatch, named):
    monkeypatch.setenv("AIRFLOW__ERNEST__DEPLOYMENT", named)
    with pytest.raises(InvalidParameterError, match=r"deployment=.* cannot be the id of a deployment"):
        cluster_identity(context)
