"""JSON of whatever the pages are told, hostile values included."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
from starlette.responses import Response


class JsonAnswer(Response):
    """A payload of builtins and documents as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The text of the answer."""
        # Escaped, since XComs may hold halves of characters, which UTF-8 cannot.
        return json.dumps(json_ready(content), ensure_ascii=True, separators=(",", ":")).encode("ascii")


def json_ready(content: Any) -> Any:
    """The payload with documents as objects and tuples as lists; what is not finite is null.

    JSON has no NaN and no infinity: browsers refuse the whole answer for one of them.
    """
    return _finite(msgspec.to_builtins(content))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
