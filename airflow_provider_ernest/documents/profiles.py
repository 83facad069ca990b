"""Profiles of runs as documents: where the time of a run went, by its event log, and what binds the job.

All times are in seconds. "Clean" time runs from the moment that all executors were there to the application's
end, as in an `Observation`; so do a stage's times. Executors that join during the work, as under dynamic
allocation, do not move that moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_provider_ernest.documents.base import (
    Document,
    Interval,
    Key,
    Record,
    is_outside,
    keys,
    not_negative,
    positive,
)
from airflow_provider_ernest.documents.runs import ExecutorBounds, ReplayedSize
from airflow_provider_ernest.words import count, counted, duration, duration_range, percentage

CPU, NETWORK, DISK = "cpu", "network", "disk"
"""The resources of a machine."""

GARBAGE_COLLECTION, SCHEDULER, SERIALISATION, PYTHON_WORKER = (
    "garbage collection",
    "scheduler delay",
    "serialisation",
    "Python worker",
)
"""What else a task waits for."""

DRIVER = "driver"
"""What a run is bound by of which no task runs for most of the time."""

BLOCKING = (NETWORK, DISK, GARBAGE_COLLECTION, SCHEDULER, SERIALISATION, PYTHON_WORKER)
"""What the time of a task may be blocked on; see `clarity.blocked_time`."""

UNMEASURED = "something that Spark does not measure"
"""What else a task may wait for: a service, input, a busy host."""

INPUT_SKEW, SLOW_FETCH, SLOW_DISK, COLLECTION, SLOW_HOST, FIRST_TASK, UNEXPLAINED = (
    "input skew",
    "slow fetch",
    "slow disk",
    "garbage collection",
    "slow host",
    "first task",
    "unexplained",
)
"""Why a task took longer than the others of its stage; a "first task" warms its executor up."""

SQL, STREAMING, MLLIB, GRAPHX, CORE = "sql", "streaming", "mllib", "graphx", "core"
"""Categories of jobs (OptEx, section 4); "core" are those of plain RDDs."""


class PhaseSeconds(Document):
    """The seconds that a run spends in each phase (OptEx, section 3)."""

    initialisation_seconds: float  # starting the application
    preparation_seconds: float  # preparing the job, before its tasks start
    variable_sharing_seconds: float  # sending broadcast variables to the executors
    computation_seconds: float  # running tasks; the paper's execution phase
    communication_seconds: float  # fetching and writing what tasks exchange

    def __post_init__(self) -> None:
        """Refuse NaN and negative times."""
        not_negative(**vars(self))

    @property
    def total_seconds(self) -> float:
        """The run's time: phases do not overlap."""
        return float(sum(getattr(self, name) for name in self.__dataclass_fields__))


class ResourceLimit(Document):
    """How much faster a run could be if its tasks never waited for one thing (blocked time analysis)."""

    resource: str  # one of `BLOCKING`
    blocked_seconds: float  # that the tasks waited for it, summed over tasks
    share_percent: float  # the same as a share of the tasks' time
    seconds_without: float  # clean time of the run, replayed without that waiting
    improvement_percent: float  # by so much is that less than the replay with it: what can be won at most


