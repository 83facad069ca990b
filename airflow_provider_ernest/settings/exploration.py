"""Whether, and within which limits, production runs may take another size to learn from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import (
    OptionalNumber,
    checked,
    has_template,
    positive,
    setting,
    settings,
    texts,
)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _days(parameter: str, value: Any) -> Any:
    if has_template(value):
        return value
    return tuple(_day(parameter, each.strip()) for each in texts(parameter, value))


def _day(parameter: str, text: str) -> str:
    """A weekday's whole name in lower case, or a date as ISO 8601 writes it."""
    for name in WEEKDAYS:
        if text.lower() in (name, name[:3]):
            return name
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidParameterError(
            parameter,
            text,
            "is neither a weekday nor a date",
            remedy='Write "friday" or "2026-12-24".',
        ) from None


@settings
class Exploration:
    """Lets a production run take another size where knowing more is worth more than it costs.

    Only where the deadline is kept as probably as the goal asks, within so many dollars, and never in the run
    after one that explored and came too late.
    """

    dollars_per_month: OptionalNumber = setting(
        positive,
        "the most that runs on other sizes may cost in a calendar month beyond what they would have cost on "
        "the decided size; must be given",
        default=None,
    )
    excluded_days: Sequence[str] | str = setting(
        _days,
        'days on which no run explores, in the time zone of the DAG: weekdays ("friday") and dates '
        '("2026-12-24")',
        default=(),
    )
    runs_per_month: OptionalNumber = setting(
        positive,
        "production runs in a month, each of which a better size saves in; default: as the history tells",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse exploration without a limit when the DAG file is parsed."""
        read = checked(self)
        if read.get("dollars_per_month", self.dollars_per_month) is None:
            raise InvalidParameterError(
                "dollars_per_month",
                None,
                "is missing: exploration without a limit of dollars could cost any amount",
                remedy="Give the most dollars that it may cost in a month, such as 20.",
            )

    def excludes(self, day: date) -> str:
        """Which of the excluded days a day is; empty where it is none. Known once no template is left."""
        names = (day.isoformat(), WEEKDAYS[day.weekday()])
        return next((each for each in _days("excluded_days", self.excluded_days) if each in names), "")
