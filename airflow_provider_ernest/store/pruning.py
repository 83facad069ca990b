"""Pruning a store: what goes by its age, what stays in spite of it, and the removal.

What stays is whole: a production run keeps its decision, a decision its models, and a model that has learned
the one that it goes on from. The runs that it has learned from are part of it, so their own records may go.
Nor does a model look better afterwards: what says that it no longer holds for its job stays with it. And as
long as it stays, so does the last that was found of what binds its job. Of surveys, to
which nothing refers, the newest stay.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from airflow_provider_ernest.documents.base import Key, Record, moment_of, time_of
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import CODE, Model, ModelMark
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.runs import ObservationRecord
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError, StoreError
from airflow_provider_ernest.store.files import changed_at, is_temporary, local_path, store_errors
from airflow_provider_ernest.store.records import FORMS, list_set_aside
from airflow_provider_ernest.words import count, counted

if TYPE_CHECKING:
    from airflow_provider_ernest.store.store import ModelStore

log = logging.getLogger(__name__)

KEEP_MODELS = 5
"""So many newest models of each job and type of machine stay, unless another number is asked for. Models that
have learned count as one with the model that they go on from."""

KEEP_PROFILES = 3
"""So many newest profiles of each job's sample runs, and of its production runs, stay on each type of
machine; and so does the newest report of what binds it."""

KEEP_SURVEYS = 5
"""So many newest surveys stay."""

_LAST = datetime.max.replace(tzinfo=UTC)
"""When what tells no time was made: it is never old."""

SECONDS_PER_DAY = 86_400.0

ORDER = tuple(
    form.kind
    for form in (
        ProductionRun,
        DecisionRecord,
        BottleneckReport,
        Model,
        ModelMark,
        ObservationRecord,
        ProfileRecord,
    )
)
"""In this order records are removed, so that at no moment one that is there lacks what it refers to. Marks go
after their model: without its mark a stale one would be taken for fresh."""

YOUNG = "it is young"
REFERS = "refers to it"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A stored record as far as its removal is concerned; whole records of a store may not fit into memory.

    Attributes:
        at: when it was made; the end of time where it does not say, so that it is young and stays.
        needs: the records without which it cannot be understood.
        event_logs: where the event logs lie that it names.
        artifact_sha256: the application that it is of.
        lineage: of a model, see `Model.lineage`.
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
    event_logs: tuple[str, ...] = ()
    artifact_sha256: str | None = None
    lineage: str = ""
    cause: str = ""
    of_model: str = ""
    purpose: str = ""

    @property
    def key(self) -> Key:
        """What others need it by."""
        return self.kind, self.id

    @property
    def age(self) -> tuple[datetime, str]:
        """Sorts by age, oldest first."""
        return self.at, self.id

    @property
    def named(self) -> dict[str, str]:
        """What it is, as JSON can hold it."""
        return {"kind": self.kind, "id": self.id, "job": self.job, "instance_type": self.instance_type}


def items_of(records: Iterable[Record]) -> Iterator[Item]:
    """The items of stored records."""
    for record in records:
        yield Item(
            kind=record.kind,
            id=record.id,
            job=record.job,
            instance_type=record.instance_type,
            at=time_of(record.at) or _LAST,
            needs=record.references,
            event_logs=record.event_logs,
            artifact_sha256=getattr(record, "artifact_sha256", None),
            lineage=getattr(record, "lineage", ""),
            cause=getattr(record, "cause", ""),
            of_model=record.model_id or "" if isinstance(record, BottleneckReport) else "",
            purpose=getattr(record, "purpose", ""),
        )


@dataclass(frozen=True, kw_only=True)
class RetentionPlan:
    """What goes and what stays.

    Attributes:
        removed: in the order in which they are to be removed.
        kept_because: for each that is old enough to go and stays all the same, why.
        kept: how many stay, by kind.
        event_logs: locations that only removed records name, by the key of the one that goes last.
    """

    removed: tuple[Item, ...]
    kept_because: Mapping[Key, str]
    kept: Mapping[str, int]
    event_logs: Mapping[Key, tuple[str, ...]]


def plan_retention(
    items: Iterable[Item], *, now: datetime, older_than_days: float, keep_models: int = KEEP_MODELS
) -> RetentionPlan:
    """What of a store may go.

    Args:
        items: all that is in it.
        now: with its time zone.
        older_than_days: younger records stay.
        keep_models: so many newest models of each job and type of machine stay, however old; see
            `KEEP_MODELS`.

    Raises:
        InvalidParameterError: an age below 0, or no model of a job were to stay.
    """
    _check(older_than_days, keep_models)
    by_key: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        by_key[item.key].append(item)
    all_items = [item for same in by_key.values() for item in same]
    old = {
        key
        for key, same in by_key.items()
        if all((now - item.at).total_seconds() > SECONDS_PER_DAY * older_than_days for item in same)
    }
    kept: dict[Key, str] = {key: YOUNG for key in by_key if key not in old and key[0] != ModelMark.kind}
    _keep(kept, _newest_models(all_items, keep_models), by_key)
    _keep(kept, _signs_of_code(all_items, kept), by_key)
    _keep(kept, _marks(by_key, kept, old), by_key)
    _keep(kept, _reports(all_items, kept), by_key)
    _keep(kept, _newest_profiles(all_items), by_key)
    removed = sorted(
        (item for item in all_items if item.key not in kept),
        key=lambda item: (ORDER.index(item.kind), not item.needs, item.at, item.id),
    )
    return RetentionPlan(
        removed=tuple(removed),
        kept_because={key: why for key, why in kept.items() if key in old},
        kept=dict(Counter(item.kind for item in all_items if item.key in kept)),
        event_logs=_free_event_logs(removed, (item for item in all_items if item.key in kept)),
    )


def _check(older_than_days: float, keep_models: int) -> None:
    if not 0 <= older_than_days < float("inf"):
        raise InvalidParameterError(
            "older_than_days",
            older_than_days,
            "is not a number of days of at least 0",
            remedy="Give an age in days, such as 90.",
        )
    if keep_models < 1:
        raise InvalidParameterError(
            "keep_models",
            keep_models,
            "would leave jobs without their newest model",
            remedy="Keep at least 1.",
        )


def _keep(
    kept: dict[Key, str], further: Iterable[tuple[Key, str]], by_key: Mapping[Key, Sequence[Item]]
) -> None:
    """Keep these, too, and all that is needed by what is kept, in turn."""
    for key, why in further:
        kept.setdefault(key, why)
    waiting = list(kept)
    while waiting:
        key = waiting.pop()
        for needed in (each for item in by_key[key] for each in item.needs):
            if needed in by_key and needed not in kept:
                kept[needed] = f"{key[0]} {key[1]}, which stays, {REFERS}"
                waiting.append(needed)


def _newest_models(items: Iterable[Item], keep_models: int) -> Iterator[tuple[Key, str]]:
    # A model that learns from each run has made a hundred others soon: of a lineage only the last counts.
    lineages: dict[tuple[str, str], dict[str, Item]] = defaultdict(dict)
    for item in sorted(items, key=lambda item: item.age, reverse=True):
        if item.kind == Model.kind:
            lineages[item.job, item.instance_type].setdefault(item.lineage, item)
    why = "it is the newest" if keep_models == 1 else f"it is one of the {keep_models} newest"
    for of_type in lineages.values():
        for item in islice(of_type.values(), keep_models):
            yield item.key, f"{why} of its job and type of machine"


def _signs_of_code(items: Sequence[Item], kept: Mapping[Key, str]) -> Iterator[tuple[Key, str]]:
    """The last sign of each job's code, where it makes a model stale that stays, or a marked one fresh again.

    See `freshness.Lineage`.
    """
    last: dict[str, Item] = {}
    for item in items:
        if item.kind in (Model.kind, ProductionRun.kind) and item.artifact_sha256:
            last[item.job] = max(last.get(item.job, item), item, key=lambda item: item.age)
    jobs = {item.job for item in items if item.cause == CODE}
    for item in items:
        sign = last.get(item.job)
        is_model_that_stays = item.kind == Model.kind and item.key in kept
        if sign and is_model_that_stays and item.artifact_sha256 != sign.artifact_sha256:
            jobs.add(item.job)
    yield from ((last[job].key, "it tells what the job's code was last") for job in jobs if job in last)


def _marks(
    by_key: Mapping[Key, Sequence[Item]], kept: Mapping[Key, str], old: set[Key]
) -> list[tuple[Key, str]]:
    """Marks of lineages that stay, and with them the models they are of; and young ones of no model here."""
    lineages = {item.lineage for key in kept for item in by_key[key] if key[0] == Model.kind}
    found = []
    for key, marks in by_key.items():
        if key[0] != ModelMark.kind:
            continue
        models = [model for mark in marks for need in mark.needs for model in by_key.get(need, ())]
        if any(model.lineage in lineages for model in models):
            found.append((key, "it is a mark on a model that stays"))
        elif not models and key not in old:
            found.append((key, YOUNG))
    return found


def _reports(items: Iterable[Item], kept: Mapping[Key, str]) -> Iterator[tuple[Key, str]]:
    """The newest reports of what binds a job: of each model that stays, and on each type of machine."""
    of_model: dict[str, Item] = {}
    of_type: dict[tuple[str, str], Item] = {}
    for item in sorted(items, key=lambda item: item.age):
        if item.kind == BottleneckReport.kind:
            of_type[item.job, item.instance_type] = item
            if (Model.kind, item.of_model) in kept:
                of_model[item.of_model] = item
    yield from ((item.key, "it tells what binds the job of a model that stays") for item in of_model.values())
    yield from ((item.key, "it is the newest of its job and type of machine") for item in of_type.values())


def _newest_profiles(items: Iterable[Item]) -> Iterator[tuple[Key, str]]:
    profiles: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.age, reverse=True):
        if item.kind == ProfileRecord.kind:
            profiles[item.job, item.instance_type, item.purpose].append(item)
    for of_purpose in profiles.values():
        for item in of_purpose[:KEEP_PROFILES]:
            yield item.key, f"it is one of the {KEEP_PROFILES} newest of its job, type of machine and purpose"


def _free_event_logs(removed: Iterable[Item], kept: Iterable[Item]) -> dict[Key, tuple[str, ...]]:
    """The logs that nothing kept names, by the last of the removed records that names them."""
    named = {log for item in kept for log in item.event_logs}
    last = {log: item.key for item in removed for log in item.event_logs if log not in named}
    free: dict[Key, list[str]] = defaultdict(list)
    for log, key in last.items():
        free[key].append(log)
    return {key: tuple(logs) for key, logs in free.items()}


MOST_FAILURES = 20
"""After so many, what is left is not tried: the store cannot be written to."""


@dataclass(kw_only=True)
class Removed:
    """What a removal did.

    Attributes:
        removed: what is gone.
        spared: what something refers to that was written since the plan was made, or that could not be
            removed.
        failed: what could not be removed, with why.
        event_logs: files and folders of event logs that are gone.
        event_log_failures: why others are not.
    """

    removed: list[Item] = field(default_factory=list)
    spared: list[Item] = field(default_factory=list)
    failed: list[tuple[Item, str]] = field(default_factory=list)
    event_logs: list[Path] = field(default_factory=list)
    event_log_failures: list[str] = field(default_factory=list)


def carry_out(
    store: ModelStore,
    plan: RetentionPlan,
    *,
    event_logs: LogFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Removed:
    """Remove what a plan says. It may be interrupted at any moment, and repeated; others may write meanwhile.

    What cannot be removed stays with all that it needs, and does not keep the rest from going.

    Args:
        store: that the plan is of.
        plan: what goes.
        event_logs: the folder whose event logs go with the records that name them; None to leave them.
        progress: called with the number of records that have been gone through.
    """
    done = Removed()
    needed: set[Key] | None = None
    spared: set[Key] = set()
    reported: dict[tuple[str, str], set[str] | None] = {}
    for number, item in enumerate(plan.removed):
        progress(number)
        if item.kind == ProfileRecord.kind:
            group = item.job, item.instance_type
            if group not in reported:
                reported[group] = _reported_profiles(store, plan, group)
            of_group = reported[group]
            if of_group is None or item.id in of_group:
                spared.add(item.key)
        if item.kind in (Model.kind, ModelMark.kind) and needed is None:
            # Asked only now that nothing old needs a model: a task may just have decided by an old one.
            needed = _needed_now(store, plan)
            spared |= needed
        if item.key in spared or (item.kind == ModelMark.kind and spared.intersection(item.needs)):
            done.spared.append(item)
            spared.update((item.key, *item.needs))
        elif len(done.failed) >= MOST_FAILURES:
            done.failed.append((item, "not tried"))
        elif not _remove(store, item, plan, event_logs, done):
            spared.update(item.needs)
    return done


def _remove(
    store: ModelStore, item: Item, plan: RetentionPlan, event_logs: LogFolder | None, done: Removed
) -> bool:
    try:
        if event_logs is not None:
            # Before the record: without it nobody would know of them.
            for location in plan.event_logs.get(item.key, ()):
                event_logs.remove(location, done)
        if store.remove(item.kind, job=item.job, instance_type=item.instance_type, document_id=item.id):
            done.removed.append(item)
    # Libraries of object stores have errors of their own.
    except Exception as error:
        log.debug("Cannot remove %s %s", item.kind, item.id, exc_info=True)
        done.failed.append((item, str(error)))
        return False
    return True


def _needed_now(store: ModelStore, plan: RetentionPlan) -> set[Key]:
    """The models that are referred to by what is in the store and not of the plan."""
    planned = {item.key for item in plan.removed}
    needed: set[Key] = set()
    for entry in store.catalogue.entries():
        if (entry.kind, entry.id) not in planned and entry.kind != ModelMark.kind:
            needed |= {(Model.kind, each) for each in (entry.model_id, entry.base_model_id) if each}
    return needed


def _reported_profiles(store: ModelStore, plan: RetentionPlan, group: tuple[str, str]) -> set[str] | None:
    """The profiles that a report needs which a task has made of them since the plan; None if nobody can know.

    The catalogue lists no reports. One look at the newest of a job and type of machine is enough, just before
    their first profile goes: reports are made of the runs of a training that ends, which are young.
    """
    planned = {item.key for item in plan.removed}
    try:
        newest = store.newest(BottleneckReport, *group, limit=1)
    except StoreError as error:
        log.warning("The run profiles of %r on %s stay for now: %s", *group, error)
        return None
    return {name for report in newest if report.key not in planned for name in report.profile_ids}


_ROLLING_LOG = "eventlog_v2_"
"""Spark's name for a folder of event logs of one application; no other folder is removed."""


