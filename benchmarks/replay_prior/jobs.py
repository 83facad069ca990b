"""Synthetic Spark jobs: stages of tasks, what of them grows with the input, and what the driver does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

PARTITIONS = 1000
"""Of the whole input."""


class Growth(Enum):
    """What more input changes about a stage."""

    TASKS = auto()
    """It has more tasks: those that read the input."""
    SECONDS = auto()
    """It has as many tasks, each of which takes longer: those behind a shuffle."""
    NOTHING = auto()


@dataclass(frozen=True, kw_only=True)
class Step:
    """A stage of a job.

    Attributes:
        tasks: at scale 1.
        seconds: of a task's own work, at scale 1.
        growth: with the input.
        fetch_seconds: that a task waits for data at scale 1, were all of it remote.
        spread: standard deviation of the logarithm of a task's seconds.
        largest: how many times as much as the others the largest task has to do.
        waits_for: positions of its parents, counted back from this stage; 0 is no parent.
    """

    tasks: int
    seconds: float
    growth: Growth
    fetch_seconds: float = 0.0
    spread: float = 0.15
    largest: float = 1.0
    waits_for: tuple[int, ...] = (1,)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job: its stages, some of them repeated, with the driver's own work between.

    Attributes:
        steps: once, in the first of Spark's jobs.
        repeated: in each further one.
        rounds: how many further ones there are.
        driver_seconds: that the driver works before the first of them.
        between_seconds: and before each further one.
        result_seconds: that it takes for a task's result.
        broadcast_seconds: before each further one, for each doubling of the machines.
        connect_seconds: that a task behind a shuffle takes for each machine.
    """

    steps: tuple[Step, ...]
    repeated: tuple[Step, ...] = ()
    rounds: int = 0
    driver_seconds: float = 3.0
    between_seconds: float = 0.3
    result_seconds: float = 0.001
    broadcast_seconds: float = 0.0
    connect_seconds: float = 0.002


def _reads(seconds: float, *, tasks: int = PARTITIONS, spread: float = 0.15) -> Step:
    return Step(tasks=tasks, seconds=seconds, growth=Growth.TASKS, spread=spread, waits_for=())


def _shuffles(
    tasks: int,
    seconds: float,
    fetch_seconds: float = 0.0,
    *,
    largest: float = 1.0,
    waits_for: tuple[int, ...] = (1,),
) -> Step:
    return Step(
        tasks=tasks,
        seconds=seconds,
        growth=Growth.SECONDS,
        fetch_seconds=fetch_seconds,
        largest=largest,
        waits_for=waits_for,
    )


JOBS: Mapping[str, Job] = {
    "scan": Job(steps=(_reads(1.2), _shuffles(8, 0.4))),
    "aggregation": Job(steps=(_reads(0.8), _shuffles(64, 3.0, 1.0))),
    "sort": Job(steps=(_reads(0.6), _shuffles(200, 4.0, 3.0)), connect_seconds=0.01),
    "join": Job(
        steps=(
            _reads(0.7),
            _reads(0.5, tasks=400),
            _shuffles(200, 2.5, 2.0, waits_for=(1, 2)),
            _shuffles(32, 2.0, 0.5),
        ),
        broadcast_seconds=0.3,
    ),
    "k-means": Job(
        steps=(_reads(1.0),),
        repeated=(_reads(0.12, spread=0.3), _shuffles(8, 0.05)),
        rounds=12,
        between_seconds=0.5,
        broadcast_seconds=0.15,
    ),
    "page rank": Job(
        steps=(_reads(0.5), _shuffles(100, 2.0, 1.0)),
        repeated=(_shuffles(100, 1.0, 0.8, waits_for=()),),
        rounds=8,
        connect_seconds=0.005,
    ),
    "driver": Job(
        steps=(_reads(0.6),),
        repeated=(_reads(0.05, tasks=200),),
        rounds=10,
        driver_seconds=15.0,
        between_seconds=2.0,
        broadcast_seconds=0.3,
    ),
    "skew": Job(steps=(_reads(0.6), _shuffles(100, 1.5, 0.8, largest=20.0))),
    "many stages": Job(
        steps=(_reads(0.3), *(_shuffles(200, 0.15, 0.1) for _ in range(11))), connect_seconds=0.001
    ),
    "export": Job(steps=(_reads(0.5), _shuffles(4, 60.0, 10.0))),
}
"""By name."""
