"""The surveys that a store keeps: few files, each read whole; see `records` for where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.store import records
from airflow_provider_ernest.store.files import delete, forget_listing, store_errors


class Surveys:
    """The surveys in a store. They are written by `ModelStore.save`.

    Args:
        root: the store's.
    """

    def __init__(self, root: Any) -> None:
        self._root = root

    def ids(self) -> list[str]:
        """The ids of all, newest first, by the names of their files alone.

        Raises:
            StoreError: they cannot be listed.
        """
        with store_errors(f"The surveys in {self._root} cannot be listed"):
            return [str(path.name).removesuffix(records.SUFFIX) for path in self._paths()]

    def load(self, survey_id: str) -> Survey:
        """One survey.

        Raises:
            StoreError: it cannot be read, or is not there: then its cause is a FileNotFoundError.
        """
        path = records.survey_path(self._root, survey_id)
        with store_errors(f"There is no readable survey {survey_id} at {path}"):
            forget_listing(path.parent)
            try:
                return records.decode(Survey, path.read_text(encoding="utf-8"))
            except (InvalidDocumentError, UnicodeDecodeError):
                records.set_aside_if_damaged(self._root, path)
                raise

    def newest_first(self) -> Iterator[Survey]:
        """All that can be read, read as they are asked for; the others are named in warnings in the log.

        Raises:
            StoreError: they cannot be listed.
        """
        with store_errors(f"The surveys in {self._root} cannot be listed"):
            paths = self._paths()
        for path in paths:
            survey = records.read_or_skip(self._root, Survey, path)
            if survey is not None:
                yield survey

    def remove(self, survey_id: str) -> bool:
        """Delete one for good; whether it was there.

        Raises:
            StoreError: it cannot be deleted.
        """
        path = records.survey_path(self._root, survey_id)
        with store_errors(f"The survey in {path} cannot be deleted"):
            forget_listing(path.parent)
            return delete(path)

    def _paths(self) -> list[Any]:
        found = records.newest_first(self._root / records.SURVEYS)
        return [path for path in found if str(path.name).endswith(records.SUFFIX)]
