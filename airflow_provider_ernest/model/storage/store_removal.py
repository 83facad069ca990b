"""Documents that go, deleted for good or set aside as damaged: the catalogue lists them no more."""

from __future__ import annotations

import logging
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError, StoreError
from airflow_provider_ernest.model.storage.catalogue import FOLDER, Catalogue
from airflow_provider_ernest.model.storage.catalogue_lines import Key, time_after
from airflow_provider_ernest.model.storage.store_scan import SHELF_OF, place_of
from airflow_provider_ernest.model.storage.stored_documents import UNLISTED, Shelf
from airflow_provider_ernest.model.storage.stored_files import forget_listing, store_errors
from airflow_provider_ernest.model.storage.whole_files import delete

log = logging.getLogger(__name__)


class Removal:
    """Removes documents of a store.

    Args:
        root: the store's, a `pathlib.Path` or anything with its methods.
        catalogue: the store's.
    """

    def __init__(self, root: Any, catalogue: Catalogue) -> None:
        self.root = root
        self._catalogue = catalogue

    def remove(self, kind: str, job: str, instance_type: str, document_id: str) -> bool:
        """Delete a document; see `ModelStore.remove`."""
        shelf = UNLISTED.get(kind) or SHELF_OF.get(kind)
        if shelf is None:
            kinds = ", ".join([*SHELF_OF, *UNLISTED])
            raise InvalidParameterError(
                "kind", kind, "is no kind of documents", remedy=f"Use one of {kinds}."
            )
        path = shelf.path(self.root, job, instance_type, document_id)
        if kind in UNLISTED:
            return self._delete(shelf, path)
        key = (document_id, kind, job, instance_type)
        # Before it is deleted: who saves it again after that shall be listed.
        at = self._time_to_remove(key)
        was_listed, was_there = self._catalogue.is_listed(key), self._delete(shelf, path)
        if was_there or was_listed:
            self._unlist(shelf, path, key, at)
        return was_there or was_listed

    def unlist_file(self, shelf: Shelf[Any], path: Any) -> None:
        """List no more what lay in a file that was set aside; a warning says where that cannot be done."""
        place = shelf.place_at(path)
        try:
            for entry in self._catalogue.entries():
                if SHELF_OF.get(entry.kind) is shelf and place_of(entry) == place:
                    self._unlist(shelf, path, entry.key, self._time_to_remove(entry.key))
        except StoreError as error:
            log.warning("What lay in %s may still be listed: %s", path, error)

    def _time_to_remove(self, key: Key) -> str:
        try:
            return self._catalogue.time_to_remove(key)
        except StoreError as error:
            # What cannot be read now will be read when the storage is well again.
            log.warning("%s", error)
            return time_after(None)

    def _delete(self, shelf: Shelf[Any], path: Any) -> bool:
        with store_errors(f"The {shelf.kind} in {path} cannot be deleted"):
            forget_listing(path.parent)
            return delete(path)

    def _unlist(self, shelf: Shelf[Any], path: Any, key: Key, at: str) -> None:
        try:
            self._catalogue.remove(key, at=at)
        except StoreError as error:
            log.warning(
                "The %s in %s is gone, but still listed. Delete the folder %s of the store: it is made "
                "again, of all documents. %s",
                shelf.kind,
                path,
                FOLDER,
                error,
            )
