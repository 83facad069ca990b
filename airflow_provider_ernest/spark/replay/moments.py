"""The moments of a run that wait for one another: jobs submitted, stages submitted and ended, the run's end.

Each comes a fixed time after the last of those that it waits for; what passed between them in the real run,
while the driver planned, sent and collected, is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

BEGIN = 0
"""When the clean time begins; all other moments count from it."""


class Moments:
    """A graph without cycles: a moment waits only for such as were added before it.

    Attributes:
        at: when each was in the real run, in seconds from `BEGIN`.
        after: what each waits for.
        gap_seconds: how long after the last of those it was; negative only after `BEGIN` alone.
        followers: what waits for each.
    """

    def __init__(self) -> None:
        self.at: list[float] = [0.0]
        self.after: list[tuple[int, ...]] = [()]
        self.gap_seconds: list[float] = [0.0]
        self.followers: list[list[int]] = [[]]

    def add(self, at: float, after: Iterable[int]) -> int:
        """A moment; gives its number."""
        waits_for = tuple(dict.fromkeys(after)) or (BEGIN,)
        gap = at - max(self.at[each] for each in waits_for)
        for each in waits_for:
            self.followers[each].append(len(self.at))
        self.followers.append([])
        self.at.append(at)
        self.after.append(waits_for)
        # Work may begin before the last machine has come.
        self.gap_seconds.append(gap if waits_for == (BEGIN,) else max(0.0, gap))
        return len(self.at) - 1


class Unfolding:
    """The moments of one replay, as they come one after another."""

    def __init__(self, moments: Moments, held: Iterable[int] = ()) -> None:
        """`held`: moments that come only when they are told to, whatever they wait for."""
        self.at: list[float] = list(moments.at)
        self._gaps = moments.gap_seconds
        self._held = set(held)
        self._missing = [len(waits_for) for waits_for in moments.after]
        self._last = [-math.inf] * len(moments.at)
        self._followers = moments.followers

    def reach(self, moment: int, at: float) -> list[int]:
        """One has come; gives it and all others that follow of it alone, whose times are then in `at`."""
        self.at[moment] = at
        come = [moment]
        for each in come:
            for follower in self._followers[each]:
                self._missing[follower] -= 1
                self._last[follower] = max(self._last[follower], self.at[each])
                if not self._missing[follower] and follower not in self._held:
                    self.at[follower] = self._last[follower] + self._gaps[follower]
                    come.append(follower)
        return come
