"""The metadata service of a host, IMDSv2 only.

It listens on the host's own loopback, so that the machine's metadata address stays untouched.
Source: Amazon EC2 User Guide, "Instance metadata".
"""

from __future__ import annotations

import http.server
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

Pages = dict[str, str | bytes]

_TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
_TOKEN_HEADER = "X-aws-ec2-metadata-token"
_MAX_TTL_SECONDS = 21_600


def describe_instance(instance: Any, user_data: bytes) -> Pages:
    pages: Pages = {
        "meta-data/instance-id": instance.id,
        "meta-data/local-ipv4": instance.private_ip,
    }
    if user_data:
        pages["user-data"] = user_data
    return pages


class MetadataService:
    """Answers on a socket until it is closed."""

    def __init__(self, listener: socket.socket, read: Callable[[], Pages]) -> None:
        self._server = http.server.ThreadingHTTPServer(
            ("169.254.169.254", 80), _Handler, bind_and_activate=False
        )
        self._server.socket.close()
        self._server.socket = listener
        self._server.server_name, self._server.server_port = "169.254.169.254", 80
        self._server.daemon_threads = True
        self._server.read = read  # type: ignore[attr-defined]
        self._server.tokens = {}  # type: ignore[attr-defined]
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """Answer no more; lets go of the host's namespace."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Any

    def do_PUT(self) -> None:
        ttl = self.headers.get(_TTL_HEADER, "")
        if self.path != "/latest/api/token":
            return self._send(404)
        if not ttl.isdigit() or not 1 <= int(ttl) <= _MAX_TTL_SECONDS:
            return self._send(400)
        token = secrets.token_urlsafe(40)
        self.server.tokens[token] = time.monotonic() + int(ttl)
        return self._send(200, token)

    def do_GET(self) -> None:
        """Answer with a page."""
        if self.server.tokens.get(self.headers.get(_TOKEN_HEADER), 0.0) <= time.monotonic():
            return self._send(401)
        pages, path = self.server.read(), self.path.removeprefix("/latest/").strip("/")
        return self._send(200, pages[path]) if path in pages else self._send(404)

    def _send(self, status: int, text: str | bytes = "") -> None:
        body = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Requests are not logged."""
