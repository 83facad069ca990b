"""What a model's page brings along: the answers that its script would ask for first.

They are asked of the API as the script would, with the same login, so that a page never holds what the API
refuses. An error, or an answer that takes its time, is left to the script, which shows either.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.requests import Request
from starlette.types import Message

from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE
from airflow_provider_ernest.settings.goal import OBJECTIVES
from airflow_provider_ernest.views.scripts import harmless

MODEL, PREDICTION = "api/model", "api/prediction"
NAMING = ("job", "instance_type", "model_id")
"""The parameters of the page that say which model it is of; all others are of a question to it."""

MOST_SECONDS = 1.0
"""Behind which a page is sent without its model: it says better than a blank one that it takes long."""
MOST_SECONDS_OF_PREDICTION = 5.0
"""By then all is read: the script would have to wait for the same, begun anew."""

_late: set[asyncio.Task[str | None]] = set()


async def first_answers(request: Request, *, predicts: bool) -> str:
    """The answers as JSON without signs that mean something to HTML; empty where there are none.

    Args:
        request: of the page.
        predicts: whether a prediction is among them, where nothing but the model is named.
    """
    # A plus sign is one, as the page's script reads its address.
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
    """The answer, or None if it is late. It goes on then: what it reads of the store is remembered there."""
    work = asyncio.ensure_future(answer)
    _late.add(work)
    work.add_done_callback(_late.discard)
    await asyncio.wait({work}, timeout=seconds)
    return work.result() if work.done() else None


def _brought(path: str, params: Mapping[str, Any], answer: str) -> str:
    return harmless(f'{{"path":"{path}","params":{json.dumps(params)},"answer":{answer}}}')


def first_question(page: Mapping[str, Any]) -> dict[str, Any]:
    """What ``static/js/model/asked.js`` asks of a model where the address says nothing of it."""
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
    """What the API answers; None for an error."""
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
