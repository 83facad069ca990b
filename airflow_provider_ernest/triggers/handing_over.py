"""When an event that a trigger has yielded is in Airflow's database.

A trigger is resumed as soon as Airflow has put its event into a list. About each second the process that
runs the triggers sends that list to its parent, which stores the events before it reads the next message. So
an event is stored when the parent has answered, first, so that no earlier message is under way, then,
after more than that second, a question, and then another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from airflow_provider_ernest.triggers.threads import in_thread

SECONDS_BETWEEN_MESSAGES = 1.0
"""How long the process that runs the triggers waits between two messages."""

_STEPS = 4
"""So many times it is waited for as long: what blocks the event loop shortens one of them only."""

UNANSWERED_SECONDS = 10.0
"""Where this version of Airflow cannot be asked, an event counts as stored after so long."""

_ANY_DAG = "ernest"


async def handed_over(
    *,
    ask: Callable[[], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Return when Airflow has stored the events that were yielded before.

    Args:
        ask: asks the parent process something; None for the number of a DAG's runs.
        sleep: waits so many seconds.
    """
    ask = ask or _ask
    try:
        await _answered(ask, sleep)
        for _ in range(_STEPS):
            await sleep(SECONDS_BETWEEN_MESSAGES)
        await _answered(ask, sleep)
        await _answered(ask, sleep)
    except (ImportError, AttributeError, NameError):
        await sleep(UNANSWERED_SECONDS)


async def _answered(ask: Callable[[], None], sleep: Callable[[float], Awaitable[None]]) -> None:
    """Return when there is an answer: without, the event may still be on its way."""
    while True:
        try:
            return await in_thread(ask)
        except (ImportError, AttributeError, NameError):
            raise
        # Whatever else is wrong may pass, such as a database that is away.
        except Exception:
            await sleep(SECONDS_BETWEEN_MESSAGES)


def _ask() -> None:
    """Ask the parent of the process that runs the triggers something that costs little."""
    from airflow.sdk.exceptions import AirflowRuntimeError
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    try:
        RuntimeTaskInstance.get_dr_count(_ANY_DAG)
    except AirflowRuntimeError:
        # An error that it answers with is an answer.
        return
