"""What the JSON API answers about the life of a model, for its description. Tests hold the answers to it."""

from __future__ import annotations

from pydantic import Field

from airflow_provider_ernest.plugin.responses import Answer, Interval, Origin


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
