"""Answers as JSON and their description, errors in words, security headers, and a limit of requests at once.

Errors are JSON for scripts, and a short page for people.
"""

from __future__ import annotations

import asyncio
import json
import logging
from asyncio import AbstractEventLoop, Semaphore, Task
from html import escape
from http import HTTPStatus
from importlib import import_module
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    MissingResourceError,
    StoreError,
)
from airflow_provider_ernest.views.view import json_ready
from airflow_provider_ernest.words import shortened

log = logging.getLogger(__name__)

NOT_LOGGED_IN = "You are not logged in. Log in to Airflow, then load this page again."
NOT_VALID = "Your login is not valid here. Log in to Airflow again, then load this page again."
NOTHING_HERE = "There is nothing at this address. Go to the page of all models."
BROKEN = "This could not be answered. The log of Airflow's API server says why; tell whoever runs it."
STORE_UNREADABLE = (
    "The model store cannot be read. Check [ernest] store in the configuration of Airflow's API server, that "
    "it names the same place as that of the workers, and its permissions. The API server's log says more."
)
LONGEST_VALUE = 80
"""Characters of an invalid value that are repeated to its sender."""

PAGES = ("", "/", "/models", "/model", "/run", "/survey")


def handle_errors(app: FastAPI) -> None:
    """Let the application answer errors by this module."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(ErnestError, _ours)


def error_answer(scope: Any, status: int, detail: str) -> Response:
    """An error, as a page if a page was asked for."""
    path, accepted = scope["path"].removeprefix(scope.get("root_path", "")), dict(scope["headers"])
    is_browsed = b"text/html" in accepted.get(b"accept", b"") and not path.startswith("/api/")
    if path not in PAGES and not is_browsed:
        return JSONResponse({"detail": detail}, status)
    title = HTTPStatus(status).phrase
    # The page lies directly below the root of Airflow, which comes back to it after the login.
    back = quote(f"{scope['path']}?{scope.get('query_string', b'').decode('latin-1')}", safe="")
    login = f'<p><a href="../api/v2/auth/login?next={back}">Log in</a></p>'
    link = login if status == HTTPStatus.UNAUTHORIZED else ""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – Ernest</title>"
        "<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;"
        "margin:3rem auto;padding:0 1rem}</style>"
        f"<main><h1>{escape(title)}</h1><p>{escape(detail)}</p>{link}</main></html>",
        status,
    )


async def _refused(request: Request, error: Any) -> Response:
    detail = str(error.detail)
    if error.status_code == HTTPStatus.UNAUTHORIZED:
        detail = NOT_LOGGED_IN
    elif detail == "Invalid JWT token":
        detail = NOT_VALID
    answer = error_answer(request.scope, error.status_code, detail)
    answer.headers.update(error.headers or {})
    return answer


async def _wrong_parameters(request: Request, error: Any) -> Response:
    problems = [
        f"{one['loc'][-1]}={shortened(repr(one.get('input')), LONGEST_VALUE)}: "
        f"{one['msg'][:1].lower()}{one['msg'][1:]}."
        if one["type"] != "missing"
        else f"{one['loc'][-1]} is missing."
        for one in error.errors()
    ]
    detail = " ".join([*problems, "Correct the address."])
    return error_answer(request.scope, HTTPStatus.UNPROCESSABLE_ENTITY, detail)


async def _ours(request: Request, error: Any) -> Response:
    if isinstance(error, StoreError | InvalidDocumentError):
        # Its own words name places on the server, maybe of jobs that this user must not know of.
        log.error("The model store cannot be read for the pages", exc_info=error)
        return error_answer(request.scope, HTTPStatus.SERVICE_UNAVAILABLE, STORE_UNREADABLE)
    missing = isinstance(error, MissingResourceError)
    status = HTTPStatus.NOT_FOUND if missing else HTTPStatus.UNPROCESSABLE_ENTITY
    return error_answer(request.scope, status, str(error))


class JsonAnswer(Response):
    """A payload of builtins and documents as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The text of the answer."""
        # Escaped, since XComs may hold halves of characters, which UTF-8 cannot encode.
        return json.dumps(json_ready(content), ensure_ascii=True, separators=(",", ":")).encode("ascii")


SECURITY = {
    # Nothing from elsewhere, no inline scripts, and only Airflow's own pages may frame it.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Headers:
    """ASGI middleware: adds the security headers, and turns unexpected exceptions into a plain answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except Exception:
            log.exception("Ernest's page %r could not be answered", scope.get("path"))
            if has_begun:
                raise
            await error_answer(scope, 500, BROKEN)(scope, receive, with_headers)


# The pages share the threads of Airflow's API server, which kills tasks whose heartbeats it cannot receive: a
# store that does not answer must not block all of them.

MOST_AT_ONCE = 8
"""Of the API server's 40 threads."""
MOST_SECONDS_IN_LINE = 10.0
MOST_SECONDS = 30.0
"""The first request to a large store on an object store reads through all of it."""

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
    """ASGI middleware: answers 503 to API requests that are too many at once, or that hang.

    Work that is late cannot be stopped. It keeps its place until it ends, so that no more threads hang than
    there are places.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        # A semaphore belongs to its loop; a server has one, a test may have more.
        self._places: WeakKeyDictionary[AbstractEventLoop, Semaphore] = WeakKeyDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on once there is a place for it."""
        if scope["type"] != "http" or "/api/" not in scope["path"]:
            await self.app(scope, receive, send)
            return
        places = self._places.setdefault(asyncio.get_running_loop(), Semaphore(MOST_AT_ONCE))
        try:
            await asyncio.wait_for(places.acquire(), MOST_SECONDS_IN_LINE)
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
        await asyncio.wait({work}, timeout=MOST_SECONDS)
        if work.done() or has_begun:
            await work
            return
        is_given_up = True
        log.error("Ernest's page %r was given up after %g s", scope["path"], MOST_SECONDS)
        await _refuse(scope, receive, send, NO_ANSWER)


async def _refuse(scope: Scope, receive: Receive, send: Send, detail: str) -> None:
    answer = error_answer(scope, 503, detail)
    answer.headers["Retry-After"] = "60"
    await answer(scope, receive, send)


REFERENCE = "#/components/schemas/{name}"


ANSWERS = {
    "Clarity": "clarity",
    "ModelPage": "model",
    "Models": "models",
    "Prediction": "prediction",
    "Run": "run",
    "SurveyPage": "survey",
}
"""The views that routes answer with, and their modules in `views`. Names, since some of these modules import
the mathematics, which must not be loaded when the API server starts."""


def answers(name: str) -> dict[str, Any]:
    """The description of a route's answer, one of `ANSWERS`, as arguments of its decorator."""
    content = {"application/json": {"schema": {"$ref": REFERENCE.format(name=name)}}}
    return {
        "responses": {
            200: {"description": "The answer.", "content": content},
            422: {"description": "A parameter cannot be; says which and why."},
        }
    }


def schemas() -> dict[str, Any]:
    """The schemas of all answers by name, described by the dataclasses' docstrings."""
    views = [
        getattr(import_module(f"airflow_provider_ernest.views.{module}"), name)
        for name, module in ANSWERS.items()
    ]
    _, found = msgspec.json.schema_components(views, ref_template=REFERENCE)
    return dict(sorted(found.items()))
