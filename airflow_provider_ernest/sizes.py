"""The numbers of machines that production may have, from template fields."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import NOTHING, optional_whole_number, texts, whole_number

MOST_COUNTS = 2_000
"""Each is an alternative, which is computed and kept: a slip of the pen must not fill the memory."""


def machine_counts(*, minimum: Any, maximum: Any, allowed: Any, prefix: str = "") -> tuple[int, ...]:
    """The numbers of machines from least to most, or those of the allowed ones that lie there; ascending.

    Args:
        minimum: the fewest.
        maximum: the most; may be missing where `allowed` says.
        allowed: the only ones, as a list or its text; missing for all.
        prefix: of the parameters' names, for the errors.

    Raises:
        InvalidParameterError: a value cannot be, or none is left.
    """
    least = whole_number(f"{prefix}min_machines", minimum)
    if least < 1:
        raise InvalidParameterError(f"{prefix}min_machines", least, "is not a number of at least 1")
    most = optional_whole_number(f"{prefix}max_machines", maximum)
    name = f"{prefix}allowed_machines"
    listed = None if allowed in NOTHING else [whole_number(name, each) for each in texts(name, allowed)]
    if listed is None:
        return _all(least, most, prefix)
    counts = tuple(sorted({each for each in listed if each >= least and (most is None or each <= most)}))
    if not counts:
        raise InvalidParameterError(
            name,
            allowed,
            f"leaves none from {least} to {'any number' if most is None else most}",
            remedy=f"Allow one of these, or change {prefix}min_machines and {prefix}max_machines.",
        )
    return counts


def _all(least: int, most: int | None, prefix: str) -> tuple[int, ...]:
    if most is None:
        raise InvalidParameterError(
            f"{prefix}max_machines", most, "sets no limit", remedy=f"Give it, or {prefix}allowed_machines."
        )
    if most < least:
        raise InvalidParameterError(
            f"{prefix}min_machines",
            least,
            f"is more than {prefix}max_machines={most}",
            remedy="Lower it, or allow more machines.",
        )
    if most - least >= MOST_COUNTS:
        raise InvalidParameterError(
            f"{prefix}max_machines",
            most,
            f"is more than {MOST_COUNTS:,} numbers of machines above {prefix}min_machines={least}",
            remedy=f"Lower it, or list some in {prefix}allowed_machines.",
        )
    return tuple(range(least, most + 1))


def in_words(counts: tuple[int, ...]) -> str:
    """Ascending numbers of machines for a sentence."""
    if len(counts) > 2 and counts[-1] - counts[0] == len(counts) - 1:
        return f"{counts[0]} to {counts[-1]}"
    return ", ".join(str(count) for count in counts)
