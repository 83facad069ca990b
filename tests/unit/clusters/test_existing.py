"""What is found out about a cluster that somebody else has started."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_ernest.clusters import existing
from airflow_provider_ernest.clusters.base import ClusterHandle, reopen
from airflow_provider_ernest.clusters.existing import ExistingCluster
from airflow_provider_ernest.exceptions import ClusterError, ClusterLostError, InvalidParameterError
from airflow_provider_ernest.settings import ConnectedCluster


def worker(number: int, *, cores: int = 4, memory: int = 8192, state: str = "ALIVE") -> dict[str, Any]:
    return {
        "id": f"worker-{number}",
        "host": f"10.0.0.{number}",
        "port": 7078,
        "cores": cores,
        "memory": memory,
        "state": state,
    }


class Page:
    """A standalone master's page on a port of this host."""

    def __init__(self) -> None:
        self.workers = [worker(1), worker(2), worker(3, state="DEAD")]
        self.master_url = "spark://127.0.0.1:7077"
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                state = {"url": page.master_url, "workers": page.workers, "activeapps": []}
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(state).encode())

            def log_message(self, *_: Any) -> None: ...

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.web_url = f"http://127.0.0.1:{self.port}"


@pytest.fixture
def page() -> Iterator[Page]:
    page = Page()
    thread = threading.Thread(target=page.server.serve_forever, args=(0.05,))
    thread.start()
    yield page
    page.server.shutdown()
    thread.join()
    page.server.server_close()


def found(master_url: str = "spark://127.0.0.1:7077", **spec: Any) -> ClusterHandle:
    return ExistingCluster(ConnectedCluster(spark_conn_id="spark_there", **spec), master_url).start()


DECLARED = {"machines": 4, "cores_per_machine": 8, "memory_megabytes_per_machine": 24000}


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


def test_the_usual_port_is_tried_where_no_page_is_given(page, monkeypatch):
    monkeypatch.setattr(existing, "_WEB_PORT", page.port)
    handle = found()
    assert handle.web_url == page.web_url
    assert handle.instance_type == "spark_there"


def test_another_masters_page_is_not_taken_for_its_own(page, monkeypatch):
    monkeypatch.setattr(existing, "_WEB_PORT", page.port)
    page.master_url = "spark://127.0.0.1:7777"
    handle = found(**DECLARED)
    assert handle.web_url is None
    assert len(handle.machines) == 4


def test_the_smallest_worker_counts(page, caplog):
    page.workers = [worker(1), worker(2, cores=2, memory=4096)]
    handle = found(web_url=page.web_url)
    assert handle.cores_per_machine == 2
    assert handle.spark_conf()["spark.executor.memory"] == "4096m"
    assert "differ in cores" in caplog.text


@pytest.mark.parametrize(
    "master_url",
    [
        "spark://10.0.0.1",
        "spark://",
        "spark://10.0.0.1:",
        "spark://:7077",
        "spark://10.0.0.1:port",
        "spark://10.0.0.1:7077,10.0.0.2",
        "k8s://https://10.0.0.9",
        "k8s://10.0.0.9",
    ],
)
def test_a_master_without_a_port_is_refused(master_url):
    with pytest.raises(InvalidParameterError, match=r"spark_conn_id='spark_there' points at .*names no port"):
        found(master_url=master_url, **DECLARED)


@pytest.mark.parametrize("master_url", ["yarn", "k8s://https://10.0.0.9:6443"])
def test_yarn_and_kubernetes_are_declared(master_url):
    handle = found(master_url=master_url, **DECLARED)

    assert handle.master_url == master_url
    assert handle.web_url is None
    assert len(handle.machines) == 4
    assert handle.cores_per_machine == 8
    assert handle.spark_conf()["spark.executor.memory"] == "24000m"


@pytest.mark.parametrize("missing", DECLARED)
def test_what_nothing_tells_must_be_declared(missing):
    declared = {name: value for name, value in DECLARED.items() if name != missing}
    with pytest.raises(InvalidParameterError, match=rf"{missing}=None leaves open what.*Declare machines"):
        found(master_url="yarn", **declared)


def test_a_given_page_that_does_not_answer_is_an_error():
    with pytest.raises(ClusterLostError, match=r"does not answer at http://127.0.0.1:1/json/"):
        found(web_url="http://127.0.0.1:1", **DECLARED)


def test_fewer_machines_than_declared_are_an_error(page):
    with pytest.raises(ClusterLostError, match=r"counts on 2 workers; machines=3 were declared"):
        found(web_url=page.web_url, machines=3)


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        ({"cores_per_machine": 5}, r"cores_per_machine=5 is more than its smallest worker offers \(4\)"),
        ({"memory_megabytes_per_machine": 8193}, r"memory_megabytes_per_machine=8193 is more"),
        ({"machines": 0}, r"machines=0 is not a number of at least 1"),
    ],
)
def test_more_than_there_is_would_wait_for_ever(page, declared, named):
    with pytest.raises(InvalidParameterError, match=named):
        found(web_url=page.web_url, **declared)


def test_less_than_there_is_may_be_declared(page):
    handle = found(web_url=page.web_url, cores_per_machine=2, memory_megabytes_per_machine=2048)
    assert (handle.cores_per_machine, handle.machines[0].memory_megabytes) == (2, 2048)


@pytest.mark.parametrize("master_url", ["local[4]", "mesos://10.0.0.1:5050", "spark_there"])
def test_what_is_no_cluster_is_refused(master_url):
    with pytest.raises(InvalidParameterError, match=r"spark_conn_id='spark_there' points at"):
        found(master_url=master_url)


def test_it_is_never_ended(page):
    handle = found(web_url=page.web_url)
    assert "stays" in reopen(handle).terminate()
    assert "stays" in ExistingCluster.from_handle(handle).terminate()


def test_another_kind_of_handle_is_refused(cluster_handle):
    with pytest.raises(ClusterError, match="'local' is none that was there already"):
        ExistingCluster.from_handle(cluster_handle)
