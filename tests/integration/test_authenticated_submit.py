"""Submission to a real Spark master and worker that demand a shared secret."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.probe import probe_bandwidth
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.processes import die_with_parent
from airflow_provider_ernest.spark.installation import find_spark_home
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.spark.submit import ErnestSubmitHook, driver_conf
from tests.integration.conftest import processes_mentioning, wait_until

pytestmark = pytest.mark.spark

SECRET = "correct horse\\battery=staple #1"
WORKER_HOST = "127.0.1.9"
CONF = {
    "spark.ui.enabled": "false",
    "spark.cores.max": "1",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}

APPLICATION = """\
import sys
from pyspark import SparkContext
context = SparkContext()
conf = context.getConf()
assert conf.get("spark.authenticate") == "true"
marks = conf.get("spark.ernest.default", "none"), conf.get("spark.ernest.own", "none")
print("total", context.parallelize(range(100), 2).sum(), "marks", *marks, flush=True)
context.stop()
"""


@dataclass(frozen=True)
class Daemons:
    master_url: str
    processes: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemons]:
    """A master and a worker of one core with authentication, on free loopback ports."""
    folder = tmp_path_factory.mktemp("authenticated")
    properties = folder / "daemons.conf"
    escaped = SECRET.replace("\\", "\\\\")
    properties.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {escaped}\nspark.master.rest.enabled false\n"
    )
    spark_home = find_spark_home()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK")} | {
        "SPARK_HOME": str(spark_home),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(kind: str, host: str, *arguments: str) -> Path:
        log_file = folder / f"{kind}.log"
        words = [str(spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
        words += [
            "--host",
            host,
            "--port",
            "0",
            "--webui-port",
            "0",
            "--properties-file",
            str(properties),
            *arguments,
        ]
        with log_file.open("wb") as output:
            started.append(
                subprocess.Popen(
                    words,
                    env={**environment, "SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host},
                    cwd=folder,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    preexec_fn=die_with_parent(),
                )
            )
        return log_file

    try:
        master_log = start("Master", "127.0.0.1")
        found = wait_until(
            lambda: re.search(r"Starting Spark master at (spark://\S+)", master_log.read_text()),
            seconds=60,
            what="the master",
        )
        worker = ["--cores", "1", "--memory", "512m", "--work-dir", str(folder / "work"), found[1]]
        worker_log = start("Worker", WORKER_HOST, *worker)
        wait_until(
            lambda: "Successfully registered with master" in worker_log.read_text(),
            seconds=60,
            what="the worker's registration",
        )
        yield Daemons(found[1], started)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(30)
    for log_file in folder.glob("*.log"):
        assert SECRET not in log_file.read_text()


@pytest.fixture(autouse=True)
def private_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the hook's temporary files go in these tests."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    return folder


@pytest.fixture
def application(tmp_path: Path) -> Path:
    file = tmp_path / "application.py"
    file.write_text(APPLICATION)
    return file


def submission(daemons: Daemons, secret: str, **options: str) -> ErnestSubmitHook:
    return ErnestSubmitHook(
        master_url=daemons.master_url,
        conf={**CONF, **driver_conf(daemons.master_url)},
        application_args=[],
        name="authenticated",
        options=options,
        secret=secret,
    )


class Onlooker:
    """Sees what every user of the host may see: command lines, and the modes of files."""

    def __init__(self, folder: Path) -> None:
        self.command_lines: set[str] = set()
        self.modes: set[tuple[str, int]] = set()
        self._folder = folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Onlooker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.2):
            for process in psutil.process_iter():
                try:
                    self.command_lines.add(" ".join(process.cmdline()))
                except psutil.Error:
                    continue
            for path in self._folder.glob("ernest-*/*"):
                try:
                    self.modes.add(("directory", path.stat().st_mode & 0o777))
                    self.modes.add(("file", (path / "spark.conf").stat().st_mode & 0o777))
                except FileNotFoundError:
                    continue


def test_the_secret_reaches_spark_and_nobody_else(
    daemons, application, tmp_path, monkeypatch, capfd, private_temporary_files
):
    """What spark-defaults.conf says is still heard, and a wrong secret in it is overruled."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    defaults = "spark.ernest.default kept\nspark.authenticate.secret of-another-cluster\nspark.odd trailing\\"
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    hook = submission(daemons, SECRET)

    with Onlooker(private_temporary_files) as onlooker:
        hook.run(str(application))
    log = "".join(capfd.readouterr())

    assert "total 4950 marks kept none" in log
    assert any(str(application) in line for line in onlooker.command_lines), "he did look"
    assert onlooker.modes == {("directory", 0o700), ("file", 0o600)}
    for line in [*onlooker.command_lines, log]:
        assert SECRET not in line
        assert "battery" not in line
    assert not list(private_temporary_files.glob("ernest-*/*")), "nothing is left"


def test_the_probe_works_on_an_authenticated_cluster_of_a_single_machine(daemons):
    handle = ClusterHandle(
        kind="ec2",
        name="authenticated",
        master_url=daemons.master_url,
        machines=(Machine(cores=1, memory_megabytes=512),),
        authenticates=True,
    )
    bandwidth = probe_bandwidth(
        handle,
        rounds=1,
        interval_seconds=0,
        secret=SECRET,
        timeout_seconds=120,
    )
    (measured,) = bandwidth.values()
    assert list(bandwidth) == [WORKER_HOST]
    assert measured.network_gigabytes_per_second is None
    assert measured.score == 1.0


def test_a_wrong_secret_fails_in_time(daemons, application, tmp_path, capfd, private_temporary_files):
    own = tmp_path / "own.conf"
    own.write_text("spark.ernest.own kept\n")
    hook = submission(daemons, "incorrect-horse", properties_file=str(own))
    with pytest.raises(SampleRunError, match="the cluster refused its shared secret"):
        hook.run(str(application))
    log = "".join(capfd.readouterr())

    assert "total 4950" not in log
    assert "incorrect-horse" not in log
    assert not processes_mentioning(str(application))
    assert not list(private_temporary_files.glob("ernest-*/*"))
