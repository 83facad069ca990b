"""Names for what is kept: models, decisions, production runs."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_id(now: datetime) -> str:
    """A name that nothing else has, and that sorts by time as text.

    Args:
        now: with its time zone; the name is in UTC.
    """
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(4)}"
