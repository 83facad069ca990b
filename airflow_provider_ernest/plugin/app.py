"""The application that answers below /ernest: pages, the files they need, and their JSON API."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI, HTTPException

from airflow_provider_ernest import __version__
from airflow_provider_ernest.plugin import models_api, pages, run_api
from airflow_provider_ernest.plugin.access import requires_pages
from airflow_provider_ernest.plugin.errors import NOTHING_HERE, handle_errors
from airflow_provider_ernest.plugin.headers import Headers
from airflow_provider_ernest.plugin.limiter import Limiter
from airflow_provider_ernest.plugin.responses import REFUSALS

DESCRIPTION = """\
What Ernest did: the models that it keeps, what they predict, and what came of the steps of a DAG run.

The pages draw exactly these answers. Log in as for Airflow's own API: by its session cookie or by
`Authorization: Bearer` with a token of `POST /auth/token`. Times are in seconds, prices in US dollars,
moments in ISO 8601. Numbers that are unknown are null. Each answer is about DAGs that the user may read.
"""


def create_app() -> FastAPI:
    """The application. Each of its routes asks for a login and for the right to see plugins."""
    app = FastAPI(
        title="Ernest",
        version=__version__,
        description=DESCRIPTION,
        dependencies=[Depends(requires_pages)],
        responses=REFUSALS,
        # Relative to the description itself, since the prefix that Airflow runs under is not known here.
        servers=[{"url": "."}],
        # FastAPI's own would be public.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    handle_errors(app)
    app.add_middleware(Limiter)
    # Outside of it: its answers bear them, too.
    app.add_middleware(Headers)

    @app.get("/openapi.json", tags=["Description"], summary="This description")
    def openapi() -> dict[str, Any]:
        return app.openapi()

    app.include_router(models_api.router)
    app.include_router(run_api.router)
    app.include_router(pages.router)

    @app.get("/{path:path}", include_in_schema=False)
    def nothing(path: str) -> None:
        """Whatever else is asked for, so that not even its absence is public."""
        raise HTTPException(404, NOTHING_HERE)

    return app
