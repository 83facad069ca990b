"""Making the runs on fixed sizes and within bounds: on a standalone cluster of four workers, and on YARN."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.spark.installation import find_spark_home, find_spark_submit
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf
from tests.integration.yarn_runs import YarnRun
from tests.yarn_testbed import YarnTestbed

APPLICATION = Path(__file__).parent / "application.py"

WORKERS = 4
SIZES = (4, 2, 3)
IDLE = {  # executors are given back within these short runs
    "spark.dynamicAllocation.executorIdleTimeout": "4s",
    "spark.dynamicAllocation.shuffleTracking.timeout": "4s",
}
BOUNDS: tuple[tuple[str, ExecutorBounds, Mapping[str, str]], ...] = (
    ("one-to-four", ExecutorBounds(minimum=0, initial=1, maximum=4), {}),
    ("idle", ExecutorBounds(minimum=1, initial=1, maximum=4), IDLE),
    ("one-to-three", ExecutorBounds(minimum=1, initial=1, maximum=3), {}),
    ("none-to-four", ExecutorBounds(minimum=0, initial=0, maximum=4), {}),
    ("idle-two", ExecutorBounds(minimum=0, initial=2, maximum=4), IDLE),
    ("two-to-four", ExecutorBounds(minimum=2, initial=2, maximum=4), {}),
)

YARN_SIZES = (2, 4, 6, 3, 5)
YARN_IDLE = dict.fromkeys(IDLE, "5s")

# On few cores compiling well takes longer than these short runs last.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SETTINGS = {
    "spark.driver.extraJavaOptions": _QUICK_JAVA,
    "spark.driver.memory": "600m",
    "spark.executor.extraJavaOptions": _QUICK_JAVA,
    "spark.executor.memory": "600m",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_START_SECONDS = 120.0


def make_runs(logs: Path, *, repeats: int) -> None:
    """Make all runs; those whose logs are there are not made again.

    Raises:
        RuntimeError: the cluster does not come up, or an application fails.
    """
    logs.mkdir(parents=True, exist_ok=True)
    fixed = {f"fixed-{size}": sizing_conf(executors=size, executor_cores=1) for size in SIZES}
    within = {name: _within(bounds) | dict(more) for name, bounds, more in BOUNDS}
    # By turns, so that what else the machine does slows both kinds down alike.
    turns = [name for three in zip(fixed, [*within][::2], [*within][1::2], strict=True) for name in three]
    wanted = {f"{name}.{repeat}": (fixed | within)[name] for repeat in range(repeats) for name in turns}
    missing = {name: conf for name, conf in wanted.items() if not (logs / name).exists()}
    if not missing:
        return
    with tempfile.TemporaryDirectory(prefix="ernest-dynamic-") as folder, _cluster(Path(folder)) as master:
        for name, conf in missing.items():
            _run(name, conf, master, Path(folder, "logs"), logs)


def make_yarn_runs(logs: Path) -> None:
    """Make runs of ``tests/integration/jobs/ask_storage.py`` on the YARN of the tests, one by one."""
    bounds = _within(ExecutorBounds(minimum=1, initial=1, maximum=6))
    fixed = {f"fixed_{size}": sizing_conf(executors=size, executor_cores=1) for size in YARN_SIZES}
    dynamic = {"dynamic_1_to_6": bounds, "dynamic_1_to_6_idle_5s": {**bounds, **YARN_IDLE}}
    wanted = {f"{name}_{turn}": conf for turn in "ab" for name, conf in {**fixed, **dynamic}.items()}
    with tempfile.TemporaryDirectory(prefix="ernest-yarn-") as folder, YarnTestbed(Path(folder)) as yarn:
        for name, conf in wanted.items():
            run = YarnRun(yarn, executors=None, conf=conf, arguments=(60, 1.0))
            if run.wait():
                raise RuntimeError(f"{name} failed: {run.output[-2000:]}")
            shutil.copytree(run.log, logs / name / run.log.name)
            print(f"{name} has run", file=sys.stderr, flush=True)


def _within(bounds: ExecutorBounds) -> dict[str, str]:
    return sizing_conf(executors=bounds.maximum, executor_cores=1, bounds=bounds)


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "SPARK_HOME": str(find_spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA,
    }


@contextmanager
def _cluster(folder: Path) -> Iterator[str]:
    """The address of a master with `WORKERS` workers of one core, for as long as the context lasts."""
    environment = _environment()
    daemon = f"{environment['SPARK_HOME']}/bin/spark-class"
    with ExitStack() as stack:

        def start(name: str, *arguments: str, address: str) -> Path:
            told = folder / f"{name}.txt"
            output = stack.enter_context(told.open("w"))
            process = subprocess.Popen(
                ["nice", daemon, *arguments],
                env={**environment, "SPARK_LOCAL_IP": address},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return told

        deploy = "org.apache.spark.deploy"
        where = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        told = start("master", f"{deploy}.master.Master", *where, address="127.0.0.1")
        address = _wait_for(told, r"Starting Spark master at (spark://\S+)")
        for number in range(WORKERS):
            host = f"127.0.1.{number + 1}"
            resources = ("--cores", "1", "--memory", "900m", "--webui-port", "0", "--host", host)
            work = ("--work-dir", str(folder / f"work-{number}"))
            start(f"worker-{number}", f"{deploy}.worker.Worker", *resources, *work, address, address=host)
        for number in range(WORKERS):
            _wait_for(folder / f"worker-{number}.txt", r"(Successfully registered)")
        yield address


def _wait_for(told: Path, pattern: str) -> str:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if found := re.search(pattern, told.read_text()):
            return found[1]
        time.sleep(0.2)
    raise RuntimeError(f"{told.stem} did not start in {_START_SECONDS:g} s: {told.read_text()[-2000:]}")


def _run(name: str, conf: Mapping[str, str], master: str, folder: Path, logs: Path) -> None:
    folder.mkdir(exist_ok=True)
    settings = {**_SETTINGS, **event_log_conf(folder.as_uri()), **conf, "spark.app.name": "rounds"}
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [str(find_spark_submit()), "--master", master, *options, str(APPLICATION)]
    done = subprocess.run(["nice", *command], env=_environment(), capture_output=True, text=True, check=False)
    written = list(folder.iterdir())
    if done.returncode or len(written) != 1:
        raise RuntimeError(f"{name} failed: {done.stderr[-2000:]}")
    written[0].rename(logs / name)
    print(f"{name} has run", file=sys.stderr, flush=True)
