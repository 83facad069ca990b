"""The removal of what a retention plan says, and of the event logs that only that names."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from airflow_provider_ernest.exceptions import MissingResourceError, StoreError
from airflow_provider_ernest.model.storage.catalogue_entry import MARK, MODEL
from airflow_provider_ernest.model.storage.stored_documents import BOTTLENECK_REPORT, PROFILE

if TYPE_CHECKING:
    from airflow_provider_ernest.model.retention.items import Item, Key
    from airflow_provider_ernest.model.retention.plan import RetentionPlan
    from airflow_provider_ernest.model.store import ModelStore

log = logging.getLogger(__name__)

MOST_FAILURES = 20
"""After so many, what is left is not tried: the store cannot be written to."""

ROLLING_LOG = "eventlog_v2_"
"""Spark's name for a folder of event logs of one application; no other folder is removed."""


@dataclass(kw_only=True)
class Removed:
    """What a removal did.

    Attributes:
        removed: the documents that are gone.
        spared: those that something needs that was written since the plan was made, or that could not be
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
    event_logs: EventLogs | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Removed:
    """Remove what a plan says. It may be interrupted at any moment, and repeated; others may write meanwhile.

    What cannot be removed stays with all that it needs, and does not keep the rest from going.

    Args:
        store: that the plan is of.
        plan: what goes.
        event_logs: the folder whose event logs go with the documents that name them; None to leave them.
        progress: is told how many documents have been gone through.
    """
    done = Removed()
    needed: set[Key] | None = None
    spared: set[Key] = set()
    profiles = _ReportedProfiles(store, plan)
    for number, item in enumerate(plan.removed):
        progress(number)
        if item.kind == PROFILE and profiles.are_needed(item):
            spared.add(item.key)
        if item.kind in (MODEL, MARK) and needed is None:
            # Asked only now that nothing old needs a model: a task may just have decided by an old one.
            needed = _needed_now(store, plan)
            spared |= needed
        if item.key in spared or (item.kind == MARK and spared.intersection(item.needs)):
            done.spared.append(item)
            spared.update((item.key, *item.needs))
        elif len(done.failed) >= MOST_FAILURES:
            done.failed.append((item, "not tried"))
        elif not _remove(store, item, plan, event_logs, done):
            spared.update(item.needs)
    return done


def _remove(
    store: ModelStore, item: Item, plan: RetentionPlan, event_logs: EventLogs | None, done: Removed
) -> bool:
    try:
        if event_logs is not None:
            # Before the document: without it nobody would know of them.
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
        if (entry.kind, entry.id) not in planned and entry.kind != MARK:
            needed |= {(MODEL, each) for each in (entry.model_id, entry.base_model_id) if each}
    return needed


class _ReportedProfiles:
    """The profiles that a report needs which a task has made of them since the plan.

    The catalogue lists no reports. One look at the newest of a job and type of machine is enough, just before
    their first profile goes: reports are made of the runs of a training that ends, which are young.

    Args:
        store: that the plan is of.
        plan: what goes.
    """

    def __init__(self, store: ModelStore, plan: RetentionPlan) -> None:
        self._store = store
        self._planned = {item.id for item in plan.removed if item.kind == BOTTLENECK_REPORT}
        self._needed: dict[tuple[str, str], set[str] | None] = {}

    def are_needed(self, item: Item) -> bool:
        """Whether the profile is needed by what stays."""
        group = item.job, item.instance_type
        if group not in self._needed:
            self._needed[group] = self._needed_of(group)
        needed = self._needed[group]
        return needed is None or item.id in needed

    def _needed_of(self, group: tuple[str, str]) -> set[str] | None:
        """None where nobody can know."""
        try:
            newest = self._store.bottlenecks(*group, limit=1)
        except StoreError as error:
            log.warning("The run profiles of %r on %s stay for now: %s", *group, error)
            return None
        staying = (report for report in newest if report.report_id not in self._planned)
        return {name for report in staying for name in report.profile_ids}


class EventLogs:
    """A local folder of event logs; nothing outside it is ever removed.

    Documents come from anywhere, so what they name is looked at as it is on the disk: links are followed
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
        is_log = real.is_file() or (real.is_dir() and real.name.startswith(ROLLING_LOG))
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
