"""Stored documents as far as their removal is concerned: how old they are, and what they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any

from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ObservationRecord, ProductionRun
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.model.storage.catalogue_entry import DECISION, MARK, MODEL, PRODUCTION_RUN
from airflow_provider_ernest.model.storage.stored_documents import BOTTLENECK_REPORT, OBSERVATION, PROFILE

Key = tuple[str, str]
"""A document's kind and id."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A stored document.

    Attributes:
        kind: of the catalogue's, or of `stored_documents.UNLISTED`.
        id: of the document.
        job: the user's name of the job.
        instance_type: the machines' type.
        at: when it was made; the end of time where it does not say, so that it is young and stays.
        needs: the documents without which it cannot be understood.
        lineage: of a model, the id of the model of sample runs alone that it goes on from, or its own.
        artifact_sha256: the application that it is of.
        event_logs: where the event logs lie that it names.
        cause: of a mark.
        of_model: of a bottleneck report, the id of the model that it stands beside.
        purpose: of a run profile, that of its run.
    """

    kind: str
    id: str
    job: str
    instance_type: str
    at: datetime
    needs: tuple[Key, ...] = ()
    lineage: str = ""
    artifact_sha256: str | None = None
    event_logs: tuple[str, ...] = ()
    cause: str = ""
    of_model: str = ""
    purpose: str = ""

    @property
    def key(self) -> Key:
        """What others need it by."""
        return self.kind, self.id


def items_of(documents: Iterable[Any]) -> Iterator[Item]:
    """The items of stored documents; of those of an unknown kind none, so that they stay."""
    return (item for item in map(_item, documents) if item is not None)


@singledispatch
def _item(document: object) -> Item | None:
    return None


@_item.register
def _(model: Model) -> Item:
    return Item(
        kind=MODEL,
        id=model.model_id,
        job=model.job,
        instance_type=model.instance_type,
        at=_moment(model.created_at),
        needs=_keys(MODEL, model.base_model_id),
        lineage=model.base_model_id or model.model_id,
        artifact_sha256=model.artifact_sha256,
        event_logs=_known(*(run.event_log for run in model.observations)),
    )


@_item.register
def _(record: DecisionRecord) -> Item:
    return Item(
        kind=DECISION,
        id=record.decision_id,
        job=record.job,
        instance_type=record.instance_type,
        at=_moment(record.decided_at),
        needs=_keys(MODEL, record.model_id, record.decision.model_id, *record.model_ids),
    )


@_item.register
def _(run: ProductionRun) -> Item:
    return Item(
        kind=PRODUCTION_RUN,
        id=run.production_id,
        job=run.job,
        instance_type=run.instance_type,
        at=_moment(run.recorded_at),
        needs=_keys(DECISION, run.decision_id) + _keys(MODEL, run.model_id),
        artifact_sha256=run.artifact_sha256,
        event_logs=_known(run.event_log),
    )


@_item.register
def _(mark: ModelMark) -> Item:
    return Item(
        kind=MARK,
        id=mark.mark_id,
        job=mark.job,
        instance_type=mark.instance_type,
        at=_moment(mark.marked_at),
        needs=_keys(MODEL, mark.model_id),
        cause=mark.cause,
    )


@_item.register
def _(record: ObservationRecord) -> Item:
    return Item(
        kind=OBSERVATION,
        id=record.observation_id,
        job=record.job,
        instance_type=record.instance_type,
        at=_moment(record.recorded_at),
        event_logs=_known(record.observation.event_log),
    )


@_item.register
def _(record: ProfileRecord) -> Item:
    return Item(
        kind=PROFILE,
        id=record.profile_id,
        job=record.job,
        instance_type=record.instance_type,
        at=_moment(record.recorded_at),
        event_logs=_known(record.profile.event_log),
        purpose=record.purpose,
    )


@_item.register
def _(report: BottleneckReport) -> Item:
    return Item(
        kind=BOTTLENECK_REPORT,
        id=report.report_id,
        job=report.job,
        instance_type=report.instance_type,
        at=_moment(report.reported_at),
        needs=_keys(PROFILE, *report.profile_ids),
        of_model=report.model_id or "",
    )


def _moment(at: str) -> datetime:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _keys(kind: str, *ids: str | None) -> tuple[Key, ...]:
    return tuple((kind, each) for each in _known(*ids))


def _known(*texts: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))
