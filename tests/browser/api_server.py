"""A second API server of a running Airflow, with settings of its own: ``airflow api-server``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from airflow_provider_ernest.processes import descendants, end_processes
from benchmarks.demo.airflow_server import AirflowServer, free_ports
from tests.integration.conftest import wait_until

CHECKOUT = Path(__file__).parents[2]
START_SECONDS = 180.0
# The keeper needs 30 s if the server has to be killed.
STOP_SECONDS = 60.0


@contextmanager
def api_server(airflow: AirflowServer, *, path: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a second API server on an Airflow's database, and end it with all that it has started.

    Args:
        airflow: it must be running.
        path: below which it answers, such as "/team/airflow".
        environment: variables to add, or to have instead of the other server's.

    Yields:
        Its address, with the path.
    """
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}{path}"
    options = {"AIRFLOW__API__PORT": str(port), "AIRFLOW__API__BASE_URL": url, "PYTHONPATH": str(CHECKOUT)}
    log_file = airflow.home / f"api-server-{port}.log"
    with log_file.open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.demo.keeper", str(airflow.home), "airflow", "api-server"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**airflow.variables, **options, **environment},
            cwd=CHECKOUT,
            start_new_session=True,
        )

    def answers() -> bool:
        assert keeper.poll() is None, f"the API server ended: {log_file.read_text()[-4000:]}"
        try:
            return httpx.get(f"{url}/api/v2/version", trust_env=False, timeout=10).is_success
        except httpx.HTTPError:
            return False

    try:
        wait_until(answers, seconds=START_SECONDS, what="the start of the API server")
        yield url
    finally:
        started = descendants(keeper.pid)
        try:
            keeper.communicate(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
        end_processes(started, grace_seconds=5.0)
