"""The code of a job has no rights on the machines: it cannot keep them alive beyond their time to live."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster, cluster_secret
from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.clusters.ec2.readiness import Means
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.spark.submit import ErnestSubmitHook, driver_conf
from tests.ec2_testbed import Testbed
from tests.integration.conftest import PATIENCE, processes_mentioning, wait_until

pytestmark = [
    pytest.mark.skipif(Testbed.missing() is not None, reason=Testbed.missing() or ""),
    pytest.mark.spark,
]

USER = "ernest"
TIME_TO_LIVE_MINUTES = 120  # of a second each
SHUTDOWN_SECONDS = 30  # until the hosts have shut down, on a busy machine
PER_BOOT = "/var/lib/cloud/scripts/per-boot/ernest-time-to-live"
# Stands for sudo, su and all else that makes root of other users.
SETUP_SCRIPT = "install -m 4755 /bin/bash /opt/becomes-root\n"

# Each works for root.
ATTACKS = [
    "shutdown -c",
    "rm /run/shutdown-scheduled",
    "mv /run/shutdown-scheduled /run/elsewhere",
    f"echo >>{PER_BOOT}",
    f"rm {PER_BOOT}",
    "rm /usr/sbin/shutdown",
    "echo >>/opt/ernest/spark.log",
    "kill -STOP 1",
    "/opt/becomes-root -p -c 'shutdown -c'",
    "/opt/becomes-root -p -c '[ $EUID = 0 ]'",
    "sudo -n true",
    "su -c true",
]

APPLICATION = """\
import json, os, signal, subprocess, sys
from pyspark import SparkContext

def run(command):
    return subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True)

def kill_root():
    killed = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == 0:
                os.kill(int(name), signal.SIGKILL)
                killed.append(name)
        except (PermissionError, ProcessLookupError, FileNotFoundError):
            pass
    return killed

def attack(commands):
    return {
        "user": run("id -un").stdout.strip(),
        "home": os.environ["HOME"],
        "processes": run("ps -wweo user:32,args").stdout,
        "succeeded": [command for command in commands if run(command).returncode == 0],
        "killed": kill_root(),
    }

attacks, result, output = sys.argv[1:]
context = SparkContext()
[found] = context.parallelize([json.loads(attacks)], 1).map(attack).collect()
context.parallelize(range(4), 2).saveAsTextFile("file://" + output)
context.stop()
with open(result, "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory, results: Path) -> Iterator[Testbed]:
    folder = tmp_path_factory.mktemp("bed")
    with Testbed(folder, writable=[results], seconds_per_minute=1) as running:
        yield running
    assert not processes_mentioning(str(folder)), "nothing of the bed is left"


def start_cluster(bed: Testbed) -> ClusterHandle:
    spec = EC2ClusterSpec(
        machines=1,
        instance_type="m5.large",
        image=bed.image_id,
        subnets=bed.subnet_ids,
        security_groups=(bed.security_group_id,),
        setup_script=SETUP_SCRIPT,
        spark_distribution=bed.spark_home,
        java_home=bed.java_home,
        python=bed.python,
        cores_per_machine=1,
        memory_megabytes_per_machine=600,
        time_to_live_seconds=60 * TIME_TO_LIVE_MINUTES,
        start_timeout_seconds=240 * PATIENCE,
        probe_rounds=0,
        driver_host=bed.gateway_address,
    )
    identity = ClusterIdentity(deployment="ours", dag_id="attack", run_id="r1", task_id="create_cluster")
    return EC2Cluster(spec, identity, Means(client=bed.client, poll_seconds=0.5)).start()


def run_job(handle: ClusterHandle, secret: str, folder: Path, output: Path) -> dict[str, Any]:
    application = folder / "attack.py"
    application.write_text(APPLICATION)
    found = folder / "found.json"
    conf = {
        **handle.spark_conf(),
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        # The driver is another user than the executors, who write into the folders that it makes.
        "spark.hadoop.fs.permissions.umask-mode": "000",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    hook = ErnestSubmitHook(
        master_url=handle.master_url,
        conf={**conf, **driver_conf(handle.master_url, conf=conf)},
        application_args=[json.dumps(ATTACKS), str(found), str(output)],
        name="attack",
        options={},
        secret=secret,
    )
    hook.run(str(application))
    result: dict[str, Any] = json.loads(found.read_text())
    return result


def users_of_spark(processes: str) -> set[str]:
    """Who runs the Java processes that `ps` lists."""
    lines = [line.split(maxsplit=1) for line in processes.splitlines()]
    return {user for user, command in lines if "org.apache.spark" in command}


def test_a_job_cannot_keep_its_machines_alive(
    bed: Testbed, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    handle = start_cluster(bed)
    machines = bed.live_instances()
    assert len(machines) == 2
    secret = cluster_secret(bed.client(), handle.name)
    for machine in machines:
        processes = bed.run(machine.instance_id, "ps", "-wweo", "user:32,args")
        assert users_of_spark(processes) == {USER}
        assert secret not in processes
        for path in ("/run/shutdown-scheduled", PER_BOOT):
            bed.run(machine.instance_id, "test", "-s", path)
        assert bed.run(machine.instance_id, "stat", "--format=%U %a", "/opt/becomes-root") == "root 4755\n"

    found = run_job(handle, secret, tmp_path, results / "output")
    assert found["user"] == USER
    assert found["home"] == "/opt/ernest/home"
    assert users_of_spark(found["processes"]) == {USER}
    assert "CoarseGrainedExecutorBackend" in found["processes"]
    assert found["succeeded"] == []
    assert found["killed"] == []

    # What executors write is theirs, and the driver could finish it.
    parts = sorted((results / "output").glob("part-*"))
    assert "".join(part.read_text() for part in parts) == "0\n1\n2\n3\n"
    assert parts[0].stat().st_uid != 0

    assert {machine.instance_id for machine in bed.live_instances()} == {one.instance_id for one in machines}
    wait_until(
        lambda: not bed.live_instances(),
        seconds=TIME_TO_LIVE_MINUTES + SHUTDOWN_SECONDS,
        what="the end of the machines at their time to live",
    )
    assert all("InstanceInitiatedShutdown" in machine.reason for machine in bed.instances())
