"""Whether what a job's run times depend on, beside its code, is as it was when a model was trained.

More data of the same shape is no difference: the model is asked about a larger scale. What is not known of
then or of now cannot differ; `not_compared` names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ernest.model.documents import InputFingerprint, RunConditions
from airflow_provider_ernest.model.life.run_settings import changed_settings
from airflow_provider_ernest.model.records import DATA, SETTINGS

SHAPE_TOLERANCE = 0.25
"""A partition may be larger or smaller by so much and still count as of the same size."""

MOST_GROWTH = 4.0
"""Beyond so many times the input that a model was trained for, its predictions are too far from its runs."""

MOST_NAMES = 3
"""So many settings are named in a sentence."""

MEGABYTE = 1e6


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that is not as it was.

    Attributes:
        cause: `records.DATA` or `records.SETTINGS`.
        reason: what, as a clause that can follow "since" or stand alone.
    """

    cause: str
    reason: str


def differences(
    then: RunConditions | None,
    now: RunConditions | None,
    *,
    shape_tolerance: float = SHAPE_TOLERANCE,
    max_growth: float = MOST_GROWTH,
) -> list[Difference]:
    """What has changed so that a model of then does not speak for a run of now; empty where nothing is known.

    Args:
        then: the conditions that the model was trained under.
        now: those of the run.
        shape_tolerance: by how much a partition may have grown or shrunk; 0.25 is 25 %.
        max_growth: to how many times its size the input may have grown.
    """
    if then is None or now is None:
        return []
    found = list(_settings_differences(then, now))
    if then.input is not None and now.input is not None:
        found += _input_differences(
            then.input, now.input, shape_tolerance=shape_tolerance, max_growth=max_growth
        )
    return found


def growth(then: RunConditions | None, now: RunConditions | None) -> float:
    """How many times the input of then the input of now is; 1 where that is not known."""
    before, after = then and then.input, now and now.input
    if not before or not after:
        return 1.0
    if before.total_bytes and after.total_bytes:
        return after.total_bytes / before.total_bytes
    if before.partitions and after.partitions:
        return after.partitions / before.partitions
    return 1.0


def not_compared(then: RunConditions | None, now: RunConditions | None) -> list[str]:
    """What is not known of then or of now, in words."""
    before, after = _known(then), _known(now)
    return [name for name in before if not (before[name] and after[name])]


def _known(conditions: RunConditions | None) -> dict[str, bool]:
    """What conditions tell, in words, and whether they do."""
    conditions = conditions or RunConditions()
    shape = conditions.input or InputFingerprint()
    return {
        "Spark's version": conditions.spark is not None,
        "the settings": conditions.settings is not None,
        "the size of the input": shape.bytes_per_partition is not None,
        "the columns of the input": shape.columns is not None,
    }


def _settings_differences(then: RunConditions, now: RunConditions) -> Iterator[Difference]:
    if then.spark and now.spark and then.spark != now.spark:
        yield Difference(cause=SETTINGS, reason=f"Spark is {now.spark} and was {then.spark}")
    if then.cores_per_machine and now.cores_per_machine and then.cores_per_machine != now.cores_per_machine:
        yield Difference(
            cause=SETTINGS,
            reason=f"a machine offers {now.cores_per_machine} cores and offered {then.cores_per_machine}",
        )
    if then.settings is not None and now.settings is not None:
        names = changed_settings(then.settings, now.settings)
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            verb = "has" if len(names) == 1 else "have"
            yield Difference(cause=SETTINGS, reason=f"{', '.join(names[:MOST_NAMES])}{more} {verb} changed")


def _input_differences(
    then: InputFingerprint, now: InputFingerprint, *, shape_tolerance: float, max_growth: float
) -> Iterator[Difference]:
    if then.format != now.format and then.format and now.format:
        yield Difference(cause=DATA, reason=f"the input is {now.format} and was {then.format}")
    if then.columns and now.columns and then.columns != now.columns:
        yield Difference(
            cause=DATA, reason=f"a record of the input has {now.columns} columns and had {then.columns}"
        )
    before, after = then.bytes_per_partition, now.bytes_per_partition
    if before and after and not 1 / (1 + shape_tolerance) <= after / before <= 1 + shape_tolerance:
        yield Difference(
            cause=DATA,
            reason=f"a partition of the input holds {after / MEGABYTE:.4g} MB and held "
            f"{before / MEGABYTE:.4g} MB",
        )
    times = growth(RunConditions(input=then), RunConditions(input=now))
    if times > max_growth:
        yield Difference(
            cause=DATA, reason=f"the input has grown {times:.3g} times, more than {max_growth:g} times"
        )
