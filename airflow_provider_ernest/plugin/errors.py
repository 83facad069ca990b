"""Errors in plain words: as JSON to the scripts of the pages, as a short page to people."""

from __future__ import annotations

import logging
from html import escape
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response

from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    MissingResourceError,
    StoreError,
)

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
"""Characters of a wrong value that are repeated to its sender."""

PAGES = ("", "/", "/models", "/model", "/run", "/task")


def handle_errors(app: FastAPI) -> None:
    """Let the application answer errors in this module's words."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(ErnestError, _ours)


def error_answer(scope: Any, status: int, detail: str) -> Response:
    """An error, as a page where a page was asked for."""
    if not _is_for_people(scope):
        return JSONResponse({"detail": detail}, status)
    title = HTTPStatus(status).phrase
    # The page lies directly below the root of Airflow.
    link = '<p><a href="../">Airflow</a></p>' if status == HTTPStatus.UNAUTHORIZED else ""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – Ernest</title>"
        "<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;"
        "margin:3rem auto;padding:0 1rem}</style>"
        f"<main><h1>{escape(title)}</h1><p>{escape(detail)}</p>{link}</main></html>",
        status,
    )


def _is_for_people(scope: Any) -> bool:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    if path in PAGES:
        return True
    accepted = dict(scope["headers"]).get(b"accept", b"")
    return b"text/html" in accepted and not path.startswith("/api/")


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
        f"{one['loc'][-1]}={_shortened(one.get('input'))}: {one['msg'][:1].lower()}{one['msg'][1:]}."
        if one["type"] != "missing"
        else f"{one['loc'][-1]} is missing."
        for one in error.errors()
    ]
    detail = " ".join([*problems, "Correct the address."])
    return error_answer(request.scope, HTTPStatus.UNPROCESSABLE_ENTITY, detail)


async def _ours(request: Request, error: Any) -> Response:
    if isinstance(error, StoreError | InvalidDocumentError):
        # Its own words name places on the server, maybe those of jobs that this user may not know of.
        log.error("The model store cannot be read for the pages", exc_info=error)
        return error_answer(request.scope, HTTPStatus.SERVICE_UNAVAILABLE, STORE_UNREADABLE)
    missing = isinstance(error, MissingResourceError)
    status = HTTPStatus.NOT_FOUND if missing else HTTPStatus.UNPROCESSABLE_ENTITY
    return error_answer(request.scope, status, str(error))


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 4]} ..."
