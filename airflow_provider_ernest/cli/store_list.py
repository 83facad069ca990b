"""What a store holds, by job and type of machine, as ``ernest store list`` says it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.command import age_of, aligned
from airflow_provider_ernest.documents.base import Record
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.runs import ObservationRecord
from airflow_provider_ernest.learning.freshness import Lineage, State
from airflow_provider_ernest.store.catalogue import LISTED, CatalogueEntry
from airflow_provider_ernest.store.files import files, safe_name, store_errors
from airflow_provider_ernest.store.records import FOLDERS, Kept, newest_first, read_or_skip
from airflow_provider_ernest.words import (
    UNKNOWN,
    count,
    counted,
    duration,
    input_share,
    machines,
    percentage,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.profiles import RunProfile
    from airflow_provider_ernest.documents.runs import Observation
    from airflow_provider_ernest.store.records import SetAside
    from airflow_provider_ernest.store.store import ModelStore


@dataclass(frozen=True, kw_only=True)
class Group:
    """A job on a type of machine.

    Attributes:
        store: that it is in.
        job: the user's name of the job.
        instance_type: the machines' type.
        entries: of the catalogue, oldest first.
        of_job: those of the job on all types.
    """

    store: ModelStore
    job: str
    instance_type: str
    entries: Sequence[CatalogueEntry]
    of_job: Sequence[CatalogueEntry]

    def listed(self, form: type[Record]) -> list[CatalogueEntry]:
        """Its entries of a class of records that the catalogue lists, oldest first."""
        return [entry for entry in self.entries if entry.kind == form.kind]

    def ids(self, form: type[Record]) -> list[str]:
        """The ids of its records of any class, oldest first.

        Raises:
            StoreError: they cannot be listed.
        """
        if form in LISTED:
            return [entry.id for entry in self.listed(form)]
        return self.store.ids(form, self.job, self.instance_type)[::-1]

    def newest(self, form: type[Kept], *, limit: int | None) -> list[Kept]:
        """Its newest records of a class, oldest first.

        Raises:
            StoreError: they cannot be read.
        """
        return self.store.newest(form, self.job, self.instance_type, limit=limit)

    @property
    def model(self) -> CatalogueEntry | None:
        """Its newest model; None where there is none."""
        return max(self.listed(Model), key=lambda entry: (entry.at, entry.id), default=None)

    @cached_property
    def state(self) -> State | None:
        """Of its newest model; None where there is none."""
        return Lineage(self.model, self.of_job).state() if self.model else None


def groups_of(store: ModelStore, *, job: str | None = None, instance_type: str | None = None) -> list[Group]:
    """All that a store holds, or what it holds of a job or on a type of machine, by name.

    Raises:
        StoreError: the store cannot be read.
    """
    of_job: dict[str, list[CatalogueEntry]] = defaultdict(list)
    of_group: dict[tuple[str, str], list[CatalogueEntry]] = defaultdict(list)
    for entry in store.catalogue.entries(job):
        of_job[entry.job].append(entry)
        of_group[entry.job, entry.instance_type].append(entry)
    with store_errors(f"The store in {store.root} cannot be read"):
        for name in _unlisted(store, of_group, job=job):
            of_group[name] = []
    return [
        Group(
            store=store,
            job=name[0],
            instance_type=name[1],
            entries=of_group[name],
            of_job=of_job[name[0]],
        )
        for name in sorted(of_group)
        if job in (None, name[0]) and instance_type in (None, name[1])
    ]


def _unlisted(
    store: ModelStore, known: Iterable[tuple[str, str]], *, job: str | None
) -> Iterator[tuple[str, str]]:
    """Jobs of which there is nothing yet that the catalogue lists. Their names are in the records only."""
    listed = {(safe_name("job", name), safe_name("instance_type", kind)) for name, kind in known}
    wanted = None if job is None else safe_name("job", job)
    for job_folder in files(store.root):
        if wanted not in (None, str(job_folder.name)) or not job_folder.is_dir():
            continue
        for folder in files(job_folder):
            if (str(job_folder.name), str(folder.name)) in listed:
                continue
            found = (
                read_or_skip(store.root, form, path)
                for form in FOLDERS
                if form not in LISTED
                for path in newest_first(folder / FOLDERS[form])
            )
            record = next((each for each in found if each is not None), None)
            if record is not None:
                yield record.job, record.instance_type


_COUNTED = (Model, DecisionRecord, ProductionRun, ObservationRecord)


def group_row(group: Group) -> dict[str, Any]:
    """The newest model of a job on a type of machine, its state, and how many records there are."""
    model, state = group.model, group.state
    return {
        "job": group.job,
        "instance_type": group.instance_type,
        "id": model.id if model else None,
        "at": model.at if model else None,
        "state": state.name if state else None,
        "cause": state.cause if state else "",
        "reason": state.reason if state else "",
        "median_error_percent": model.median_error_percent if model else None,
        **{f"{form.kind}s": len(group.ids(form)) for form in (*_COUNTED, ModelMark)},
    }


def group_table(rows: Iterable[dict[str, Any]], *, now: datetime) -> list[str]:
    """The rows of `group_row` for people."""
    numbers = ("age", "error", *(f"{form.words}s" for form in _COUNTED))
    return aligned(
        ("job", "type", "state", "newest model", *numbers),
        (
            (
                row["job"],
                row["instance_type"],
                (row["state"] or UNKNOWN) + (f" ({row['cause']})" if row["cause"] else ""),
                row["id"] or UNKNOWN,
                age_of(row["at"] or "", now=now),
                percentage(row["median_error_percent"]),
                *(str(row[f"{form.kind}s"]) for form in _COUNTED),
            )
            for row in rows
        ),
        right=", ".join(numbers),
    )


def record_rows(groups: Iterable[Group], form: type[Record], *, limit: int | None) -> list[dict[str, Any]]:
    """The records of a class, oldest first, each with what it says in a few words.

    Args:
        groups: only of these.
        form: the class.
        limit: at most so many of a group, the newest, where the catalogue does not list them.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = []
    for group in groups:
        found: Iterable[CatalogueEntry | Record] = (
            group.listed(form) if form in LISTED else group.newest(form, limit=limit)
        )
        for each in found:
            model_id = getattr(each, "model_id", None)
            rows.append(
                {
                    "kind": each.kind,
                    "job": each.job,
                    "instance_type": each.instance_type,
                    "id": each.id,
                    "at": each.at,
                    "model_id": None if model_id == each.id else model_id,
                    "says": _says(each),
                }
            )
    return sorted(rows, key=lambda row: (row["at"], row["id"]))


