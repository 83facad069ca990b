"""The HTML pages, which hold no data, and the scripts and styles that they load."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException
from starlette.responses import RedirectResponse, Response

from airflow_provider_ernest.plugin.errors import NOTHING_HERE
from airflow_provider_ernest.plugin.mathematics import load_soon

router = APIRouter(include_in_schema=False)

STATIC = Path(__file__).parent.resolve() / "static"
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
HTML = "text/html; charset=utf-8"

KnownVersion = Annotated[str, Header(alias="If-None-Match")]


@router.get("/")
def start() -> Response:
    """The page that one begins with. Relative, since nobody here knows the prefix that Airflow runs under."""
    return RedirectResponse("models")


@router.get("/models")
def models(known: KnownVersion = "") -> Response:
    """All models."""
    return _answer(STATIC / "models.html", HTML, known)


@router.get("/model")
def model(known: KnownVersion = "") -> Response:
    """One model."""
    load_soon()
    return _answer(STATIC / "model.html", HTML, known)


@router.get("/run")
def run(known: KnownVersion = "") -> Response:
    """A DAG run."""
    return _answer(STATIC / "run.html", HTML, known)


@router.get("/task")
def task(known: KnownVersion = "") -> Response:
    """A task instance."""
    return _answer(STATIC / "task.html", HTML, known)


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
    # Kept by the browser, but never used without asking: it fits the version of the package that runs.
    headers = {"ETag": version, "Cache-Control": "no-cache"}
    if version in (each.strip().removeprefix("W/") for each in known.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


@lru_cache(maxsize=128)
def _content(file: Path, _changed: int, _size: int) -> tuple[bytes, str]:
    content = file.read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
