"""A web server on this machine that serves one file, with as much or as little about it as a test wants."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Served:
    """What the server does; may be changed while it runs."""

    url: str = ""
    content: bytes = b""
    status: int = 200
    has_etag: bool = True
    has_head: bool = True
    requests: list[str] = field(default_factory=list)
    bytes_read: int = 0


@contextmanager
def served_file(content: bytes) -> Iterator[Served]:
    """Serve a file, until the end of the block."""
    served = Served(content=content)

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            served.requests.append("HEAD")
            self.begin(served.status if served.has_head else 405)

        def do_GET(self) -> None:
            served.requests.append("GET")
            self.begin(served.status)
            if served.status == 200:
                try:
                    self.wfile.write(served.content)
                    served.bytes_read += len(served.content)
                except ConnectionError:
                    pass  # whoever asks for the headers alone hangs up

        def begin(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(served.content) if status == 200 else 0))
            if served.has_etag and status == 200:
                self.send_header("ETag", f'"{hashlib.md5(served.content).hexdigest()}"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        served.url = f"http://127.0.0.1:{server.server_port}/job.jar"
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
