"""What the JSON API answers about a model, for its description. Tests hold the answers to it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

# ---------------------------------------------------------------------------
# What the JSON API answers, for its description. Tests hold the answers to it.


Interval = tuple[float, float]


class Answer(BaseModel):
    """Base of the answers."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class Refusal(Answer):
    """Why there is no answer."""

    detail: str = Field(description="What is wrong, and what to do.")


REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Refusal, "description": "Nobody is logged in."},
    403: {"model": Refusal, "description": "The user may not read this, if it exists at all."},
}


def answers(model: type[Answer]) -> dict[str, Any]:
    """How a route describes its answer, for its decorator."""
    # As a description only: the answers are built by this package, and checking a thousand observations on
    # each request would tell their readers nothing.
    return {
        "responses": {
            200: {"model": model, "description": "The answer."},
            404: {"model": Refusal, "description": "There is no such thing."},
            422: {"model": Refusal, "description": "A parameter cannot be; says which and why."},
            503: {"model": Refusal, "description": "The model store cannot be read."},
        }
    }


class Origin(Answer):
    """The task instance that made something."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = Field(description="-1 where the task is not mapped.")
    try_number: int


class TypeMachines(Answer):
    """Machines of a type among several."""

    machines: int
    instance_type: str


class ModelRow(Answer):
    """The newest model of a job on a type of machine."""

    job: str
    instance_type: str
    model_id: str
    created_at: str
    age_seconds: float | None
    method: str
    terms: list[str]
    median_error_percent: float | None = Field(description="Leave-one-out, absolute.")
    max_error_percent: float | None
    observations: int
    artifact: str | None
    artifact_sha256: str | None
    dag_id: str | None = Field(description="Null where the command line made it.")
    state: str = Field(description='"fresh", "stale" or "drifting" (its predictions have missed too often).')
    state_reason: str = Field(description="Why, and what to do; empty when fresh.")
    state_cause: str = Field(
        description="code, data, settings, cluster, unexplained or age; empty when fresh."
    )
    production_runs: int
    versions: int


class StateCounts(Answer):
    """How many models are in each state."""

    fresh: int
    stale: int
    drifting: int


class Models(Answer):
    """A page of the list of models."""

    total: int = Field(description="Models that match search and state.")
    offset: int
    limit: int
    counts: StateCounts = Field(description="Of the models that match the search.")
    rows: list[ModelRow]


class SampleRun(Answer):
    """An observation."""

    index: int
    machines: int
    scale: float
    seconds: float = Field(description="Without start-up.")
    startup_seconds: float
    waited_seconds: float
    cost: float | None
    iterations: int | None
    application_id: str | None
    event_log: str | None
    hosts: list[str]
    history_url: str | None
    origin: Origin | None


# ---------------------------------------------------------------------------
# What the JSON API answers about the life of a model, for its description. Tests hold the answers to it.


class Bandwidth(Answer):
    """What a probe measured of the machines: the median machine's."""

    memory_gigabytes_per_second: float | None
    network_gigabytes_per_second: float | None


class ProductionRun(Answer):
    """A production run beside what was predicted of it."""

    production_id: str
    recorded_at: str
    job: str
    instance_type: str
    machines: int
    scale: float
    seconds: float
    run_seconds: float | None
    startup_seconds: float | None
    predicted_seconds: float | None
    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    cost: float | None
    model_id: str | None
    decision_id: str | None
    artifact_sha256: str | None
    application_id: str | None
    event_log: str | None
    origin: Origin | None
    bandwidth: Bandwidth | None
    error_percent: float | None = Field(description="Positive where the prediction was too high.")
    is_unlikely: bool = Field(description="Outside the 80 % interval.")
    is_unusual: bool = Field(description="Outside the 95 % interval.")
    history_url: str | None


class ProductionRuns(Answer):
    """Some of the production runs of a job on a type of machine."""

    total: int
    offset: int
    runs: list[ProductionRun] = Field(description="Newest first, of all versions.")


class UntrainedRuns(Answer):
    """Sample runs that no model was fitted to."""

    count: int
    looked_at: int = Field(description="The newest, at most 100.")
    newest_at: str | None


class LineageVersion(Answer):
    """A version of a lineage: the model of sample runs alone, or one that learned on from it."""

    model_id: str
    created_at: str
    learned_from: int
    observations: int
    median_error_percent: float | None


class Mark(Answer):
    """What was noted against a model."""

    mark_id: str
    marked_at: str
    model_id: str
    cause: str = Field(description="code, data, settings, cluster, unexplained or age.")
    reason: str
    artifact_sha256: str | None = Field(description="Of the application that was seen instead.")
    origin: Origin | None


class DriftEvidence(Answer):
    """What production runs say against a model, by a sequential test."""

    value: float
    threshold: float = Field(description="From which on it is drift.")
    runs: int = Field(description="That were predicted, up to the one at which it was passed.")
    unlikely: int = Field(description="Of them outside the 80 % interval.")
    unusual: int = Field(description="Of them outside the 95 % interval.")
    is_drift: bool
    is_suspicious: bool
    sentence: str


