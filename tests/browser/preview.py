"""The pages without Airflow around them, and with the DAG runs of `preview_runs`. There is no login."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.routing import Mount

from airflow_provider_ernest.store.store import ModelStore
from tests.browser.preview_runs import preview_run
from tests.unit.web.pages_app import pages

PREFIX = "/some/prefix/ernest"


def preview_app(store_root: Path) -> Starlette:
    """The pages below a path prefix."""
    app = pages(store=ModelStore(store_root.absolute()), runs=preview_run).app
    return Starlette(routes=[Mount(PREFIX, app)])
