"""How the tasks of the bandwidth probe find each other and keep step. Spark ships this file to the machines.

Only the standard library is used, since this package is not installed there. All waits are bounded: when
a machine ends meanwhile, its partners run into their time limits.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

AllGather = Callable[[str], list[str]]
"""Hands a text to the tasks of all machines, and returns the texts of all, by rank."""

CREDENTIAL_BYTES = 32
HANDSHAKE_SECONDS = 2.0
"""So long may who connects take to show that it is a task of this group."""
GROUP_SECONDS = 60.0
"""So long may a group last by default; a round takes some 5 s once its tasks run."""


class Group:
    """The machines of a round, as one of them sees them.

    They meet over TCP rather than by Spark's barrier, which is asked once a second. A task listens at its
    machine's address, where anybody may connect: only who shows a digest of the tokens that the tasks have
    exchanged through Spark is served.

    Args:
        rank: of this machine in the group.
        host: of this machine, as Spark names it.
        address: at which the others reach it.
        all_gather: see `AllGather`.
        timeout_seconds: how long the group may last.
    """

    def __init__(
        self,
        *,
        rank: int,
        host: str,
        address: str,
        all_gather: AllGather,
        timeout_seconds: float = GROUP_SECONDS,
    ) -> None:
        self._listener = listen(address)
        self._neighbours: list[socket.socket] = []
        try:
            port = self._listener.getsockname()[1]
            answers = all_gather(json.dumps([host, address, port, secrets.token_hex(16)]))
            # Until here Spark watches the time (spark.barrier.sync.timeout).
            self._deadline = time.monotonic() + timeout_seconds
            self.rank = rank
            self.host = host
            self.size = len(answers)
            self._addresses = [tuple(json.loads(answer)[1:3]) for answer in answers]
            self._token = "\n".join(answers).encode()
            # The first member knows all others, the others know the first.
            if rank == 0:
                self._neighbours.extend(self.accept("meet") for _ in answers[1:])
            else:
                self._neighbours.append(self.connect(0, "meet"))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close what the group has opened."""
        for opened in (*self._neighbours, self._listener):
            opened.close()

    def meet(self) -> None:
        """Wait until all members have come here."""
        if self.rank != 0:
            self._neighbours[0].sendall(b"r")
        for neighbour in self._neighbours:
            receive_exactly(neighbour, 1, seconds=self._remaining_seconds())
        if self.rank == 0:
            for neighbour in self._neighbours:
                neighbour.sendall(b"g")

    def connect(self, rank: int, purpose: str) -> socket.socket:
        """A connection to another member, who accepts it for the same purpose."""
        connection = socket.create_connection(self._addresses[rank], timeout=self._remaining_seconds())
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(self._credential(purpose))
        return connection

    def accept(self, purpose: str) -> socket.socket:
        """Wait for the member that connects for this purpose; anybody else is turned away."""
        while True:
            self._listener.settimeout(self._remaining_seconds())
            connection, _ = self._listener.accept()
            try:
                shown = receive_exactly(connection, CREDENTIAL_BYTES, seconds=HANDSHAKE_SECONDS)
            except OSError:
                shown = b""
            if hmac.compare_digest(shown, self._credential(purpose)):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.settimeout(self._remaining_seconds())
                return connection
            connection.close()

    def _credential(self, purpose: str) -> bytes:
        return hmac.digest(self._token, purpose.encode(), hashlib.sha256)

    def _remaining_seconds(self) -> float:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("a machine of the group did not keep step")
        return remaining


def host_of_executor(processes: Path = Path("/proc")) -> str | None:
    """The host as Spark names it, from the command line of the executor, an ancestor of this process.

    Spark tells tasks only at which address the driver sees their executor. None where it is not found.
    """
    pid = os.getpid()
    try:
        while pid > 1:
            words = (processes / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "--executor-id" in words and "--hostname" in words[:-1]:
                return words[words.index("--hostname") + 1]
            # The name in parentheses may contain anything; the parent is the second field after it.
            pid = int((processes / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return None


def address_of(host: str, seen: str) -> str:
    """At which address of this machine its partners reach it.

    A host that is an address is right. A name may stand for a loopback address on the machine itself
    (Debian's 127.0.1.1): then it is the address that the driver sees, if the machine knows it as its own.
    """
    host, seen = host.strip("[]"), seen.strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        try:
            listen(seen).close()
        except OSError:
            return host
        return seen
    return host


def listen(address: str) -> socket.socket:
    """A listening socket at this address only, at any free port."""
    family, _, _, _, resolved = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
    return socket.create_server(resolved[:2], family=family, backlog=socket.SOMAXCONN)


def receive_exactly(connection: socket.socket, size: int, *, seconds: float) -> bytes:
    """So many bytes of a connection, within so many seconds."""
    deadline = time.monotonic() + seconds
    received = b""
    while len(received) < size:
        # 0 would mean not to wait at all.
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        part = connection.recv(size - len(received))
        if not part:
            raise ConnectionError("a machine of the group ended early")
        received += part
    return received
