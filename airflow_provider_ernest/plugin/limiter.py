"""How many requests may wait for the model store at once, and for how long.

The pages share the threads of Airflow's API server, and tasks that cannot send it their heartbeats are
killed: a store that does not answer must not take all of them.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import AbstractEventLoop, Semaphore, Task
from weakref import WeakKeyDictionary

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from airflow_provider_ernest.plugin.errors import error_answer

log = logging.getLogger(__name__)

MOST_AT_ONCE = 8
"""Of the 40 threads that an API server has for all that it answers."""
MOST_SECONDS_IN_LINE = 10.0
MOST_SECONDS = 30.0
"""The first reader of a large store on an object store looks through all of it."""

BUSY = (
    "Ernest's pages are busy: too many requests are waiting for the model store. Try again in a minute. "
    "If it stays like that, the store, [ernest] store in Airflow's configuration, does not answer."
)
NO_ANSWER = (
    f"This is not done after {MOST_SECONDS:g} seconds. Try again in a minute: what was read by then is "
    "remembered. If it stays like that, the model store, [ernest] store in Airflow's configuration, does not "
    "answer."
)


class Limiter:
    """ASGI middleware: answers 503 to requests of the API beyond so many at once, and to those that hang.

    Work that is not done in time cannot be stopped. It keeps its place until it ends, so that threads that
    hang never are more than places.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        at_once: int = MOST_AT_ONCE,
        seconds_in_line: float = MOST_SECONDS_IN_LINE,
        seconds: float = MOST_SECONDS,
    ) -> None:
        self.app = app
        self._at_once = at_once
        self._seconds_in_line = seconds_in_line
        self._seconds = seconds
        # A semaphore belongs to its loop; a server has one, a test may have more.
        self._places: WeakKeyDictionary[AbstractEventLoop, Semaphore] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on when there is a place for it."""
        if scope["type"] != "http" or "/api/" not in scope["path"]:
            await self.app(scope, receive, send)
            return
        places = self._places.setdefault(asyncio.get_running_loop(), Semaphore(self._at_once))
        try:
            await asyncio.wait_for(places.acquire(), self._seconds_in_line)
        except TimeoutError:
            await _refuse(scope, receive, send, BUSY)
            return
        await self._answer(scope, receive, send, places)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, places: Semaphore) -> None:
        has_begun = is_given_up = False

        async def unless_given_up(message: Message) -> None:
            nonlocal has_begun
            if not is_given_up:
                has_begun = True
                await send(message)

        def ended(task: Task[None]) -> None:
            places.release()
            if is_given_up and not task.cancelled() and task.exception() is not None:
                log.info("%r failed after it was given up", scope["path"], exc_info=task.exception())

        work = asyncio.ensure_future(self.app(scope, receive, unless_given_up))
        work.add_done_callback(ended)
        await asyncio.wait({work}, timeout=self._seconds)
        if work.done() or has_begun:
            await work
            return
        is_given_up = True
        log.error(
            "Ernest's page %r has waited %g s for the model store, and was given up",
            scope["path"],
            self._seconds,
        )
        await _refuse(scope, receive, send, NO_ANSWER)


async def _refuse(scope: Scope, receive: Receive, send: Send, detail: str) -> None:
    answer = error_answer(scope, 503, detail)
    answer.headers["Retry-After"] = "60"
    await answer(scope, receive, send)
