"""A standalone master's page on a port of this host."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any


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
