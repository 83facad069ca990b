"""What a store holds, by job and type of machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.learning.freshness import State, state_of
from airflow_provider_ernest.store.catalogue import MODEL, CatalogueEntry
from airflow_provider_ernest.store.files import files, store_errors
from airflow_provider_ernest.store.stored_documents import UNLISTED, type_folder

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
            kind: one of `stored_documents.UNLISTED`.

        Raises:
            StoreError: they cannot be listed.
        """
        shelf = UNLISTED[kind]
        with store_errors(f"The {shelf.kind}s in {self.folder} cannot be listed"):
            paths = shelf.newest_first(self.folder)
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
            folder=type_folder(store.root, *name),
        )
        for name in sorted(of_group)
        if job in (None, name[0]) and instance_type in (None, name[1])
    ]


def _unlisted(store: ModelStore, known: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Jobs of which there is nothing yet that the catalogue lists. Their names are in the documents only."""
    listed = {str(type_folder(store.root, *name)) for name in known}
    for job_folder in files(store.root):
        if not job_folder.is_dir():
            continue
        for folder in files(job_folder):
            if str(folder) in listed:
                continue
            shelves = UNLISTED.values()
            found = (shelf.read_or_skip(path) for shelf in shelves for path in shelf.newest_first(folder))
            record = next((each for each in found if each is not None), None)
            if record is not None:
                yield record.job, record.instance_type
