"""The application that measures the memory and network bandwidth of every machine of a Spark cluster.

spark-submit runs this file, with one executor for each machine and one task slot in each. A round is one
barrier stage with one task for each machine. Nothing but PySpark need be installed on the machines: this file
is ``__main__``, so all that the tasks use of it is pickled by value. All waits are bounded: if a machine ends
meanwhile, its partners time out.

Memory: one thread per core copies between buffers (STREAM's copy: bytes read and written), in several
windows, on all machines at the same time. Network: in a shift by k, machine i sends to machine i + k over one
TCP connection; the receiver counts. Both are lower bounds that compare machines, not what a data sheet says.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import hmac
import json
import os
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BILLION = 1e9
MEBIBYTE = 1 << 20
SILENCE_SECONDS = 10.0
"""How long a partner may send nothing, or not read."""
HANDSHAKE_SECONDS = 2.0
"""How long a connecting partner may take to show that it is a task of this group."""
GROUP_SECONDS = 60.0
"""How long a group may last by default; a round takes about 5 s once its tasks run."""

# What a Python error of a task looks like within the stack traces of Spark.
TASK_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception): .*)$", re.MULTILINE)


def main() -> int:
    """Measure, and write what came of it to the output file."""
    parser = argparse.ArgumentParser(description="Measure the bandwidth of every machine of a Spark cluster.")
    parser.add_argument("--machines", type=int, required=True)
    parser.add_argument("--cores", type=int, required=True, help="of each machine")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--interval-seconds", type=float, default=0.0, help="between the rounds")
    parser.add_argument("--output", type=Path, required=True, help="JSON file on the driver's machine")
    options = parser.parse_args()
    try:
        document: dict[str, Any] = {"measurements": run(options)}
    except Exception as error:
        # Without the stack traces that Spark wraps around it.
        found = TASK_ERROR.findall(str(error))
        reason = found[0] if found else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        document = {"problem": reason}
        tell(f"failed: {reason}")
        sys.stderr.write(f"{error}\n")
    # Never seen half done.
    partial = options.output.with_name(f"{options.output.name}.partial")
    partial.write_text(json.dumps(document))
    partial.replace(options.output)
    return 1 if "problem" in document else 0


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All rounds in one application; the measurements of all machines in all rounds."""
    from pyspark import SparkContext

    machines = options.machines
    tell(f"waiting for {machines} machines")
    context = SparkContext()
    try:
        context.setLogLevel("WARN")
        measured: list[dict[str, Any]] = []
        for number in range(1, options.rounds + 1):
            if number > 1:
                time.sleep(options.interval_seconds)
            started_at = time.monotonic()
            tasks = context.parallelize(range(machines), machines).barrier()
            found = tasks.mapPartitions(task_of(options.cores)).collect()
            hosts = {machine["host"] for machine in found}
            if len(hosts) != machines:
                raise RuntimeError(f"{machines} tasks ran on {len(hosts)} hosts: {', '.join(sorted(hosts))}")
            measured += with_sent(found)
            tell(f"round {number} of {options.rounds} took {time.monotonic() - started_at:.1f} s")
        return measured
    finally:
        context.stop()


def task_of(cores: int) -> Callable[[Iterable[int]], Iterator[dict[str, Any]]]:
    """The function of the barrier stage's tasks."""

    def task(_: Iterable[int]) -> Iterator[dict[str, Any]]:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        # As the worker was told: its name at the master and its address, which executors inherit.
        host = os.environ["SPARK_LOCAL_HOSTNAME"]
        with closing(Group(rank=context.partitionId(), host=host, all_gather=context.allGather)) as group:
            yield measure_machine(Plan(cores=cores), group)

    return task


