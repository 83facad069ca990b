"""What the catalogue of a store says of each thing in it."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ProductionRun
from airflow_provider_ernest.model.results import Model

MODEL, DECISION, PRODUCTION_RUN, MARK = "model", "decision", "production", "mark"

PROBABLE = 0.5
"""A term that the job more probably has not is not listed: averaged models have a share of all."""


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry(Document):
    """A model, a decision, a production run or a mark in a few words.

    Attributes:
        kind: `MODEL`, `DECISION`, `PRODUCTION_RUN` or `MARK`.
        id: unique among those of its kind, job and instance type; sorts by time.
        job: the user's name of the job.
        instance_type: the machines' type.
        at: when it was made, ISO 8601 with UTC offset.
        dag_id: the DAG whose task made it; None outside Airflow.
        model_id: the model, or the one that was decided or predicted by.
        method: of a model, see `predictors.METHODS`.
        terms: of a model, those that the job more probably has than not.
        median_error_percent: of a model's leave-one-out errors.
        max_error_percent: the largest of them.
        observations: how many a model was fitted to.
        warnings: how many come with a model or a decision.
        artifact: path of a model's JAR or .py file.
        artifact_sha256: hash of the JAR or .py file.
        machines: decided or run on.
        seconds: that a production run took, from submission to end.
        predicted_seconds: of a decision or a production run.
        is_unusual: whether a production run's time was outside what was nearly certain.
        is_unlikely: whether it was outside what was likely.
        base_model_id: the model of sample runs alone that a model goes on from.
        learned_from: how many production runs a model has learned from.
        cause: of a mark, see `records.ModelMark`.
        reason: of a mark.
    """

    kind: str
    id: str
    job: str
    instance_type: str
    at: str
    dag_id: str | None = None
    model_id: str | None = None
    method: str = ""
    terms: tuple[str, ...] = ()
    median_error_percent: float | None = None
    max_error_percent: float | None = None
    observations: int = 0
    warnings: int = 0
    artifact: str | None = None
    artifact_sha256: str | None = None
    machines: int | None = None
    seconds: float | None = None
    predicted_seconds: float | None = None
    is_unusual: bool = False
    is_unlikely: bool = False
    base_model_id: str | None = None
    learned_from: int = 0
    cause: str = ""
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is one of: two entries of one key are of one thing."""
        return self.id, self.kind, self.job, self.instance_type


def entry_of(document: Model | DecisionRecord | ProductionRun | ModelMark) -> CatalogueEntry:
    """What the catalogue says of a document."""
    if isinstance(document, Model):
        return _of_model(document)
    if isinstance(document, DecisionRecord):
        return _of_decision(document)
    if isinstance(document, ModelMark):
        return _of_mark(document)
    return CatalogueEntry(
        kind=PRODUCTION_RUN,
        id=document.production_id,
        job=document.job,
        instance_type=document.instance_type,
        at=document.recorded_at,
        dag_id=document.origin.dag_id if document.origin else None,
        model_id=document.model_id,
        artifact_sha256=document.artifact_sha256,
        machines=document.machines,
        seconds=document.seconds,
        predicted_seconds=document.predicted_seconds,
        is_unusual=document.is_unusual,
        is_unlikely=document.is_unlikely,
    )


def _of_model(model: Model) -> CatalogueEntry:
    return CatalogueEntry(
        kind=MODEL,
        id=model.model_id,
        job=model.job,
        instance_type=model.instance_type,
        at=model.created_at,
        dag_id=model.origin.dag_id if model.origin else None,
        model_id=model.model_id,
        method=model.method,
        terms=tuple(term.name for term in model.terms if term.probability >= PROBABLE),
        median_error_percent=model.validation.median_error_percent,
        max_error_percent=model.validation.max_error_percent,
        observations=len(model.observations),
        warnings=len(model.warnings),
        artifact=model.artifact,
        artifact_sha256=model.artifact_sha256,
        base_model_id=model.base_model_id,
        learned_from=len(model.learned_from),
    )


def _of_decision(record: DecisionRecord) -> CatalogueEntry:
    return CatalogueEntry(
        kind=DECISION,
        id=record.decision_id,
        job=record.job,
        instance_type=record.instance_type,
        at=record.decided_at,
        dag_id=record.origin.dag_id if record.origin else None,
        model_id=record.model_id,
        warnings=len(record.decision.warnings),
        artifact_sha256=record.artifact_sha256,
        machines=record.decision.config.machines,
        predicted_seconds=record.decision.predicted_seconds,
    )


def _of_mark(mark: ModelMark) -> CatalogueEntry:
    return CatalogueEntry(
        kind=MARK,
        id=mark.mark_id,
        job=mark.job,
        instance_type=mark.instance_type,
        at=mark.marked_at,
        dag_id=mark.origin.dag_id if mark.origin else None,
        model_id=mark.model_id,
        artifact_sha256=mark.artifact_sha256,
        cause=mark.cause,
        reason=mark.reason,
    )
