"""Recording the runs: each one spark-submit of a job on so many machines, its event log kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local import CLIENT_FILE, LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf
from benchmarks.clarity.cluster import QUICK_JAVA, RUN_SECONDS, SlowableCluster
from benchmarks.history.inputs import make_inputs
from benchmarks.history.schedule import LOCAL, MOST_MACHINES, TESTBED, PlannedRun, RecordableRun
from tests.ec2_testbed import Performance

SCRIPTS = Path(__file__).parent / "jobs"
RECORD_FILE = "runs.jsonl"
WORK = "work"
"""Folder of the run that is being made."""

_CORES_OFFERED, _MEMORY_OFFERED = 2, 1000
_MOST_FAILURES = 4
"""One after another: then something is wrong with the clusters."""
_DAY_SECONDS = 86_400.0

# Most of a short run's CPU time is Java's start and Spark's compiling of queries in each executor.
_JAVA = f"{QUICK_JAVA} -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"

SETTINGS = {
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.driver.memory": "700m",
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.executor.memory": "700m",
    "spark.locality.wait": "0s",
    # A partition a file, as blocks of a real file system are.
    "spark.sql.files.maxPartitionBytes": "1m",
    "spark.sql.files.openCostInBytes": "1m",
    # Files are read by the tasks' own threads: what others read, Spark 4.2 does not count.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "16",
    # As with real data, more of it makes more tasks.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "192k",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


Run = TypeVar("Run", bound=RecordableRun)


@dataclass
class _Clusters:
    """Those that have been started: they stay for all runs."""

    folder: Path
    inputs: Path
    _stack: ExitStack = field(default_factory=ExitStack)
    _local: ClusterHandle | None = None
    _testbed: SlowableCluster | None = None

    def local(self) -> ClusterHandle:
        if self._local is None:
            spec = LocalClusterSpec(
                machines=MOST_MACHINES[LOCAL],
                cores_per_machine=_CORES_OFFERED,
                memory_megabytes_per_machine=_MEMORY_OFFERED,
                time_to_live_seconds=_DAY_SECONDS,
                idle_limit_seconds=_DAY_SECONDS,
            )
            cluster = LocalCluster(spec, name="history", directory=self.folder / "local")
            self._stack.callback(cluster.terminate)
            self._local = cluster.start()
        return self._local

    def testbed(self) -> SlowableCluster:
        if self._testbed is None:
            cluster = SlowableCluster(
                self.folder / "testbed", workers=MOST_MACHINES[TESTBED], shared=[self.inputs]
            )
            self._testbed = self._stack.enter_context(cluster)
        return self._testbed

    def close(self) -> None:
        self._stack.close()


@contextmanager
def _clusters(folder: Path, inputs: Path) -> Iterator[_Clusters]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    clusters = _Clusters(folder, inputs)
    try:
        yield clusters
    finally:
        clusters.close()


def record(
    runs: Sequence[PlannedRun], folder: Path, *, most_seconds: float, say: Callable[[str], None]
) -> None:
    """Make the runs that have not been made, one after another.

    Args:
        runs: to make, in this order.
        folder: where all is kept: ``logs``, and what was measured of each run.
        most_seconds: after which no further run is begun.
        say: is told of each run.

    Raises:
        RuntimeError: a cluster does not come up, or run after run does not end as it is meant to.
    """
    inputs = folder / "inputs"
    make_inputs(inputs)
    with _clusters(folder / "clusters", inputs) as clusters:
        make_missing(
            runs, folder, lambda run: _make(run, clusters, folder), most_seconds=most_seconds, say=say
        )


def make_missing(
    runs: Sequence[Run],
    folder: Path,
    make: Callable[[Run], None],
    *,
    most_seconds: float,
    say: Callable[[str], None],
) -> None:
    """Make the runs of which `folder` holds no log yet, as `record` does; `make` writes a run's log there."""
    deadline, failures = time.monotonic() + most_seconds, 0
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    missing = [run for run in runs if not (logs / run.id).exists()]
    for place, run in enumerate(missing, 1):
        if time.monotonic() >= deadline:
            return
        busy, began = _busy_seconds(), time.monotonic()
        try:
            make(run)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failures += 1
            say(f"{place} of {len(missing)}: {error}")
            if failures >= _MOST_FAILURES:
                raise
            continue
        failures = 0
        seconds = time.monotonic() - began
        told = {
            "run": run.id,
            "machines": run.machines,
            "files": run.files,
            "wall_seconds": round(seconds, 1),
            "busy_cores": round((_busy_seconds() - busy) / seconds, 2),
            "recorded_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        with (folder / RECORD_FILE).open("a") as file:
            file.write(json.dumps(told) + "\n")
        say(f"{place} of {len(missing)}: {run.id} on {run.machines}, {seconds:.0f} s")


def _busy_seconds() -> float:
    """CPU seconds that this machine has spent on anything."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def _make(run: PlannedRun, clusters: _Clusters, folder: Path) -> None:
    job = run.job
    conf = SETTINGS | sizing_conf(machines=run.machines, cores_per_machine=job.cores)
    if job.cluster == TESTBED:
        bed = clusters.testbed()
        bed.set_hosts(Performance(megabits_per_second=job.megabits_per_second))
        conf |= bed.spark_conf()
    else:
        handle = clusters.local()
        conf |= handle.spark_conf() | {"spark.master": handle.master_url, "spark.executor.memory": "700m"}
    conf |= dict(job.settings)
    conf["spark.app.name"] = job.name(run.day, run.number)
    arguments = ["--input", str(folder / "inputs"), "--files", str(run.files), "--seed", str(run.number)]
    if job.writes:
        arguments += ["--output", str(folder / WORK / "output")]
    if run.fails:
        arguments.append("--fail")
    properties = clusters.folder / "local" / CLIENT_FILE if job.cluster == LOCAL else None
    make_run(run, SCRIPTS / f"{job.script}.py", [*arguments, *job.arguments], conf, properties, folder=folder)


def make_run(
    run: RecordableRun,
    script: Path,
    arguments: Sequence[str],
    conf: Mapping[str, str],
    properties: Path | None,
    *,
    folder: Path,
) -> None:
    """Submit an application, and keep the log that it leaves in the folder `WORK`.

    Raises:
        RuntimeError: it does not end as it is meant to, or leaves no log.
    """
    work = folder / WORK
    shutil.rmtree(work, ignore_errors=True)
    (work / "logs").mkdir(parents=True)
    done = _submit(script, arguments, {**conf, **event_log_conf((work / "logs").as_uri())}, properties, work)
    written = [path for path in (work / "logs").iterdir() if not path.name.endswith(".inprogress")]
    if bool(done) != run.fails or len(written) != 1:
        told = (work / "driver.txt").read_text()[-3000:]
        raise RuntimeError(f"{run.id} ended with {done}: {told}")
    written[0].rename(folder / "logs" / run.id)


def _submit(
    script: Path, arguments: Sequence[str], conf: Mapping[str, str], properties: Path | None, work: Path
) -> int:
    """Run spark-submit to its end, which comes when this process ends, too; returns its exit code."""
    import pyspark

    command = ["setpriv", "--pdeathsig", "KILL", str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
    if properties:
        command += ["--properties-file", str(properties)]
    for name, value in conf.items():
        command += ["--conf", f"{name}={value}"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))
    }
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": conf["spark.driver.bindAddress"]}
    with (work / "driver.txt").open("w") as output:
        done = subprocess.run(
            [*command, str(script), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=RUN_SECONDS,
            check=False,
        )
    return done.returncode
