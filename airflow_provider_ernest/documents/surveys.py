"""What a survey of event logs says: for each recurring job what it takes today, and what could be saved."""

from __future__ import annotations

from airflow_provider_ernest.documents.base import Document, Interval, Stored
from airflow_provider_ernest.documents.runs import ExecutorBounds

MODEL, REPLAY, BOTH = "model", "replay", "both"
"""Where a prediction comes from: a model of the history, the replay of a single run, or both, which agree."""


class UsedSize(Document):
    """A size at which a job ran: its clean seconds are the median of its runs there."""

    executors: int
    runs: int
    seconds: float
    instance_type: str | None = None


class PredictedSize(Document):
    """What a job would take on another number of the same executors, with today's input."""

    executors: int
    seconds: float  # start-up included, median
    likely_seconds: Interval  # the bounds of 80 % of runs
    source: str  # `MODEL`, `REPLAY` or `BOTH`
    cost: float | None = None  # dollars a run; None where no price is known
    probability: float | None = None  # of a run to keep to the survey's limit


class SurveyedAllocation(Document):
    """Dynamic allocation of a job's runs: what it costs against fixed executors, and bounds for it."""

    mean_executors: float  # that its runs have today
    fixed_executors: int | None = None  # the cheapest that keep to the limit, all of them all the time
    fixed_saves: float | None = None  # by those, as a share of a run's cost; negative where they cost more
    bounds: ExecutorBounds | None = None  # the cheapest that keep to it; None where none are known
    bounds_seconds: float | None = None  # median of a run within these, start-up included
    bounds_likely_seconds: Interval | None = None  # the bounds of 80 % of runs
    bounds_mean_executors: float | None = None
    bounds_save: float | None = None  # as a share of a run's cost today


class Lateness(Document):
    """When runs on today's executors stop keeping a limit, as their input grows; days are dates in UTC."""

    from_day: str = ""  # the first on which a typical run does, the median; empty where none does in a year
    earliest_day: str = ""  # the bounds of 80 % of that day
    latest_day: str = ""  # empty for more than a year
    single_day: str = ""  # before that, one on which more is read, such as a month's end; empty for none
    executors: int | None = None  # that keep it then, and longer; None where none are known to
    executors_until: str = ""  # the day from which these will not, either; empty for more than a year


class SurveyedJob(Document):
    """One recurring job."""

    job: str
    runs: int  # that ended well
    failed_runs: int = 0  # that did not
    first_at: str = ""  # when the first run began, in UTC, ISO 8601
    last_at: str = ""  # when the last did
    runs_per_month: float | None = None  # by the history; None where that is too short to tell
    used: tuple[UsedSize, ...] = ()  # the sizes at which it ran, the most used first
    executors: int | None = None  # of today's size: the one that most of the latest runs had
    executor_cores: int | None = None  # of that size
    # 1 where each has a machine of its own, and people read machines; None where a shared cluster places them
    executors_per_machine: int | None = 1
    seconds: float | None = None  # median of the runs at today's size and input, start-up included
    limit_seconds: float | None = None  # that a run may take at another size
    executor_hours_per_month: float | None = None  # billed; None where the runs a month are not known
    dollars_per_month: float | None = None  # None where no price is known either
    price_per_hour: float | None = None  # dollars for one executor as today; None where it is not known
    slot_utilisation: float | None = None  # share of the executors' slots that ran tasks, 0..1
    input_bytes: int | None = None  # that it reads now
    input_records: int | None = None  # the same where Spark counts no bytes, as of JDBC; else None
    input_growth_per_month: float | None = None  # by so many times it grew in a month
    sizes: tuple[PredictedSize, ...] = ()  # what other sizes would make of it, and today's
    proposed: PredictedSize | None = None  # the cheapest that keeps to the limit surely enough, if any
    saved_share: float | None = None  # of a run's cost, by the proposed size; negative where that costs more
    likely_saved_share: Interval | None = None  # bounds with 80 % probability; may include what is lost
    saved_per_month: float | None = None  # dollars, against today's size; None where that is not known
    likely_saved_per_month: Interval | None = None  # their bounds
    saved_executor_hours_per_month: float | None = None  # the same in executor-hours, which need no price
    likely_saved_executor_hours_per_month: Interval | None = None  # their bounds
    allocation: SurveyedAllocation | None = None  # where executors come and go; None where all stay
    lateness: Lateness | None = None  # of today's size for that limit; None where it is kept, or not known
    bottleneck: str = ""  # what it is bound by, of `documents.profiles`
    why: str = ""  # the same as a sentence, with its figure
    unknown: tuple[str, ...] = ()  # sentences: what is not known
    # What a training would cost, as surveys of version 0.2 tell; not written any more.
    training_dollars: float | None = None
    training_executor_hours: float | None = None


class Survey(Stored):
    """All jobs of a survey, those that could save most first."""

    kind = words = "survey"

    jobs: tuple[SurveyedJob, ...]
    logs: int  # event logs that were looked at
    unread: tuple[tuple[str, int], ...] = ()  # how many of them could not be read, by the reason in words
    goal: str = ""  # of a proposed size, in words: "today's time within 10 % in 80 % of runs"
    confidence: float = 0.8  # that share of runs
    notes: tuple[str, ...] = ()  # sentences: which names count as one job
