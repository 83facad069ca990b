"""Real Spark of some version, for its event logs and its codecs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.event_log_fixtures.scrubbed import scrubbed

HERE = Path(__file__).parent
MOST_SECONDS = 1800.0
_CONF = {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.eventLog.logBlockUpdates.enabled": "true",
    "spark.sql.shuffle.partitions": "4",
}


class InstalledSpark:
    """A pyspark that is installed in an environment.

    Args:
        python: the environment's Python.
    """

    def __init__(self, python: Path) -> None:
        self._python = python
        ask = "import pyspark; print(pyspark.__path__[0], pyspark.__version__)"
        told = self._run([str(python), "-c", ask])
        home, self.version = told.split()[-2:]
        self._home = Path(home)

    def log_of(self, work: Path, job: Path) -> Path:
        """Run a job, and return its log, scrubbed."""
        logs = work / "logs"
        logs.mkdir(parents=True)
        conf = {**_CONF, "spark.eventLog.dir": str(logs)}
        options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        options += ["--master", "local-cluster[2,1,1024]", "--name", "job"]
        executors = self._home / "work"
        had_executors = executors.exists()
        if job.suffix == ".py":
            self._run([str(self._home / "bin" / "spark-submit"), *options, str(job)])
        else:
            self._run([str(self._home / "bin" / "spark-shell"), *options], job)
        if not had_executors:
            shutil.rmtree(executors)  # what they wrote; this kind of cluster cannot be told another place
        (log,) = logs.iterdir()
        plain = work / log.name
        with log.open() as lines:
            plain.write_text("".join(f"{line}\n" for line in scrubbed(lines)))
        return plain

    def compress(self, targets: list[tuple[Path, Path, str]]) -> None:
        """Write texts by Spark's own codecs: triples of source, target and codec."""
        os.environ["ERNEST_COMPRESS"] = ";".join(",".join(map(str, target)) for target in targets)
        shell = str(self._home / "bin" / "spark-shell")
        options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false"]
        told = self._run([shell, *options], HERE / "compress.scala")
        for _, target, _ in targets:
            if not target.exists():
                raise SystemExit(f"{target} was not written: {told}")

    def _run(self, command: list[str], typed: Path | None = None) -> str:
        """Run a command; the shell is typed to, since not every version's takes a file."""
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_HOSTNAME": "localhost",
            "SPARK_USER": "spark",
            "PYSPARK_PYTHON": str(self._python),
            "PYSPARK_DRIVER_PYTHON": str(self._python),
        }
        if hasattr(self, "_home"):
            environment["SPARK_HOME"] = str(self._home)
        text = typed.read_text() if typed else ""
        # Of a session of its own: the shell's script has children, which must not outlive it.
        with subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                told, errors = process.communicate(text, timeout=MOST_SECONDS)
            except BaseException:
                os.killpg(process.pid, signal.SIGTERM)
                raise
        if process.returncode:
            sys.stderr.write(told + errors)
            raise SystemExit(f"{command[0]} has failed")
        return told