class LogFolder:
    """A local folder of event logs; nothing outside it is ever removed.

    Records come from anywhere, so what they name is looked at as it is on the disk: links are followed
    before it is asked whether a log lies in the folder.

    Args:
        folder: an absolute path or one from the working directory.

    Raises:
        MissingResourceError: there is no such folder.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            self._folder = Path(folder).expanduser().resolve(strict=True)
            if not self._folder.is_dir():
                raise NotADirectoryError("it is no folder")
        except OSError as error:
            raise MissingResourceError(
                f"The folder of event logs {str(folder)!r} cannot be read: {error.strerror or error}.",
                remedy="Name the folder that [ernest] event_logs sets.",
            ) from error

    def find(self, location: str) -> Path | None:
        """The log's file or folder, None where it is not one in this folder."""
        parts = urlsplit(location) if "://" in location or location.startswith("file:") else None
        if parts is not None and (parts.scheme != "file" or parts.netloc not in ("", "localhost")):
            return None
        try:
            path = Path(unquote(parts.path) if parts is not None else location)
            if not path.is_absolute() or path.is_symlink():
                return None
            real = path.resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        is_log = real.is_file() or (real.is_dir() and real.name.startswith(_ROLLING_LOG))
        return real if is_log and self._folder in real.parents else None

    def remove(self, location: str, done: Removed) -> None:
        """Remove a log, and the folders of its attempt and its run if they are empty then; note failures."""
        path = self.find(location)
        if path is None:
            return
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            done.event_logs.append(path)
        except OSError as error:
            done.event_log_failures.append(f"{path}: {error.strerror or error}")
            return
        self._remove_empty(path.parent)

    def _remove_empty(self, folder: Path) -> None:
        """Remove a folder and those above it that hold nothing else, but never a DAG's: it is used again."""
        try:
            while self._folder in folder.parent.parents:
                folder.rmdir()
                folder = folder.parent
        except OSError as error:
            log.debug("%s stays: %s", folder, error)


