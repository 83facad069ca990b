"""Records are written beside the work, and the work does not wait long for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.operators.task_context import in_time

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_SECONDS = 30.0
"""So long a task waits for its record to be written. Storage that does not answer must not hold it up."""


def record_in_time(write: Callable[[], object], *, what: str, log: Any) -> None:
    """Write a record. What hinders that is a warning in the log; after `MOST_SECONDS` the task goes on.

    The writing goes on, too, for as long as the task's process lives.

    Args:
        write: writes it.
        what: is recorded, for the warnings.
        log: the logger that they go to.
    """

    def run() -> None:
        try:
            write()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            log.warning("%s is not recorded: %s: %s", what, type(error).__name__, error)

    try:
        in_time(run, most_seconds=MOST_SECONDS)
    except TimeoutError:
        log.warning(
            "%s is not recorded yet: the model store has not answered for %g s. The task goes on without it.",
            what,
            MOST_SECONDS,
        )
