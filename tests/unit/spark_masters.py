"""Spark masters that no Spark runs behind: their page on a port of this host, and what is read of it."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.machines import Machine, MasterState
from tests.ec2_testbed import EC2Api


def worker(number: int, *, cores: int = 4, memory: int = 8192, state: str = "ALIVE") -> dict[str, Any]:
    """A worker as Spark 4.2 lists it, shortened to what its documentation names."""
    return {
        "id": f"worker-{number}",
        "host": f"10.0.0.{number}",
        "port": 7078,
        "cores": cores,
        "memory": memory,
        "state": state,
    }


class Page:
    """What the page answers, which may be changed while it is served."""

    def __init__(self) -> None:
        self.status = 200
        self.web_url = ""
        self.body: bytes | None = None
        self.state = {
            "url": "spark://127.0.0.1:7077",
            "workers": [worker(1), worker(2), worker(3, state="DEAD")],
            "activeapps": [
                {"id": "app-1", "name": "etl", "cores": 2, "state": "RUNNING", "starttime": 1700000000500}
            ],
        }


@contextlib.contextmanager
def served_page() -> Iterator[Page]:
    """Serve a page until the end of the block."""
    page = Page()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(page.status)
            self.end_headers()
            self.wfile.write(json.dumps(page.state).encode() if page.body is None else page.body)

        def log_message(self, *_: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        page.web_url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield page
        finally:
            server.shutdown()
            thread.join()


def master_state(hosts: Iterable[str], *, lost: Collection[str] = ()) -> MasterState:
    """What a master tells with a worker of 2 cores on each host."""
    executors = tuple(
        Machine(worker_id=f"worker-{host}", host=host, cores=2, memory_megabytes=6000)
        for host in hosts
        if host not in lost
    )
    return MasterState(master_url="spark://m:7077", machines=executors, lost=tuple(lost))


class FakeMaster:
    """The master of a cluster on the test bed: each worker that runs is registered, if its boot works."""

    def __init__(self, api: EC2Api) -> None:
        self.api = api
        self.deaf = False
        self.boots = lambda machine: True
        self.looks = 0

    def __call__(self, web_url: str, *, timeout_seconds: float) -> MasterState:
        self.looks += 1
        host = web_url.removeprefix("http://").rpartition(":")[0]
        live = self.api.live_instances()
        if self.deaf or not any(m.role == "master" and m.private_address == host for m in live):
            raise ClusterLostError(f"The Spark master does not answer at {web_url}: it is not there.")
        workers = [m for m in live if m.role == "worker" and m.state == "running" and self.boots(m)]
        state = master_state(str(machine.private_address) for machine in workers)
        return replace(state, master_url=f"spark://{host}:7077")
