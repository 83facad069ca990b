"""Applications on the YARN of the tests, as `spark-submit` runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_provider_ernest.processes import die_with_parent
from airflow_provider_ernest.spark.installation import find_spark_home
from tests.integration.conftest import wait_until
from tests.yarn_testbed import YarnTestbed

APPLICATION = Path(__file__).parent / "jobs" / "ask_storage.py"


class YarnRun:
    """One run of ``jobs/ask_storage.py``, started at once.

    Args:
        testbed: where.
        executors: what is asked for; None where the properties say it, as with dynamic allocation.
        conf: further Spark properties.
        arguments: the application's: tasks of its first stage, seconds that each task waits, and a pause.
        deploy_mode: client or cluster.
    """

    def __init__(
        self,
        testbed: YarnTestbed,
        *,
        executors: int | None,
        conf: Mapping[str, str] | None = None,
        arguments: tuple[int, float] | tuple[int, float, float] = (48, 0.5),
        deploy_mode: str = "client",
    ) -> None:
        self.testbed = testbed
        properties = {
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            **({"spark.executor.instances": str(executors)} if executors else {}),
            **(conf or {}),
        }
        self._output = testbed.directory / f"submit-{len(list(testbed.directory.glob('submit-*')))}.txt"
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [
                    str(find_spark_home() / "bin" / "spark-submit"),
                    *("--master", "yarn", "--deploy-mode", deploy_mode),
                    *(word for name, value in properties.items() for word in ("--conf", f"{name}={value}")),
                    str(APPLICATION),
                    *map(str, arguments),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | dict(testbed.environment()) | {"PYSPARK_PYTHON": sys.executable},
                preexec_fn=die_with_parent,
            )

    @property
    def output(self) -> str:
        """What spark-submit has written."""
        return self._output.read_text()

    @property
    def application(self) -> str:
        """YARN's id of it; waits until it has one."""
        found = wait_until(
            lambda: re.search(r"Submitted application (application_\w+)", self.output),
            seconds=150,
            what="an application on YARN",
        )
        return str(found[1])

    @property
    def log(self) -> Path:
        """Its event log."""
        return self.testbed.event_logs / f"eventlog_v2_{self.application}"

    @property
    def state(self) -> Any:
        """What YARN's REST API says of it."""
        return self.testbed.get(f"apps/{self.application}")["app"]

    def wait(self) -> int:
        """Wait for its end; returns what spark-submit returned."""
        wait_until(lambda: self.process.poll() is not None, seconds=150, what="the end of spark-submit")
        return self.process.returncode

    def wait_for_executors(self, executors: int) -> None:
        """Wait until so many have registered with the driver, in client mode."""

        def are_there() -> bool:
            assert self.process.poll() is None, f"it ended before: {self.output}"
            return self.output.count(" Registered executor ") >= executors

        wait_until(are_there, seconds=150, what=f"{executors} executors")

    def wait_for_task(self) -> None:
        """Wait until its first task has ended."""

        def has_ended() -> bool:
            assert self.process.poll() is None, f"it ended before: {self.output}"
            return "Finished task" in self.output

        wait_until(has_ended, seconds=150, what="the end of a task")
