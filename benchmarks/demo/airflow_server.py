"""A real Airflow for the time of a ``with`` block: ``airflow standalone`` in a home of its own.

All of Airflow runs below a keeper process (see ``keeper.py``), which ends it at the end of the block,
and also when the process that entered it is killed.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import httpx

from airflow_provider_ernest.processes import descendants, end_processes
from benchmarks.demo.api import AirflowApi

USERNAME = "admin"
COMPONENTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")
# The keeper needs 30 s if Airflow has to be killed.
_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.5
_REPORT_SECONDS = 15.0


class AirflowStartError(RuntimeError):
    """Airflow did not become healthy; the message ends with the last lines of its output."""


class AirflowServer:
    """A real Airflow: scheduler, API server, triggerer, DAG processor, LocalExecutor and SQLite.

    Nothing of the caller's own Airflow configuration applies to it. Its AIRFLOW_HOME is `home`, which holds
    ``airflow.log`` with all of its output, and ``passwords.json``. `environment` adds variables,
    ``AIRFLOW__*`` options among them; `report` takes a line of text on how the start goes.

    Attributes:
        url: its address, once started.
        password: of the user "admin", once started.
        variables: the environment of its processes, once started; other commands of Airflow that are run in
            it work on the same Airflow.
    """

    def __init__(
        self,
        home: Path,
        dags_folder: Path,
        *,
        parallelism: int = 4,
        environment: Mapping[str, str] | None = None,
        start_timeout_seconds: float = 300.0,
        report: Callable[[str], None] = print,
    ) -> None:
        self.home = home.absolute()
        self.dags_folder = dags_folder.absolute()
        self.parallelism = parallelism
        self.environment = dict(environment or {})
        self.start_timeout_seconds = start_timeout_seconds
        self.report = report
        self.log_file = self.home / "airflow.log"
        self.url = ""
        self.password = ""
        self.variables: dict[str, str] = {}
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it and wait until it is healthy."""
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop it."""
        self.stop()

    def api(self) -> AirflowApi:
        """A new client of its REST API, to be used as a context manager."""
        return AirflowApi(self.url, username=USERNAME, password=self.password)

    def start(self) -> None:
        """Start Airflow and wait until all of its components are healthy.

        Raises:
            AirflowStartError: it ended, or was not healthy in time. Nothing of it is left.
        """
        self.home.mkdir(parents=True, exist_ok=True)
        self.password = self._write_password()
        api_port, *log_ports = free_ports(3)
        self.url = f"http://127.0.0.1:{api_port}"
        self.variables = self._environment(api_port, *log_ports)
        keeper = [sys.executable, "-m", "benchmarks.demo.keeper", str(self.home)]
        with self.log_file.open("wb") as log:
            self._keeper = subprocess.Popen(
                [*keeper, "airflow", "standalone"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.variables,
                cwd=Path(__file__).parents[2],  # where Python finds this module
                start_new_session=True,  # a Ctrl-C is for us: we stop Airflow in order
            )
        try:
            self._wait_until_healthy(self._keeper)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End Airflow and everything that it started; does nothing if that is done."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        started = descendants(keeper.pid)
        assert keeper.stdin is not None
        keeper.stdin.close()
        try:
            keeper.wait(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            started += descendants(keeper.pid)
            keeper.kill()
            keeper.wait()
        end_processes(started, grace_seconds=5.0)

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of Airflow's output."""
        text = self.log_file.read_text(errors="replace") if self.log_file.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

    def _write_password(self) -> str:
        password = secrets.token_urlsafe(16)
        descriptor = os.open(self._passwords_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({USERNAME: password}, file)
        return password

    @property
    def _passwords_file(self) -> Path:
        return self.home / "passwords.json"

    def _environment(self, api_port: int, worker_log_port: int, trigger_log_port: int) -> dict[str, str]:
        # The developer's own Airflow must not be touched: not its database, nor its DAGs.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")}
        options = {
            "API__HOST": "127.0.0.1",
            "API__PORT": str(api_port),
            "API__BASE_URL": self.url,
            "API__WORKERS": "1",
            "CORE__DAGS_FOLDER": str(self.dags_folder),
            "CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "CORE__EXECUTOR": "LocalExecutor",
            # The default asks the name servers for this machine's full name, again and again.
            "CORE__HOSTNAME_CALLABLE": "socket.gethostname",
            "CORE__LOAD_EXAMPLES": "False",
            "CORE__PARALLELISM": str(self.parallelism),
            "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self._passwords_file),
            "CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USERNAME}:admin",
            # A changed file is read again at once; reading all of them every few seconds takes half a core.
            "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "60",
            "DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            "LOGGING__TRIGGER_LOG_SERVER_PORT": str(trigger_log_port),
            "LOGGING__WORKER_LOG_SERVER_PORT": str(worker_log_port),
            "USAGE_DATA_COLLECTION__ENABLED": "False",
        }
        return {
            **inherited,
            **{f"AIRFLOW__{name}": value for name, value in options.items()},
            "AIRFLOW_HOME": str(self.home),
            "NO_PROXY": "127.0.0.1,localhost",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONUNBUFFERED": "1",
            **self.environment,
        }

    def _wait_until_healthy(self, keeper: subprocess.Popen[bytes]) -> None:
        started = time.monotonic()
        reported = started
        self.report(f"Starting Airflow at {self.url}; its output goes to {self.log_file}")
        while waiting_for := self._not_healthy():
            elapsed = time.monotonic() - started
            problem = ""
            if keeper.poll() is not None:
                problem = f"Airflow ended with code {keeper.returncode} while it started"
            elif elapsed > self.start_timeout_seconds:
                problem = f"Airflow is not healthy after {elapsed:.0f} s: no {', '.join(waiting_for)}"
            if problem:
                raise AirflowStartError(f"{problem}. The end of {self.log_file}:\n{self.log_tail()}")
            if time.monotonic() - reported >= _REPORT_SECONDS:
                reported = time.monotonic()
                self.report(f"{elapsed:4.0f} s  waiting for Airflow's {', '.join(waiting_for)}")
            time.sleep(_POLL_SECONDS)
        self.report(f"Airflow is healthy after {time.monotonic() - started:.0f} s")

    def _not_healthy(self) -> list[str]:
        try:
            health = httpx.get(f"{self.url}/api/v2/monitor/health", timeout=10, trust_env=False).json()
        except (httpx.HTTPError, ValueError):
            return ["API server"]
        return [name for name in COMPONENTS if (health.get(name) or {}).get("status") != "healthy"]


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on, each of them different."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in listeners]
