"""Whether a model still holds for the job as it is today, seen from the catalogue alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from airflow_provider_ernest.documents.base import Origin, new_stamp, time_of
from airflow_provider_ernest.documents.models import AGE, CODE, DATA, SETTINGS, UNEXPLAINED, ModelMark
from airflow_provider_ernest.learning.conditions import is_other_code, short_hash
from airflow_provider_ernest.learning.drift import REMEDIES, Evidence, evidence_of
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN, CatalogueEntry

FRESH, STALE, DRIFTING = "fresh", "stale", "drifting"

SEEN_DIRECTLY = frozenset({AGE, CODE, DATA, SETTINGS})
"""Causes that are looked at anew before each reuse: what was marked for them may have been taken back."""

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class State:
    """The state of a model.

    Attributes:
        name: `FRESH`, `STALE` or `DRIFTING`.
        reason: a sentence that says why, and one that says what to do; empty where it is fresh.
        cause: of `documents.models.ModelMark`; empty where it is fresh.
    """

    name: str
    reason: str = ""
    cause: str = ""


class Lineage:
    """A model, and what was recorded of it and of those that it learned on from, or that did from it."""

    def __init__(self, model: CatalogueEntry, entries: Iterable[CatalogueEntry]) -> None:
        self.model = model
        self._of_job = [entry for entry in entries if entry.job == model.job]

    @cached_property
    def ids(self) -> frozenset[str]:
        """Of its models: the one of the sample runs alone, and those that learned on from it."""
        base = self.model.base_model_id or self.model.id
        learned = (entry.id for entry in self._of_type(MODEL) if entry.base_model_id == base)
        return frozenset((self.model.id, base, *learned))

    @cached_property
    def evidence(self) -> Evidence:
        """Of drift: the runs that it predicted, of its type of machine and, as far as known, its code."""
        runs = sorted(self._of_type(PRODUCTION_RUN), key=_order)
        return evidence_of(
            run for run in runs if run.model_id in self.ids and not self._is_of_other_code(run)
        )

    @cached_property
    def marks(self) -> list[CatalogueEntry]:
        """Its marks but for those of what was changed back since."""
        # A sign of its own code tells that of the code; a decision by it tells it of all that is looked at
        # before a model is reused.
        newest = self._newest_code
        own_code_at = _NEVER if newest is None or self._is_of_other_code(newest) else _moment(newest)
        decisions = (entry for entry in self._of_job if entry.kind == DECISION and entry.model_id in self.ids)
        decided_at = max(map(_moment, decisions), default=_NEVER)
        return [
            entry
            for entry in self._of_type(MARK)
            if entry.model_id in self.ids
            and not (entry.cause in SEEN_DIRECTLY and decided_at > _moment(entry))
            and not (entry.cause == CODE and own_code_at > _moment(entry))
        ]

    def state(self, *, passed_over: Collection[str] = ()) -> State:
        """The state of the model.

        It is stale where the newest model or production run since of the same job, on any type of machine,
        is of another JAR or .py file; drifting where the production runs that its lineage predicted missed
        their intervals more often than chance allows, see `drift`; and stale where it, or another model of
        its lineage, bears a mark. What is not known does not count against it. Causes that are passed over,
        as the caller looks at them itself, make nothing stale, and hide no other; a drift always counts.
        """
        newest = self._newest_code
        if newest is not None and self._is_of_other_code(newest) and CODE not in passed_over:
            what = "a production run" if newest.kind == PRODUCTION_RUN else "a newer model"
            trained, seen = short_hash(self.model.artifact_sha256), short_hash(newest.artifact_sha256)
            reason = (
                f"It was trained with the application {trained}, and {what} of {newest.at} is of {seen}. "
                f"{REMEDIES[CODE]}"
            )
            return State(STALE, reason, CODE)
        is_drift = self.evidence.is_drift
        counting = [mark for mark in self.marks if is_drift or mark.cause not in passed_over]
        mark = max(counting, key=_order, default=None)
        if mark is not None:
            return State(DRIFTING if is_drift else STALE, mark.reason, mark.cause)
        if is_drift:
            return State(DRIFTING, f"{self.evidence.sentence} {REMEDIES[UNEXPLAINED]}", UNEXPLAINED)
        return State(FRESH)

    def new_mark(
        self, *, cause: str, reason: str, artifact_sha256: str | None, origin: Origin | None
    ) -> ModelMark | None:
        """The mark of the model; None without a cause, or if its lineage has a mark of it already."""
        seen = artifact_sha256 if cause == CODE else None
        if not cause or (cause, seen) in {(mark.cause, mark.artifact_sha256) for mark in self.marks}:
            return None
        return ModelMark(
            **new_stamp(),
            job=self.model.job,
            instance_type=self.model.instance_type,
            model_id=self.model.id,
            cause=cause,
            reason=reason,
            artifact_sha256=seen,
            origin=origin,
        )

    def _of_type(self, kind: str) -> list[CatalogueEntry]:
        return [
            entry
            for entry in self._of_job
            if entry.kind == kind and entry.instance_type == self.model.instance_type
        ]

    @cached_property
    def _newest_code(self) -> CatalogueEntry | None:
        """The last sign, after the model, of what the job's code is."""
        since = _moment(self.model)
        signs = (
            entry
            for entry in self._of_job
            if entry.artifact_sha256 and entry.kind in (MODEL, PRODUCTION_RUN) and _moment(entry) > since
        )
        return max(signs, key=_order, default=None)

    def _is_of_other_code(self, entry: CatalogueEntry) -> bool:
        return is_other_code(self.model.artifact_sha256, entry.artifact_sha256)


def _order(entry: CatalogueEntry) -> tuple[datetime, str]:
    return _moment(entry), entry.id


def _moment(entry: CatalogueEntry) -> datetime:
    """When it was made; the beginning of time where that is not told, so that it is never the newest."""
    return time_of(entry.at) or _NEVER