SAFE_AGE = timedelta(hours=1)
"""No writer takes that long for a file."""


def leftovers(root: Any, older_than: timedelta = SAFE_AGE) -> list[Path]:
    """The temporary files that killed writers left in a store, not written to for so long; by name.

    Nobody reads them. Neither readers nor writers sweep them: they would have to tell them from those of
    writers at work, and each killed writer leaves one small file at most. On an object store there are none:
    what is written there appears whole.

    Raises:
        StoreError: the store cannot be listed.
    """
    local = local_path(root)
    if local is None:
        return []
    newest = datetime.now(UTC) - older_than
    with store_errors(f"What killed writers left in {root} cannot be listed"):
        walked = os.walk(local, onerror=_raise_unless_gone)
        found = [Path(folder, name) for folder, _, names in walked for name in names if is_temporary(name)]
        return sorted(path for path in found if _is_before(path, newest))


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_before(path: Path, newest: datetime) -> bool:
    try:
        changed = changed_at(path)
    except FileNotFoundError:
        return False
    return changed is not None and changed <= newest


MOST_NAMED = 50
"""So many records are named in lines; all are in the summary."""


class Prune:
    """What is removed from a store, planned when the object is made; for the command line and for a task.

    Args:
        store: to prune.
        now: with its time zone.
        older_than_days: younger records stay.
        keep_models: so many newest models of each job and type of machine stay.
        event_logs: the folder whose event logs go with the records that name them; None to leave them.
        is_for_set_aside: whether files that were set aside as long ago go as well.
        progress: called with the number of records that have been looked through.

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
        event_logs: LogFolder | None = None,
        is_for_set_aside: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self._store, self._event_logs = store, event_logs
        self._days = older_than_days
        self.plan = plan_retention(
            items_of(_counted(store.all_documents(), progress)),
            now=now,
            older_than_days=older_than_days,
            keep_models=keep_models,
        )
        before = now - timedelta(days=older_than_days)
        torn = list_set_aside(store.root) if is_for_set_aside else []
        self._set_aside = [each.path for each in torn if (time_of(each.at) or _LAST) < before]
        self._leftovers = leftovers(store.root)
        old = (each for each in store.surveys.ids()[KEEP_SURVEYS:] if (moment_of(each) or _LAST) < before)
        self._surveys = sorted(old)
        self._file_failures: list[str] = []
        self._removal: Removed | None = None

    @property
    def has_work(self) -> bool:
        """Whether anything goes."""
        return bool(self.plan.removed or self._surveys or self._set_aside or self._leftovers)

    def carry_out(self, *, progress: Callable[[int], None] = lambda done: None) -> None:
        """Remove what is planned, see the function `carry_out`."""
        self._removal = carry_out(self._store, self.plan, event_logs=self._event_logs, progress=progress)
        for survey in self._surveys:
            try:
                self._store.surveys.remove(survey)
            except StoreError as error:
                self._file_failures.append(error.message)
        for path in (*self._set_aside, *self._leftovers):
            try:
                with store_errors(f"{path} cannot be removed"):
                    path.unlink()
            except StoreError as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    self._file_failures.append(error.message)

    def summary(self) -> dict[str, Any]:
        """What was removed, or would be, as JSON can hold it."""
        done = self._removal
        return {
            "store": str(self._store.root),
            "is_done": done is not None,
            "older_than_days": self._days,
            "removed": dict(Counter(item.kind for item in self._items)),
            "documents": [item.named for item in self._items],
            "kept": dict(self.plan.kept),
            "kept_because": {f"{kind} {name}": why for (kind, name), why in self.plan.kept_because.items()},
            "event_logs": self._event_log_names(),
            "surveys": self._surveys,
            "set_aside": [str(path) for path in self._set_aside],
            "leftovers": [str(path) for path in self._leftovers],
            "spared": [item.named for item in (done.spared if done else ())],
            "failed": self._failures(),
        }

    def lines(self) -> list[str]:
        """The same for people, without the names of what stays."""
        done, items = self._removal, self._items
        verb = "Would remove" if done is None else "Removed"
        counts = Counter(item.kind for item in items)
        gone = ", ".join(counted(counts[kind], FORMS[kind].words) for kind in ORDER if counts[kind])
        lines = [f"{verb} {gone or 'no document'} older than {self._days:g} days from {self._store.root}"]
        lines += [
            f"  {item.kind} {item.id} of {item.job!r} on {item.instance_type}" for item in items[:MOST_NAMED]
        ]
        if len(items) > MOST_NAMED:
            lines.append(f"  and {count(len(items) - MOST_NAMED)} more")
        lines += _counted_line(f"{verb} {{}} event logs", len(self._event_log_names()))
        lines += [f"{verb} survey {each}" for each in self._surveys]
        lines += _counted_line(f"{verb} {{}} files that were set aside", len(self._set_aside))
        lines += _counted_line(
            f"{verb} {{}} temporary files of writers that were killed", len(self._leftovers)
        )
        reasons = Counter(
            "what stays refers to it" if why.endswith(REFERS) else why
            for why in self.plan.kept_because.values()
        )
        lines += [f"{count(number)} as old stay: {why}" for why, number in reasons.most_common()]
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
                f"{count(len(failed))} could not be removed: {'; '.join(failed[:3])}",
                remedy="Check what may be done with the store's files, and prune again.",
            )

    @property
    def _items(self) -> Sequence[Item]:
        return self.plan.removed if self._removal is None else self._removal.removed

    def _failures(self) -> list[str]:
        if self._removal is None:
            return []
        failed = [f"{item.kind} {item.id}: {problem}" for item, problem in self._removal.failed]
        return [*failed, *self._removal.event_log_failures, *self._file_failures]

    def _event_log_names(self) -> list[str]:
        if self._removal is not None:
            return [str(path) for path in self._removal.event_logs]
        if self._event_logs is None:
            return []
        found = (self._event_logs.find(name) for names in self.plan.event_logs.values() for name in names)
        return [str(path) for path in found if path is not None]


def _counted(records: Iterable[Record], progress: Callable[[int], None]) -> Iterator[Record]:
    for number, record in enumerate(records):
        progress(number)
        yield record


def _counted_line(form: str, number: int) -> list[str]:
    return [form.format(count(number))] if number else []


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
