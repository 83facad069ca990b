"""Answers as JSON can hold them."""

from __future__ import annotations

from typing import Any

import msgspec


def json_ready(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with documents as objects and tuples as lists; what is not finite is null.

    JSON has no NaN and no infinity: browsers refuse the whole answer for one of them.
    """
    ready: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(answer))
    return ready
