"""What Spark's event log of one run tells of where its time went, as documents.

All times are in seconds. "Clean" time runs from the moment that all machines were there to the application's
end, as that of an `Observation`; a stage's times count from that moment, too. Machines that join when tasks
run already, as under dynamic allocation, do not move it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.json_document import Document, positive

# ---------------------------------------------------------------------------
# The seconds of a run by OptEx's phases.


@dataclass(frozen=True, kw_only=True)
class PhaseSeconds(Document):
    """The seconds that a run spends in each phase (OptEx, section 3).

    Attributes:
        initialisation_seconds: starting the application.
        preparation_seconds: preparing the job, before its tasks start.
        variable_sharing_seconds: sending broadcast variables to the machines.
        computation_seconds: running tasks; the paper's execution phase.
        communication_seconds: fetching and writing what tasks exchange.
    """

    initialisation_seconds: float
    preparation_seconds: float
    variable_sharing_seconds: float
    computation_seconds: float
    communication_seconds: float

    def __post_init__(self) -> None:
        """Refuse NaN and negative times."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise InvalidParameterError(name, value, "is not a finite number of at least 0")

    @property
    def total_seconds(self) -> float:
        """The run's time: phases do not overlap."""
        return float(sum(getattr(self, name) for name in self.__dataclass_fields__))


# ---------------------------------------------------------------------------


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
"""What a task waits for that neither computes nor is blocked on any of these: a service, input, a busy
host."""

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


@dataclass(frozen=True, kw_only=True)
class ResourceLimit(Document):
    """How much faster a run could be at most if its tasks never waited for one thing (blocked time analysis).

    Attributes:
        resource: one of `BLOCKING`.
        blocked_seconds: that the tasks waited for it, summed over tasks.
        share_percent: the same as a share of the tasks' time.
        seconds_without: clean time of the run, replayed without that waiting.
        improvement_percent: by so much is that less than the replay with it: what can be won at most.
    """

    resource: str
    blocked_seconds: float
    share_percent: float
    seconds_without: float
    improvement_percent: float


@dataclass(frozen=True, kw_only=True)
class StageProfile(Document):
    """One stage of a run.

    Attributes:
        stage_id: Spark's number of it.
        attempt: 0 for the first.
        name: Spark's name of it, such as "count at job.py:12"; shortened.
        parents: stages that had to end before.
        job_id: Spark's number of the job that it was run for first; -1 where that is not known.
        tasks: that succeeded.
        failed_tasks: that failed, were killed, or whose work another attempt did.
        began_seconds: when its first task was launched.
        ended_seconds: when it was completed.
        task_seconds: summed over its tasks, from launch to end.
        quantiles_seconds: of its tasks' seconds, evenly spaced from the shortest to the longest; first tasks
            of executors count without their warm-up.
        mean_seconds: of the same; 0 where that is not known (profiles of before there was this field).
        warmup_seconds: that the first task of an executor takes longer.
        reads_input: whether its tasks read the job's input, so that more input makes more tasks.
        input_bytes: read from input, cached blocks included.
        output_bytes: written as output.
        shuffle_remote_bytes: fetched from other machines.
        shuffle_local_bytes: fetched from the own machine.
        shuffle_written_bytes: written for later stages.
        spilled_bytes: written to disk for want of memory.
        blocked_seconds: by what tasks were blocked on, summed over tasks; what they were not is left out.
        unmeasured_seconds: that they spent on `UNMEASURED`, summed over tasks.
        seconds_without: of the stage, replayed without the waiting for each; left out where that was little.
        ideal_seconds: that each resource needs at least: its total use over its capacity (monotasks).
        bottleneck: the resource whose ideal time is longest; empty where nothing is known.
        stragglers: tasks that took over 1.5 times the stage's median.
    """

    stage_id: int
    name: str
    tasks: int
    began_seconds: float
    ended_seconds: float
    task_seconds: float
    attempt: int = 0
    parents: tuple[int, ...] = ()
    job_id: int = -1
    failed_tasks: int = 0
    quantiles_seconds: tuple[float, ...] = ()
    mean_seconds: float = 0.0
    warmup_seconds: float = 0.0
    reads_input: bool = False
    input_bytes: int = 0
    output_bytes: int = 0
    shuffle_remote_bytes: int = 0
    shuffle_local_bytes: int = 0
    shuffle_written_bytes: int = 0
    spilled_bytes: int = 0
    blocked_seconds: dict[str, float] = field(default_factory=dict)
    unmeasured_seconds: float = 0.0
    seconds_without: dict[str, float] = field(default_factory=dict)
    ideal_seconds: dict[str, float] = field(default_factory=dict)
    bottleneck: str = ""
    stragglers: int = 0

    @property
    def seconds(self) -> float:
        """From its first task's launch to its end."""
        return self.ended_seconds - self.began_seconds


@dataclass(frozen=True, kw_only=True)
class Straggler(Document):
    """A task that took over 1.5 times its stage's median (Ousterhout, section 2.7).

    Attributes:
        stage_id: of its stage.
        task_id: Spark's number of it.
        host: that it ran on.
        seconds: that it took.
        median_seconds: of its stage's tasks.
        cause: `INPUT_SKEW` and so on; `UNEXPLAINED` where the metrics do not tell.
        evidence: the figure that the cause rests on, in words.
    """

    stage_id: int
    task_id: int
    host: str
    seconds: float
    median_seconds: float
    cause: str
    evidence: str = ""


