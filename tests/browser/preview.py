"""The pages without Airflow around them: ``python -m tests.browser.preview STORE_ROOT PORT``.

Shows the models of a store, and the DAG runs of `preview_runs`. There is no login: it listens on this machine
only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import uvicorn
from airflow.api_fastapi.core_api.security import get_user
from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.report import bundled, modules_of
from airflow_provider_ernest.web.access import auth_manager, dag_teams
from airflow_provider_ernest.web.app import asset, create_app, page_html
from airflow_provider_ernest.web.models import model_store
from airflow_provider_ernest.web.runs import run_reader
from tests.browser.preview_runs import preview_run

PREFIX = "/some/prefix/ernest"


class EverybodyMay:
    """An auth manager that allows all."""

    def is_authorized_view(self, **_: Any) -> bool:
        return True

    def is_authorized_dag(self, **_: Any) -> bool:
        return True

    def filter_authorized_dag_ids(self, *, dag_ids: set[str], **_: Any) -> set[str]:
        return dag_ids


def preview_app(store_root: Path) -> Starlette:
    """The pages below a path prefix."""
    app = create_app()
    store = ModelStore(store_root.absolute())
    app.dependency_overrides[get_user] = lambda: object()
    app.dependency_overrides[auth_manager] = EverybodyMay
    app.dependency_overrides[dag_teams] = lambda: lambda dag_ids: {None: dag_ids}
    app.dependency_overrides[model_store] = lambda: store
    app.dependency_overrides[run_reader] = lambda: preview_run
    start = Route("/", lambda _: RedirectResponse(f"{PREFIX}/"))
    return Starlette(routes=[start, Mount(PREFIX, app)])


class AsEdited:
    """ASGI middleware: makes scripts and styles anew for each page, so that one sees what one edits."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if "/assets/" not in scope["path"] and "/api/" not in scope["path"]:
            for made in (modules_of, bundled, asset, page_html):
                made.cache_clear()
        await self.app(scope, receive, send)


if __name__ == "__main__":
    app = AsEdited(preview_app(Path(sys.argv[1])))
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
