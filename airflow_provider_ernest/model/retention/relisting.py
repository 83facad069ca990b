"""Where a store's catalogue and its documents differ, and how that is made good.

Who writes or removes a document lists that next. Killed between the two, it leaves a document that is not
listed, or lists one that is gone. Nobody notices but who reads all documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry, entry_of
from airflow_provider_ernest.model.storage.store_scan import SHELF_OF
from airflow_provider_ernest.model.storage.stored_documents import UNLISTED
from airflow_provider_ernest.model.storage.stored_files import forget_listing, store_errors

if TYPE_CHECKING:
    from airflow_provider_ernest.model.store import ModelStore


_NOT_LISTED = tuple(shelf.form for shelf in UNLISTED.values())


class Relisting:
    """What is listed wrongly in a store. To be made before all documents are read, which `watch` watches.

    Args:
        store: the store.

    Raises:
        StoreError: the catalogue cannot be read.
    """

    def __init__(self, store: ModelStore) -> None:
        self._store = store
        self._not_seen = {entry.key: entry for entry in store.catalogue.entries() if entry.kind in SHELF_OF}
        self._not_listed: list[CatalogueEntry] = []

    def watch(self, documents: Iterable[Any]) -> Iterator[Any]:
        """The documents, each of which is noted."""
        for document in documents:
            if not isinstance(document, _NOT_LISTED):
                entry = entry_of(document)
                if self._not_seen.pop(entry.key, None) is None:
                    self._not_listed.append(entry)
            yield document

    def carry_out(self) -> tuple[int, int]:
        """List what is there, and no more what is gone; how many of each.

        Others may have listed or removed some of it in the meantime.

        Raises:
            StoreError: the catalogue cannot be read or written.
        """
        listed = {entry.key for entry in self._store.catalogue.entries()}
        found = [each for each in self._not_listed if each.key not in listed and self._is_there(each)]
        self._store.catalogue.add_found(found)
        gone = [each for each in self._not_seen.values() if each.key in listed and not self._is_there(each)]
        for each in gone:
            self._store.remove(each.kind, job=each.job, instance_type=each.instance_type, document_id=each.id)
        return len(found), len(gone)

    def _is_there(self, entry: CatalogueEntry) -> bool:
        path = SHELF_OF[entry.kind].path(self._store.root, entry.job, entry.instance_type, entry.id)
        with store_errors(f"Whether {path} is there cannot be seen"):
            forget_listing(path.parent)
            return bool(path.exists())
