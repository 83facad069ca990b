"""The state of a Spark standalone master, as it tells it at ``/json/`` of its web page."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.machines import Machine


@dataclass(frozen=True, kw_only=True)
class ActiveApplication:
    """An application that runs or waits, by Spark's id of it, and the cores granted to it so far."""

    id: str
    cores: int


@dataclass(frozen=True, kw_only=True)
class MasterState:
    """What the master knows."""

    master_url: str  # spark://host:port
    machines: tuple[Machine, ...]  # whose workers can take executors
    lost: tuple[str, ...] = ()  # hosts of workers that it has lost; it lists them for a while
    applications: tuple[ActiveApplication, ...] = ()  # that have not ended


def read_state(web_url: str, *, timeout_seconds: float) -> MasterState:
    """Ask a Spark standalone master for its state, by its page's address and never by a proxy.

    Raises:
        ClusterLostError: it cannot be reached in that time, or answers with something else.
    """
    address = f"{web_url.rstrip('/')}/json/"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address, timeout=timeout_seconds) as response:
            body = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ClusterLostError(
            f"The Spark master does not answer at {address}: {reason or type(error).__name__}.",
            remedy="Look in the cluster's logs for why it ended, and start it again.",
        ) from error
    try:
        return _parse(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterLostError(
            f"The server at {address} is not a Spark standalone master: {type(error).__name__}: {error}.",
            remedy="Another server may have taken the address since; start the cluster again.",
        ) from error


def _parse(data: dict[str, Any]) -> MasterState:
    return MasterState(
        master_url=str(data["url"]),
        machines=tuple(
            Machine(
                worker_id=str(worker["id"]),
                host=str(worker["host"]),
                cores=int(worker["cores"]),
                memory_megabytes=int(worker["memory"]),
            )
            for worker in data["workers"]
            if worker["state"] == "ALIVE"
        ),
        lost=tuple(str(worker["host"]) for worker in data["workers"] if worker["state"] != "ALIVE"),
        applications=tuple(
            ActiveApplication(id=str(application["id"]), cores=int(application["cores"]))
            for application in data["activeapps"]
        ),
    )
