"""What a store holds, by job and type of machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.learning.freshness import State, state_of
from airflow_provider_ernest.store.catalogue import LISTED, MODEL, CatalogueEntry
from airflow_provider_ernest.store.files import files, safe_name, store_errors
from airflow_provider_ernest.store.records import FOLDERS, FORMS, newest_first, read_or_skip

if TYPE_CHECKING:
    from airflow_provider_ernest.store.store import ModelStore


@dataclass(frozen=True, kw_only=True)
class Group:
    """A job on a type of machine.

    Attributes:
        job: the user's name of the job.
        instance_type: the machines' type.
        entries: of the catalogue, oldest first.
        of_job: those of the job on all types.
        folder: where all lies.
    """

    job: str
    instance_type: str
    entries: Sequence[CatalogueEntry]
    of_job: Sequence[CatalogueEntry]
    folder: Any

    def of_kind(self, kind: str) -> list[CatalogueEntry]:
        """Its entries of a kind, oldest first."""
        return [entry for entry in self.entries if entry.kind == kind]

    @property
    def model(self) -> CatalogueEntry | None:
        """Its newest model; None where there is none."""
        return max(self.of_kind(MODEL), key=lambda entry: (entry.at, entry.id), default=None)

    @cached_property
    def state(self) -> State | None:
        """Of its newest model; None where there is none."""
        return state_of(self.model, others=self.of_job) if self.model else None

    def unlisted_ids(self, kind: str) -> list[str]:
        """Names of the files of those of a kind that is not in the catalogue, oldest first.

        Args:
            kind: of `records.FORMS`, but of `catalogue.LISTED`.

        Raises:
            StoreError: they cannot be listed.
        """
        form = FORMS[kind]
        with store_errors(f"The {form.words}s in {self.folder} cannot be listed"):
            paths = newest_first(self.folder / FOLDERS[form])
        return [str(path.name).removesuffix(".json") for path in paths[::-1]]


def groups_of(store: ModelStore, *, job: str | None = None, instance_type: str | None = None) -> list[Group]:
    """All that a store holds, by job and type of machine; by name.

    Args:
        store: to look into.
        job: only of this one.
        instance_type: only on this type.

    Raises:
        StoreError: the store cannot be read.
    """
    of_job: dict[str, list[CatalogueEntry]] = defaultdict(list)
    of_group: dict[tuple[str, str], list[CatalogueEntry]] = defaultdict(list)
    for entry in store.catalogue.entries():
        of_job[entry.job].append(entry)
        of_group[entry.job, entry.instance_type].append(entry)
    with store_errors(f"The store in {store.root} cannot be read"):
        for name in _unlisted(store, of_group):
            of_group[name] = []
    return [
        Group(
            job=name[0],
            instance_type=name[1],
            entries=of_group[name],
            of_job=of_job[name[0]],
            folder=_folder(store, *name),
        )
        for name in sorted(of_group)
        if job in (None, name[0]) and instance_type in (None, name[1])
    ]


def _unlisted(store: ModelStore, known: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Jobs of which there is nothing yet that the catalogue lists. Their names are in the documents only."""
    listed = {str(_folder(store, *name)) for name in known}
    for job_folder in files(store.root):
        if not job_folder.is_dir():
            continue
        for folder in files(job_folder):
            if str(folder) in listed:
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


def _folder(store: ModelStore, job: str, instance_type: str) -> Any:
    return store.root / safe_name("job", job) / safe_name("instance_type", instance_type)
