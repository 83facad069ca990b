"""Whether a model still speaks for the job as it is today, told from the catalogue alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_provider_ernest.documents import AGE, CODE, DATA, SETTINGS, UNEXPLAINED
from airflow_provider_ernest.learning.drift import Evidence, evidence_of
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN, CatalogueEntry

FRESH, STALE, DRIFTING = "fresh", "stale", "drifting"

HASH_DIGITS = 12

SEEN_DIRECTLY = frozenset({AGE, CODE, DATA, SETTINGS})
"""Causes that are looked at anew before each reuse: what was marked for one may have been taken back."""

_NEVER = datetime.min.replace(tzinfo=UTC)

WHAT_TO_DO = "Make the sample runs again: the data, the machines or the job have changed."


@dataclass(frozen=True)
class State:
    """The state of a model.

    Attributes:
        name: `FRESH`, `STALE` or `DRIFTING`.
        reason: a sentence that says why, and one that says what to do; empty where it is fresh.
        cause: of `records.ModelMark`; empty where it is fresh.
    """

    name: str
    reason: str = ""
    cause: str = ""


def state_of(
    model: CatalogueEntry, *, others: Iterable[CatalogueEntry], passed_over: Collection[str] = ()
) -> State:
    """The state of a model.

    It is stale where the newest model or production run since of the same job, on any type of machine,
    is of another JAR or .py file; drifting where the production runs that its lineage predicted missed their
    intervals more often than chance allows, see `drift`; and stale where it, or another model of its lineage,
    bears a mark. What is not known speaks for it.

    Args:
        model: its entry in the catalogue.
        others: the entries of the same job, of all kinds; others are passed over.
        passed_over: causes that the caller looks at himself. They make nothing stale, and hide no other
            cause; a drift counts whatever its cause.
    """
    of_job = [entry for entry in others if entry.job == model.job]
    newest = _newest_of_known_artifact(model, of_job)
    if newest is not None and _is_other_code(model, newest) and CODE not in passed_over:
        return State(STALE, _why_stale(model, newest), CODE)
    marks = marks_of(model, of_job)
    lineage = lineage_of(model, of_job)
    evidence = evidence_of(_judged_runs(model, of_job, lineage))
    if evidence.is_drift:
        mark = max(marks, key=_order, default=None)
        if mark is not None:
            return State(DRIFTING, mark.reason, mark.cause)
        return State(DRIFTING, f"{evidence.sentence} {WHAT_TO_DO}", UNEXPLAINED)
    mark = max((mark for mark in marks if mark.cause not in passed_over), key=_order, default=None)
    return State(FRESH) if mark is None else State(STALE, mark.reason, mark.cause)


def evidence_against(model: CatalogueEntry, *, others: Iterable[CatalogueEntry]) -> Evidence:
    """What the production runs that a model's lineage predicted say against it.

    Args:
        model: its entry in the catalogue.
        others: see `state_of`.
    """
    of_job = [entry for entry in others if entry.job == model.job]
    return evidence_of(_judged_runs(model, of_job, lineage_of(model, of_job)))


def lineage_of(model: CatalogueEntry, of_job: Iterable[CatalogueEntry]) -> frozenset[str]:
    """Ids of a model's lineage: the model of sample runs alone, and those that learned on from it.

    Args:
        model: its entry in the catalogue.
        of_job: entries of its job.
    """
    base = model.base_model_id or model.id
    learned = (
        entry.id
        for entry in of_job
        if entry.base_model_id == base and entry.kind == MODEL and entry.instance_type == model.instance_type
    )
    return frozenset((model.id, base, *learned))


def marks_of(model: CatalogueEntry, of_job: Sequence[CatalogueEntry]) -> list[CatalogueEntry]:
    """The marks of a model's lineage but for those of what was changed back since.

    A sign of its own code tells that of the code; a decision by the lineage tells it of all that is looked at
    before a model is reused.

    Args:
        model: its entry in the catalogue.
        of_job: entries of its job.
    """
    lineage = lineage_of(model, of_job)
    newest = _newest_of_known_artifact(model, of_job)
    own_code_at = _NEVER if newest is None or _is_other_code(model, newest) else _moment(newest.at)
    decided_at = max(
        (_moment(each.at) for each in of_job if each.kind == DECISION and each.model_id in lineage),
        default=_NEVER,
    )
    return [
        entry
        for entry in of_job
        if entry.kind == MARK
        and entry.model_id in lineage
        and entry.instance_type == model.instance_type
        and not (entry.cause in SEEN_DIRECTLY and decided_at > _moment(entry.at))
        and not (entry.cause == CODE and own_code_at > _moment(entry.at))
    ]


def _is_other_code(model: CatalogueEntry, newest: CatalogueEntry) -> bool:
    return bool(model.artifact_sha256) and newest.artifact_sha256 != model.artifact_sha256


def _judged_runs(
    model: CatalogueEntry, of_job: Sequence[CatalogueEntry], lineage: frozenset[str]
) -> list[CatalogueEntry]:
    """The runs that the lineage predicted for its machines and, as far as known, its code; in order."""
    runs = [
        entry
        for entry in of_job
        if entry.kind == PRODUCTION_RUN
        and entry.model_id in lineage
        and entry.instance_type == model.instance_type
        and (
            entry.artifact_sha256 == model.artifact_sha256
            or not (entry.artifact_sha256 and model.artifact_sha256)
        )
    ]
    return sorted(runs, key=_order) if len(runs) > 1 else runs


def _newest_of_known_artifact(
    model: CatalogueEntry, of_job: Iterable[CatalogueEntry]
) -> CatalogueEntry | None:
    """The last sign, after the model, of what the job's code is."""
    since = _moment(model.at)
    signs = [
        entry
        for entry in of_job
        if entry.artifact_sha256 and entry.kind in (MODEL, PRODUCTION_RUN) and _moment(entry.at) > since
    ]
    return max(signs, key=_order, default=None)


def _why_stale(model: CatalogueEntry, newer: CatalogueEntry) -> str:
    what = "a production run" if newer.kind == PRODUCTION_RUN else "a newer model"
    return (
        f"It was trained with the application {_short(model.artifact_sha256)}, and {what} of {newer.at} is "
        f"of {_short(newer.artifact_sha256)}. Make the sample runs again with the application as it is now."
    )


def _short(artifact_sha256: str | None) -> str:
    return (artifact_sha256 or "")[:HASH_DIGITS]


def _order(entry: CatalogueEntry) -> tuple[datetime, str]:
    return _moment(entry.at), entry.id


def _moment(at: str) -> datetime:
    """The time in the text; the beginning of time where it says none, so that it is never the newest."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return _NEVER
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
