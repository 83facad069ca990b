"""Which runs are recorded: jobs that take another course on fewer machines or with more input.

Each setting is a job and the memory that it has. Its runs lie on both sides of the change: where the data
fits, or nothing spills, and where that ends.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from benchmarks.history.schedule import RecordableRun

MOST_MACHINES = 4
TARGET_FILES = 16
"""Of input, which are called the whole of it."""

_SEED = 19
_FIRST_DAY = datetime(2026, 11, 2, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A job and the memory that it has.

    Attributes:
        name: of the setting.
        script: of the folder `jobs`.
        sizes: machines and files of the runs.
        memory_fraction: of an executor's heap beyond 300 MB that Spark manages.
        arguments: of the script.
        settings: of Spark, beside.
        changes_at: files of input from which on the job takes another course, where Spark's figures of a
            run do not tell on which side it is; else None.
    """

    name: str
    script: str
    sizes: tuple[tuple[int, int], ...]
    memory_fraction: float = 0.6
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    changes_at: int | None = None


@dataclass(frozen=True, kw_only=True)
class RegimeRun(RecordableRun):
    """One run of a setting."""

    setting: Setting

    @property
    def job_id(self) -> str:
        """Names the setting's archive."""
        return self.setting.name

    @property
    def script(self) -> str:
        """Of the folder `jobs`."""
        return self.setting.script


_CACHED_SIZES = (
    *((1, 2), (1, 4), (1, 6), (2, 8), (2, 12), (4, 16)),
    *((1, 10), (1, 16), (2, 16), (2, 20)),
)
"""A machine holds about 7 files of what is cached."""

_SPILLING_SIZES = (
    *((1, 2), (2, 2), (1, 4), (2, 4), (4, 4), (2, 8)),
    *((1, 12), (1, 16), (2, 16), (4, 16)),
)
"""Tasks are as many whatever the input is, so that those of much input spill on any number of machines."""

SETTINGS = (
    Setting(name="k-means", script="k_means", sizes=_CACHED_SIZES, memory_fraction=0.037),
    Setting(name="features", script="features", sizes=_CACHED_SIZES, memory_fraction=0.09),
    Setting(name="ratings", script="ratings", sizes=_CACHED_SIZES, memory_fraction=0.08),
    Setting(name="gradient-memory", script="gradient", sizes=_CACHED_SIZES, memory_fraction=0.09),
    Setting(
        name="gradient-disk",
        script="gradient",
        sizes=_CACHED_SIZES,
        memory_fraction=0.09,
        arguments=("--level", "MEMORY_AND_DISK"),
    ),
    Setting(name="ordering", script="ordering", sizes=_SPILLING_SIZES, memory_fraction=0.05),
    Setting(name="totals", script="totals", sizes=_SPILLING_SIZES, memory_fraction=0.03),
    Setting(name="merchants", script="merchants", sizes=_SPILLING_SIZES, memory_fraction=0.08),
    Setting(
        name="joining",
        script="joining",
        sizes=_SPILLING_SIZES,
        settings={"spark.sql.autoBroadcastJoinThreshold": "1200k"},
        changes_at=12,
    ),
)


def planned_runs() -> list[RegimeRun]:
    """All runs, in the order in which they are made: shuffled, so that the machine's mood is no trend."""
    runs = [
        RegimeRun(
            setting=setting,
            number=number,
            day=_FIRST_DAY + timedelta(hours=number),
            machines=machines,
            files=files,
        )
        for setting in SETTINGS
        for number, (machines, files) in enumerate(setting.sizes)
    ]
    random.Random(_SEED).shuffle(runs)  # noqa: S311 - no secret
    return runs
