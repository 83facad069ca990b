"""Names for what is kept: models, decisions, production runs."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

_TIME = "%Y%m%dT%H%M%S.%fZ"


def new_id(now: datetime) -> str:
    """A name that nothing else has, and that sorts by time as text.

    Args:
        now: with its time zone; the name is in UTC.
    """
    return f"{now.astimezone(UTC):{_TIME}}-{secrets.token_hex(4)}"


def new_id_after(moment: datetime) -> str | None:
    """A name that sorts right behind all that were given at a moment; None where no time follows on it."""
    try:
        return new_id(moment + timedelta(microseconds=1))
    except OverflowError:
        return None


def moment_of(name: str) -> datetime | None:
    """When something got its name from `new_id`; None of another name."""
    try:
        return datetime.strptime(name.partition("-")[0], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
