"""Airflow's plugin: where the pages are mounted, and where Airflow's own pages link to them.

Every component of Airflow imports this module, even the scheduler. So it imports nothing that only requests
need.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from fastapi import FastAPI


Message = MutableMapping[str, Any]


class LazyApp:
    """The pages, built once, at the first request in any thread or event loop."""

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
        # In a thread, since Airflow's other pages must not wait for imports.
        app = self._app if self._app is not None else await asyncio.to_thread(self._built)
        await app(scope, receive, send)

    def _built(self) -> FastAPI:
        with self._building:
            if self._app is None:
                from airflow_provider_ernest.web.app import create_app

                self._app = create_app()
            return self._app


MOUNTED_AT = "ernest"
"""Below Airflow's root. Addresses are relative, to work under a path prefix."""


class ErnestPlugin(AirflowPlugin):
    """The pages of Ernest: in the menu, on each DAG run and on each task instance."""

    # Lists of the class, as Airflow's base class has them.
    name = "ernest"
    fastapi_apps: list[Any] = [  # noqa: RUF012
        {"app": LazyApp(), "url_prefix": f"/{MOUNTED_AT}", "name": "Ernest"}
    ]
    external_views: list[Any] = [  # noqa: RUF012
        {
            "name": "Ernest",
            "href": f"{MOUNTED_AT}/models",
            "destination": "nav",
            "category": "browse",
            "url_route": "ernest",
        },
        {
            "name": "Ernest",
            "href": f"{MOUNTED_AT}/run?dag_id={{DAG_ID}}&run_id={{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "ernest-run",
        },
        {
            "name": "Ernest",
            "href": (
                f"{MOUNTED_AT}/run?dag_id={{DAG_ID}}&run_id={{RUN_ID}}"
                "&task_id={TASK_ID}&map_index={MAP_INDEX}"
            ),
            "destination": "task_instance",
            "url_route": "ernest-task",
        },
    ]
