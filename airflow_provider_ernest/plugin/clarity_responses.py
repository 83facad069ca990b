"""What the JSON API answers about why a job takes so long, for its description. Tests hold it to it."""

from __future__ import annotations

from pydantic import Field

from airflow_provider_ernest.plugin.responses import Answer, Interval, Origin


class Limit(Answer):
    """What could be won at most if tasks never waited for one thing."""

    resource: str = Field(
        description="network, disk, garbage collection, scheduler delay, serialisation or Python worker"
    )
    blocked_seconds: float = Field(description="That tasks waited for it, summed over tasks.")
    share_percent: float = Field(description="Of the tasks' time.")
    seconds_without: float = Field(description="Of the run, replayed without that waiting.")
    improvement_percent: float = Field(description="So much less than the replay with it: an upper bound.")


class Phases(Answer):
    """Seconds by the phases of OptEx; they add up to the run with its start-up."""

    initialisation_seconds: float
    preparation_seconds: float
    variable_sharing_seconds: float
    computation_seconds: float
    communication_seconds: float


class RunStage(Answer):
    """A stage of a run."""

    stage_id: int
    attempt: int
    name: str
    job_id: int
    tasks: int
    failed_tasks: int
    began_seconds: float
    seconds: float
    task_seconds: float
    input_bytes: int
    output_bytes: int
    shuffle_remote_bytes: int
    shuffle_written_bytes: int
    spilled_bytes: int
    blocked_seconds: dict[str, float] = Field(description="That tasks waited, by what for, summed.")
    unmeasured_seconds: float = Field(description="On what Spark does not measure, summed over tasks.")
    ideal_seconds: dict[str, float] = Field(description="That each resource needs at least.")
    bottleneck: str = Field(
        description="The resource that needs, or the waiting that takes, the longest; empty where not known."
    )
    stragglers: int


class StragglingTask(Answer):
    """A task that took over 1.5 times its stage's median."""

    stage_id: int
    task_id: int
    host: str
    seconds: float
    median_seconds: float
    cause: str
    evidence: str


class CauseOfStragglers(Answer):
    """What the stragglers of one cause took together."""

    cause: str
    tasks: int
    excess_seconds: float
    seconds_without: float


class MachineCapacity(Answer):
    """What one machine can do; null for what is not known."""

    cores: int
    network_gigabytes_per_second: float | None
    disk_gigabytes_per_second: float | None
    source: str = Field(description="measured, stated or achieved (a lower bound)")


class Change(Answer):
    """What the run would take on other machines."""

    change: str
    seconds: float
    change_percent: float = Field(description="Negative is faster.")


class OtherSize(Answer):
    """The same run, replayed on another number of machines."""

    machines: int
    seconds: float = Field(description="Without start-up.")


class Advised(Answer):
    """What to change, where it is safe to say."""

    subject: str
    text: str
    figure: str = Field(description="That it rests on.")


class ExplainedRun(Answer):
    """A run and where its time went. Null or empty for what is not kept any more."""

    purpose: str = Field(description="sample or production")
    recorded_at: str
    origin: Origin | None
    application_id: str
    history_url: str | None
    event_log: str | None
    spark: str | None
    category: str = Field(description="sql, streaming, mllib, graphx or core")
    machines: int
    slots: int | None
    scale: float
    iterations: int | None
    seconds: float | None = Field(description="Without start-up.")
    startup_seconds: float | None
    driver_seconds: float | None = Field(description="In which no task ran.")
    tasks: int | None
    failed_tasks: int | None
    bottleneck: str
    headline: str
    replayed_seconds: float | None = Field(description="The same run as its replay gives it.")
    replay_error_percent: float | None
    unmeasured_seconds: float | None = Field(
        description="That tasks neither computed nor waited for anything measured, summed over tasks."
    )
    phases: Phases | None
    limits: list[Limit] = Field(description="The most first.")
    stages: list[RunStage] = Field(description="In the order in which they began.")
    stages_left_out: int | None
    left_out_seconds: float | None = Field(description="Of their tasks.")
    stragglers: list[StragglingTask] = Field(description="The worst, at most 50.")
    straggler_causes: list[CauseOfStragglers]
    capacity: MachineCapacity | None
    ideal_seconds: dict[str, float]
    what_ifs: list[Change]
    sizes: list[OtherSize]
    advice: list[Advised]
    warnings: list[str]
    has_profile: bool = Field(description="Whether more is known than the report says.")


class ReportMade(Answer):
    """The report of bottlenecks that the page goes by."""

    report_id: str
    reported_at: str
    model_id: str | None
    profiles: int = Field(description="Runs that it knew.")
    origin: Origin | None


class ReplayedOn(Answer):
    """What replay says of a number of machines, and what the model said when it was reported."""

    machines: int
    replayed_seconds: float = Field(description="From submission to end.")
    model_seconds: float | None
    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    disagrees: bool = Field(description="Outside the 95 % interval.")


class Replay(Answer):
    """The job on other machines by replay of one of its runs, at one scale and number of iterations."""

    instance_type: str
    model_id: str | None
    scale: float
    iterations: int | None
    from_application_id: str | None
    from_scale: float | None
    error_percent: float | None = Field(description="Median, of the same replay for the job's other runs.")
    problem: str = Field(description="Why there are no sizes; empty where there are.")
    sizes: list[ReplayedOn]


class Clarity(Answer):
    """Why a job takes as long as it does."""

    report: ReportMade | None = Field(description="Null where none is kept for the model.")
    sample: ExplainedRun | None = Field(description="The run that the report goes by.")
    production: ExplainedRun | None = Field(description="The newest production run with a profile.")
    replays: list[Replay] = Field(description="Of the model's type first, then of the job's others.")
