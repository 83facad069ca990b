"""Processes that read event logs for one that asks, each one log at a time; see `worker`."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.history import worker
from airflow_provider_ernest.processes import die_with_parent
from airflow_provider_ernest.words import duration

_LOOK_SECONDS = 1.0
_START_SECONDS = 300.0
"""For a process to load what it reads with; a busy machine takes a while."""

_PIECE_BYTES = 1 << 16
_MOST_ANSWER_BYTES = 256 << 20


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process:
    """One process, and what it was asked."""

    def __init__(self) -> None:
        self.is_ready = False
        self.key: Any = None
        self.since = time.monotonic()
        self._held = bytearray()
        self._process = subprocess.Popen(
            [sys.executable, "-m", worker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent(),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked, self.answers = self._process.stdin, self._process.stdout

    @property
    def seconds(self) -> float:
        """For how long it has been at it."""
        return time.monotonic() - self.since

    def ask(self, key: Any, asked: dict[str, Any]) -> None:
        """Give it a log to read; where it has ended meanwhile, that shows in its answers."""
        self.key, self.since = key, time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self._asked.write(f"{json.dumps(asked)}\n".encode())
            self._asked.flush()

    def said(self) -> list[dict[str, Any]]:
        """What has come and is whole.

        Raises:
            EOFError: the process has ended, or answers without end.
        """
        piece = os.read(self.answers.fileno(), _PIECE_BYTES)
        self._held += piece
        if not piece or len(self._held) > _MOST_ANSWER_BYTES:
            raise EOFError
        if b"\n" not in piece:
            return []
        whole, _, rest = bytes(self._held).rpartition(b"\n")
        self._held = bytearray(rest)
        return [json.loads(line) for line in whole.splitlines()]

    def end(self) -> str:
        """End it; says how it has ended where it had by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_LOOK_SECONDS)
        code = self._process.poll()
        self.kill()
        if code is None or code >= 0:
            return f"exit code {code}"
        return f"signal {signal.Signals(-code).name}"

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()
        self.answers.close()
        with contextlib.suppress(BrokenPipeError):
            self._asked.close()


class Pool:
    """Reads logs in several processes. A log that ends its process, or takes too long, costs only itself.

    Args:
        processes: at most.
        most_seconds: for one log.
    """

    def __init__(self, processes: int, *, most_seconds: float) -> None:
        self._most = processes
        self._most_seconds = most_seconds
        self._running: list[_Process] = []

    def answers(self, asked: Iterable[tuple[Any, dict[str, Any]]]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The answers in the order in which they come, each with the key of what was asked.

        Args:
            asked: keys, and what to ask.

        Raises:
            MissingResourceError: no such process can be started.
        """
        waiting = iter(asked)
        try:
            with selectors.DefaultSelector() as selector:
                self._fill(waiting, selector)
                while self._running:
                    for key, _ in selector.select(_LOOK_SECONDS):
                        yield from self._heard(key.data, waiting, selector)
                    for process in [each for each in self._running if self._is_overdue(each)]:
                        yield process.key, {worker.PROBLEM: self._too_long()}
                        self._drop(process, selector)
                        self._fill(waiting, selector)
        finally:
            for process in self._running:
                process.kill()
            self._running.clear()

    def _fill(self, waiting: Iterator[tuple[Any, dict[str, Any]]], selector: selectors.BaseSelector) -> None:
        """Start processes for what is waiting."""
        while len(self._running) < self._most and (following := next(waiting, None)) is not None:
            process = _Process()
            self._running.append(process)
            selector.register(process.answers, selectors.EVENT_READ, process)
            process.ask(*following)

    def _heard(
        self,
        process: _Process,
        waiting: Iterator[tuple[Any, dict[str, Any]]],
        selector: selectors.BaseSelector,
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        try:
            said = process.said()
        except EOFError:
            key, was_ready = process.key, process.is_ready
            how = self._drop(process, selector)
            if not was_ready:
                raise MissingResourceError(
                    f"The processes that read event logs cannot be started: they end with {how}.",
                    remedy=f"Run {sys.executable} -m {worker.__name__} to see why.",
                ) from None
            yield key, {worker.PROBLEM: f"reading it ended its process ({how})"}
            self._fill(waiting, selector)
            return
        for told in said:
            if not process.is_ready:
                process.is_ready, process.since = True, time.monotonic()
                continue
            key, following = process.key, next(waiting, None)
            if following is None:
                self._drop(process, selector)
            else:
                process.ask(*following)
            yield key, told

    def _is_overdue(self, process: _Process) -> bool:
        # The process itself stops a little earlier, unless it hangs.
        allowed = 1.2 * self._most_seconds + _LOOK_SECONDS if process.is_ready else _START_SECONDS
        return process.seconds > allowed

    def _too_long(self) -> str:
        return f"not read within {duration(self._most_seconds)}"

    def _drop(self, process: _Process, selector: selectors.BaseSelector) -> str:
        selector.unregister(process.answers)
        self._running.remove(process)
        return process.end() if process.is_ready or process.seconds < _START_SECONDS else "no answer"
