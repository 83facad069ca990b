"""Pruning a store: old records go, unless they are among the newest or a record that stays refers to them.

A production run that stays keeps its decision, a decision its models, a learned model the one that it goes on
from, a bottleneck report its profiles. A model that stays keeps the marks of its lineage: without them a
stale model would look fresh.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_ernest.documents.base import Key, Record, moment_of, time_of
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.settings.values import count as count_of
from airflow_provider_ernest.settings.values import not_negative
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.words import count, counted

KEEP_MODELS = 5
"""So many newest documents of each kind stay, for each job and instance type, and so many newest surveys."""

ORDER: tuple[type[Record], ...] = (
    ProductionRun,
    DecisionRecord,
    BottleneckReport,
    Model,
    ModelMark,
    ProfileRecord,
)
"""The order of removal: no record ever lacks what it refers to, and marks go after their model."""
_POSITION = {form.kind: position for position, form in enumerate(ORDER)}

MOST_NAMED = 50
"""So many documents are named in lines; all are in the summary."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """What pruning needs of a record: whole records of a store may not fit into memory."""

    kind: str
    id: str
    job: str
    instance_type: str
    at: datetime | None  # None if it does not say when it was made: then it stays
    needs: tuple[Key, ...]
    lineage: str  # of a model

    @classmethod
    def of(cls, record: Record) -> Item:
        """The item of a stored record."""
        return cls(
            kind=record.kind,
            id=record.id,
            job=record.job,
            instance_type=record.instance_type,
            at=time_of(record.at),
            needs=record.references,
            lineage=getattr(record, "lineage", ""),
        )

    @property
    def key(self) -> Key:
        """What others refer to it by."""
        return self.kind, self.id


def what_stays(items: Iterable[Item], *, now: datetime, older_than_days: float, newest: int) -> set[Key]:
    """The keys of the records that stay. Records of one key stay together."""
    items = list(items)
    kept: set[Key] = set()
    seen: Counter[tuple[str, str, str]] = Counter()
    for item in sorted(items, key=lambda item: item.id, reverse=True):
        seen[item.kind, item.job, item.instance_type] += 1
        is_young = item.at is None or now - item.at <= timedelta(days=older_than_days)
        if is_young or seen[item.kind, item.job, item.instance_type] <= newest:
            kept.add(item.key)
    _keep_referred(kept, items)
    models = {item.key: item.lineage for item in items if item.kind == Model.kind}
    lineages = {models[key] for key in kept if key in models}
    for item in items:
        if item.kind == ModelMark.kind and any(models.get(need) in lineages for need in item.needs):
            kept.add(item.key)
    _keep_referred(kept, items)
    return kept


def _keep_referred(kept: set[Key], items: Iterable[Item]) -> None:
    """Keep, too, what the kept records refer to, in turn."""
    needs: dict[Key, list[Key]] = {}
    for item in items:
        needs.setdefault(item.key, []).extend(item.needs)
    waiting = list(kept)
    while waiting:
        further = [need for need in needs[waiting.pop()] if need in needs and need not in kept]
        kept.update(further)
        waiting += further


class Prune:
    """What is removed from a store, planned when the object is made; for the command line and for a task.

    The newest documents of each kind stay, for each job and instance type, and younger ones.
    """

    def __init__(self, *, store: ModelStore, now: datetime, older_than_days: float, keep_models: int) -> None:
        not_negative("older_than_days", older_than_days)
        count_of("keep_models", keep_models)
        self._store, self._days = store, older_than_days
        items = list(map(Item.of, store.all_documents()))
        kept = what_stays(items, now=now, older_than_days=older_than_days, newest=keep_models)
        self._known = {item.key for item in items}
        self._stays = [item for item in items if item.key in kept]
        self.items = sorted(
            (item for item in items if item.key not in kept),
            # Learned models go before the one that they go on from.
            key=lambda item: (_POSITION[item.kind], not item.needs, item.id),
        )
        """What goes, in this order; after `carry_out`, what went."""
        most = timedelta(days=older_than_days)
        moments = ((each, moment_of(each)) for each in store.survey_ids()[KEEP_MODELS:])
        self.surveys = [each for each, moment in moments if moment is not None and now - moment > most]
        self._is_done = False

    def carry_out(self) -> None:
        """Remove what is planned; a `StoreError` at the first that cannot be: that and the rest are there.

        It may be interrupted and repeated, and tasks may write meanwhile.
        """
        going, self.items, self._is_done = self.items, [], True
        going_surveys, self.surveys = self.surveys, []
        spared: set[Key] = set()
        is_asked, name = False, ""
        # The libraries behind object stores raise errors of their own.
        try:
            for item in going:
                name = f"{item.kind} {item.id}"
                if item.kind in (Model.kind, ModelMark.kind) and not is_asked:
                    # Only now that nothing old needs a model: a task may just have decided by an old one.
                    spared, is_asked = self._models_needed_since(), True
                if item.key in spared or (item.kind == ModelMark.kind and spared.intersection(item.needs)):
                    spared.update((item.key, *item.needs))
                else:
                    self._remove(item)
            for survey_id in going_surveys:
                name = f"survey {survey_id}"
                self.surveys += [survey_id] if self._store.remove_survey(survey_id) else []
        except Exception as error:
            raise StoreError(
                f"Pruning stopped at a document that could not be removed: {name}: {error}",
                remedy="Check what may be done with the store's files, and prune again.",
            ) from error

    def _models_needed_since(self) -> set[Key]:
        """The models that documents refer to which were written since the plan was made."""
        entries = self._store.catalogue.entries()
        new = [entry for entry in entries if (entry.kind, entry.id) not in self._known]
        return {(Model.kind, each) for entry in new for each in (entry.model_id, entry.base_model_id) if each}

    def _remove(self, item: Item) -> None:
        names = {"job": item.job, "instance_type": item.instance_type, "document_id": item.id}
        if self._store.remove(item.kind, **names):
            self.items.append(item)

    def summary(self) -> dict[str, Any]:
        """What was removed, or would be, as JSON can hold it."""
        return {
            "store": str(self._store.root),
            "is_done": self._is_done,
            "older_than_days": self._days,
            "removed": dict(Counter(item.kind for item in self.items)),
            "documents": [
                {"kind": item.kind, "id": item.id, "job": item.job, "instance_type": item.instance_type}
                for item in self.items
            ],
            "kept": dict(Counter(item.kind for item in self._stays)),
            "surveys": self.surveys,
        }

    def lines(self) -> list[str]:
        """The same for people, without the names of what stays."""
        verb = "Removed" if self._is_done else "Would remove"
        counts = Counter(item.kind for item in self.items)
        gone = [counted(counts[form.kind], form.words) for form in ORDER if counts[form.kind]]
        lines = [
            f"{verb} {', '.join(gone) or 'no document'} older than {self._days:g} days "
            f"from {self._store.root}"
        ]
        lines += [
            f"  {item.kind} {item.id} of {item.job!r} on {item.instance_type}"
            for item in self.items[:MOST_NAMED]
        ]
        if len(self.items) > MOST_NAMED:
            lines.append(f"  and {count(len(self.items) - MOST_NAMED)} more")
        return [*lines, *(f"{verb} survey {each}" for each in self.surveys)]
