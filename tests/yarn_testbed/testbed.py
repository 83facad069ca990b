"""Start the YARN of the tests, tell Spark of it, and end it."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from airflow_provider_ernest.spark.installation import find_java, find_spark_home

BUILD = Path(__file__).parents[2] / "build" / "yarn"
"""What `.ci/ensure_testbed yarn` makes."""

SMALL_QUEUE = "small"
"""A queue that never gets more than a quarter of the cluster."""

_RESOURCES = "org.apache.hadoop.yarn.util.resource"
_STOP_SECONDS = 60.0
_SHORT_LIVES = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's options for processes that live for a minute. The tests' own name classes of another class path."""


class YarnTestbed:
    """A YARN of some NodeManagers, the first on 127.0.0.2; a context manager.

    It ends with this process, whatever happens: when its standard input is closed, all is stopped.

    Args:
        directory: an empty one, for configurations, logs and what the containers write.
        nodes: how many NodeManagers.
        cores_per_node: virtual cores of each. YARN counts them and limits nothing.
        memory_megabytes_per_node: of each; counted, too.
    """

    def __init__(
        self,
        directory: Path,
        *,
        nodes: int = 3,
        cores_per_node: int = 4,
        memory_megabytes_per_node: int = 6144,
    ) -> None:
        self.directory = directory
        self.hosts = [f"127.0.0.{number + 1}" for number in range(1, nodes + 1)]
        self.event_logs = directory / "event_logs"
        self.hadoop_conf = directory / "hadoop_conf"
        """What Spark and Airflow need as HADOOP_CONF_DIR."""
        self.spark_conf = directory / "spark_conf"
        """A SPARK_CONF_DIR whose defaults suit this machine, so that applications need not name them."""
        self.web_url = ""
        """The ResourceManager's address of pages and of the REST API, such as http://127.0.0.1:43210."""
        self._cores = cores_per_node
        self._memory = memory_megabytes_per_node
        self._process: subprocess.Popen[str] | None = None

    @staticmethod
    def missing() -> str | None:
        """Why it cannot be started here; None where it can."""
        if (BUILD / "classes" / "YarnTestbed.class").is_file():
            return None
        return "needs YARN: run .ci/ensure_testbed yarn, which fetches it with Maven or says why it cannot"

    def __enter__(self) -> YarnTestbed:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and return when all NodeManagers take containers (15 s on two cores)."""
        for folder in (self.event_logs, self.hadoop_conf, self.spark_conf, self.directory / "server_conf"):
            folder.mkdir(parents=True)
        self._write_configurations()
        java = find_java().resolve()
        with (self.directory / "yarn.log").open("w") as log:
            self._process = subprocess.Popen(
                [
                    str(java),
                    "-Xmx512m",
                    "-cp",
                    f"{self.directory / 'server_conf'}:{BUILD / 'classes'}:{BUILD / 'lib'}/*",
                    "YarnTestbed",
                    str(len(self.hosts)),
                    str(self.directory / "nodes"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self.directory,
                # Ctrl-C is for pytest, which then closes the standard input.
                start_new_session=True,
                env=os.environ | {"JAVA_HOME": str(java.parents[1]), "JDK_JAVA_OPTIONS": _SHORT_LIVES},
            )
        addresses = self._answer("READY")
        self.web_url = f"http://{addresses['yarn.resourcemanager.webapp.address']}"
        waiting = {
            # A ResourceManager that has ended is looked for by its applications; the default is 15 minutes.
            "yarn.resourcemanager.connect.max-wait.ms": "5000",
            "yarn.resourcemanager.connect.retry-interval.ms": "1000",
        }
        _write_properties(self.hadoop_conf / "yarn-site.xml", addresses | waiting)

    def stop(self) -> None:
        """Stop it and all containers; nothing happens where it has ended."""
        if self._process is None:
            return
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._process = None

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
                log = (self.directory / "yarn.log").read_text()
                raise RuntimeError(f"YARN did not answer {last} but {line!r}: {log[-3000:]}")
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
                # A disk that is nearly full is none of the tests' business.
                "yarn.nodemanager.disk-health-checker.enable": "false",
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
