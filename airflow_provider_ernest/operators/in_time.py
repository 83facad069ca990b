"""Work that the task does not wait for beyond a limit: storage that does not answer must not hold it up."""

from __future__ import annotations

from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def in_time(work: Callable[[], Result], *, most_seconds: float) -> Result:
    """The result of some work, or what it raises.

    Work that takes too long goes on for as long as the process lives, which does not wait for it either.

    Args:
        work: to be done.
        most_seconds: to wait for it.

    Raises:
        TimeoutError: it is not done yet.
    """
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    # A daemon, so that the process can end before it does.
    thread = Thread(target=copy_context().run, args=(run,), name="ernest-in-time", daemon=True)
    thread.start()
    thread.join(most_seconds)
    if failures:
        raise failures[0]
    if not results:
        raise TimeoutError(f"no answer for {most_seconds:g} s")
    return results[0]
