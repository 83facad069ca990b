"""Jobs, their sample runs and their production runs, for `prior`: sizes and scales on a grid."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.clarity.scenarios import FULL_SPEED, LINK_MEGABITS, MANY, Scenario
from tests.ec2_testbed import Performance

JOBS = ("waiting", "shuffling", "rounds")

SAMPLE_SCALES = (0.1, 0.2, 0.4)
SAMPLE_MACHINES = (1, 2, 4)
PRODUCTION_MACHINES = (2, 4, 6)

_WAIT = "--map-wait-milliseconds 15 --reduce-wait-milliseconds 15"
_LINK = Performance(megabits_per_second=LINK_MEGABITS)


def name_of(job: str, *, machines: int, scale: float) -> str:
    """The name of a run."""
    return f"{job} {machines} {round(100 * scale)}"


def samples() -> tuple[tuple[int, float], ...]:
    """Machines and scale of each sample run."""
    return tuple((machines, scale) for scale in SAMPLE_SCALES for machines in SAMPLE_MACHINES)


def prior_scenarios() -> Iterator[Scenario]:
    """All runs of all jobs: samples, then production."""
    for job in JOBS:
        for machines, scale in (*samples(), *((machines, 1.0) for machines in PRODUCTION_MACHINES)):
            yield Scenario(
                name=name_of(job, machines=machines, scale=scale),
                job=_arguments(job, scale),
                machines=machines,
                cluster=MANY,
                hosts=_LINK if job == "shuffling" else FULL_SPEED,
            )


def _arguments(job: str, scale: float) -> str:
    """A sample has fewer rows in fewer partitions of the same size, as one of files has."""
    if job == "waiting":
        return f"--rows {round(2400 * scale)} --maps {round(60 * scale)} --reduces 24 {_WAIT}"
    if job == "shuffling":
        return f"--rows {round(20_000 * scale)} --row-bytes 8000 --maps {round(60 * scale)} --reduces 24"
    return f"--rounds 6 --rows {round(600 * scale)} --maps {round(30 * scale)} --reduces 6 {_WAIT}"
