"""The JSON documents kept beside a model: what was decided by it, and how its predictions held."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.model.documents import (
    Document,
    Observation,
    Origin,
    RunConditions,
    not_negative,
    positive,
)
from airflow_provider_ernest.model.results import Decision


@dataclass(frozen=True, kw_only=True)
class DecisionRecord(Document):
    """A decision with what it was asked for.

    Attributes:
        decision_id: unique; sorts by time; see `identity.new_id`.
        decided_at: ISO 8601 with UTC offset.
        job: the user's name of the job.
        instance_type: the type of machine that was chosen.
        decision: what was decided.
        scale: the share of the model's target input that production reads.
        model_id: the model that decided; None where a fallback was taken without one.
        iterations: of production, for iterative jobs.
        deadline_seconds: what the run may take, from the launch of its machines, or from submission where
            they are there already, to its end; None where there was no deadline.
        budget_dollars: what it may cost; None where there was no budget.
        min_machines: the fewest machines that were allowed.
        max_machines: the most.
        artifact_sha256: hash of the JAR or .py file that production was to run.
        origin: the task instance that decided; None outside Airflow.
        confidence: the probability with which the goal was to be kept.
        objective: what was to be best, in words.
        allowed_machines: the numbers of machines, where not all between fewest and most were allowed.
        model_ids: of all models considered, one for each type of machine.
        reuse: why the model was an earlier run's; empty where it was trained for this decision.
    """

    decision_id: str
    decided_at: str
    job: str
    instance_type: str
    decision: Decision
    scale: float
    min_machines: int
    max_machines: int
    model_id: str | None = None
    iterations: int | None = None
    deadline_seconds: float | None = None
    budget_dollars: float | None = None
    artifact_sha256: str | None = None
    origin: Origin | None = None
    confidence: float | None = None
    objective: str | None = None
    allowed_machines: tuple[int, ...] = ()
    model_ids: tuple[str, ...] = ()
    reuse: str = ""


@dataclass(frozen=True, kw_only=True)
class ClusterBandwidth(Document):
    """What a probe measured of a cluster that ran a job: the median machine's. None for what it did not."""

    memory_gigabytes_per_second: float | None = None
    network_gigabytes_per_second: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProductionRun(Document):
    """A production run as it went, beside what was predicted of it.

    Attributes:
        production_id: unique; sorts by time; see `identity.new_id`.
        recorded_at: ISO 8601 with UTC offset.
        job: the user's name of the job.
        instance_type: the machines' type.
        machines: the machines that it ran on.
        scale: the share of the model's target input that it read.
        seconds: from submission to end, start-up included: what `predicted_seconds` predicts.
        run_seconds: the part from the moment that all machines were there; None where it is not known.
        startup_seconds: the part before.
        predicted_seconds: what the decision said; None where there was no prediction.
        likely_seconds: what `seconds` was to lie between with 80 % probability.
        nearly_certain_seconds: the same with 95 %.
        cost: in dollars; None where no price is known.
        model_id: the model that predicted.
        decision_id: the decision that it ran by.
        artifact_sha256: hash of the JAR or .py file that ran.
        application_id: Spark's id of the run.
        event_log: where its event log lies.
        origin: the task instance that it was; None outside Airflow.
        conditions: what, beside the code, it ran under.
        bandwidth: of the machines that it ran on.
    """

    production_id: str
    recorded_at: str
    job: str
    instance_type: str
    machines: int
    scale: float
    seconds: float
    run_seconds: float | None = None
    startup_seconds: float | None = None
    predicted_seconds: float | None = None
    likely_seconds: tuple[float, float] | None = None
    nearly_certain_seconds: tuple[float, float] | None = None
    cost: float | None = None
    model_id: str | None = None
    decision_id: str | None = None
    artifact_sha256: str | None = None
    application_id: str | None = None
    event_log: str | None = None
    origin: Origin | None = None
    conditions: RunConditions | None = None
    bandwidth: ClusterBandwidth | None = None

    def __post_init__(self) -> None:
        """Refuse what was not measured: models are judged by these runs."""
        positive(machines=self.machines, scale=self.scale, seconds=self.seconds)
        measured = {"run_seconds": self.run_seconds, "startup_seconds": self.startup_seconds}
        not_negative(**{name: value for name, value in measured.items() if value is not None})

    @property
    def error_percent(self) -> float | None:
        """Signed error: positive where the prediction was too high; None where there was none."""
        if self.predicted_seconds is None:
            return None
        return 100.0 * (self.predicted_seconds - self.seconds) / self.seconds

    @property
    def is_unlikely(self) -> bool:
        """Whether it took less or more time than was likely (80 %); False where nothing was predicted."""
        if self.likely_seconds is None:
            return False
        low, high = self.likely_seconds
        return not low <= self.seconds <= high

    @property
    def is_unusual(self) -> bool:
        """Whether it took less or more time than was nearly certain; False where nothing was predicted."""
        if self.nearly_certain_seconds is None:
            return False
        low, high = self.nearly_certain_seconds
        return not low <= self.seconds <= high


@dataclass(frozen=True, kw_only=True)
class ObservationRecord(Document):
    """A sample run as soon as it was observed, whatever becomes of the training it was made for.

    Attributes:
        observation_id: unique; sorts by time; see `identity.new_id`.
        recorded_at: ISO 8601 with UTC offset.
        job: the user's name of the job.
        instance_type: the machines' type.
        observation: what was observed.
        artifact_sha256: hash of the code that ran.
        conditions: what, beside the code, it ran under.
    """

    observation_id: str
    recorded_at: str
    job: str
    instance_type: str
    observation: Observation
    artifact_sha256: str | None = None
    conditions: RunConditions | None = None


CODE, DATA, SETTINGS, CLUSTER, UNEXPLAINED, AGE = (
    "code",
    "data",
    "settings",
    "cluster",
    "unexplained",
    "age",
)
"""Why a model no longer speaks for its job: another application, other data, another version of Spark or
other properties, slower machines, times that nothing known explains, or its age."""


@dataclass(frozen=True, kw_only=True)
class ModelMark(Document):
    """A note, beside a model, that it no longer speaks for its job. Models themselves are never changed.

    Attributes:
        mark_id: unique; sorts by time; see `identity.new_id`.
        marked_at: ISO 8601 with UTC offset.
        job: the user's name of the job.
        instance_type: the machines' type.
        model_id: of the model.
        cause: `CODE`, `DATA`, `SETTINGS`, `CLUSTER`, `UNEXPLAINED` or `AGE`.
        reason: a sentence that says why, and one that says what to do.
        artifact_sha256: of the application that was seen instead, where that is the cause.
        origin: the task instance that noticed; None outside Airflow.
    """

    mark_id: str
    marked_at: str
    job: str
    instance_type: str
    model_id: str
    cause: str
    reason: str
    artifact_sha256: str | None = None
    origin: Origin | None = None
