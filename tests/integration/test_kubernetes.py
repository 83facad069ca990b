"""Spark on a stand-in for Kubernetes (see `tests.kubernetes_testbed`), and what its event logs tell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import psutil
import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.processes import die_with_parent
from airflow_provider_ernest.spark.installation import find_spark_home
from airflow_provider_ernest.spark.submit import ErnestSubmitHook
from tests.integration.conftest import processes_mentioning, wait_until
from tests.kubernetes_testbed import NAMESPACE, KubernetesTestbed, Pod

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

APPLICATION = Path(__file__).parent / "jobs" / "count_lines.py"
SMALL = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.locality.wait": "0s",
}


class KubernetesRun:
    """A run of ``jobs/count_lines.py``, started at once.

    Args:
        kubernetes: where.
        deploy_mode: client or cluster.
        conf: Spark properties.
        arguments: the application's.
    """

    def __init__(
        self, kubernetes: KubernetesTestbed, *arguments: str, deploy_mode: str, conf: dict[str, str]
    ) -> None:
        self._kubernetes = kubernetes
        self._logs_before = set(kubernetes.event_logs.iterdir())
        self._output = kubernetes.directory / f"submit-{len(self._logs_before)}.txt"
        is_cluster = deploy_mode == "cluster"
        properties = SMALL | conf
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [
                    str(find_spark_home() / "bin" / "spark-submit"),
                    *("--master", kubernetes.master_url, "--deploy-mode", deploy_mode, "--name", "count"),
                    *(word for name, value in properties.items() for word in ("--conf", f"{name}={value}")),
                    f"local://{APPLICATION}" if is_cluster else str(APPLICATION),
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | kubernetes.environment(),
                preexec_fn=die_with_parent(),
            )

    @property
    def output(self) -> str:
        """What spark-submit has written."""
        return self._output.read_text()

    def wait_for_executors(self, number: int) -> None:
        """Wait until so many run."""

        def are_there() -> bool:
            assert self.process.poll() is None, self.output[-3000:]
            return len(running(self._kubernetes)) == number

        wait_until(are_there, seconds=60, what=f"{number} executors that run")

    def wait(self) -> int:
        """Wait for the end of spark-submit; returns its exit code."""
        wait_until(lambda: self.process.poll() is not None, seconds=120, what="the end of spark-submit")
        return self.process.returncode

    def log(self) -> EventLog:
        """Its event log."""
        (path,) = set(self._kubernetes.event_logs.iterdir()) - self._logs_before
        return read_run(path)


def running(kubernetes: KubernetesTestbed) -> list[Pod]:
    """The executors that run."""
    return [pod for pod in kubernetes.pods("executor") if pod.phase == "Running"]


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesTestbed]:
    """A stand-in for a Kubernetes of two nodes with two cores and 3 GB each."""
    if missing := KubernetesTestbed.missing():
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    directory = tmp_path_factory.mktemp("kubernetes") / "shared"
    with KubernetesTestbed(directory) as testbed:
        yield testbed
    assert not processes_mentioning(str(directory)), "nothing of it and its pods is left"


@pytest.fixture(autouse=True)
def _leave_no_pods(kubernetes):
    yield
    for pod in kubernetes.pods():
        kubernetes.delete_pod(pod.name)
    wait_until(lambda: not processes_mentioning("pods/count-"), seconds=10, what="the end of all pods")


def test_in_client_mode_the_executors_are_pods(kubernetes, input_files):
    run = KubernetesRun(
        kubernetes, str(input_files), deploy_mode="client", conf={"spark.executor.instances": "2"}
    )
    run.wait_for_executors(2)
    pods = kubernetes.pods()
    # A heap of 512 MiB and at least 384 MiB beside it.
    assert [pod.requests for pod in pods] == [{"cpu": "1", "memory": "896Mi"}] * 2
    assert len({pod.node for pod in pods}) == 2

    assert run.wait() == 0, run.output
    assert "lines: 2400" in run.output
    wait_until(
        lambda: not kubernetes.pods(), seconds=10, what="the end of the executors, which Spark deletes"
    )
    log = run.log()
    assert log.application_id == pods[0].application_id
    assert [executor.cores for executor in log.executors] == [1, 1]
    # An executor is known by its pod's address: nothing tells which of them share a node.
    assert {executor.host for executor in log.executors} == {pod.address for pod in pods}
    assert not log.lost


def test_in_cluster_mode_executors_without_room_stay_pending(kubernetes, input_files):
    run = KubernetesRun(
        kubernetes,
        str(input_files),
        deploy_mode="cluster",
        conf={
            "spark.executor.instances": "2",
            "spark.executor.cores": "2",
            # Else Spark waits 30 s for the second.
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "1s",
        },
    )
    run.wait_for_executors(1)
    (driver,) = kubernetes.pods("driver")
    pending = wait_until(
        lambda: [pod for pod in kubernetes.pods("executor") if pod.message],
        seconds=30,
        what="an executor that has no room",
    )
    # One core of a node is the driver's, two of the other are the first executor's.
    assert [(pod.phase, pod.node) for pod in pending] == [("Pending", "")]
    assert pending[0].message == "0/2 nodes are available: 2 Insufficient cpu."

    assert run.wait() == 0, run.output
    wait_until(
        lambda: (
            [(pod.name, pod.phase, pod.exit_code) for pod in kubernetes.pods()]
            == [(driver.name, "Succeeded", 0)]
        ),
        seconds=10,
        what="the end of the executors, the waiting one too",
    )
    assert "lines: 2400" in kubernetes.log(driver.name)
    assert [executor.cores for executor in run.log().executors] == [2]


def test_an_executor_whose_pod_is_deleted_is_lost_and_replaced(kubernetes, input_files):
    run = KubernetesRun(
        kubernetes,
        *(str(input_files / "part-0000[0-3]*"), "--hold-task-seconds", "4"),
        deploy_mode="client",
        conf={"spark.executor.instances": "2"},
    )
    run.wait_for_executors(2)
    deleted = kubernetes.pods("executor")[0]
    wait_until(lambda: "Starting task 1.0" in run.output, seconds=60, what="tasks on both executors")
    kubernetes.delete_pod(deleted.name)

    assert run.wait() == 0, run.output
    log = run.log()
    (lost,) = log.lost
    assert lost.host == deleted.address
    assert "deleted by a user or the framework" in lost.removed_because
    assert len(log.executors) == 3


class KubernetesClient:
    """Stands for the provider's optional import, which takes seconds in each process that has it."""

    ApiException = OSError

    def __init__(self, kubernetes: KubernetesTestbed) -> None:
        self._kubernetes = kubernetes

    def get_kube_client(self) -> Self:
        return self

    def delete_namespaced_pod(self, name: str, namespace: str, **options: Any) -> None:
        assert namespace == NAMESPACE
        self._kubernetes.delete_pod(name)


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_a_run_that_is_ended_leaves_nothing(kubernetes, input_files, monkeypatch, deploy_mode):
    monkeypatch.setattr(spark_submit, "kube_client", KubernetesClient(kubernetes), raising=False)
    kubernetes_package = SimpleNamespace(client=SimpleNamespace(V1DeleteOptions=dict))
    monkeypatch.setitem(sys.modules, "kubernetes", kubernetes_package)
    for name, value in kubernetes.environment().items():
        monkeypatch.setenv(name, value)
    host, _, port = kubernetes.master_url.rpartition(":")
    connection = {"conn_type": "spark", "host": host, "port": int(port)}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_PODS", json.dumps(connection))
    hook = ErnestSubmitHook(
        spark_conn_id="spark_pods",
        conf={
            "spark.executor.instances": "2",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
        },
        application_args=[str(input_files), "--hold-task-seconds", "60"],
        name="count",
        options={"deploy_mode": deploy_mode},
    )

    def is_at_work() -> bool:
        pods = running(kubernetes)
        return len(pods) == 2 and any("Running task" in kubernetes.log(pod.name) for pod in pods)

    def end() -> None:
        try:
            wait_until(is_at_work, seconds=60, what="a task that runs")
        finally:
            hook.end()

    with ThreadPoolExecutor() as threads:
        ending = threads.submit(end)
        with pytest.raises(SampleRunError, match="exit code"):
            hook.run(f"local://{APPLICATION}")
        ending.result()

    def is_all_gone() -> bool:
        left = kubernetes.pods() + kubernetes.request("api/v1/services")["items"]
        # A driver in client mode that is too slow to delete its executors is killed; they end by themselves.
        return not left if deploy_mode == "cluster" else not running(kubernetes)

    wait_until(is_all_gone, seconds=10, what="the end of driver and executors")


HOLD_A_POD = """
import sys, time
from pathlib import Path
from tests.kubernetes_testbed import NAMESPACE, KubernetesTestbed, Pod

with KubernetesTestbed(Path(sys.argv[1])) as kubernetes:
    container = {"name": "sleeping", "image": "any", "args": ["sleep", "600"]}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "one"}}
    pod["spec"] = {"containers": [container]}
    kubernetes.request("api/v1/namespaces/default/pods", method="POST", body=pod)
    while kubernetes.pods()[0].phase != "Running":
        time.sleep(0.1)
    print(kubernetes.process_id, flush=True)
    time.sleep(600)
"""


def is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.usefixtures("kubernetes")
@pytest.mark.parametrize("killed", ["its owner", "itself"])
def test_when_it_is_killed_its_pods_end(tmp_path, killed):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_A_POD, str(tmp_path / "killed")], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout
        stand_in = psutil.Process(int(owner.stdout.readline()))
        (pod,) = stand_in.children()
        assert pod.cmdline() == ["sleep", "600"]

        (owner if killed == "its owner" else stand_in).send_signal(signal.SIGKILL)
        wait_until(
            lambda: not (is_alive(pod) or is_alive(stand_in)), seconds=10, what="the end of both processes"
        )
        owner.kill()
