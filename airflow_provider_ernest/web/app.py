"""The application that answers below /ernest: pages, the files they need, and their JSON API."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from threading import Thread
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_ernest.version import __version__
from airflow_provider_ernest.views.scripts import STYLES
from airflow_provider_ernest.web import models as models_api
from airflow_provider_ernest.web import runs, surveys
from airflow_provider_ernest.web.access import requires_pages
from airflow_provider_ernest.web.answers import NOTHING_HERE, Headers, Limiter, handle_errors
from airflow_provider_ernest.web.assets import asset, page_html
from airflow_provider_ernest.web.description import REFUSALS, schemas
from airflow_provider_ernest.web.first_answers import first_answers

PREDICTING = "airflow_provider_ernest.views.prediction"
"""What predictions are made with; numpy and scipy come with it, and take most of a second."""


@cache
def load_soon() -> Thread:
    """Load it beside whatever else is going on, once in a process. A prediction meanwhile waits for it."""
    thread = Thread(target=import_module, args=(PREDICTING,), name="load the mathematics", daemon=True)
    thread.start()
    return thread


router = APIRouter(include_in_schema=False)

AcceptEncoding = Annotated[str, Header(alias="Accept-Encoding")]

FOREVER = "public, max-age=31536000, immutable"
"""A year. Public: the files are those of the package, and nothing of the user's is in them."""


@router.get("/")
def start() -> Response:
    """The page that one begins with. Relative, since nobody here knows the prefix that Airflow runs under."""
    return RedirectResponse("models")


@router.get("/model")
async def model_page(request: Request) -> Response:
    """The page of a model, with its first answers."""
    mathematics = load_soon()
    # Where they are still to be loaded the page is not to wait for it.
    data = await first_answers(request, predicts=not mathematics.is_alive())
    html = await run_in_threadpool(page_html, "model", data)
    return HTMLResponse(html, headers={"Cache-Control": "no-store" if data else "no-cache"})


def _add_page(name: str) -> None:
    @router.get(f"/{name}")
    def page() -> Response:
        return HTMLResponse(page_html(name), headers={"Cache-Control": "no-cache"})


# An analysis is a report only: no answer of the API is of a single event log.
for _name in STYLES.keys() - {"model", "analysis"}:
    _add_page(_name)


@router.get("/assets/{digest}/{name}")
def file(digest: str, name: str, accepted: AcceptEncoding = "") -> Response:
    """A script or a style sheet."""
    try:
        found = asset(name)
    except KeyError:
        raise HTTPException(404, NOTHING_HERE) from None
    # While Airflow is upgraded, the page may be of one version of the package and this server of another.
    headers = {"Vary": "Accept-Encoding", "Cache-Control": FOREVER if digest == found.digest else "no-store"}
    if "gzip" not in accepted:
        return Response(found.content, media_type=found.media_type, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(found.compressed, media_type=found.media_type, headers=headers)


DESCRIPTION = """\
What Ernest did: the models that it keeps, what they predict, and what came of the steps of a DAG run.

The pages draw exactly these answers. Log in as for Airflow's own API: by its session cookie or by
`Authorization: Bearer` with a token of `POST /auth/token`. Times are in seconds, prices in US dollars,
moments in ISO 8601. Numbers that are unknown are null. Each answer is about DAGs that the user may read.
"""


_schemas = cache(schemas)


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
        described = app.openapi()
        described.setdefault("components", {})["schemas"] = _schemas()
        return described

    app.include_router(models_api.router)
    app.include_router(runs.router)
    app.include_router(surveys.router)
    app.include_router(router)

    @app.get("/{path:path}", include_in_schema=False)
    def nothing(path: str) -> None:
        """Whatever else is asked for, so that not even its absence is public."""
        raise HTTPException(404, NOTHING_HERE)

    return app
