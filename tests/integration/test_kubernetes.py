"""Spark on a stand-in for Kubernetes (see `tests.kubernetes_testbed`), and what its event logs tell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Self
from urllib.error import HTTPError

import psutil
import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.history.observations import past_run
from airflow_provider_ernest.processes import die_with_parent
from airflow_provider_ernest.spark.installation import find_spark_home
from airflow_provider_ernest.spark.submit import ErnestSubmitHook
from tests.integration.conftest import shared_testbed, wait_until
from tests.integration.sample_runs import APPLICATION, SMALL, SampleRun
from tests.kubernetes_testbed import NAMESPACE, KubernetesTestbed, Pod

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


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
    yield from shared_testbed(KubernetesTestbed, tmp_path_factory.mktemp("kubernetes") / "shared")


@pytest.fixture(autouse=True)
def _leave_no_pods(kubernetes):
    yield
    for pod in kubernetes.pods():
        # It may have gone meanwhile.
        with suppress(HTTPError):
            kubernetes.delete_pod(pod.name)
    wait_until(lambda: not kubernetes.pods(), seconds=10, what="the end of all pods")


@pytest.fixture
def connection(kubernetes, tmp_path, monkeypatch):
    """The Airflow connection ``spark_pods``, and all else that a task needs to submit there."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    for name, value in kubernetes.environment().items():
        monkeypatch.setenv(name, value)
    host, _, port = kubernetes.master_url.rpartition(":")
    told = {"conn_type": "spark", "host": host, "port": int(port)}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_PODS", json.dumps(told))
    monkeypatch.setattr(spark_submit, "kube_client", KubernetesClient(kubernetes), raising=False)
    package = SimpleNamespace(client=SimpleNamespace(V1DeleteOptions=dict))
    monkeypatch.setitem(sys.modules, "kubernetes", package)
    return "spark_pods"


class KubernetesClient:
    """Stands for the provider's optional import, which takes seconds in each process that has it."""

    ApiException = OSError

    def __init__(self, kubernetes: KubernetesTestbed) -> None:
        self._kubernetes = kubernetes

    def get_kube_client(self) -> Self:
        return self

    def read_namespaced_pod(self, name: str, namespace: str) -> Any:
        return self._kubernetes.request(f"api/v1/namespaces/{namespace}/pods/{name}")

    def delete_namespaced_pod(self, name: str, namespace: str, **options: Any) -> None:
        assert namespace == NAMESPACE
        self._kubernetes.delete_pod(name)


def test_a_sample_run_has_its_executors_in_pods(kubernetes, connection, input_files):
    observation = SampleRun(connection, input_files, executors=2).execute()

    assert observation.executors == 2
    assert observation.metrics.tasks == 6
    log = read_run(observation.event_log)
    assert [executor.cores for executor in log.executors] == [1, 1]
    run = past_run(log, event_log=str(observation.event_log))
    assert (run.executors, run.executor_cores, run.failure) == (2, 1, "")
    # An executor tells the address of its pod, and no log tells which pods share a node.
    assert len({executor.host for executor in log.executors}) == 2
    assert (run.hosts, run.executors_per_machine) == (0, None)
    wait_until(lambda: not kubernetes.pods(), seconds=10, what="the end of the executors")


def test_a_sample_run_counts_on_the_executors_that_came_in_time(kubernetes, connection, input_files):
    run = SampleRun(connection, input_files, executors=3, cores=2, wait_timeout_seconds=90)

    observation = run.execute()
    assert observation.executors == 2, "a node has room for one"
    assert observation.waited_seconds > 0, "for the third, which is no part of its time"


def test_a_sample_run_without_room_for_any_executor_is_ended(kubernetes, connection, input_files):
    run = SampleRun(connection, input_files, executors=2, cores=3, wait_timeout_seconds=30)
    with pytest.raises(SampleRunError, match="did not get its 6 cores within 30 s"):
        run.execute()

    def is_any_left() -> bool:
        # A driver that is too slow to delete its executors is killed: these end by themselves.
        return any(pod.phase in ("Pending", "Running") for pod in kubernetes.pods())

    wait_until(lambda: not is_any_left(), seconds=10, what="the end of the executors, the waiting one too")


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
    # The heap and at least 384 MiB beside it.
    assert driver.requests == {"cpu": "1", "memory": "896Mi"}
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


def test_a_retry_deletes_the_driver_that_a_killed_try_has_left_and_runs_anew(
    kubernetes, connection, input_files
):
    sampled = SampleRun(
        connection,
        input_files,
        executors=1,
        application=f"local://{APPLICATION}",
        cluster={"event_log_uri": str(kubernetes.event_logs)},
        submit={"deploy_mode": "cluster"},
    )
    left = KubernetesRun(
        kubernetes,
        *(str(input_files), "--hold-task-seconds", "120"),
        deploy_mode="cluster",
        conf={
            "spark.executor.instances": "1",
            "spark.kubernetes.driver.pod.name": f"ernest-{sampled.owner}-driver",
        },
    )
    left.wait_for_executors(1)
    left.process.kill()
    (driver,) = kubernetes.pods("driver")

    observation = sampled.execute()

    assert observation.executors == 1
    (another,) = kubernetes.pods("driver")
    assert (another.name, another.phase) == (driver.name, "Succeeded")
    assert another.application_id == observation.application_id != driver.application_id


def test_a_driver_in_a_pod_ends_with_its_task(kubernetes, connection, input_files):
    hook = ErnestSubmitHook(
        spark_conn_id=connection,
        conf={"spark.executor.instances": "2", **SMALL},
        application_args=[str(input_files), "--hold-task-seconds", "60"],
        name="count",
        options={"deploy_mode": "cluster"},
    )

    def end() -> None:
        try:
            wait_until(lambda: len(running(kubernetes)) == 2, seconds=60, what="executors that run")
        finally:
            hook.end()

    with ThreadPoolExecutor() as threads:
        ending = threads.submit(end)
        with pytest.raises(SampleRunError, match="exit code"):
            hook.run(f"local://{APPLICATION}")
        ending.result()

    wait_until(lambda: not kubernetes.pods(), seconds=10, what="the end of driver and executors")
    assert not kubernetes.request("api/v1/services")["items"]


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
