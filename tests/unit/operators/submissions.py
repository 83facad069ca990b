"""A spark-submit that starts no Spark, and operators that call it."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from airflow_provider_ernest.operators.spark_submit import ErnestSparkSubmitOperator
from tests import examples

SECRET = "0f" * 32

MOMENTS = ["Timestamp", "Submission Time", "Completion Time", "Launch Time", "Finish Time"]
"""Fields of events and of what they tell of."""

PROGRAM = """\
#!{python}
import json, os, sys, time
folder = {folder!r}
properties = {{}}
if "--properties-file" in sys.argv:
    path = sys.argv[sys.argv.index("--properties-file") + 1]
    properties = dict(line.split("=", 1) for line in open(path).read().split())
with open(folder + "/submitted.json", "w") as file:
    json.dump({{"argv": sys.argv[1:], "properties": properties, "process": os.getpid()}}, file)
conf = dict(word.split("=", 1) for before, word in zip(sys.argv, sys.argv[1:]) if before == "--conf")
now = round(time.time() * 1000)
for name, text in json.load(open(folder + "/logs.json")).items():
    with open(conf["spark.eventLog.dir"].removeprefix("file://") + "/" + name, "w") as file:
        for event in text:
            for part in (event, event.get("Stage Info", {{}}), event.get("Task Info", {{}})):
                for moment in set(part).intersection({moments!r}):
                    part[moment] += now
            file.write(json.dumps(event, separators=(",", ":")) + "\\n")
while os.path.exists(folder + "/wait"):
    time.sleep(0.02)
sys.exit(int(open(folder + "/exit_code").read()))
"""


class Submissions:
    """A spark-submit that notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: dict[str, list[dict[str, Any]]] = {}
        self._program = folder / "bin" / "spark-submit"
        self._program.parent.mkdir()
        self._program.write_text(
            textwrap.dedent(PROGRAM).format(python=sys.executable, folder=str(folder), moments=MOMENTS),
            encoding="utf-8",
        )
        self._program.chmod(0o755)
        self.fails_with(0)
        self.writes_no_log()

    def fails_with(self, exit_code: int) -> None:
        (self._folder / "exit_code").write_text(str(exit_code))

    def hold(self) -> None:
        (self._folder / "wait").touch()

    def writes_no_log(self) -> None:
        self._logs = {}
        self._write_logs()

    def writes_log(self, name: str, events: list[dict[str, Any]]) -> None:
        """Also this event log, into the folder of its properties, with times counted from its start."""
        self._logs[name] = events
        self._write_logs()

    def _write_logs(self) -> None:
        (self._folder / "logs.json").write_text(json.dumps(self._logs))

    @property
    def last(self) -> dict[str, Any] | None:
        try:
            return json.loads((self._folder / "submitted.json").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def conf(self) -> dict[str, str]:
        argv = (self.last or {})["argv"]
        pairs = [argv[at + 1] for at, word in enumerate(argv) if word == "--conf"]
        return dict(pair.split("=", 1) for pair in pairs)


def events(
    application_id: str,
    *,
    executors: int,
    ready_seconds: float = 7.0,
    end_seconds: float | None = 107.0,
    lost: int = 0,
    master: str = "spark://127.0.0.1:7077",
) -> list[dict[str, Any]]:
    """What Spark logs of an application; seconds from its start. The lost executors go half-way."""

    def at(seconds: float, kind: str, **fields: Any) -> dict[str, Any]:
        return {"Event": f"SparkListener{kind}", "Timestamp": round(1000 * seconds), **fields}

    def executor(number: int) -> dict[str, Any]:
        info = {"Host": f"10.0.0.{number}", "Total Cores": 2, "Log Urls": {}}
        return at(ready_seconds, "ExecutorAdded", **{"Executor ID": str(number), "Executor Info": info})

    return [
        {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.master": master}},
        at(0, "ApplicationStart", **{"App Name": "job", "App ID": application_id}),
        *(executor(number) for number in range(executors)),
        *(
            at(50, "ExecutorRemoved", **{"Executor ID": str(number), "Removed Reason": "taken back"})
            for number in range(lost)
        ),
        *([] if end_seconds is None else [at(end_seconds, "ApplicationEnd")]),
    ]


def handle(*, kind: str = "ec2", executors: int = 4, **changes: Any) -> dict[str, Any]:
    fields = {"kind": kind, "authenticates": kind == "ec2", "python": "python3.11", **changes}
    return examples.cluster(executors, **fields).to_dict()


def lake(executors: int = 2) -> dict[str, Any]:
    """A cluster that is there, behind the connection "lake"."""
    return handle(
        kind="existing",
        executors=executors,
        name="lake",
        master_url="spark://127.0.0.1:7077",
        web_url=None,
        instance_type="lake",
        spark_conn_id="lake",
        python=None,
        authenticates=False,
    )


def production(**changes: Any) -> ErnestSparkSubmitOperator:
    return ErnestSparkSubmitOperator(**{"task_id": "production", "application": "job.py", **changes})
