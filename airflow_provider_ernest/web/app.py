"""The application below /ernest: pages, the files they need, and their JSON API."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_ernest.version import __version__
from airflow_provider_ernest.views.report import CHARTS, STATIC, STYLES, bundled, modules_of, styles_of
from airflow_provider_ernest.web import models as models_api
from airflow_provider_ernest.web import runs
from airflow_provider_ernest.web.access import requires_pages
from airflow_provider_ernest.web.answers import NOTHING_HERE, Headers, Limiter, handle_errors, schemas

CSS, JS = "text/css; charset=utf-8", "text/javascript; charset=utf-8"

FOREVER = "public, max-age=31536000, immutable"
"""A year. Public, since the files are the package's and hold nothing of the user's."""


@dataclass(frozen=True)
class Asset:
    """A script or style sheet. Its address changes with its content, so browsers fetch it only once."""

    name: str
    media_type: str
    content: bytes

    @cached_property
    def digest(self) -> str:
        """A hash of the content."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @property
    def address(self) -> str:
        """Relative to the pages, since Airflow may run under a path prefix."""
        return f"assets/{self.digest}/{self.name}"


@cache
def asset(name: str) -> Asset:
    """A page's script or style sheet, or the charts' library; KeyError if there is no such file."""
    if name == CHARTS:
        return Asset(name, JS, (STATIC / "vendor" / name).read_bytes())
    page, _, kind = name.partition(".")
    if page in STYLES and kind == "js":
        return Asset(name, JS, bundled(f"pages/{page}.js").encode())
    if page in STYLES and kind == "css":
        return Asset(name, CSS, styles_of(page).encode())
    raise KeyError(name)


@cache
def page_html(name: str) -> str:
    """A page's HTML; its script asks the API for the data.

    The script delays the first paint, so that nothing is shown in the wrong theme. It fetches the charts'
    library, five times as large, after what is read first.
    """
    script, style = asset(f"{name}.js"), asset(f"{name}.css")
    has_charts = "charts/echart.js" in modules_of(f"pages/{name}.js")
    charts = f' data-charts="{asset(CHARTS).address}"' if has_charts else ""
    head = (
        f'<link rel="stylesheet" href="{style.address}">',
        f'<script src="{script.address}" defer blocking="render"{charts}></script>',
    )
    text = (STATIC / "page.html").read_text(encoding="utf-8")
    return text.replace("TITLE", name.capitalize()).replace("<!-- HEAD -->", "\n    ".join(head))


router = APIRouter(include_in_schema=False)


@router.get("/")
def start() -> Response:
    """The first page. Relative, since Airflow may run under a path prefix."""
    return RedirectResponse("models")


def _add_page(name: str) -> None:
    @router.get(f"/{name}")
    def page() -> Response:
        return HTMLResponse(page_html(name), headers={"Cache-Control": "no-cache"})


# An analysis is only a report: no answer of the API is about a single event log.
for _name in STYLES.keys() - {"analysis"}:
    _add_page(_name)


@router.get("/assets/{digest}/{name}")
def file(digest: str, name: str) -> Response:
    """A script or a style sheet. Airflow's API server compresses it."""
    try:
        found = asset(name)
    except KeyError:
        raise HTTPException(404, NOTHING_HERE) from None
    # During an upgrade of Airflow the page and this server may be of different versions of the package.
    headers = {"Cache-Control": FOREVER if digest == found.digest else "no-store"}
    return Response(found.content, media_type=found.media_type, headers=headers)


DESCRIPTION = """\
What Ernest did: the models that it keeps, what they predict, and what came of the steps of a DAG run.

The pages draw exactly these answers. Log in as for Airflow's own API: by its session cookie or by
`Authorization: Bearer` with a token of `POST /auth/token`. Times are in seconds, prices in US dollars,
moments in ISO 8601. Numbers that are unknown are null. Each answer is about DAGs that the user may read.
Errors have a `detail`: 401 without a login, 403 for what the user may not read, 404, 422, and 503 if the
model store cannot be read.
"""

_schemas = cache(schemas)


def create_app() -> FastAPI:
    """The application. All its routes require a login and the right to see plugins."""
    app = FastAPI(
        title="Ernest",
        version=__version__,
        description=DESCRIPTION,
        dependencies=[Depends(requires_pages)],
        # Relative to the description itself, since Airflow may run under a path prefix.
        servers=[{"url": "."}],
        # FastAPI's own would be public.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    handle_errors(app)
    app.add_middleware(Limiter)
    # Outside of the limiter, so that its answers have these headers, too.
    app.add_middleware(Headers)

    @app.get("/openapi.json", tags=["Description"], summary="This description")
    def openapi() -> dict[str, Any]:
        described = app.openapi()
        described.setdefault("components", {})["schemas"] = _schemas()
        return described

    app.include_router(models_api.router)
    app.include_router(runs.router)
    app.include_router(models_api.surveys)
    app.include_router(router)

    @app.get("/{path:path}", include_in_schema=False)
    def nothing(path: str) -> None:
        """Any other address, so that not even its absence is public."""
        raise HTTPException(404, NOTHING_HERE)

    return app
