"""``ernest survey --on spark`` with a stand-in for spark-submit; the real one is in test_yarn_survey.py."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from airflow_provider_ernest.history import on_spark, reading
from airflow_provider_ernest.history.scan import Scan
from tests.unit.eventlog.event_log_texts import REAL
from tests.unit.history.past_logs import log_of

MAPS = """
import importlib, sys
words = sys.argv[1:]
print(*words, sep="\\n")
told = dict(word[2:].split("=", 1) for word in words[words.index("--py-files"):] if "=" in word)
sys.path.insert(0, words[words.index("--py-files") + 1])
module, _, name = told["function"].partition(":")
package = importlib.import_module(module)
assert ".zip" in package.__file__, package.__file__
with open(told["lines"]) as lines, open(told["answers"], "a") as answers:
    for answer in getattr(package, name)(lines, 0):
        answers.write(answer + "\\n")
"""
"""Does in one process what `spark.mapping` does on executors, with the code that is sent to them."""

FAILS = """
import sys
told = [word.partition("=")[2] for word in sys.argv if word.startswith("--answers=")]
open(told[0], "a").write('{"failed": "ModuleNotFoundError: No module named \\'scipy\\'"}\\n')
sys.exit(1)
"""


@pytest.fixture
def spark_submit(tmp_path, monkeypatch):
    """Puts a program in the place of spark-submit."""

    def put(program: str) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "spark-submit").write_text(f"#!{sys.executable}\n{program}")
        (folder / "spark-submit").chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        monkeypatch.delenv("PYTHONPATH", raising=False)

    return put


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    for number in range(4):
        log_of(folder / f"app-{number}", f"etl 2024-01-0{number + 1}", application=f"app-{number}")
    (folder / "real.zstd").write_bytes((REAL / "spark-4.0.1-python.zstd").read_bytes())
    (folder / "noise").write_bytes(b"\xff" * 100)
    (folder / "half").write_bytes((REAL / "spark-3.5.5.zstd").read_bytes()[:200])
    (folder / "caf\udce9").write_text("of a name that is no UTF-8")
    return folder


def survey_of(ernest, *options) -> dict:
    survey = json.loads(ernest("survey", *options, "--no-cache", "--price", 0.192, "--format", "json").out)
    assert survey.pop("id")
    assert survey.pop("at")
    return survey


def test_a_survey_on_spark_is_that_of_one_machine(ernest, logs, spark_submit):
    spark_submit(MAPS)
    here = survey_of(ernest, logs, "--processes", 1)
    assert here["unread"] == [["no event log of Spark", 3]]
    assert survey_of(ernest, logs, "--on", "spark") == here


def test_what_was_read_on_spark_is_known_here(ernest, logs, spark_submit, tmp_path):
    spark_submit(MAPS)
    options = ("history", logs, "--cache", tmp_path / "cache")
    ernest(*options, "--on", "spark", "--master", "yarn", "--spark-conf", "spark.executor.instances=4")
    assert "8 event logs, 8 of them known from before" in ernest(*options).out


def test_where_spark_fails_the_reason_and_the_remedy_are_told(ernest, logs, spark_submit, misunderstood):
    spark_submit(FAILS)
    said = ernest("history", logs, "--no-cache", "--on", "spark", code=1).err
    assert "No module named 'scipy'.\nThe Python of the executors needs cramjam, fsspec, msgspec" in said
    (logs.parent / "bin" / "spark-submit").write_text("#!/bin/sh\necho connection refused\nexit 1\n")
    assert "connection refused" in ernest("history", logs, "--no-cache", "--on", "spark", code=1).err
    assert "Add --on spark" in ernest("history", logs, "--no-cache", "--master", "yarn", code=1).err
    assert "no property such as" in misunderstood("history", logs, "--spark-conf", "executors=4")


def test_a_scan_that_is_closed_ends_spark_submit_and_leaves_nothing(logs, spark_submit):
    spark_submit(MAPS + "\nimport time\ntime.sleep(600)\n")
    scan = Scan([logs], reader=on_spark.SparkReader())
    next(scan)
    (submit,) = (each for each in psutil.Process().children() if "client" in each.cmdline())
    (folder,) = (Path(word).parent for word in submit.cmdline() if word.endswith("package.zip"))
    scan.close()
    assert not submit.is_running()
    assert not folder.exists()


def _read_or_die(what, source, most_tasks, most_seconds):
    if Path(source).name == "app-1":
        os.kill(os.getpid(), signal.SIGKILL)
    return reading.read_log(what, source, most_tasks, most_seconds)


def test_a_task_that_is_tried_again_gives_up_the_log_that_ended_its_python(logs, monkeypatch):
    monkeypatch.setattr(reading, "read_log", _read_or_die)
    lines = [json.dumps([reading.RUN, name, str(logs / name)]) for name in ("app-0", "app-1", "app-2")]
    first, second, third = map(json.loads, reading.read_part(lines, 1))
    assert (first["key"], third["key"]) == ("app-0", "app-2")
    assert first["run"]["application_id"] == "app-0"
    assert second == {"key": "app-1", "problem": "reading it ended its process"}