class StageProfile(Document):
    """One stage of a run."""

    stage_id: int
    name: str  # Spark's, such as "count at job.py:12"; shortened
    tasks: int  # that succeeded
    began_seconds: float  # when its first task was launched
    ended_seconds: float
    task_seconds: float  # summed over its tasks, from launch to end
    attempt: int = 0
    parents: tuple[int, ...] = ()  # stages that had to end before
    job_id: int = -1  # that it was run for first; -1 where that is not known
    failed_tasks: int = 0  # that failed, were killed, or whose work another attempt did
    # Of its tasks' seconds, evenly spaced from the shortest to the longest; first tasks of executors count
    # without their warm-up, here and in the mean.
    quantiles_seconds: tuple[float, ...] = ()
    mean_seconds: float = 0.0  # 0 where that is not known
    warmup_seconds: float = 0.0  # that the first task of an executor takes longer
    reads_input: bool = False  # whether its tasks read the job's input, so that more input makes more tasks
    input_bytes: int = 0  # cached blocks included
    input_records: int = 0  # likewise; 0 where Spark does not count them
    output_bytes: int = 0
    result_bytes: int = 0  # sent to the driver
    shuffle_remote_bytes: int = 0  # fetched from other machines
    shuffle_local_bytes: int = 0  # fetched from its own machine
    shuffle_written_bytes: int = 0  # for later stages
    spilled_bytes: int = 0  # written to disk for want of memory
    blocked_seconds: dict[str, float] = field(
        default_factory=dict
    )  # by `BLOCKING`, summed over tasks; no zeros
    unmeasured_seconds: float = 0.0  # that they spent on `UNMEASURED`, likewise
    # Of the stage, replayed without the waiting for each, as earlier versions told.
    seconds_without: dict[str, float] = field(default_factory=dict)
    # That each resource needs at least: its total use over its capacity (monotasks).
    ideal_seconds: dict[str, float] = field(default_factory=dict)
    bottleneck: str = ""  # the resource whose ideal time is longest; empty where nothing is known
    stragglers: int = 0  # tasks that took over 1.5 times the stage's median
    is_barrier: bool = False  # whether all of its tasks must run at once, or Spark refuses it
    fills_cache: bool = False  # whether it was the first to cache a data set
    # Of the run's clean time: each moment counts equally for all stages that ran tasks then, so that these
    # and `RunProfile.driver_seconds` add up to it. None in profiles that were made before this was told.
    own_seconds: float | None = None

    @property
    def seconds(self) -> float:
        """From its first task's launch to its end."""
        return self.ended_seconds - self.began_seconds

    @property
    def attempts(self) -> int:
        """Of its tasks; at least 1."""
        return max(1, self.tasks + self.failed_tasks)

    @property
    def read_bytes(self) -> int:
        """From input and shuffle data."""
        return self.input_bytes + self.shuffle_remote_bytes + self.shuffle_local_bytes


class Straggler(Document):
    """A task that took over 1.5 times its stage's median (Ousterhout, section 2.7)."""

    stage_id: int  # of its stage
    task_id: int  # Spark's number of it
    host: str  # that it ran on
    seconds: float  # that it took
    median_seconds: float  # of its stage's tasks
    cause: str  # `INPUT_SKEW` and so on; `UNEXPLAINED` where the metrics do not tell
    evidence: str = ""  # the figure that the cause rests on, in words


class StragglerCause(Document):
    """What the stragglers of one cause took together."""

    cause: str  # see `Straggler`
    tasks: int
    excess_seconds: float  # over their stages' medians, summed
    seconds_without: float  # clean time of the run, replayed with each taking its stage's median


class Capacity(Document):
    """What one machine can do, and how that is known. None for what is not known."""

    cores: int  # tasks that it runs at once
    network_gigabytes_per_second: float | None = None  # in one direction
    disk_gigabytes_per_second: float | None = None  # of all its disks; only earlier versions were told it
    # "measured" (by the probe) or "achieved" (the most that this run's own tasks got, a lower bound)
    source: str = "achieved"


class WhatIf(Document):
    """What the run would take were the machines others (monotask-style model)."""

    change: str  # in words, such as "twice the disks"
    seconds: float  # clean time predicted
    change_percent: float  # against the run as it was; negative is faster


ExecutorSteps = tuple[tuple[float, int], ...]
"""Moments in seconds of clean time, and how many executors there are from then on."""


class ReplayedAllocation(Document):
    """The run, replayed under dynamic allocation."""

    bounds: ExecutorBounds
    seconds: float  # clean, from when the initial executors are there
    executor_seconds: float  # that executors are there in this time
    steps: ExecutorSteps = ()
    fixed_seconds: float = 0.0  # clean, with the maximum of executors all the time; 0 if unknown

    def mean_within(self, *, seconds: float, startup_seconds: float) -> float:
        """Executors that a run has on average which takes so long, start-up excluded."""
        taken = self.executor_seconds * seconds / self.seconds + self.bounds.initial * startup_seconds
        return taken / (seconds + startup_seconds)

    @property
    def mean_executors(self) -> float:
        """On average."""
        return self.executor_seconds / self.seconds if self.seconds > 0 else float(self.bounds.initial)


class Advice(Document):
    """What to change, where it is safe to say."""

    # "instance family", "partitions", "memory", "shuffle", "skew", "garbage collection", "slow host",
    # "Python", "serialisation", "driver", "files" or "reading"
    subject: str
    text: str  # a sentence that says what to do
    figure: str  # the figure that it rests on, in words
    # of the run that the log tells it would save; 0 where the log does not tell. What it wins besides, such
    # as tasks that compute less, no log tells
    won_seconds: float = 0.0
    # the address of what Spark's own documentation says of it; empty where it says nothing
    documentation: str = ""


