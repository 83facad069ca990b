"""What time it is for AWS: a wrong local clock must neither end living machines nor spare overdue ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


def time_of(answer: Mapping[str, Any]) -> datetime:
    """When AWS gave an answer, by its own clock (header Date, to the second); with time zone.

    The local time where the answer tells none, which AWS itself never leaves out.
    """
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return datetime.now(UTC)
