"""Numbers for people: the same words on the command line, in logs, in the report and on the pages.

`web/static/js/format.js` does the same; both are tested with tests/number_cases.json. A final 5 is rounded
up, as people do (12.5 becomes 13), by the decimal digits of a number.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from math import floor, isfinite
from typing import TypeGuard

MINUTE, HOUR, DAY = 60, 3600, 86_400

UNKNOWN = "–"
"""Written for unknown and infinite numbers: a dash that nobody takes for a minus sign."""

ALMOST_ONE = 0.999
"""No model tells probabilities nearer to 1, or to 0."""

TOO_LONG, TOO_SMALL = 1e9, 1e-6
"""Measured numbers from the one on, and below the other, are written with a power of ten."""


def number(value: float | None) -> str:
    """Three significant digits, whole from 100 on: 0.0123, 7.30, 81.0, 1,204, 4e12."""
    if not _is_known(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if not TOO_SMALL <= abs(value) < TOO_LONG:
        return _power_of_ten(value)
    return _fixed(value, max(0, 2 - _significant(value, 3).adjusted()))


def plain(value: float | None) -> str:
    """At most four significant digits, and no zeros that say nothing: 0.05, 1.5, 0.3, 1,234."""
    return _digits(value, 4) if _is_known(value) else UNKNOWN


def count(value: float | None) -> str:
    """A whole number: 7, 1,312."""
    return _fixed(value, 0) if _is_known(value) else UNKNOWN


def counted(value: float | None, noun: str, plural: str = "") -> str:
    """1 run, 2 runs, 1,312 runs; `plural` where it does not end in s."""
    return f"{count(value)} {noun if value == 1 else plural or f'{noun}s'}"


MACHINE, EXECUTOR = "machine", "executor"


def unit(executors_per_machine: int | None) -> str:
    """What people count: machines where each holds one executor, else executors. In the singular."""
    return MACHINE if executors_per_machine == 1 else EXECUTOR


def executors(value: float | None, instance_type: str = "", *, executors_per_machine: int | None = 1) -> str:
    """1 machine, 2 machines; of the type where it is given: 6 machines of m5.xlarge. See `unit`."""
    of_type = f" of {instance_type}" if instance_type else ""
    return f"{counted(value, unit(executors_per_machine)) if _is_known(value) else UNKNOWN}{of_type}"


def duration(seconds: float | None) -> str:
    """How long something takes: 0.3 s, 12.3 s, 5 min 12 s, 1 h 5 min."""
    if not _is_known(seconds):
        return UNKNOWN
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if _rounded(seconds) < 2 * MINUTE or seconds >= TOO_LONG:
        return f"{_digits(seconds, 3)} s"
    if _rounded(seconds) < HOUR:
        return _in_two_units(_rounded(seconds), MINUTE, "min", "s")
    return _in_two_units(_rounded(seconds / MINUTE), MINUTE, "h", "min")


def duration_range(low_and_high: tuple[float, float] | None) -> str:
    """From how long to how long: 73.1 to 81 s, 4 min 50 s to 5 min 32 s."""
    if low_and_high is None:
        return UNKNOWN
    low, high = low_and_high
    if 0 <= low <= high < 2 * MINUTE - 1:
        return f"{_digits(low, 3)} to {_digits(high, 3)} s"
    return f"{duration(low)} to {duration(high)}"


def tenths(value: float | None) -> str:
    """A number in a column, below a heading that has the unit: 1,312.0."""
    return _fixed(value, 1) if _is_known(value) else UNKNOWN


def age(seconds: float | None) -> str:
    """How long ago something was: just now, 5 minutes, 3 hours, 12 days."""
    if not _is_known(seconds):
        return UNKNOWN
    if seconds < MINUTE:
        return "just now"
    if seconds < HOUR:
        return counted(seconds // MINUTE, "minute")
    return counted(seconds // HOUR, "hour") if seconds < 2 * DAY else counted(seconds // DAY, "day")


def date_time(moment: datetime, zone: tzinfo) -> str:
    """A moment to the second: 2026-11-21 18:45:03."""
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def dollars(value: float | None) -> str:
    """At least cents, and three digits of what is less than one: $12.35, $0.0117."""
    if not _is_known(value):
        return UNKNOWN
    if value < 0:
        return f"-{dollars(-value)}"
    if value >= TOO_LONG or 0 < value < TOO_SMALL:
        return f"${_power_of_ten(value)}"
    decimals = 2 if value >= 1 or value == 0 else 2 - _significant(value, 3).adjusted()
    whole, _, cents = _fixed(value, decimals).partition(".")
    return f"${whole}.{cents.rstrip('0'):0<2}"


def percentage(percent: float | None) -> str:
    """A percentage, with a decimal where it is below 10: 0.04 %, 4.2 %, 5 %, 41 %, 1,235 %."""
    if not _is_known(percent):
        return UNKNOWN
    size = abs(percent)
    # Less is a matter of floating-point numbers, not of jobs.
    if 5e-4 <= size < 0.095 or size >= TOO_LONG:
        return f"{_digits(percent, 1)} %"
    return f"{_fixed(percent, 1 if size < 9.95 else 0).removesuffix('.0')} %"


def signed_percentage(percent: float | None) -> str:
    """An error or a change, in percent, with its sign: -9.1 %, +63 %."""
    told = percentage(percent)
    # By the words, not the value: what is rounded to 0 has no sign.
    is_more = _is_known(percent) and percent > 0 and told != percentage(0)
    return f"+{told}" if is_more else told


def as_percent(share: float | None) -> str:
    """A share (not a percentage), with the digits of `percentage`: 0.5 %, 12 %, 100 %."""
    return percentage(100 * share) if _is_known(share) else UNKNOWN


def input_share(scale: float | None) -> str:
    """How much of the input a run reads, to three digits: 5 %, 9.82 %, 100 %, 1,235 %."""
    if not _is_known(scale):
        return UNKNOWN
    percent = 100 * scale
    is_long = 1000 <= abs(percent) < TOO_LONG
    return f"{_fixed(percent, 0) if is_long else _digits(percent, 3)} %"


def confidence(share: float | None) -> str:
    """A probability that somebody asks for, with all its digits: 80 %, 99.95 %."""
    return f"{_digits(100 * share, 10)} %" if _is_known(share) else UNKNOWN


def probability(value: float | None, asked: float | None = None) -> str:
    """A probability, of which none is certain: 87 %, 99.6 %, over 99.9 %.

    One below the probability that was asked for gets up to 3 decimals that tell the two apart: 79.8 %.
    """
    if not _is_known(value):
        return UNKNOWN
    if value > ALMOST_ONE:
        return f"over {_digits(100 * ALMOST_ONE, 3)} %"
    if value < 1 - ALMOST_ONE:
        return f"under {_digits(100 * (1 - ALMOST_ONE), 3)} %"
    decimals = 1 if value > 0.99 or value < 0.0995 else 0
    if asked is not None and value < asked:
        while decimals < 3 and _fixed(100 * value, decimals) == _fixed(100 * asked, decimals):
            decimals += 1
    return f"{_fixed(100 * value, decimals).removesuffix('.0')} %"


def data_amount(value: float | None) -> str:
    """An amount of data in bytes: 512 bytes, 1.50 GB."""
    if not _is_known(value):
        return UNKNOWN
    if value < 1000:
        return f"{count(value)} bytes"
    units = ("kB", "MB", "GB", "TB", "PB")
    power = min(len(units), (len(str(int(value))) - 1) // 3)
    return f"{number(value / 1000**power)} {units[power - 1]}"


def bandwidth(value: float | None) -> str:
    """Gigabytes per second: 1.3 GB/s."""
    return f"{_digits(value, 3)} GB/s" if _is_known(value) else UNKNOWN


def shortened(words: str, most: int) -> str:
    """The words in at most so many letters."""
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def _is_known(value: float | None) -> TypeGuard[float]:
    return value is not None and isfinite(value)


def _fixed(value: float, decimals: int) -> str:
    """So many decimals, and a comma between thousands; no minus sign before what is rounded to nothing."""
    if abs(value) >= 1e15:
        return _power_of_ten(value)
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    return f"{rounded if rounded else abs(rounded):,f}"


def _significant(value: float, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(float(value))


def _digits(value: float, digits: int) -> str:
    """At most so many significant digits, without zeros at the end."""
    if value != 0 and not TOO_SMALL <= abs(value) < TOO_LONG:
        return _power_of_ten(value)
    return f"{_significant(value, digits).normalize():,f}" if value else "0"


def _power_of_ten(value: float) -> str:
    rounded = _significant(value, 3)
    power = rounded.adjusted()
    return f"{rounded.scaleb(-power).normalize():f}e{power}"


def _rounded(value: float) -> int:
    return floor(value + 0.5)


def _in_two_units(value: int, by: int, larger: str, smaller: str) -> str:
    most, rest = divmod(value, by)
    return f"{count(most)} {larger} {rest} {smaller}" if rest else f"{count(most)} {larger}"
