"""Work of many parts on threads that no process waits for when it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part], *, most: int) -> list[Result]:
    """The results of many parts of some work, in the order of the parts.

    An executor of the standard library would do, but for storage that never answers: the interpreter
    waits for an executor's threads when it ends.

    Args:
        work: done for each part; what it raises first is raised here, when all threads have ended.
        parts: any number of them.
        most: so many at a time.
    """
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(parts)):
        waiting.put(number)
    results: dict[int, Result] = {}
    failures: list[BaseException] = []

    def run() -> None:
        while not failures:
            try:
                number = waiting.get_nowait()
            except Empty:
                return
            try:
                results[number] = work(parts[number])
            except BaseException as error:
                failures.append(error)

    threads = [Thread(target=run, daemon=True) for _ in range(min(most, len(parts)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [results[number] for number in range(len(parts))]
