"""What one machine does when its bandwidth is measured. Spark ships this file to the machines.

Only the standard library is used, since this package is not installed there.

Memory: as many threads as cores copy between buffers (STREAM's copy: bytes read and written), in several
windows, all machines at the same time. Network: in a shift by k, machine i sends to machine i + k over one
TCP connection; the receiver counts. Both are lower bounds that compare machines, not what a data sheet says.
"""

from __future__ import annotations

import ctypes
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.bandwidth_group import Group

BILLION = 1e9
MEBIBYTE = 1 << 20
SILENCE_SECONDS = 10.0
"""So long may a partner send nothing, or not read."""


@dataclass(frozen=True)
class Plan:
    """What one round does on each machine.

    Attributes:
        cores: threads that copy.
        windows: how often the memory is measured.
        window_seconds: each time. Windows below 0.1 s would not see a CPU quota of the kernel.
        settle_seconds: of a transfer that are not counted: TCP gathers speed.
        transfer_seconds: that are counted.
        buffer_megabytes: of each of a thread's two buffers; together far more than the caches hold.
    """

    cores: int
    windows: int = 4
    window_seconds: float = 0.5
    settle_seconds: float = 0.2
    transfer_seconds: float = 0.8
    buffer_megabytes: int = 32


def copied_gigabytes_per_second(buffers: list[tuple[Any, Any]], seconds: float) -> float:
    """Bytes read and written per second by one thread for each pair of buffers."""
    copied = [0] * len(buffers)
    started_at = time.perf_counter()
    end_at = started_at + seconds

    def copy(index: int) -> None:
        target, source = map(ctypes.addressof, buffers[index])
        size, offset = len(buffers[index][0]), 0
        while time.perf_counter() < end_at:
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


def measure_memory(plan: Plan, meet: Callable[[], None]) -> list[float]:
    """The rate of each window, in 10^9 bytes per second."""
    size = plan.buffer_megabytes * MEBIBYTE
    buffers = [
        (ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in range(plan.cores)
    ]
    for target, source in buffers:
        # The first touch of a page is no copying, and pages that were never written may all be one.
        ctypes.memset(source, 1, size)
        ctypes.memmove(target, source, size)
    rates = []
    for _ in range(plan.windows):
        meet()
        rates.append(copied_gigabytes_per_second(buffers, plan.window_seconds))
    return rates


def send(connection: socket.socket, plan: Plan) -> None:
    """Send until the receiver, whose clock counts, has had enough."""
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


def receive(connection: socket.socket, plan: Plan) -> float:
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


def exchange(group: Group, plan: Plan, shift: int) -> float:
    """Send to the machine `shift` ranks further and receive at the same time; the rate received."""
    purpose = f"transfer {shift}"
    group.meet()
    with ThreadPoolExecutor(max_workers=1) as pool:
        received = pool.submit(lambda: receive(group.accept(purpose), plan))
        send(group.connect((group.rank + shift) % group.size, purpose), plan)
        return received.result()


def shifts_of(machines: int) -> list[int]:
    """To whom machines send: the next one, the one across, the previous one."""
    return sorted({1 % machines, machines // 2, machines - 1} - {0})


def measure_machine(plan: Plan, group: Group) -> dict[str, Any]:
    """What one task measures on its machine, in 10^9 bytes per second."""
    return {
        "rank": group.rank,
        "host": group.host,
        "memory_windows": measure_memory(plan, group.meet),
        "received": [exchange(group, plan, shift) for shift in shifts_of(group.size)],
    }
