"""Pruning a store: the plan, its execution, and what is told of both, for the command line and for a task."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError, StoreError
from airflow_provider_ernest.model.retention.items import Item, items_of
from airflow_provider_ernest.model.retention.plan import ORDER, REFERS, plan_retention
from airflow_provider_ernest.model.retention.relisting import Relisting
from airflow_provider_ernest.model.retention.removal import EventLogs, Removed, carry_out
from airflow_provider_ernest.model.storage.leftovers import leftovers
from airflow_provider_ernest.model.storage.set_aside import list_set_aside
from airflow_provider_ernest.model.storage.stored_files import store_errors

if TYPE_CHECKING:
    from airflow_provider_ernest.model.store import ModelStore

log = logging.getLogger(__name__)

MOST_NAMED = 50
"""So many documents are named in lines; all are in the summary."""


class Prune:
    """What is removed from a store, planned when the object is made.

    Args:
        store: to prune.
        now: with its time zone.
        older_than_days: younger documents stay.
        keep_models: so many newest models of each job and type of machine stay.
        event_logs: the folder whose event logs go with the documents that name them; None to leave them.
        is_for_set_aside: whether files that were set aside as long ago go as well.
        progress: is told how many documents have been looked through.

    Raises:
        InvalidParameterError: see `plan_retention`.
        StoreError: the store cannot be read.
    """

    def __init__(
        self,
        *,
        store: ModelStore,
        now: datetime,
        older_than_days: float,
        keep_models: int,
        event_logs: EventLogs | None = None,
        is_for_set_aside: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self._store, self._event_logs = store, event_logs
        self._days = older_than_days
        self._relisting = Relisting(store)
        self._relisted = (0, 0)
        self.plan = plan_retention(
            items_of(self._relisting.watch(_counted(store.all_documents(), progress))),
            now=now,
            older_than_days=older_than_days,
            keep_models=keep_models,
        )
        before = now - timedelta(days=older_than_days)
        torn = list_set_aside(store.root) if is_for_set_aside else []
        self._set_aside = [each.path for each in torn if _is_before(each.at, before)]
        self._leftovers = leftovers(store.root)
        self._file_failures: list[str] = []
        self._removal: Removed | None = None

    @property
    def has_work(self) -> bool:
        """Whether anything goes."""
        return bool(self.plan.removed or self._set_aside or self._leftovers)

    def carry_out(self, *, progress: Callable[[int], None] = lambda done: None) -> None:
        """Remove what is planned, see `removal.carry_out`, and list what is there, see `relisting`.

        Args:
            progress: is told how many documents have been gone through.
        """
        self._removal = carry_out(self._store, self.plan, event_logs=self._event_logs, progress=progress)
        for path in (*self._set_aside, *self._leftovers):
            try:
                with store_errors(f"{path} cannot be removed"):
                    path.unlink()
            except StoreError as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    self._file_failures.append(error.message)
        try:
            self._relisted = self._relisting.carry_out()
        except StoreError as error:
            self._file_failures.append(error.message)

    def summary(self) -> dict[str, Any]:
        """What was removed, or would be, as JSON can hold it."""
        done = self._removal
        items = self.plan.removed if done is None else done.removed
        return {
            "store": str(self._store.root),
            "is_done": done is not None,
            "older_than_days": self._days,
            "removed": dict(Counter(item.kind for item in items)),
            "documents": [_named(item) for item in items],
            "kept": dict(self.plan.kept),
            "kept_because": {f"{kind} {name}": why for (kind, name), why in self.plan.kept_because.items()},
            "event_logs": self._event_log_names(),
            "set_aside": [str(path) for path in self._set_aside],
            "leftovers": [str(path) for path in self._leftovers],
            "listed": self._relisted[0],
            "listed_no_more": self._relisted[1],
            "spared": [_named(item) for item in (done.spared if done else ())],
            "failed": self._failures(),
        }

    def lines(self) -> list[str]:
        """The same for people, without the names of what stays."""
        done = self._removal
        items = self.plan.removed if done is None else done.removed
        verb = "Would remove" if done is None else "Removed"
        counts = Counter(item.kind for item in items)
        told = ", ".join(f"{counts[kind]:,} {_words(kind, counts[kind])}" for kind in ORDER if counts[kind])
        lines = [f"{verb} {told or 'no document'} older than {self._days:g} days from {self._store.root}"]
        lines += [
            f"  {item.kind} {item.id} of {item.job!r} on {item.instance_type}" for item in items[:MOST_NAMED]
        ]
        if len(items) > MOST_NAMED:
            lines.append(f"  and {len(items) - MOST_NAMED:,} more")
        lines += _counted_line(f"{verb} {{}} event logs", len(self._event_log_names()))
        lines += _counted_line(f"{verb} {{}} files that were set aside", len(self._set_aside))
        lines += _counted_line(
            f"{verb} {{}} temporary files of writers that were killed", len(self._leftovers)
        )
        lines += _counted_line("Listed {} documents whose writers were killed before", self._relisted[0])
        lines += _counted_line("Listed {} documents no more that are gone", self._relisted[1])
        reasons = Counter(_in_general(why) for why in self.plan.kept_because.values())
        lines += [f"{count:,} as old stay: {why}" for why, count in reasons.most_common()]
        lines += _counted_line("{} stay, since something new needs them", len(done.spared) if done else 0)
        return lines

    def raise_failures(self) -> None:
        """Raise what could not be removed.

        Raises:
            StoreError: there was such a thing; the rest is gone.
        """
        failed = self._failures()
        if failed:
            raise StoreError(
                f"{len(failed):,} could not be removed: {'; '.join(failed[:3])}",
                remedy="Check what may be done with the store's files, and prune again.",
            )

    def _failures(self) -> list[str]:
        if self._removal is None:
            return []
        documents = [f"{item.kind} {item.id}: {problem}" for item, problem in self._removal.failed]
        return [*documents, *self._removal.event_log_failures, *self._file_failures]

    def _event_log_names(self) -> list[str]:
        if self._removal is not None:
            return [str(path) for path in self._removal.event_logs]
        if self._event_logs is None:
            return []
        found = (self._event_logs.find(name) for names in self.plan.event_logs.values() for name in names)
        return [str(path) for path in found if path is not None]


def retention_days(text: str) -> float:
    """What the option retention_days says; 0 where it says nothing: everything is kept.

    Raises:
        InvalidParameterError: it is no number of at least 0.
    """
    try:
        days = float(text or 0)
    except ValueError:
        days = -1.0
    if not 0 <= days < float("inf"):
        raise InvalidParameterError(
            "retention_days",
            text,
            "is not a number of days of at least 0",
            remedy="Set 0 to keep everything.",
        )
    return days


def retention_models(text: str, *, default: int) -> int:
    """What the option retention_models says, or the default where it says nothing.

    Raises:
        InvalidParameterError: it is no whole number of at least 1.
    """
    if not text:
        return default
    if not text.isdecimal() or int(text) < 1:
        raise InvalidParameterError(
            "retention_models",
            text,
            "is not a whole number of at least 1",
            remedy="The newest model of a job always stays.",
        )
    return int(text)


def _counted(documents: Iterable[Any], progress: Callable[[int], None]) -> Iterator[Any]:
    for number, document in enumerate(documents):
        progress(number)
        yield document


def _is_before(at: str, moment: datetime) -> bool:
    try:
        return datetime.fromisoformat(at) < moment
    except (ValueError, TypeError):
        return False


def _named(item: Item) -> dict[str, str]:
    return {"kind": item.kind, "id": item.id, "job": item.job, "instance_type": item.instance_type}


def _words(kind: str, count: int) -> str:
    singular = {
        "production": "production run",
        "observation": "sample run",
        "profile": "run profile",
        "bottlenecks": "bottleneck report",
    }.get(kind, kind)
    return singular if count == 1 else f"{singular}s"


def _in_general(why: str) -> str:
    """The reason without the document that it names."""
    return "what stays refers to it" if why.endswith(REFERS) else why


def _counted_line(form: str, count: int) -> list[str]:
    return [form.format(f"{count:,}")] if count else []
