"""Which runs are recorded: months of production of a dozen jobs, as teams have them.

Each job runs week by week, mostly at one or two sizes; its input grows. The order in which the runs are made
is shuffled, so that the machine's mood is nobody's trend, and a part of them is a corpus, too.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

LOCAL, TESTBED = "local", "testbed"
"""The clusters: the package's own on one machine, and hosts with links of their own (`tests.ec2_testbed`)."""

MOST_MACHINES: Mapping[str, int] = {LOCAL: 8, TESTBED: 6}

_SEED = 18
_FIRST_DAY = datetime(2026, 5, 4, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class RecurringJob:
    """A job that runs again and again.

    Attributes:
        script: of the folder `jobs`.
        name: of the application, by the run's day and number.
        machines: of its runs, a digit each, in their order.
        files: of input that the first run reads.
        growth: of the input from a run to the next, as a share of the first.
        cores: of a machine.
        cluster: `LOCAL` or `TESTBED`.
        megabits_per_second: of the hosts' links; None for no limit.
        hour: of the day at which it starts.
        every_days: it runs.
        fails: numbers of the runs that fail.
        writes: whether it writes files.
        settings: of Spark.
        arguments: of the script.
    """

    script: str
    name: Callable[[datetime, int], str]
    machines: str
    files: int
    growth: float
    cores: int = 1
    cluster: str = LOCAL
    megabits_per_second: float | None = None
    hour: int = 2
    every_days: int = 7
    fails: tuple[int, ...] = ()
    writes: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecordableRun(ABC):
    """What recording and packing want to know of a run.

    Attributes:
        number: of the job's runs, from 0.
        day: when production would have started it.
        machines: that it runs on.
        files: of input that it reads.
    """

    number: int
    day: datetime
    machines: int
    files: int

    @property
    @abstractmethod
    def job_id(self) -> str:
        """Names the job's files."""

    @property
    @abstractmethod
    def script(self) -> str:
        """Of the folder `jobs`."""

    @property
    def id(self) -> str:
        """Names the run's files."""
        return f"{self.job_id}-{self.number:02}"

    @property
    def fails(self) -> bool:
        """Whether it is to end with an error."""
        return False


@dataclass(frozen=True, kw_only=True)
class PlannedRun(RecordableRun):
    """One run of a recurring job."""

    job: RecurringJob

    @property
    def job_id(self) -> str:
        """Names the job's files."""
        region = "-eu" if self.job.cluster == TESTBED else ""
        return f"{self.job.script.replace('_', '-')}{region}"

    @property
    def script(self) -> str:
        """Of the folder `jobs`."""
        return self.job.script

    @property
    def fails(self) -> bool:
        """Whether it is one of those that end with an error."""
        return self.number in self.job.fails


JOBS = (
    RecurringJob(
        script="daily_sales",
        name=lambda day, number: f"daily-sales-{day:%Y-%m-%d}",
        machines="44424444644448443442",
        files=16,
        growth=0.08,
        fails=(7,),
        writes=True,
    ),
    RecurringJob(
        script="sessions",
        name=lambda day, number: f"Sessionize clicks {day:%Y%m%d}",
        machines="33336333133353336323",
        files=14,
        growth=0.08,
        hour=4,
        writes=True,
    ),
    RecurringJob(
        script="churn_training",
        name=lambda day, number: f"churn-training-v{number + 31}",
        machines="22242221222422222326",
        files=10,
        growth=0.06,
        hour=22,
        fails=(12,),
    ),
    RecurringJob(
        script="word_index",
        name=lambda day, number: f"word index run {number + 108:04}",
        machines="22122212232222122212",
        files=8,
        growth=0.08,
        every_days=3,
    ),
    RecurringJob(
        script="geo_enrichment",
        name=lambda day, number: f"geo-enrichment {day:%Y-%m-%dT%H:00:00}",
        machines="44464444244448443446",
        files=20,
        growth=0.09,
        hour=1,
    ),
    RecurringJob(
        script="risk_features",
        name=lambda day, number: f"risk_features_{day:%Y_%m_%d}",
        machines="33313335333233363331",
        files=10,
        growth=0.09,
        every_days=1,
        settings={"spark.executor.memory": "470m"},
    ),
    RecurringJob(
        script="ledger_sort",
        name=lambda day, number: f"ledger-sort-{int(day.timestamp())}",
        machines="22223222422212222622",
        files=14,
        growth=0.08,
        hour=23,
        writes=False,
        settings={"spark.executor.memory": "480m"},
    ),
    RecurringJob(
        script="merchant_totals",
        name=lambda day, number: f"merchant-totals.{day:%Y-%m-%d}",
        machines="44442444644144448444",
        files=14,
        growth=0.08,
        fails=(4,),
        writes=True,
    ),
    RecurringJob(
        script="invoices",
        name=lambda day, number: f"invoices-{day:%b-%Y}-run{number + 1}".lower(),
        machines="33323333633313333433",
        files=10,
        growth=0.08,
        hour=6,
    ),
    RecurringJob(
        script="hash_audit",
        name=lambda day, number: f"hash-audit-{day:%G-W%V}",
        machines="11121113111211121112",
        files=14,
        growth=0.08,
    ),
    RecurringJob(
        script="segments",
        name=lambda day, number: f"customer_segments_{day:%Y%m%d}_{number:02}",
        machines="33323334333633332333",
        files=10,
        growth=0.07,
        cluster=TESTBED,
        megabits_per_second=100.0,
    ),
    RecurringJob(
        script="price_exchange",
        name=lambda day, number: f"price-exchange-{day:%Y-%m-%d}-eu",
        machines="33343332333633334333",
        files=12,
        growth=0.09,
        cluster=TESTBED,
        megabits_per_second=24.0,
        fails=(9,),
    ),
    RecurringJob(
        script="sessions",
        name=lambda day, number: f"sessions-eu-{day:%Y-%m-%d}",
        machines="44424443444644423444",
        files=14,
        growth=0.08,
        cluster=TESTBED,
        megabits_per_second=40.0,
        hour=5,
    ),
)
"""Their sizes: one or two usual ones, and what somebody once tried."""


def planned_runs() -> list[PlannedRun]:
    """All runs, in the order in which they are made; the same each time."""
    draw = random.Random(_SEED)  # noqa: S311 - no secret
    runs = []
    for job in JOBS:
        for number, digit in enumerate(job.machines):
            files = job.files * (1 + job.growth * number) * draw.lognormvariate(0.0, 0.06)
            day = _FIRST_DAY + timedelta(days=job.every_days * number, hours=job.hour)
            runs.append(
                PlannedRun(
                    job=job,
                    number=number,
                    day=day + timedelta(seconds=draw.randrange(900)),
                    machines=int(digit),
                    files=max(2, round(files)),
                )
            )
    draw.shuffle(runs)
    return runs
