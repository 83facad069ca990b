"""The application that answers below /ernest: pages, the files they need, and their JSON API."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException
from starlette.responses import RedirectResponse, Response

from airflow_provider_ernest import __version__
from airflow_provider_ernest.views.scripts import STATIC, modules_of
from airflow_provider_ernest.web import models as models_api
from airflow_provider_ernest.web import runs
from airflow_provider_ernest.web.access import requires_pages
from airflow_provider_ernest.web.answers import NOTHING_HERE, Headers, Limiter, handle_errors
from airflow_provider_ernest.web.description import REFUSALS, schemas

PREDICTING = "airflow_provider_ernest.views.prediction"
"""What predictions are made with; numpy and scipy come with it, and take most of a second."""


@cache
def load_soon() -> Thread:
    """Load it beside whatever else is going on, once in a process. A prediction meanwhile waits for it."""
    thread = Thread(target=import_module, args=(PREDICTING,), name="load the mathematics", daemon=True)
    thread.start()
    return thread


router = APIRouter(include_in_schema=False)

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}

KnownVersion = Annotated[str, Header(alias="If-None-Match")]

COMMON_STYLES = ("tokens", "base", "components", "tables", "controls", "notices")
STYLES = {
    "models": ("models",),
    "model": ("model", "life", "why"),
    "run": ("run",),
    "task": ("run",),
}
"""The pages, by name, with the style sheets that each has besides; its script is ``js/pages/NAME.js``."""
THEME, CHARTS = "js/theme.js", "vendor/echarts.min.js"


@cache
def page_html(name: str) -> str:
    """A page without data. It names all scripts that it needs: else a browser finds one after the other."""
    script = f"pages/{name}.js"
    modules = [f"js/{each}" for each in modules_of(script)]
    styles = (f"css/{each}.css" for each in (*COMMON_STYLES, *STYLES[name]))
    head = [
        *(f'<link rel="stylesheet" href="static/{each}">' for each in styles),
        f'<script type="module" src="static/{THEME}" blocking="render"></script>',
        *(f'<link rel="modulepreload" href="static/{each}">' for each in sorted({*modules[:-1]} - {THEME})),
        *([f'<script src="static/{CHARTS}" defer></script>'] if "js/charts/echart.js" in modules else []),
        f'<script type="module" src="static/js/{script}"></script>',
    ]
    frame = (STATIC / "page.html").read_text(encoding="utf-8")
    return frame.replace("TITLE", name.capitalize()).replace("<!-- HEAD -->", "\n    ".join(head))


@router.get("/")
def start() -> Response:
    """The page that one begins with. Relative, since nobody here knows the prefix that Airflow runs under."""
    return RedirectResponse("models")


def _add_page(name: str) -> None:
    @router.get(f"/{name}")
    def page(known: KnownVersion = "") -> Response:
        if name == "model":
            load_soon()
        content = page_html(name).encode()
        return _unless_known(content, _version_of(content), "text/html; charset=utf-8", known)


for _name in STYLES:
    _add_page(_name)


@router.get("/static/{path:path}")
def static(path: str, known: KnownVersion = "") -> Response:
    """A script, a style or a picture."""
    try:
        file = (STATIC / path).resolve()
    except (OSError, ValueError):  # such as a null character
        raise HTTPException(404, NOTHING_HERE) from None
    media_type = MEDIA_TYPES.get(file.suffix)
    if media_type is None or not file.is_relative_to(STATIC):
        raise HTTPException(404, NOTHING_HERE)
    return _answer(file, media_type, known)


def _answer(file: Path, media_type: str, known: str) -> Response:
    try:
        state = file.stat()
        content, version = _content(file, state.st_mtime_ns, state.st_size)
    except OSError:
        raise HTTPException(404, NOTHING_HERE) from None
    return _unless_known(content, version, media_type, known)


def _unless_known(content: bytes, version: str, media_type: str, known: str) -> Response:
    # Kept by the browser, but never used without asking: it fits the version of the package that runs.
    headers = {"ETag": version, "Cache-Control": "no-cache"}
    if version in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


@lru_cache(maxsize=128)
def _content(file: Path, _changed: int, _size: int) -> tuple[bytes, str]:
    content = file.read_bytes()
    return content, _version_of(content)


def _version_of(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


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
    app.include_router(router)

    @app.get("/{path:path}", include_in_schema=False)
    def nothing(path: str) -> None:
        """Whatever else is asked for, so that not even its absence is public."""
        raise HTTPException(404, NOTHING_HERE)

    return app
