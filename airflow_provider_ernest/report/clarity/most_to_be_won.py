"""The one thing of which most could be won: what a reader with no time should know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_provider_ernest.model.run_profile import FIRST_TASK, UNEXPLAINED, RunProfile
from airflow_provider_ernest.report.clarity.resources import short, within


@dataclass(frozen=True, kw_only=True)
class ToBeWon:
    """An upper bound of what could be won.

    Attributes:
        share: of the replayed run; 0 where nothing could.
        without: what had to be away, within a sentence: "waiting for the network".
        name: the same in a narrow column: "network".
    """

    share: float
    without: str
    name: str


def most_to_be_won(profile: RunProfile) -> ToBeWon | None:
    """The largest of what waiting and stragglers cost; None where nothing is known.

    First tasks do not count: whatever the cluster, each executor has one.
    """
    return max(_each(profile), key=lambda one: one.share, default=None)


def share_without(profile: RunProfile, seconds: float) -> float:
    """By what share a run of so many seconds is shorter than the replayed one."""
    return max(0.0, 1.0 - seconds / profile.replayed_seconds) if profile.replayed_seconds > 0 else 0.0


def _each(profile: RunProfile) -> Iterator[ToBeWon]:
    for limit in profile.limits:
        yield ToBeWon(
            share=max(0.0, limit.improvement_percent) / 100,
            without=f"waiting for {within(limit.resource)}",
            name=short(limit.resource),
        )
    for cause in profile.straggler_causes:
        if cause.cause != FIRST_TASK:
            yield ToBeWon(
                share=share_without(profile, cause.seconds_without),
                without=f"its stragglers ({cause.cause})",
                name="stragglers" if cause.cause == UNEXPLAINED else cause.cause,
            )
