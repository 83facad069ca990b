"""Start the stand-in for Kubernetes, tell Spark of it, look at its pods, and end it."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_provider_ernest.spark.installation import find_java, find_spark_home
from tests.java_testbed import SHORT_LIVES, JavaTestbed

NAMESPACE = "default"


@dataclass(frozen=True, kw_only=True)
class Pod:
    """What the API says of a pod.

    Attributes:
        name: of the pod.
        role: "driver" or "executor", as Spark labels it; else empty.
        application_id: Spark's, of its label.
        phase: Pending, Running, Succeeded or Failed.
        node: where it was placed; empty while no node has room.
        address: its own, on the loopback; empty without a node.
        exit_code: of its container; None before it has ended.
        message: why no node has room for it; else empty.
        requests: what it asks of a node, such as {"cpu": "1", "memory": "896Mi"}.
    """

    name: str
    role: str
    application_id: str
    phase: str
    node: str
    address: str
    exit_code: int | None
    message: str
    requests: dict[str, str]


class KubernetesTestbed(JavaTestbed):
    """An API of Kubernetes whose pods are processes of this machine.

    Args:
        directory: an empty one, for configurations, logs and what the pods write.
        nodes: how many there are.
        cores_per_node: what the pods of a node may request together; limits nothing.
        memory_megabytes_per_node: likewise.
    """

    name = "kubernetes"

    def __init__(
        self,
        directory: Path,
        *,
        nodes: int = 2,
        cores_per_node: int = 2,
        memory_megabytes_per_node: int = 3072,
    ) -> None:
        super().__init__(directory)
        self.kube_config = directory / "kube_config"
        self.url = ""
        self._nodes = nodes
        self._cores = cores_per_node
        self._memory = memory_megabytes_per_node

    @property
    def master_url(self) -> str:
        """What spark-submit gets as its master."""
        return f"k8s://{self.url}"

    @property
    def process_id(self) -> int:
        assert self._process, "it was not started"
        return self._process.pid

    def start(self) -> None:
        """Start it, and return when the API answers."""
        for folder in (self.event_logs, self.spark_conf):
            folder.mkdir(parents=True)
        entrypoint = Path(__file__).with_name("entrypoint")
        self._launch(
            (self.directory, self._nodes, self._cores, f"{self._memory}Mi", entrypoint),
            heap_megabytes=256,
            environment=_image(),
        )
        assert self._process
        assert self._process.stdout
        port = self._process.stdout.readline().strip()
        if not port:
            self.stop()
            raise RuntimeError(f"the stand-in for Kubernetes did not start: {self.told()}")
        self.url = f"http://127.0.0.1:{port}"
        self._write_configurations()

    def environment(self) -> dict[str, str]:
        """Environment variables of a spark-submit that runs applications here, and nowhere else."""
        return {
            "KUBECONFIG": str(self.kube_config),
            "SPARK_CONF_DIR": str(self.spark_conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def pods(self, role: str | None = None) -> list[Pod]:
        """The pods that there are, those of a role only if one is given."""
        found = [_pod(item) for item in self.request(f"api/v1/namespaces/{NAMESPACE}/pods")["items"]]
        return [pod for pod in found if role in (None, pod.role)]

    def delete_pod(self, name: str) -> None:
        """What ``kubectl delete pod`` does; returns before its process has ended."""
        self.request(f"api/v1/namespaces/{NAMESPACE}/pods/{name}", method="DELETE")

    def log(self, pod: str) -> str:
        """What a pod has written, also one that was deleted."""
        return (self.directory / "pods" / pod / "log").read_text()

    def request(self, path: str, *, method: str = "GET", body: Mapping[str, Any] | None = None) -> Any:
        """An answer of the API, such as of ``api/v1/nodes``."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def _write_configurations(self) -> None:
        defaults = {
            "spark.kubernetes.container.image": "any",
            "spark.kubernetes.namespace": NAMESPACE,
            # A driver in a pod would look for https://kubernetes.default.svc, with the token of an account.
            "spark.kubernetes.driver.master": self.url,
            # Else new executors come every second, and a lost one is seen after 30 s.
            "spark.kubernetes.allocation.batch.delay": "200ms",
            "spark.kubernetes.executor.apiPollingInterval": "1s",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.event_logs.as_uri(),
            "spark.ui.enabled": "false",
        }
        lines = [f"{name} {value}\n" for name, value in defaults.items()]
        (self.spark_conf / "spark-defaults.conf").write_text("".join(lines))
        # Read by Spark's client as by Python's: what the developer has set up must not be looked at.
        cluster = {"name": "testbed", "cluster": {"server": self.url}}
        context = {"name": "testbed", "context": {"cluster": "testbed", "user": "", "namespace": NAMESPACE}}
        self.kube_config.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [cluster],
                    "contexts": [context],
                    "current-context": "testbed",
                }
            )
        )


def _image() -> Mapping[str, str]:
    """The environment that all containers have, whatever their image: this Spark, Java and Python."""
    return {
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
        "PATH": f"{find_java().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SPARK_HOME": str(find_spark_home()),
        "PYSPARK_PYTHON": sys.executable,
        "JDK_JAVA_OPTIONS": SHORT_LIVES,
    }


def _pod(item: Mapping[str, Any]) -> Pod:
    labels = item["metadata"].get("labels", {})
    status = item["status"]
    states = [one["state"].get("terminated", {}) for one in status.get("containerStatuses", ())]
    return Pod(
        name=item["metadata"]["name"],
        role=labels.get("spark-role", ""),
        application_id=labels.get("spark-app-selector", ""),
        phase=status["phase"],
        node=item["spec"].get("nodeName", ""),
        address=status.get("podIP", ""),
        exit_code=states[0].get("exitCode") if states else None,
        message=next((one["message"] for one in status.get("conditions", ()) if "message" in one), ""),
        requests=item["spec"]["containers"][0].get("resources", {}).get("requests", {}),
    )