def record_table(rows: Iterable[dict[str, Any]], *, now: datetime) -> list[str]:
    """The rows of `record_rows` for people."""
    return aligned(
        ("id", "job", "type", "age", "model", "says"),
        (
            (
                row["id"],
                row["job"],
                row["instance_type"],
                age_of(row["at"], now=now),
                row["model_id"] or UNKNOWN,
                row["says"],
            )
            for row in rows
        ),
        right="age",
    )


def _says(found: CatalogueEntry | Record) -> str:
    if isinstance(found, CatalogueEntry):
        return ", ".join(_said(found))
    if isinstance(found, ObservationRecord):
        return _ran(found.observation)
    if isinstance(found, ProfileRecord):
        return f"{found.purpose} run, {_ran(found.profile)}: {found.profile.headline}"
    return found.headline if isinstance(found, BottleneckReport) else ""


def _said(entry: CatalogueEntry) -> Iterator[str]:
    if entry.reason:
        yield f"{entry.cause}: {entry.reason}"
    if entry.method:
        yield f"{entry.method}, {counted(entry.observations - entry.learned_from, 'sample run')}"
        yield f"error {percentage(entry.median_error_percent)}"
    if entry.learned_from:
        yield f"learned from {counted(entry.learned_from, 'production run')}"
    if entry.machines is not None:
        yield machines(entry.machines)
    if entry.predicted_seconds is not None:
        yield f"predicted {duration(entry.predicted_seconds)}"
    if entry.seconds is not None:
        yield f"took {duration(entry.seconds)}"
    if entry.is_unusual or entry.is_unlikely:
        yield f"outside the {'95' if entry.is_unusual else '80'} % interval"


def _ran(run: Observation | RunProfile) -> str:
    return f"{machines(run.machines)}, {input_share(run.scale)} of the input, took {duration(run.seconds)}"


MOST_SET_ASIDE = 5
"""So many files that were set aside are named in the text."""


def set_aside_lines(torn: Sequence[SetAside]) -> list[str]:
    """The files of a store that were set aside."""
    if not torn:
        return []
    found = "file that was damaged was" if len(torn) == 1 else "files that were damaged were"
    lines = [f"{count(len(torn))} {found} set aside:"]
    lines += [f"  {each.path}: {each.problem}" for each in torn[:MOST_SET_ASIDE]]
    if len(torn) > MOST_SET_ASIDE:
        lines.append(f"  and {count(len(torn) - MOST_SET_ASIDE)} more, which --format json lists")
    return lines
