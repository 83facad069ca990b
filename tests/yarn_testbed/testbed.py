"""Start the YARN of the tests, tell Spark of it, and end it."""

from __future__ import annotations

import getpass
import json
import os
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from airflow_provider_ernest.spark.installation import find_java, find_spark_home
from tests.java_testbed import SHORT_LIVES, JavaTestbed

SMALL_QUEUE = "small"
"""A queue that never gets more than a quarter of the cluster."""

_RESOURCES = "org.apache.hadoop.yarn.util.resource"


class YarnTestbed(JavaTestbed):
    """A YARN of some NodeManagers, the first on 127.0.0.2.

    Args:
        directory: an empty one, for configurations, logs and what the containers write.
        nodes: how many NodeManagers.
        cores_per_node: virtual cores of each. YARN counts them and limits nothing.
        memory_megabytes_per_node: of each; counted, too.
    """

    name = "yarn"

    def __init__(
        self,
        directory: Path,
        *,
        nodes: int = 3,
        cores_per_node: int = 4,
        memory_megabytes_per_node: int = 6144,
    ) -> None:
        super().__init__(directory)
        self.hosts = [f"127.0.0.{number + 1}" for number in range(1, nodes + 1)]
        self.hadoop_conf = directory / "hadoop_conf"
        """What Spark and Airflow need as HADOOP_CONF_DIR."""
        self.web_url = ""
        """The ResourceManager's address of pages and of the REST API, such as http://127.0.0.1:43210."""
        self._cores = cores_per_node
        self._memory = memory_megabytes_per_node

    def start(self) -> None:
        """Start it, and return when all NodeManagers take containers (15 s on two cores)."""
        server_conf = self.directory / "server_conf"
        for folder in (self.event_logs, self.hadoop_conf, self.spark_conf, server_conf):
            folder.mkdir(parents=True)
        self._write_configurations()
        java_home = find_java().resolve().parents[1]
        self._launch(
            (len(self.hosts), self.directory / "nodes"),
            heap_megabytes=512,
            environment=os.environ | {"JAVA_HOME": str(java_home), "JDK_JAVA_OPTIONS": SHORT_LIVES},
            configuration=server_conf,
        )
        addresses = self._answer("READY")
        self.web_url = f"http://{addresses['yarn.resourcemanager.webapp.address']}"
        waiting = {
            # A ResourceManager that has ended is looked for by its applications; the default is 15 minutes.
            "yarn.resourcemanager.connect.max-wait.ms": "5000",
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
        }
        _write_properties(self.hadoop_conf / "yarn-site.xml", addresses | waiting)

    def environment(self) -> Mapping[str, str]:
        """Environment variables by which spark-submit finds this YARN."""
        return {
            "HADOOP_CONF_DIR": str(self.hadoop_conf),
            "YARN_CONF_DIR": str(self.hadoop_conf),
            "SPARK_CONF_DIR": str(self.spark_conf),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def stop_node(self, number: int) -> None:
        """Stop the NodeManager of ``hosts[number - 1]``, with its containers; returns when YARN knows."""
        self._command(f"stop {number}")

    def start_node(self, number: int) -> None:
        """Start a stopped one anew; returns when it takes containers."""
        self._command(f"start {number}")

    def get(self, path: str) -> Any:
        """An answer of the ResourceManager's REST API, such as of ``apps``."""
        with urllib.request.urlopen(f"{self.web_url}/ws/v1/cluster/{path}") as answer:
            return json.load(answer)

    def kill(self, application: str) -> None:
        """What ``yarn application -kill`` does; returns before the application has ended."""
        request = urllib.request.Request(
            f"{self.web_url}/ws/v1/cluster/apps/{application}/state",
            data=json.dumps({"state": "KILLED"}).encode(),
            headers={"Content-Type": "application/json"},
            method="PUT",
        )
        with urllib.request.urlopen(request):
            pass

    def _command(self, line: str) -> None:
        assert self._process
        assert self._process.stdin
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        self._answer(f"DONE {line}")

    def _answer(self, last: str) -> dict[str, str]:
        """Read properties until a line says that all is done."""
        assert self._process
        assert self._process.stdout
        properties = {}
        while (line := self._process.stdout.readline().strip()) != last:
            name, is_property, value = line.partition("=")
            if not is_property:
                self.stop()
                raise RuntimeError(f"YARN did not answer {last} but {line!r}: {self.told()}")
            properties[name] = value
        return properties

    def _write_configurations(self) -> None:
        server = self.directory / "server_conf"
        spark = find_spark_home()
        core = {
            "fs.defaultFS": "file:///",
            "hadoop.tmp.dir": str(self.directory / "tmp"),
            "hadoop.http.staticuser.user": getpass.getuser(),
        }
        for folder in (server, self.hadoop_conf):
            _write_properties(folder / "core-site.xml", core)
        _write_properties(
            server / "yarn-site.xml",
            {
                "yarn.nodemanager.resource.memory-mb": str(self._memory),
                "yarn.nodemanager.resource.cpu-vcores": str(self._cores),
                "yarn.nodemanager.resource.detect-hardware-capabilities": "false",
                "yarn.nodemanager.vmem-check-enabled": "false",
                "yarn.nodemanager.pmem-check-enabled": "false",
                # A disk that is nearly full is none of the tests' business. Even unchecked, at its start a
                # NodeManager would take no folder on a disk that is 90 % full.
                "yarn.nodemanager.disk-health-checker.enable": "false",
                "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
                # Stopping waits until the containers' logs are deleted, 10 s at most.
                "yarn.nodemanager.log.retain-seconds": "1",
                "yarn.nodemanager.process-kill-wait.ms": "500",
                "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH,LANG,TZ,JDK_JAVA_OPTIONS",
                "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
                "yarn.scheduler.minimum-allocation-mb": "128",
            },
        )
        _write_properties(
            server / "capacity-scheduler.xml",
            {
                # The default counts memory only.
                "yarn.scheduler.capacity.resource-calculator": f"{_RESOURCES}.DominantResourceCalculator",
                "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
                "yarn.scheduler.capacity.root.queues": f"default,{SMALL_QUEUE}",
                "yarn.scheduler.capacity.root.default.capacity": "75",
                "yarn.scheduler.capacity.root.default.user-limit-factor": "10",
                f"yarn.scheduler.capacity.root.{SMALL_QUEUE}.capacity": "25",
                f"yarn.scheduler.capacity.root.{SMALL_QUEUE}.maximum-capacity": "25",
                f"yarn.scheduler.capacity.root.{SMALL_QUEUE}.user-limit-factor": "10",
            },
        )
        (server / "log4j.properties").write_text(
            "log4j.rootLogger=WARN,stderr\n"
            "log4j.appender.stderr=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.stderr.target=System.err\n"
            "log4j.appender.stderr.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{1} %m%n\n"
        )
        defaults = {
            # Else the archives of Spark are copied for each application: 400 MB.
            "spark.yarn.jars": f"local:{spark}/jars/*",
            "spark.yarn.populateHadoopClasspath": "false",
            "spark.yarn.stagingDir": (self.directory / "staging").as_uri(),
            "spark.yarn.submit.file.replication": "1",
            "spark.yarn.report.interval": "200ms",
            # What begins with SPARK is handed on to the executors. They bind to their NodeManager's address.
            "spark.yarn.appMasterEnv.SPARK_HOME": str(spark),
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self.event_logs.as_uri(),
            "spark.ui.enabled": "false",
        }
        lines = [f"{name} {value}\n" for name, value in defaults.items()]
        (self.spark_conf / "spark-defaults.conf").write_text("".join(lines))


def _write_properties(file: Path, properties: Mapping[str, str]) -> None:
    root = ElementTree.Element("configuration")
    for name, value in properties.items():
        entry = ElementTree.SubElement(root, "property")
        ElementTree.SubElement(entry, "name").text = name
        ElementTree.SubElement(entry, "value").text = value
    ElementTree.ElementTree(root).write(file, encoding="unicode")
