"""An ASGI application that is built when it is asked for the first time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI

Message = MutableMapping[str, Any]


class LazyApp:
    """The pages, built once, at the first request that any thread or event loop gets."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None
        self._building = threading.Lock()

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer as the application does."""
        # In a thread: imports take their time, and Airflow's other pages are not to wait for them.
        app = self._app if self._app is not None else await asyncio.to_thread(self._built)
        await app(scope, receive, send)

    def _built(self) -> FastAPI:
        with self._building:
            if self._app is None:
                from airflow_provider_ernest.plugin.app import create_app

                self._app = create_app()
            return self._app