KILLED_FOR_MEMORY, HEAP_FULL, PREEMPTED = "memory", "heap", "preemption"
DECOMMISSIONED, NODE_LOST, LOST = "decommission", "node", "unknown"
PYTHON_WORKER_KILLED, SHUFFLE_LOST = "Python worker", "shuffle"


class ExecutorLoss(Document):
    """What a run lost for one cause."""

    # "memory", "heap", "preemption", "decommission", "unknown"; "Python worker", whose executor goes on; or
    # "shuffle", of data that lay on executors that had gone
    cause: str
    executors: tuple[str, ...] = ()  # Spark's ids with their machines
    because: str = ""  # of the first, in the words of Spark
    failed_tasks: int = 0  # attempts of tasks that ended with them, and were made again
    lost_seconds: float = 0.0  # that these had taken


class RunProfile(Document):
    """Where the time of one run went, and what would make it shorter."""

    application_id: str
    executors: int  # distinct ones that worked
    slots: int  # tasks that could run at once
    seconds: float  # clean time
    replayed_seconds: float  # the same as the replay of the very same run gives it
    phases: PhaseSeconds  # which add up to start-up and clean time
    name: str = ""  # of the application, as its user named it
    event_log: str | None = None  # where it lies, without credentials
    spark: str | None = None
    category: str = CORE  # or `SQL`, `STREAMING`, `MLLIB`, `GRAPHX`
    scale: float = 1.0  # the share of the target input that it read; 1.0 where nobody said
    iterations: int | None = None  # of an iterative job
    startup_seconds: float = 0.0  # before the clean time; of a log alone, from the application's start on
    driver_seconds: float = 0.0  # of the clean time, that in which no task ran
    tasks: int = 0  # that succeeded
    failed_tasks: int = 0  # that failed or were killed
    bottleneck: str = CPU  # the resource or the waiting that it is bound by, or `DRIVER`
    not_counted: str = ""  # why its time is not that of its job, as the history has it
    steps: ExecutorSteps = ()  # how many executors it had, where these came and went
    # Spark's properties of dynamic allocation, where it had that; and from asking for an executor to its
    # being there, None where the log does not tell
    allocation: dict[str, str] = field(default_factory=dict)
    # Spark's properties that may change its time, see `conditions.plain_settings`
    settings: dict[str, str] = field(default_factory=dict)
    executor_startup_seconds: float | None = None
    losses: tuple[ExecutorLoss, ...] = ()  # executors and Python workers that were lost, by cause
    headline: str = ""  # the same as a sentence, with its figure
    limits: tuple[ResourceLimit, ...] = ()  # what could be won at most, the most first
    unmeasured_seconds: float = 0.0  # that tasks spent on `UNMEASURED`, summed; no machine shortens them
    stages: tuple[StageProfile, ...] = ()  # that took longest, in the order in which they began
    stages_left_out: int = 0  # how many more there were
    left_out_seconds: float = 0.0  # their tasks' seconds
    stragglers: tuple[Straggler, ...] = ()  # the worst of them
    straggler_causes: tuple[StragglerCause, ...] = ()  # all of them by cause
    capacity: Capacity | None = None  # that the ideal times rest on
    ideal_seconds: dict[str, float] = field(default_factory=dict)  # of the whole run by resource
    what_ifs: tuple[WhatIf, ...] = ()  # on other machines
    sizes: tuple[ReplayedSize, ...] = ()  # on other numbers of executors
    advice: tuple[Advice, ...] = ()  # what to change
    warnings: tuple[str, ...] = ()  # what is not known, or not to be trusted

    def __post_init__(self) -> None:
        """Refuse what is no run."""
        positive(executors=self.executors, slots=self.slots, seconds=self.seconds, scale=self.scale)

    @property
    def replay_error_percent(self) -> float:
        """Signed error of the replay of the very same run: what cannot be replayed cannot be predicted."""
        return 100.0 * (self.replayed_seconds - self.seconds) / self.seconds

    @property
    def task_seconds(self) -> float:
        """Of all stages, summed over tasks."""
        return sum(stage.task_seconds for stage in self.stages) + self.left_out_seconds

    def limit(self, resource: str) -> ResourceLimit | None:
        """What could be won without waiting for it; None where that is not known."""
        return next((limit for limit in self.limits if limit.resource == resource), None)

    def ran_alone(self, stage: StageProfile) -> bool:
        """Whether no other stage could take the slots that this one left."""
        return not any(
            other.began_seconds < stage.ended_seconds and stage.began_seconds < other.ended_seconds
            for other in self.stages
            if other is not stage
        )


SAMPLE, PRODUCTION = "sample", "production"


