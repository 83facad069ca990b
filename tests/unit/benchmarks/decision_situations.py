"""Small situations with known times, and forecasts that say what they are told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from airflow_provider_ernest.settings import Billing
from benchmarks.decisions.outlook import Outlook
from benchmarks.decisions.situations import Option, Situation

SECONDS = {2: 200.0, 4: 110.0, 8: 80.0}
"""Median seconds by machines; at 3.60 $ an hour a machine second is a thousandth of a dollar: 0.40, 0.44 and
0.64 $."""


class Told:
    """A forecast with fixed probabilities, whatever the limit."""

    def __init__(self, probabilities: Sequence[float]) -> None:
        self.probabilities = np.array(probabilities)

    def predict(self, *, machines, scale):
        raise AssertionError("outlooks hold the predictions")

    def interval(self, *, machines, scale, level):
        return None

    def probability_within(self, *, machines, scale, limits):
        return np.tile(self.probabilities, len(limits) // len(self.probabilities))


def situation(*, gigabytes: float | None = 15.0, noise: Sequence[float] = (-10.0, 0.0, 10.0)) -> Situation:
    return Situation(
        job="grep",
        setting="made up",
        gigabytes=gigabytes,
        options=tuple(
            Option(
                model=0,
                instance_type="m4",
                cores=4,
                machines=machines,
                scale=1.0,
                billing=Billing(price_per_hour=3.6),
                seconds=seconds,
                repetitions=tuple(seconds + extra for extra in noise),
            )
            for machines, seconds in SECONDS.items()
        ),
    )


def outlook(
    *,
    original: Sequence[float] = tuple(SECONDS.values()),
    ours: Sequence[float] = tuple(SECONDS.values()),
    probabilities: Sequence[float] = (0.1, 0.9, 0.99),
    gigabytes: float | None = 15.0,
) -> Outlook:
    return Outlook(
        situation=situation(gigabytes=gigabytes),
        original_seconds=np.array(original),
        seconds=np.array(ours),
        forecasts=[Told(probabilities)],
    )


def write_two_types(folder: Path) -> None:
    """A job on two types, 20 s and 40 s per million lines of work; m4 also with a larger input."""
    lines = ["instance_count machine_type slots memory data_size_MB lines gross_runtime"]
    for name, sizes, per_million in (("m4.2xlarge", (1, 2, 3, 4), 40), ("c4.2xlarge", (1, 2, 3), 20)):
        for machines in (2, 4, 6, 8, 12):
            for size in sizes:
                for extra in range(3):
                    seconds = 30 + per_million * size / machines + extra
                    lines.append(
                        f"{machines} {name} {8 * machines} {32 * machines} {10_000 * size} "
                        f"{size}000000 {seconds}"
                    )
    (folder / "grep.tsv").write_text("\n".join(line.replace(" ", "\t") for line in lines) + "\n")
