"""What the JSON API answers about DAG runs and their tasks, for its description. Tests hold it to it."""

from __future__ import annotations

from pydantic import Field

from airflow_provider_ernest.web.model_responses import Answer, Interval, SampleRun, TypeMachines


class ModelName(Answer):
    """Which model a step made, read or was predicted by."""

    job: str
    instance_type: str
    model_id: str


class RunModel(ModelName):
    """The model that was fitted in this run, or that it reuses."""

    median_error_percent: float | None
    max_error_percent: float | None


class Step(Answer):
    """A task instance of the way from design to production."""

    task_id: str
    map_index: int
    name: str
    kind: str = Field(
        description="find, preflight, design, cluster, sample_run, fit, bottleneck_report, choose, resize, "
        "terminate, production or record"
    )
    branch: str = Field(description="Of several types of machine the one trained; empty for what all share.")
    instance_type: str | None = Field(description="The branch's; null where there is none, or not known yet.")
    operator: str
    state: str | None = Field(description="Airflow's; null where it has not been scheduled.")
    started_at: str | None
    ended_at: str | None
    seconds: float | None = Field(description="Of the last attempt; until now where it runs.")
    try_number: int
    cost: float | None = Field(description="Of the machines that it used; null where unknown or none.")
    says: str = Field(description="What came of it, as a sentence.")
    model: ModelName | None


class RunDesign(Answer):
    """The design of the sample runs."""

    experiments: int
    candidates: int
    efficiency: float
    criterion: str
    cost: float
    cost_unit: str


class RunCluster(Answer):
    """The cluster of the sample runs."""

    kind: str
    name: str
    instance_type: str
    machines: int
    culled: int
    price_per_hour: float | None


class CostParts(Answer):
    """The dollars of a run by what they are paid for."""

    machines: float
    master: float
    volumes: float
    training: float = Field(description="The run's part of what the sample runs cost.")


class RunDecision(Answer):
    """What was chosen."""

    machines: int
    instance_type: str
    composition: list[TypeMachines] = Field(description="Where machines of several types were chosen.")
    goal: str
    confidence: float | None = Field(description="The probability that was asked for.")
    probability: float | None = Field(description="That the goal is kept, as foreseen.")
    fallback: str | None = Field(description='"stated", "most_probable" or null where it is none.')
    reuse: str = Field(description="Why the model was an earlier run's; empty where it was not.")
    predicted_seconds: float | None
    run_seconds: float | None
    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    predicted_cost: float | None
    cost_parts: CostParts | None
    price_per_hour: float | None
    fallback_reason: str | None
    warnings: list[str]


class Training(Answer):
    """What a training cost."""

    seconds: float | None = Field(
        description="From the start of the cluster's task to the decision, or to its end before."
    )
    cost: float | None
    machines: int | None = Field(description="Paid for: with the master and the culled ones.")


class WholeTraining(Training):
    """What the trainings for all types of machine cost together."""

    share_of_production_percent: float | None


class Production(Answer):
    """The production run beside what was predicted of it."""

    task_id: str
    state: str | None
    machines: int | None
    seconds: float | None
    cost: float | None
    predicted_seconds: float | None
    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    error_percent: float | None = Field(description="Positive where the prediction was too high.")
    held_likely: bool | None
    held_nearly_certain: bool | None


class RunReuse(Answer):
    """Whether a stored model made the training needless."""

    is_reused: bool
    reason: str = Field(description="Why, or why not; empty where that is not kept any more.")
    growth: float | None = Field(description="How many times as large the input is as when it was trained.")
    trained_at: str | None


class RunBottlenecks(Answer):
    """Why the job takes as long as it does, by the runs of a training."""

    headline: str
    bottleneck: str
    application_id: str = Field(description="Of the run that it goes by.")
    machines: int
    scale: float
    disagreement: str = Field(
        description="Where a replay is outside the model's 95 % intervals, as a sentence; else empty."
    )


class RunMark(ModelName):
    """What the run noted against a model."""

    cause: str = Field(description="code, data, settings, cluster, unexplained or age.")
    reason: str
    marked_at: str
    task_id: str | None


class Branch(Answer):
    """The training for one type of machine."""

    name: str = Field(description="Of its nested task group; empty where there is but one type.")
    instance_type: str | None = Field(description="Null where nothing tells it yet.")
    design: RunDesign | None
    cluster: RunCluster | None
    observations: list[SampleRun]
    reuse: RunReuse | None = Field(description="Null where no task of the run looks for a stored model.")
    model: RunModel | None
    bottlenecks: RunBottlenecks | None
    is_decided_by: bool = Field(description="Whether the decision comes of its model.")
    training: Training


class Group(Answer):
    """The steps of one task group of Ernest."""

    group_id: str = Field(description="Empty where the tasks are in none.")
    steps: list[Step]
    branches: list[Branch] = Field(description="At least one.")
    decision: RunDecision | None
    training: WholeTraining
    production: Production | None


class Run(Answer):
    """A DAG run."""

    dag_id: str
    run_id: str
    state: str | None
    started_at: str | None
    ended_at: str | None
    run_url: str = Field(description="Relative to the root of Airflow.")
    groups: list[Group]
    marks: list[RunMark] = Field(description="What this run noted against models, newest first.")
    hints: list[str] = Field(description="What is missing, and what to do.")


class TaskExperiment(Answer):
    """The experiment that a sample run was to make."""

    index: int
    machines: int
    scale: float
    partitions: int
    weight: float
    cost: float
    iterations: int | None


class Task(Answer):
    """A task instance."""

    kind: str | None = Field(description="As of the steps; null where it is no task of Ernest.")
    state: str | None
    says: str
    instance_type: str | None = Field(description="That it trains on, where there are several.")
    fallback: str | None = Field(description='Of a decision: "stated", "most_probable" or null.')
    model: ModelName | None
    observation: SampleRun | None
    experiment: TaskExperiment | None
    hints: list[str]
