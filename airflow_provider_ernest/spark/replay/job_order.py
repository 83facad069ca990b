"""Which jobs a job waited for, from when they were submitted and completed.

The log does not tell what the driver waited for. Where no other job ran when one was submitted, the driver
had waited for all before it: so does a program that calls one action after another. Where others ran,
threads submit jobs side by side (queries in a pool, broadcasts of adaptive execution), and a thread goes on
when its own job has ended: that is the one that was completed last before.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class JobSpan:
    """A job by its place in the order of submission, and when it ran."""

    submitted_at: float
    completed_at: float


def releases(jobs: Sequence[JobSpan]) -> list[tuple[int, ...]]:
    """For each job the places of those that it waited for; empty for what only waited for the beginning.

    Args:
        jobs: in the order in which they were submitted.
    """
    found: list[tuple[int, ...]] = []
    group: list[int] = []
    before: tuple[int, ...] = ()
    running: list[tuple[float, int]] = []
    last_ended: int | None = None
    for place, job in enumerate(jobs):
        while running and running[0][0] <= job.submitted_at:
            last_ended = heapq.heappop(running)[1]
        if not running:
            before, group, last_ended = tuple(group), [], None
        found.append(before if last_ended is None else (last_ended,))
        group.append(place)
        heapq.heappush(running, (job.completed_at, place))
    return found
