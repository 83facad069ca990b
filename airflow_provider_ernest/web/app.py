"""The application below /ernest: pages, the files they need, and their JSON API."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from threading import Thread
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Depends, FastAPI, Header, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Message

from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE
from airflow_provider_ernest.settings.goal import OBJECTIVES
from airflow_provider_ernest.version import __version__
from airflow_provider_ernest.views.scripts import (
    CHARTS,
    STATIC,
    STYLES,
    bundled,
    harmless,
    modules_of,
    styles_of,
)
from airflow_provider_ernest.web import models as models_api
from airflow_provider_ernest.web import runs
from airflow_provider_ernest.web.access import requires_pages
from airflow_provider_ernest.web.answers import NOTHING_HERE, Headers, Limiter, handle_errors
from airflow_provider_ernest.web.description import REFUSALS, schemas

PREDICTING = "airflow_provider_ernest.views.prediction"
"""Imports numpy and scipy, which takes most of a second."""

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

    @cached_property
    def compressed(self) -> bytes:
        """The content, compressed by gzip."""
        return gzip.compress(self.content, mtime=0)

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
def frame(name: str) -> str:
    """A page's HTML without data.

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


def page_html(name: str, data: str = "") -> str:
    """A page's HTML, with answers of the API in it; `data` is what `first_answers` returns."""
    html = frame(name)
    block = f'<script type="application/json" id="answers">{data}</script>\n  </body>'
    return html.replace("</body>", block) if data else html


# A model's page brings along the answers that its script would ask for first. They are requested from the API
# as the script would, with the same login, so that a page never holds what the API refuses. Errors and slow
# answers are left to the script, which shows either.

MODEL, PREDICTION = "api/model", "api/prediction"
NAMING = ("job", "instance_type", "model_id")
"""The page's parameters that name the model; all others are part of a question to it."""

MOST_SECONDS = 1.0
"""After which a page is sent without its model: a page that says it is loading is better than a blank one."""
MOST_SECONDS_OF_PREDICTION = 5.0
"""By then everything is read: the script would have to wait as long, for the same started anew."""

_late: set[asyncio.Task[str | None]] = set()


async def first_answers(request: Request, *, predicts: bool) -> str:
    """The first answers of a model's page, as JSON that is harmless in HTML; empty if there are none.

    With `predicts`, the prediction is among them if only the model is named.
    """
    # A plus sign stays one, as the page's script reads its address.
    params = dict(parse_qsl(request.url.query.replace("+", "%2B")))
    if not {"job", "instance_type"} <= params.keys():
        return ""
    named = {name: params[name] for name in NAMING if name in params}
    page = await _within(MOST_SECONDS, _answer(request, MODEL, named))
    if page is None:
        return ""
    answers = [_brought(MODEL, named, page)]
    if predicts and params.keys() <= set(NAMING):
        question = first_question(json.loads(page))
        prediction = await _within(MOST_SECONDS_OF_PREDICTION, _answer(request, PREDICTION, question))
        answers += [] if prediction is None else [_brought(PREDICTION, question, prediction)]
    return f"[{','.join(answers)}]"


async def _within(seconds: float, answer: Coroutine[Any, Any, str | None]) -> str | None:
    """The answer, or None if it is late. A late one still runs on: what it reads of the store is cached."""
    work = asyncio.ensure_future(answer)
    _late.add(work)
    work.add_done_callback(_late.discard)
    await asyncio.wait({work}, timeout=seconds)
    return work.result() if work.done() else None


def _brought(path: str, params: Mapping[str, Any], answer: str) -> str:
    return harmless(f'{{"path":"{path}","params":{json.dumps(params)},"answer":{answer}}}')


def first_question(page: Mapping[str, Any]) -> dict[str, Any]:
    """What ``static/js/model/asked.js`` asks of a model if the address has no question."""
    model, asked = page["model"], page["defaults"]
    iterations = (asked["iterations"] or model["trained_iterations"]) if model["trained_iterations"] else None
    is_limited = bool(asked["deadline_seconds"] or asked["budget_dollars"])
    plain = ("scale", "deadline_seconds", "budget_dollars", "confidence", "price_per_hour")
    question = {
        **{name: model[name] for name in NAMING},
        **{name: asked[name] for name in (*plain, "min_machines", "max_machines")},
        **{name: asked["billing"][name] for name in BESIDE_THE_PRICE},
        "iterations": iterations,
        "objective": (asked["objective"] or OBJECTIVES[0]) if is_limited else None,
    }
    return {name: value for name, value in question.items() if value is not None}


async def _answer(request: Request, path: str, params: Mapping[str, Any]) -> str | None:
    """The API's answer; None if it is an error."""
    status, parts = 0, []

    async def received() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    whole = request.scope["path"].rpartition("/")[0] + f"/{path}"
    scope = {
        **request.scope,
        "path": whole,
        "raw_path": quote(whole).encode(),
        "query_string": urlencode(params, quote_via=quote).encode(),
    }
    await request.app(scope, received, send)
    return b"".join(parts).decode() if status == 200 else None


@cache
def load_soon() -> Thread:
    """Import the mathematics in the background, once a process. A prediction meanwhile waits for it."""
    thread = Thread(target=import_module, args=(PREDICTING,), name="load the mathematics", daemon=True)
    thread.start()
    return thread


router = APIRouter(include_in_schema=False)


@router.get("/")
def start() -> Response:
    """The first page. Relative, since Airflow may run under a path prefix."""
    return RedirectResponse("models")


@router.get("/model")
async def model_page(request: Request) -> Response:
    """The page of a model, with its first answers."""
    # The page does not wait for the mathematics.
    data = await first_answers(request, predicts=not load_soon().is_alive())
    html = await run_in_threadpool(page_html, "model", data)
    return HTMLResponse(html, headers={"Cache-Control": "no-store" if data else "no-cache"})


def _add_page(name: str) -> None:
    @router.get(f"/{name}")
    def page() -> Response:
        return HTMLResponse(page_html(name), headers={"Cache-Control": "no-cache"})


# An analysis is only a report: no answer of the API is about a single event log.
for _name in STYLES.keys() - {"model", "analysis"}:
    _add_page(_name)


@router.get("/assets/{digest}/{name}")
def file(digest: str, name: str, accepted: Annotated[str, Header(alias="Accept-Encoding")] = "") -> Response:
    """A script or a style sheet."""
    try:
        found = asset(name)
    except KeyError:
        raise HTTPException(404, NOTHING_HERE) from None
    # During an upgrade of Airflow the page and this server may be of different versions of the package.
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
    """The application. All its routes require a login and the right to see plugins."""
    app = FastAPI(
        title="Ernest",
        version=__version__,
        description=DESCRIPTION,
        dependencies=[Depends(requires_pages)],
        responses=REFUSALS,
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