class Conditions(Answer):
    """What, beside the code, a model was trained under. Null for what is not known."""

    spark: str | None
    settings: int | None = Field(description="How many are compared.")
    setting_names: list[str] = Field(description="Of at most 200 of them; values are not kept.")
    cores_per_machine: int | None
    partitions: int | None
    total_bytes: int | None
    bytes_per_partition: float | None
    columns: int | None
    format: str | None


class Life(Answer):
    """What has become of a model since it was trained."""

    base_model_id: str = Field(description="Of the version of sample runs alone.")
    lineage: list[LineageVersion] = Field(description="Oldest first; without versions that are gone.")
    marks: list[Mark] = Field(description="Newest first, at most 50.")
    evidence: DriftEvidence
    conditions: Conditions | None


# ---------------------------------------------------------------------------


class Term(Answer):
    """A term of a model."""

    name: str
    meaning: str
    coefficient: float
    probability: float


class ModelFacts(Answer):
    """A model."""

    job: str
    instance_type: str
    model_id: str
    created_at: str
    method: str
    artifact: str | None
    artifact_sha256: str | None
    input_path: str | None
    trained_iterations: int | None
    noise: float = Field(description="Relative standard deviation of a single run.")
    driver_share: float
    startup_seconds: float
    learned_from: int = Field(description="Production runs that it has learned from.")
    warnings: list[str]
    origin: Origin | None
    terms: list[Term]
    median_error_percent: float
    max_error_percent: float
    residual_sum_of_squares: float


class ModelState(Answer):
    """Whether a model still fits."""

    name: str
    reason: str
    cause: str = Field(description="code, data, settings, cluster, unexplained or age; empty when fresh.")


class ModelledRun(SampleRun):
    """An observation, and what the model says of it by all the others."""

    is_production: bool = Field(description="A production run that the model has learned from.")
    predicted_seconds: float | None
    error_percent: float | None


class CandidateRange(Answer):
    """The candidates of a design on one number of machines."""

    machines: int
    lowest_scale: float
    highest_scale: float
    candidates: int


class PlannedRun(Answer):
    """An experiment of a design, and what came of it."""

    index: int
    machines: int
    scale: float
    partitions: int
    weight: float
    expected_cost: float
    observed: bool
    seconds: float | None
    paid: float | None


class DesignFacts(Answer):
    """A design."""

    terms: list[str]
    criterion: str
    efficiency: float
    cost: float
    budget: float
    cost_unit: str
    candidates: int
    weighting: str
    candidate_ranges: list[CandidateRange]
    experiments: list[PlannedRun]


class TrainedMachine(Answer):
    """A machine of the cluster of the sample runs."""

    host: str
    instance_id: str | None
    memory_gigabytes_per_second: float | None
    network_gigabytes_per_second: float | None
    score: float | None
    culled_because: str = Field(description="Empty where it was kept.")
    price_per_hour: float | None = Field(description="Null where unknown: that of the cluster counts.")
    is_master: bool = Field(description="It ran the master only, and no part of any run.")


class TrainingCluster(Answer):
    """The cluster of the sample runs."""

    kind: str
    name: str
    instance_type: str
    cores_per_machine: int
    memory_megabytes_per_machine: int | None
    price_per_hour: float | None
    machines: list[TrainedMachine]


class Version(Answer):
    """One of the models of a job on a type of machine."""

    model_id: str
    created_at: str
    median_error_percent: float | None
    max_error_percent: float | None
    artifact_sha256: str | None
    observations: int
    learned_from: int = Field(description="Production runs that it has learned from.")
    base_model_id: str | None = Field(description="The version of sample runs alone that it goes on from.")


class PastDecision(Answer):
    """A decision that one of the models took part in."""

    decision_id: str
    decided_at: str
    goal: str
    confidence: float | None = Field(description="The probability that was asked for.")
    probability: float | None = Field(description="That the goal is kept, as foreseen.")
    instance_type: str
    machines: int
    composition: list[TypeMachines] = Field(description="Where machines of several types were chosen.")
    predicted_seconds: float | None
    predicted_cost: float | None
    fallback: str | None = Field(description='"stated", "most_probable" or null where it is none.')
    fallback_reason: str | None
    model_id: str | None
    origin: Origin | None


class OtherType(Answer):
    """The newest model of the job on another type of machine."""

    instance_type: str
    model_id: str
    created_at: str
    price_per_hour: float | None


