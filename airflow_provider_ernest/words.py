"""Numbers for people."""

from __future__ import annotations

import math

MINUTE, HOUR = 60, 3600

UNKNOWN = "-"
"""Written for what is not known."""

ALMOST_ONE = 0.999
"""No model tells probabilities nearer to 1, or to 0."""

HARDLY_PROBABLE = 5e-4
"""Where probabilities are compared, lower ones read as less than 0.1 %."""

TOO_LONG = 1e9
"""Numbers from here on are written with a power of ten."""


def number(value: float) -> str:
    """Three significant digits, whole from 100 on."""
    if value == 0 or not math.isfinite(value) or abs(value) >= TOO_LONG:
        return f"{value:.3g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 6)}f}"


def duration(value: float) -> str:
    """Seconds as people say them: 15 s, 12.3 s, 5 min 12 s, 2 h 5 min."""
    if value < 2 * MINUTE:
        return f"{value:.0f} s" if value == round(value) else f"{number(value)} s"
    if not value < TOO_LONG:
        return f"{value:.3g} s"
    if value < 2 * HOUR:
        whole, rest = divmod(round(value), MINUTE)
        return f"{whole} min {rest} s" if rest else f"{whole} min"
    whole, rest = divmod(round(value / MINUTE), MINUTE)
    return f"{whole:,} h {rest} min" if rest else f"{whole:,} h"


def since(value: float) -> str:
    """How many seconds ago something was, roughly: 10 d, 5 h, 3 min, now."""
    for unit, length in (("d", 24 * HOUR), ("h", HOUR), ("min", MINUTE)):
        if value >= 2 * length:
            return f"{whole(value // length)} {unit}"
    return "now"


def seconds(value: float | None) -> str:
    """Seconds to a tenth, for comparison with others: 1,312.0 s."""
    return UNKNOWN if value is None else f"{tenths(value)} s"


def seconds_between(interval: tuple[float, float] | None) -> str:
    """An interval of seconds: 290.1 to 331.7 s."""
    return UNKNOWN if interval is None else f"{tenths(interval[0])} to {seconds(interval[1])}"


def tenths(value: float) -> str:
    """A number in a column whose heading has the unit: 1,312.0."""
    return f"{value:,.1f}"


def dollars(value: float) -> str:
    """At least cents, and three digits of what is less than one."""
    if value > TOO_LONG:
        return f"${value:.3g}"
    decimals = 2 if value >= 1 or value == 0 else min(8, 2 - math.floor(math.log10(value)))
    whole, _, cents = f"{value:,.{decimals}f}".partition(".")
    return f"${whole}.{cents.rstrip('0'):0<2}"


def data_amount(value: float) -> str:
    """An amount of data in bytes: 512 bytes, 1.50 GB."""
    if value < 1000:
        return f"{value:.0f} bytes"
    units = ("kB", "MB", "GB", "TB", "PB")
    power = min(len(units), math.floor(math.log10(value) / 3))
    return f"{number(value / 1000**power)} {units[power - 1]}"


def bandwidth(value: float | None) -> str:
    """Gigabytes per second: 1.3 GB/s."""
    return UNKNOWN if value is None else f"{value:.1f} GB/s"


def stated(value: float) -> str:
    """A number with all the digits that somebody gave it: 3,600, 0.3, 99.99999."""
    return f"{value:,.10g}"


def stated_dollars(value: float) -> str:
    """Dollars with all the digits that somebody gave them, at least cents: $5.00, $0.2129."""
    digits, _, cents = stated(value).partition(".")
    return f"${digits}" if "e" in digits + cents else f"${digits}.{cents:0<2}"


def tick(value: float) -> str:
    """A round number on an axis: 0.05, 2, 1,000."""
    return f"{value:,.6g}"


def percent(share: float) -> str:
    """A share as a percentage with as many digits as it needs: 0.5 %, 12 %, 100 %."""
    value = 100 * share
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


def stated_percent(share: float) -> str:
    """A share that people state as a percentage, with all its digits: 95 %, 99.95 %."""
    return f"{100 * share:.10g} %"


def error(value: float | None) -> str:
    """The size of an error, given in percent: 3.0 %."""
    return UNKNOWN if value is None else f"{value:.1f} %"


def deviation(value: float | None) -> str:
    """An error or a change with its sign, given in percent: -9.1 %."""
    return UNKNOWN if value is None else f"{value:+z.1f} %"


def rough_seconds(value: float) -> str:
    """Seconds of an estimate: 1,312 s, 36 s, 5.5 s."""
    return f"{value:,.0f} s" if value >= 10 else f"{value:.1f} s"


def rough_percent(value: float) -> str:
    """The percentage of an estimate: 41 %, 0.4 %, never nothing."""
    return f"{value:.0f} %" if value >= 1 else f"{max(0.1, value):.1f} %"


def rough_change(value: float) -> str:
    """The percentage by which an estimate is longer or shorter: +63 %."""
    return f"{value:+z.0f} %"


def probability(value: float) -> str:
    """A probability as a percentage that never says that anything is certain: 87 %, 99.6 %, over 99.9 %."""
    if value > ALMOST_ONE:
        return f"over {100 * ALMOST_ONE:g} %"
    if value < 1 - ALMOST_ONE:
        return f"below {100 * (1 - ALMOST_ONE):.1g} %"
    return f"{100 * value:.1f} %" if value > 0.99 else percent(value)


def probability_to_compare(value: float) -> str:
    """The same to a tenth, for comparison with others and with what is asked for: 79.8 %, > 99.9 %."""
    if 0.9995 <= value < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < value < HARDLY_PROBABLE else f"{100 * value:.1f} %"


def whole(value: float) -> str:
    """A whole number: 1,312."""
    return f"{value:,.0f}"


def counted(value: int, noun: str) -> str:
    """1 run, 2 runs, 1,312 runs: a noun whose plural ends in s."""
    return f"{whole(value)} {noun}" if value == 1 else f"{whole(value)} {noun}s"


def machines(value: int) -> str:
    """1 machine, 2 machines."""
    return counted(value, "machine")


def plain(value: float) -> str:
    """A number as people state it, such as a scale: 0.05, 1, 1.5."""
    return f"{value:.4g}"


def shortened(words: str, most: int) -> str:
    """The words in at most so many letters."""
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"
