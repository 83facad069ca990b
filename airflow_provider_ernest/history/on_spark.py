"""Reading event logs on a Spark cluster that is there, where one machine is outgrown.

`spark-submit` runs one application that maps over the addresses of the logs. Executors read them, where they
lie, by the same reader as processes of one machine, and what goes back are the same answers. This package's
code is sent along; the libraries that it imports must be where the executors' Python is.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.history import reading
from airflow_provider_ernest.processes import die_with_parent, end_process_tree, make_owned, runtime_folder
from airflow_provider_ernest.spark.installation import find_spark_submit

LIBRARIES = ("cramjam", "fsspec", "msgspec", "numpy", "scipy", "zstandard")
"""That executors need, beside the one of fsspec that reads the logs' storage."""

_PACKAGE = Path(__file__).parents[1]
_APPLICATION = _PACKAGE / "spark" / "mapping.py"
_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 10.0
_LINES_TOLD = 5  # of what Spark wrote last


class SparkReader:
    """Reads event logs by an application of Spark, a new one for each call; a `reading.Reader`.

    Args:
        master: of spark-submit; what spark-defaults.conf says where None.
        conf: further properties of Spark; they win over those that are set here.
    """

    def __init__(self, *, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._master = master
        self._conf = dict(conf or {})

    def __call__(self, what: str, places: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give each key with its answer, as jobs of the application end.

        Raises:
            MissingResourceError: there is no spark-submit.
            ClusterError: the application failed, with the reason. What was given before is true.
        """
        if not places:
            return
        folder = make_owned(runtime_folder())
        try:
            asked = (json.dumps([what, key, place]) for key, place in places.items())
            (folder / "logs.jsonl").write_text("".join(f"{line}\n" for line in asked))
            _pack(folder / "package.zip")
            yield from self._answers(folder, len(places))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _answers(self, folder: Path, expected: int) -> Iterator[tuple[str, dict[str, Any]]]:
        answers = folder / "answers.jsonl"
        answers.touch()
        told, failed = 0, ""
        with answers.open("rb") as lines, (folder / "spark.txt").open("wb") as output:
            process = subprocess.Popen(
                self._command(folder),
                # The driver's Python is this one, and that of the executors unless another is stated.
                env={"PYSPARK_PYTHON": sys.executable, **environ, "PYSPARK_DRIVER_PYTHON": sys.executable},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(),
            )
            try:
                for line in _lines(lines, process):
                    answer = json.loads(line)
                    failed = answer.get("failed") or failed
                    if key := answer.pop("key", ""):
                        told += 1
                        yield key, answer
            finally:
                if process.poll() is None:
                    end_process_tree(process.pid, grace_seconds=_GRACE_SECONDS)
                    process.wait()
        if failed or process.returncode or told < expected:
            raise _failure(failed, folder / "spark.txt")

    def _command(self, folder: Path) -> list[str]:
        conf = {
            # It would be in the next survey.
            "spark.eventLog.enabled": "false",
            # spark.pyspark.python alone would be that of the driver, too.
            "spark.pyspark.driver.python": sys.executable,
            **self._conf,
        }
        return [
            str(find_spark_submit()),
            *(("--master", self._master) if self._master else ()),
            *("--deploy-mode", "client", "--name", "ernest-event-logs"),
            *("--py-files", str(folder / "package.zip")),
            *(word for name, value in conf.items() for word in ("--conf", f"{name}={value}")),
            str(_APPLICATION),
            f"--function={reading.__name__}:{reading.read_part.__name__}",
            f"--lines={folder / 'logs.jsonl'}",
            f"--answers={folder / 'answers.jsonl'}",
        ]


def _pack(archive: Path) -> None:
    """This package as a ZIP that Python imports: executors may have another version, or none."""
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=1) as packed:
        for file in sorted(_PACKAGE.rglob("*.py")):
            packed.write(file, file.relative_to(_PACKAGE.parent))


def _lines(file: Any, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """The lines of a file that is written to until a process ends."""
    rest, has_ended = b"", False
    while not has_ended:
        has_ended = process.poll() is not None
        *whole, rest = (rest + file.read()).split(b"\n")
        yield from whole
        if not has_ended and not whole:
            time.sleep(_LOOK_SECONDS)


def _failure(reason: str, output: Path) -> ClusterError:
    remedy = "Logs that were read are kept, where there is a cache: another try reads the others."
    if "ModuleNotFoundError" in reason or "ImportError" in reason:
        remedy = (
            f"The Python of the executors needs {', '.join(LIBRARIES)}. Install them there, or send a packed "
            "environment: --spark-conf spark.archives=environment.tar.gz#environment --spark-conf "
            "spark.pyspark.python=./environment/bin/python."
        )
    else:
        said = output.read_text(errors="replace").splitlines()
        errors = [line for line in said if " ERROR " in line]
        told = "\n".join((errors or said)[-_LINES_TOLD:])
        reason = f"{(reason or 'spark-submit failed').rstrip('.')}. Spark said:\n{told}"
    return ClusterError(f"The event logs could not be read on Spark: {reason.rstrip('.')}.", remedy=remedy)
