"""The runs that are made: a job whose bottleneck is known, on hosts that are made slow in one way.

Each question of `questions` compares two of them: what the event log of one foretells, and what the other
took. All work either waits, or moves bytes over limited links or disks, or computes on no more slots than
this machine has cores: hosts that shared a core would tell nothing of scaling.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.ec2_testbed import Performance

PLAIN, WITH_DISKS, MANY = "three hosts", "three hosts with disks", "six hosts"
WORKERS = {PLAIN: 3, WITH_DISKS: 3, MANY: 6}
"""The clusters, by how many workers they have."""


FULL_SPEED = Performance()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A run.

    Attributes:
        job: arguments of `application`.
        cluster: one of `WORKERS`.
        hosts: how fast they are.
        slow: how fast the slow one is; None where there is none.
        disk_megabytes_per_second: that a disk writes; None for no limit.
    """

    name: str
    job: str
    executors: int
    cores: int = 1
    cluster: str = PLAIN
    hosts: Performance = FULL_SPEED
    slow: Performance | None = None
    disk_megabytes_per_second: float | None = None


COMPUTE = "--rounds 2 --rows 4000 --maps 16 --reduces 8 --map-hash-kilobytes 300"
SHUFFLE = "--rounds 2 --rows 8000 --row-bytes 8000 --maps 12 --reduces 12"
MIXED = "--rounds 2 --rows 6000 --row-bytes 8000 --maps 8 --reduces 8 --reduce-hash-kilobytes 120"
EQUAL_TASKS = "--rounds 2 --rows 2400 --maps 12 --reduces 6 --map-hash-kilobytes 500"
WRITING = "--rounds 2 --rows 8000 --row-bytes 8000 --maps 12 --reduces 12"
WAITING = (
    "--rounds 2 --rows 960 --row-bytes 32000 --maps 24 --reduces 24 "
    "--map-wait-milliseconds 10 --reduce-wait-milliseconds 10"
)
MANY_TASKS = (
    "--rounds 2 --rows 1200 --maps 48 --reduces 24 --map-wait-milliseconds 15 --reduce-wait-milliseconds 15"
)

LINK_MEGABITS = 24.0
COMPUTE_LINK_MEGABITS = 100.0
MIXED_LINK_MEGABITS = 12.0
SLOW_LINK_MEGABITS = 8.0
SHARE, SLOW_SHARE = 0.6, 0.2
DISK_MEGABYTES = 6.0
SIZES = (2, 3, 4, 6)


def _link(megabits_per_second: float) -> Performance:
    return Performance(megabits_per_second=megabits_per_second)


def _on_disks(name: str, megabytes_per_second: float | None) -> Scenario:
    return Scenario(
        name=name,
        job=WRITING,
        executors=3,
        cluster=WITH_DISKS,
        disk_megabytes_per_second=megabytes_per_second,
    )


SCENARIOS = (
    Scenario(name="compute", job=COMPUTE, executors=2, hosts=_link(COMPUTE_LINK_MEGABITS)),
    Scenario(name="compute, no limit", job=COMPUTE, executors=2),
    Scenario(name="shuffle", job=SHUFFLE, executors=3, hosts=_link(LINK_MEGABITS)),
    Scenario(name="shuffle, no limit", job=SHUFFLE, executors=3),
    Scenario(name="shuffle, twice", job=SHUFFLE, executors=3, hosts=_link(2 * LINK_MEGABITS)),
    Scenario(name="shuffle, half", job=SHUFFLE, executors=3, hosts=_link(LINK_MEGABITS / 2)),
    Scenario(name="mixed", job=MIXED, executors=2, hosts=_link(MIXED_LINK_MEGABITS)),
    Scenario(name="mixed, no limit", job=MIXED, executors=2),
    Scenario(name="mixed, twice", job=MIXED, executors=2, hosts=_link(2 * MIXED_LINK_MEGABITS)),
    Scenario(name="mixed, half", job=MIXED, executors=2, hosts=_link(MIXED_LINK_MEGABITS / 2)),
    Scenario(
        name="slow CPU",
        job=EQUAL_TASKS,
        executors=3,
        hosts=Performance(cpu=SHARE),
        slow=Performance(cpu=SLOW_SHARE),
    ),
    Scenario(name="slow CPU, none", job=EQUAL_TASKS, executors=3, hosts=Performance(cpu=SHARE)),
    Scenario(
        name="slow link",
        job=SHUFFLE,
        executors=3,
        hosts=_link(2 * LINK_MEGABITS),
        slow=_link(SLOW_LINK_MEGABITS),
    ),
    Scenario(name="waiting, 1 core", job=WAITING, executors=2, hosts=_link(LINK_MEGABITS)),
    Scenario(name="waiting, 2 cores", job=WAITING, executors=2, cores=2, hosts=_link(LINK_MEGABITS)),
    _on_disks("disk", DISK_MEGABYTES),
    _on_disks("disk, twice", 2 * DISK_MEGABYTES),
    _on_disks("disk, no limit", None),
    *(
        Scenario(name=f"size {executors}", job=MANY_TASKS, executors=executors, cluster=MANY)
        for executors in SIZES
    ),
)
