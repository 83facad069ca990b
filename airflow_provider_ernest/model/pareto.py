"""Which of several configurations are worth considering at all: those that no other one beats in all."""

from __future__ import annotations

import math
from collections.abc import Sequence


def on_pareto_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each point whether no other one is at least as small in both and smaller in one (Pareto, 1906).

    Args:
        points: two things of which less is better, seconds and dollars say. Equal points are on the front
            together or not at all; a point that is not finite never is, nor does it keep others from it.

    Returns:
        One truth for each point, in their order.
    """
    front = [False] * len(points)
    order = sorted(
        (at for at, point in enumerate(points) if all(map(math.isfinite, point))), key=points.__getitem__
    )
    least_second, last = math.inf, None
    for at in order:
        if points[at][1] < least_second or points[at] == last:
            front[at] = True
            least_second, last = points[at][1], points[at]
    return front
