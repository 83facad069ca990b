"""What the JSON API answers about a model, for its description. Tests hold the answers to it."""

from __future__ import annotations

from pydantic import Field

from airflow_provider_ernest.plugin.life_responses import Life, ProductionRun
from airflow_provider_ernest.plugin.responses import Answer, Origin, SampleRun, TypeMachines


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