class ProfileRecord(Record):
    """The profile of a run, as it is kept."""

    kind = "profile"
    words = "run profile"

    purpose: str  # `SAMPLE` or `PRODUCTION`
    profile: RunProfile
    artifact_sha256: str | None = None  # hash of the code that ran


class TwoOpinions(Document):
    """What the model and the replay say of one number of executors; start-up included in both."""

    executors: int
    replayed_seconds: float
    model_seconds: float | None = None
    nearly_certain_seconds: Interval | None = None  # its interval of 95 %


class ReplayOpinion(Document):
    """The job on other numbers of executors: the replay of its event logs, beside the model."""

    scale: float  # of the input that it is for
    sizes: tuple[TwoOpinions, ...] = ()  # by ascending number of executors
    iterations: int | None = None  # that it is for
    from_application_id: str | None = None  # the run that was replayed
    from_scale: float | None = None
    error_percent: float | None = None  # median, of the same replay for the job's other runs, if any
    problem: str = ""  # why there are no sizes; empty where there are

    @property
    def disagreement(self) -> str:
        """Where the two say different things, and what to do; empty where they do not."""
        apart = [
            (abs(size.replayed_seconds / size.model_seconds - 1), size.model_seconds, interval, size)
            for size in self.sizes
            if size.model_seconds
            and (interval := size.nearly_certain_seconds)
            and is_outside(size.replayed_seconds, interval)
        ]
        if not apart:
            return ""
        _, by_model, (low, high), worst = max(apart, key=lambda each: each[0])
        others = f", and at {counted(len(apart) - 1, 'other size')}" if len(apart) > 1 else ""
        error = ""
        if self.error_percent is not None:
            error = (
                f" For the job's other runs the replay was off by {percentage(self.error_percent)} (median)."
            )
        return (
            f"The replay disagrees with the model: {duration(worst.replayed_seconds)} at a size of "
            f"{count(worst.executors)}, where the model says {duration(by_model)} (95 % of "
            f"runs: {duration_range((low, high))}){others}.{error} One of the two is wrong: watch the first "
            "production run."
        )


class BottleneckReport(Record):
    """What binds a job, by the runs of one training."""

    kind = "bottlenecks"
    words = "bottleneck report"

    profile_ids: tuple[str, ...]  # of the runs' profiles in the store, the run first that the report goes by
    application_id: str  # Spark's id of that run
    scale: float  # that it read
    executors: int  # that it ran on
    category: str  # see `documents.profiles`
    bottleneck: str  # what it is bound by
    headline: str  # the same as a sentence, with its figure
    limits: tuple[ResourceLimit, ...] = ()  # what could be won at most, the most first
    straggler_causes: tuple[StragglerCause, ...] = ()  # of its stragglers
    advice: tuple[Advice, ...] = ()  # what to change
    replay: ReplayOpinion | None = None  # the second opinion; None where nothing could be replayed
    model_id: str | None = None  # the model that the opinion stands beside
    warnings: tuple[str, ...] = ()  # what is unknown or not to be trusted; where the two opinions disagree

    @property
    def references(self) -> tuple[Key, ...]:
        """The profiles that it was made of."""
        return keys(ProfileRecord, *self.profile_ids)


# Two runs side by side, see `clarity.comparison`: computed, never stored.

STAGE, SHORT_STAGES, START_UP = "stage", "short stages", "start-up"
"""Kinds of parts beside `DRIVER`; short stages are those without a profile of their own."""


@dataclass(frozen=True, kw_only=True)
class ComparedPart:
    """A part of two runs' time.

    Attributes:
        name: of the stage in the later run, or in the one that has it; else what it is.
        earlier_stage: Spark's number of it; null where the earlier run has no such stage, as for other parts.
        causes: why they differ, as clauses, the largest first; empty where the difference is small.
    """

    kind: str
    name: str
    earlier_seconds: float
    later_seconds: float
    difference_seconds: float
    earlier_stage: int | None = None
    later_stage: int | None = None
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """Two runs side by side; times include the start-up.

    Attributes:
        earlier: Spark's id of the application.
        headline: where most of the difference is, and why, as a sentence.
        changes: what else is not as it was, such as settings, as clauses.
        parts: those that differ most first; their differences add up to `difference_seconds`.
        cautions: why the two should not be compared.
    """

    earlier: str
    later: str
    earlier_seconds: float
    later_seconds: float
    difference_seconds: float
    headline: str
    changes: tuple[str, ...]
    parts: tuple[ComparedPart, ...]
    cautions: tuple[str, ...]
