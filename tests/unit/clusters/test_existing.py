"""What is found out about a cluster that somebody else has started."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_ernest.clusters import existing
from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.existing import look_up
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError
from airflow_provider_ernest.settings import ConnectedCluster
from tests.unit.spark_masters import worker

DECLARED = {"executors": 4, "executor_cores": 8, "executor_memory_megabytes": 24000}


def found(master_url: str = "spark://127.0.0.1:7077", **spec: Any) -> ClusterHandle:
    return look_up(ConnectedCluster(spark_conn_id="spark_there", **spec), master_url)


@pytest.fixture
def usual_port(page, monkeypatch) -> None:
    """The page is where a master's page is unless somebody has put it elsewhere."""
    monkeypatch.setattr(existing, "_WEB_PORT", page.web_url.rpartition(":")[2])


def test_a_standalone_master_tells_its_machines(page):
    handle = found(web_url=page.web_url, price_per_hour=0.2, instance_type="c5.xlarge")

    assert handle.kind == "existing"
    assert handle.spark_conn_id == "spark_there"
    assert [machine.host for machine in handle.machines] == ["10.0.0.1", "10.0.0.2"]
    assert handle.cores_per_machine == 4
    assert handle.spark_conf()["spark.executor.memory"] == "8192m"
    assert handle.web_url == page.web_url
    assert handle.instance_type == "c5.xlarge"
    assert handle.price_per_hour == pytest.approx(0.2)
    assert handle.expires_at is None


@pytest.mark.usefixtures("usual_port")
def test_the_usual_port_is_tried_where_no_page_is_given(page):
    handle = found()
    assert handle.web_url == page.web_url
    assert handle.instance_type == "spark_there"

    page.state["url"] = "spark://127.0.0.1:7777"
    of_another_master = found(**DECLARED)
    assert of_another_master.web_url is None
    assert len(of_another_master.machines) == 4


def test_the_smallest_worker_counts_and_less_may_be_declared(page, caplog):
    page.state["workers"] = [worker(1), worker(2, cores=2, memory=4096)]
    handle = found(web_url=page.web_url)
    assert (handle.cores_per_machine, handle.machines[0].memory_megabytes) == (2, 4096)
    assert "differ in cores" in caplog.text

    handle = found(web_url=page.web_url, executor_cores=1, executor_memory_megabytes=2048)
    assert (handle.cores_per_machine, handle.machines[0].memory_megabytes) == (1, 2048)


@pytest.mark.parametrize("master_url", ["yarn", "k8s://https://10.0.0.9:6443"])
def test_yarn_and_kubernetes_are_declared(master_url):
    handle = found(master_url, **DECLARED)

    assert (handle.master_url, handle.web_url, len(handle.machines)) == (master_url, None, 4)
    assert handle.cores_per_machine == 8
    assert handle.spark_conf()["spark.executor.memory"] == "24000m"


@pytest.mark.parametrize("missing", DECLARED)
def test_what_nothing_tells_must_be_declared(missing):
    declared = {name: value for name, value in DECLARED.items() if name != missing}
    with pytest.raises(InvalidParameterError, match=rf"{missing}=None leaves open what.*Declare executors"):
        found("yarn", **declared)


def test_a_master_that_does_not_answer_or_has_too_few_workers_is_lost(page):
    with pytest.raises(ClusterLostError, match=r"does not answer at http://127.0.0.1:1/json/"):
        found(web_url="http://127.0.0.1:1", **DECLARED)
    with pytest.raises(ClusterLostError, match=r"has 2 workers; executors=3 were declared"):
        found(web_url=page.web_url, executors=3)


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        ({"executor_cores": 5}, r"executor_cores=5 is more than its smallest worker offers \(4\)"),
        ({"executor_memory_megabytes": 8193}, r"executor_memory_megabytes=8193 is more"),
        ({"executors": 0}, r"executors=0 is not a number of at least 1"),
    ],
)
def test_more_than_there_is_would_wait_for_ever(page, declared, named):
    with pytest.raises(InvalidParameterError, match=named):
        found(web_url=page.web_url, **declared)


@pytest.mark.parametrize(
    ("master_url", "problem"),
    [
        ("local[4]", "not a cluster that runs"),
        ("spark://10.0.0.1", "names no port"),
        ("spark://10.0.0.1:7077,10.0.0.2", "names no port"),
        ("k8s://https://10.0.0.9", "names no port"),
    ],
)
def test_a_master_that_runs_cannot_be_sized_on_is_refused(master_url, problem):
    with pytest.raises(InvalidParameterError, match=rf"spark_conn_id='spark_there' points at .*{problem}"):
        found(master_url, **DECLARED)