class Defaults(Answer):
    """What the page asks for at first: parameters of a prediction."""

    scale: float | None
    iterations: int | None
    deadline_seconds: float | None
    budget_dollars: float | None
    objective: str | None
    confidence: float
    price_per_hour: float | None
    min_machines: int | None
    max_machines: int | None
    increment_seconds: float
    minimum_seconds: float
    boot_seconds: float
    master_price_per_hour: float
    volume_gigabytes: float
    volume_price_per_gigabyte_month: float
    training_dollars: float | None = Field(description="What the sample runs cost, where that is known.")
    expected_runs: int | None = Field(description="Null where no run bears any of it.")


class ModelPage(Answer):
    """A model and all that is known of it."""

    model: ModelFacts
    state: ModelState
    is_newest: bool
    observations: list[ModelledRun]
    design: DesignFacts | None
    cluster: TrainingCluster | None
    versions: list[Version] = Field(description="Newest first.")
    life: Life
    production_runs: list[ProductionRun] = Field(description="Newest first, at most 200, of all versions.")
    production_total: int
    decisions: list[PastDecision] = Field(
        description="Newest first, at most 50: for this type, or for another by a choice among several."
    )
    other_types: list[OtherType]
    defaults: Defaults


# ---------------------------------------------------------------------------
# What the JSON API answers about predictions, for its description. Tests hold the answers to it.


class CurvePoint(Answer):
    """What is predicted for a number of machines, from submission to end."""

    machines: int
    seconds: float
    likely_seconds: Interval = Field(description="80 %.")
    nearly_certain_seconds: Interval = Field(description="95 %.")
    parts: dict[str, float] = Field(description="Seconds by term, and the start-up; they add up.")
    extrapolates: str = Field(description="Why the observations do not support it; empty where they do.")


class Alternative(Answer):
    """A configuration that was considered: a number of machines of a type."""

    instance_type: str
    machines: int
    seconds: float = Field(description="From submission to end.")
    cost: float = Field(description="Of all that is billed.")
    likely_seconds: Interval | None
    nearly_certain_seconds: Interval | None
    feasible: bool = Field(description="Whether it keeps to the goal as surely as was asked for.")
    probability: float | None = Field(
        description="That it keeps to the deadline and the budget; null without a goal."
    )
    extrapolates: str = Field(description="Why the observations do not support it; empty where they do.")
    memory_shortage: str = Field(
        description="Why its machines cannot hold the data; empty where they can or nothing is known."
    )
    is_pareto: bool = Field(description="No other is both faster and cheaper.")


class OfferedType(Answer):
    """A type of machine that the choice is among."""

    instance_type: str
    model_id: str
    price_per_hour: float


class SkippedType(Answer):
    """A type of machine that is not compared, and why."""

    instance_type: str
    reason: str


class SecondOpinion(Answer):
    """What another model, learned from the same runs, says of the choice."""

    alpha: float | None = Field(description="The share of the work that spreads over the machines.")
    machines: int | None = Field(description="That were chosen of the model's type; null where none were.")
    seconds: float | None = Field(description="On these, from submission to end.")
    problem: str = Field(description="Why it cannot tell; empty where it can.")


class Prediction(Answer):
    """What a model predicts, and what would be chosen among all types of machines that it is offered with."""

    instance_type: str = Field(description="The type that the curve is of.")
    scale: float
    iterations: int | None
    startup_seconds: float
    price_per_hour: float | None
    goal: str | None
    confidence: float = Field(description="The probability with which the goal is to be kept.")
    boot_seconds: float = Field(description="From launch to submission, as asked.")
    latest_seconds: float | None = Field(
        description="The deadline from submission on: without the boot of the machines."
    )
    curve: list[CurvePoint]
    alternatives: list[Alternative]
    decision: dict[str, Any] | None = Field(
        description="The document that the choosing task returns: config, probability, cost_parts and more."
    )
    out_of_reach: str = Field(description="Why there is no decision although there is a goal.")
    most_probable: Alternative | None = Field(description="What keeps to a goal out of reach most probably.")
    runners_up: list[Alternative]
    second_opinion: SecondOpinion | None = Field(
        description="By the extended Amdahl model; null where the model has learned from no production run."
    )
    offered_types: list[OfferedType] = Field(description="Empty where the model's own price is not known.")
    skipped_types: list[SkippedType]


class TypeAtRate(Answer):
    """A run on as many machines of a type as a rate pays for."""

    instance_type: str
    machines: int
    dollars_per_hour: float = Field(description="Of these machines together.")
    seconds: float
    likely_seconds: Interval
    dollars: float = Field(description="Of the run, all that is billed.")
    extrapolates: str
    is_fastest: bool


class Rate(Answer):
    """What each type makes of the same dollars per hour."""

    dollars_per_hour: float
    types: list[TypeAtRate]


class SameCost(Answer):
    """Types of machines at the same dollars per hour."""

    rates: list[Rate] = Field(description="Ascending; empty where there are no two types with a common rate.")
    skipped_types: list[SkippedType]


# ---------------------------------------------------------------------------
# What the JSON API answers about why a job takes so long, for its description. Tests hold it to it.


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
