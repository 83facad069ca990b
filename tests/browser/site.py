"""The Airflow that the tests visit: addresses, users, what is stored in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

import httpx

from airflow_provider_ernest.documents.models import Model
from benchmarks.demo.api import AirflowApi
from tests.browser.sample_store import SeededModels
from tests.integration.conftest import wait_until

RUN_DAG = "synthetic_sizing"
RUN_JOB = "synthetic job"
RUN_TYPE = "m5.large"
# Without certificates, which nobody needs here and which take longer to load than an answer does.
HTTP: dict[str, Any] = {"trust_env": False, "timeout": 60.0, "verify": False}


@dataclass(frozen=True, kw_only=True)
class Site:
    """An API server of an Airflow.

    Attributes:
        url: its address, without a slash at the end.
        passwords: of its users.
        seeded: the models in its store.
        run_id: a finished run of the DAG `RUN_DAG`, whose model is in the store, too.
        home: AIRFLOW_HOME.
    """

    url: str
    passwords: dict[str, str]
    seeded: SeededModels
    run_id: str
    home: Path

    def at(self, url: str) -> Self:
        """The same at another address."""
        return replace(self, url=url)

    def page(self, page: str, **parameters: Any) -> str:
        """The address of one of our pages, or of an answer of the API."""
        query = urlencode(parameters, quote_via=quote)
        return f"{self.url}/ernest/{page}" + (f"?{query}" if query else "")

    def airflow(self, *parts: str) -> str:
        """The address of a page of Airflow itself."""
        return "/".join([self.url, *(quote(part, safe="") for part in parts)])

    def client(self, username: str | None = "admin") -> httpx.Client:
        """A client of the API, logged in as a program does (None: not at all)."""
        client = httpx.Client(base_url=f"{self.url}/ernest/", **HTTP)
        if username is not None:
            token = access_token(self.url, username, self.passwords[username])
            client.headers["Authorization"] = f"Bearer {token}"
        return client

    def answer(self, path: str, **parameters: Any) -> Any:
        """The API's answer to the administrator."""
        with self.client() as client:
            return client.get(path, params=parameters).raise_for_status().json()


@cache
def access_token(url: str, username: str, password: str) -> str:
    """By which a program shows who it is, for as long as the tests last."""
    credentials = {"username": username, "password": password}
    answer = httpx.post(f"{url}/auth/token", json=credentials, **HTTP)
    return str(answer.raise_for_status().json()["access_token"])


def of(model: Model) -> dict[str, str]:
    """The parameters of a model's page."""
    return {"job": model.job, "instance_type": model.instance_type}


def first_run(api: AirflowApi, **params: float) -> str:
    """Run the DAG of the tests, with other parameters than its own, and return the run's id."""
    api.wait_for_dag(RUN_DAG)
    api.unpause(RUN_DAG)
    run_id = api.trigger(RUN_DAG, conf=params)
    state = wait_until(
        lambda: {"success": "success", "failed": "failed"}.get(api.run_state(RUN_DAG, run_id)),
        seconds=600,
        what="the end of the DAG run",
    )
    tasks = {task.label: task.state for task in api.task_instances(RUN_DAG, run_id)}
    assert state == "success", tasks
    return run_id
