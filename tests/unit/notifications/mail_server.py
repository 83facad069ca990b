"""A mail server on the loopback interface that keeps what it is sent."""

from __future__ import annotations

import socketserver
import threading
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any


class _Conversation(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self._answer("220 ready")
        while line := self.rfile.readline():
            command = line.strip().upper()
            if command == b"DATA":
                self._answer("354 go on")
                lines = list(iter(self.rfile.readline, b".\r\n"))
                server: Any = self.server
                server.messages.append(message_from_bytes(b"".join(lines), policy=policy.default))
            self._answer("221 bye" if command == b"QUIT" else "250 ok")
            if command == b"QUIT":
                return

    def _answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    """Listens on a free port while it is a context."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.messages: list[EmailMessage] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def __enter__(self) -> MailServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.shutdown()
        self.server_close()
