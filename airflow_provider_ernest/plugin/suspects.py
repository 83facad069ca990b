"""Which models cannot be drifting, told from numbers alone: there may be 10,000, and most are fresh."""

from __future__ import annotations

from functools import lru_cache

from airflow_provider_ernest.model.life.drift import ALTERNATIVES, OUTCOMES, THRESHOLD


@lru_cache(maxsize=4096)
def could_be_drift(*, unlikely: int, unusual: int) -> bool:
    """Whether so many misses could be evidence of drift, in the worst order that they may have come in.

    Never false where `drift.evidence_of` finds drift; for few misses it is false without looking at the runs.

    Args:
        unlikely: runs outside what was likely, and inside what was nearly certain.
        unusual: runs outside what was nearly certain.
    """
    worst = [
        _most(
            [wrong / right for wrong, right in zip(alternative, OUTCOMES, strict=True)],
            unlikely=unlikely,
            unusual=unusual,
        )
        for alternative in ALTERNATIVES
    ]
    return sum(worst) / len(worst) >= THRESHOLD


def _most(ratios: list[float], *, unlikely: int, unusual: int) -> float:
    """The largest that a statistic, which goes from s to (s + 1) * ratio with each run, can become.

    Runs inside what was likely never take it above the point where they leave it, and from above they only
    take it down. Of the others, those with the larger ratios do most at the end.
    """
    inside, *outside = ratios
    statistic = inside / (1.0 - inside)
    for ratio, count in sorted(zip(outside, (unlikely, unusual), strict=True)):
        for _ in range(count):
            statistic = max(statistic, (statistic + 1.0) * ratio)
            if statistic > len(ALTERNATIVES) * THRESHOLD:
                return statistic
    return statistic