@dataclass(frozen=True, kw_only=True)
class StragglerCause(Document):
    """What the stragglers of one cause took together.

    Attributes:
        cause: see `Straggler`.
        tasks: how many.
        excess_seconds: over their stages' medians, summed.
        seconds_without: clean time of the run, replayed with each taking its stage's median.
    """

    cause: str
    tasks: int
    excess_seconds: float
    seconds_without: float


@dataclass(frozen=True, kw_only=True)
class Capacity(Document):
    """What one machine can do, and how that is known. None for what is not known.

    Attributes:
        cores: tasks that it runs at once.
        network_gigabytes_per_second: in one direction.
        disk_gigabytes_per_second: of all its disks together.
        source: "measured" (by the cluster's probe), "stated" (by the user) or "achieved" (the most that this
            run's own tasks got, a lower bound).
    """

    cores: int
    network_gigabytes_per_second: float | None = None
    disk_gigabytes_per_second: float | None = None
    source: str = "achieved"


@dataclass(frozen=True, kw_only=True)
class WhatIf(Document):
    """What the run would take were the machines others (monotask-style model).

    Attributes:
        change: in words, such as "twice the disks".
        seconds: clean time predicted.
        change_percent: against the run as it was; negative is faster.
    """

    change: str
    seconds: float
    change_percent: float


@dataclass(frozen=True, kw_only=True)
class ReplayedSize(Document):
    """Clean seconds of the run, replayed on another number of machines."""

    machines: int
    seconds: float

    def __post_init__(self) -> None:
        """Refuse what is no cluster."""
        positive(machines=self.machines)


@dataclass(frozen=True, kw_only=True)
class Advice(Document):
    """What to change, where it is safe to say.

    Attributes:
        subject: "instance family", "partitions", "memory", "shuffle", "skew", "garbage collection",
            "slow host" or "size".
        text: a sentence that says what to do.
        figure: the figure that it rests on, in words.
    """

    subject: str
    text: str
    figure: str


@dataclass(frozen=True, kw_only=True)
class RunProfile(Document):
    """Where the time of one run went, and what would make it shorter.

    Attributes:
        application_id: Spark's id of it.
        name: of the application, as its user named it.
        event_log: where its event log lies, without credentials.
        spark: Spark's version.
        category: `SQL`, `STREAMING`, `MLLIB`, `GRAPHX` or `CORE`.
        machines: distinct machines that worked.
        slots: tasks that could run at once.
        scale: the share of the target input that it read; 1.0 where nobody said.
        iterations: of an iterative job.
        seconds: clean time.
        startup_seconds: from the application's start to the clean time's.
        driver_seconds: of the clean time, that in which no task ran.
        tasks: that succeeded.
        failed_tasks: that failed or were killed.
        phases: of OptEx; they add up to start-up and clean time.
        bottleneck: the resource (`CPU`, `NETWORK`, `DISK`) or the waiting that it is bound by, or `DRIVER`.
        headline: the same as a sentence, with its figure.
        limits: what could be won at most, the most first.
        unmeasured_seconds: that tasks spent on `UNMEASURED`, summed over tasks; no machine shortens them.
        stages: that took longest, in the order in which they began.
        stages_left_out: how many more there were.
        left_out_seconds: their tasks' seconds.
        stragglers: the worst of them.
        straggler_causes: all of them by cause.
        capacity: that the ideal times rest on.
        ideal_seconds: of the whole run by resource.
        what_ifs: on other machines.
        replayed_seconds: clean time as the replay of the very same run gives it.
        sizes: replayed on other numbers of machines.
        advice: what to change.
        warnings: what is not known, or not to be trusted.
    """

    application_id: str
    machines: int
    slots: int
    seconds: float
    replayed_seconds: float
    phases: PhaseSeconds
    name: str = ""
    event_log: str | None = None
    spark: str | None = None
    category: str = CORE
    scale: float = 1.0
    iterations: int | None = None
    startup_seconds: float = 0.0
    driver_seconds: float = 0.0
    tasks: int = 0
    failed_tasks: int = 0
    bottleneck: str = CPU
    headline: str = ""
    limits: tuple[ResourceLimit, ...] = ()
    unmeasured_seconds: float = 0.0
    stages: tuple[StageProfile, ...] = ()
    stages_left_out: int = 0
    left_out_seconds: float = 0.0
    stragglers: tuple[Straggler, ...] = ()
    straggler_causes: tuple[StragglerCause, ...] = ()
    capacity: Capacity | None = None
    ideal_seconds: dict[str, float] = field(default_factory=dict)
    what_ifs: tuple[WhatIf, ...] = ()
    sizes: tuple[ReplayedSize, ...] = ()
    advice: tuple[Advice, ...] = ()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no run."""
        positive(machines=self.machines, slots=self.slots, seconds=self.seconds, scale=self.scale)

    @property
    def replay_error_percent(self) -> float:
        """Signed error of the replay of the very same run: what cannot be replayed cannot be foretold."""
        return 100.0 * (self.replayed_seconds - self.seconds) / self.seconds