def with_sent(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The measurements with what each machine sent: it is what the machine it sent to has received."""
    count = len(measured)
    by_rank = {machine["rank"]: machine for machine in measured}
    return [
        {
            "host": machine["host"],
            "memory_windows": machine["memory_windows"],
            "sent": [
                by_rank[(machine["rank"] + shift) % count]["received"][index]
                for index, shift in enumerate(shifts_of(count))
            ],
            "received": machine["received"],
        }
        for machine in measured
    ]


def tell(line: str) -> None:
    """Progress, into the log of whoever submitted this."""
    sys.stdout.write(f"bandwidth probe: {line}\n")
    sys.stdout.flush()


# What one machine does.


@dataclass(frozen=True)
class Plan:
    """What one round does on each machine."""

    cores: int
    windows: int = 4  # measurements of the memory
    window_seconds: float = 0.5  # below 0.1 s they would miss a CPU quota of the kernel
    settle_seconds: float = 0.2  # start of a transfer that is not counted: TCP gathers speed
    transfer_seconds: float = 0.8  # that are counted
    buffer_megabytes: int = 32  # of each of a thread's two: together far more than the caches hold


def measure_machine(plan: Plan, group: Group) -> dict[str, Any]:
    """What one task measures on its machine, in 10^9 bytes per second."""
    return {
        "rank": group.rank,
        "host": group.host,
        "memory_windows": measure_memory(plan, group.start),
        "received": [exchange(group, plan, shift) for shift in shifts_of(group.size)],
    }


def shifts_of(machines: int) -> list[int]:
    """To whom machines send: the next one, the one across, the previous one."""
    return sorted({1 % machines, machines // 2, machines - 1} - {0})


def measure_memory(plan: Plan, start: Callable[[], None]) -> list[float]:
    """The rate of each window, in 10^9 bytes per second; `start` lets all machines begin together."""
    size = plan.buffer_megabytes * MEBIBYTE
    buffers = [
        (ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in range(plan.cores)
    ]
    for target, source in buffers:
        # The first touch of a page is no copying, and pages that were never written may all be one.
        ctypes.memset(source, 1, size)
        ctypes.memmove(target, source, size)
    start()
    return [_copied_gigabytes_per_second(buffers, plan.window_seconds) for _ in range(plan.windows)]


def _copied_gigabytes_per_second(buffers: list[tuple[Any, Any]], seconds: float) -> float:
    copied = [0] * len(buffers)
    started_at = time.perf_counter()
    end_at = started_at + seconds

    def copy(index: int) -> None:
        target, source = map(ctypes.addressof, buffers[index])
        size, offset = len(buffers[index][0]), 0
        # At least once: on a busy machine a thread may begin after the window.
        while not copied[index] or time.perf_counter() < end_at:
            # ctypes releases the interpreter's lock during the call.
            ctypes.memmove(target + offset, source + offset, MEBIBYTE)
            copied[index] += MEBIBYTE
            offset = (offset + MEBIBYTE) % size

    threads = [threading.Thread(target=copy, args=(index,)) for index in range(len(buffers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2 * sum(copied) / (time.perf_counter() - started_at) / BILLION


def exchange(group: Group, plan: Plan, shift: int) -> float:
    """Send to the machine `shift` ranks further and receive at the same time; the rate received."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        received = pool.submit(_receive, group.incoming[shift], plan)
        _send(group.outgoing[shift], plan)
        return received.result()


def _send(connection: socket.socket, plan: Plan) -> None:
    """Send until the receiver, whose clock counts, has enough."""
    block = bytes(MEBIBYTE // 8)
    give_up_at = time.monotonic() + plan.settle_seconds + plan.transfer_seconds + SILENCE_SECONDS
    with connection:
        connection.settimeout(SILENCE_SECONDS)
        try:
            while time.monotonic() < give_up_at:
                connection.send(block)
        except (BrokenPipeError, ConnectionResetError):
            return
    raise TimeoutError("the receiver never closed the connection")


def _receive(connection: socket.socket, plan: Plan) -> float:
    """10^9 bytes per second that arrive, after the connection has gathered speed."""
    buffer = bytearray(MEBIBYTE // 4)
    total = 0
    started_at = counted_from = None
    with connection:
        connection.settimeout(SILENCE_SECONDS)
        while True:
            size = connection.recv_into(buffer)
            now = time.perf_counter()
            if size == 0:
                raise ConnectionError("the sender ended early")
            started_at = started_at or now
            if now < started_at + plan.settle_seconds:
                continue
            if counted_from is None:
                counted_from = now
                continue
            total += size
            if now >= started_at + plan.settle_seconds + plan.transfer_seconds:
                return total / (now - counted_from) / BILLION


class Group:
    """The machines of a round, as one of them sees them: its connections to and from its partners, by shift.

    All connections are made beforehand, each with a purpose: a shift, or 0 for the common start, which comes
    over TCP because Spark's barrier polls only once a second. A task listens at its machine's address, where
    anybody may connect: only partners that show a digest of the tokens exchanged through Spark are served.
    `all_gather` hands a text to the tasks of all machines, and returns the texts of all, by rank.
    """

    def __init__(
        self,
        *,
        rank: int,
        host: str,
        all_gather: Callable[[str], list[str]],
        timeout_seconds: float = GROUP_SECONDS,
    ) -> None:
        self.rank = rank
        self.host = host
        self.outgoing: dict[int, socket.socket] = {}
        self.incoming: dict[int, socket.socket] = {}
        self._starting: list[socket.socket] = []
        with socket.create_server((host, 0), backlog=socket.SOMAXCONN) as listener:
            port = listener.getsockname()[1]
            answers = all_gather(json.dumps([host, port, secrets.token_hex(16)]))
            # Until here Spark watches the time (spark.barrier.sync.timeout).
            self._deadline = time.monotonic() + timeout_seconds
            self.size = len(answers)
            self._members = [tuple(json.loads(answer)[:2]) for answer in answers]
            self._token = "\n".join(answers).encode()
            try:
                for shift in shifts_of(self.size):
                    self.outgoing[shift] = self.connect((rank + shift) % self.size, shift)
                if rank != 0:
                    self.outgoing[0] = self.connect(0, 0)
                self._accept_all(listener)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """Close what the group has opened."""
        for opened in (*self.outgoing.values(), *self.incoming.values(), *self._starting):
            opened.close()

    def start(self) -> None:
        """Wait until all members have come here; the first knows all others, and tells them."""
        if self.rank != 0:
            self.outgoing[0].sendall(b"r")
            _receive_exactly(self.outgoing[0], 1, seconds=self._remaining_seconds())
            return
        for neighbour in self._starting:
            _receive_exactly(neighbour, 1, seconds=self._remaining_seconds())
        for neighbour in self._starting:
            neighbour.sendall(b"g")

    def connect(self, rank: int, purpose: int) -> socket.socket:
        """A connection to another member, for a shift or the start."""
        connection = socket.create_connection(self._members[rank], timeout=self._remaining_seconds())
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(self._credential(purpose))
        return connection

    def _accept_all(self, listener: socket.socket) -> None:
        """Wait for all members that connect to this one; reject anybody else."""
        missing = [*shifts_of(self.size), *([0] * (self.size - 1) if self.rank == 0 else [])]
        purposes = {self._credential(purpose): purpose for purpose in missing}
        while missing:
            listener.settimeout(self._remaining_seconds())
            connection, _ = listener.accept()
            try:
                shown = _receive_exactly(connection, hashlib.sha256().digest_size, seconds=HANDSHAKE_SECONDS)
            except OSError:
                shown = b""
            purpose = purposes.get(shown)
            if purpose not in missing:
                connection.close()
                continue
            missing.remove(purpose)
            if purpose == 0:
                self._starting.append(connection)
            else:
                self.incoming[purpose] = connection

    def _credential(self, purpose: int) -> bytes:
        return hmac.digest(self._token, str(purpose).encode(), hashlib.sha256)

    def _remaining_seconds(self) -> float:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("a machine of the group did not keep step")
        return remaining


def _receive_exactly(connection: socket.socket, size: int, *, seconds: float) -> bytes:
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


if __name__ == "__main__":
    sys.exit(main())
