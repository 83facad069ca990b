"""Whether an application is another than the newest model was trained with, for a sensor and its trigger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.triggers.looking import Looking, watched_paths

if TYPE_CHECKING:
    from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry

_SHOWN = 12
"""Digits of a hash in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a comparison found.

    Attributes:
        is_other: whether the application is another.
        wait_seconds: until the next look makes sense, where the application's files have to settle first;
            None where the next look has the time that it has.
        result: what a sensor returns: ``sha256``, ``known_sha256``, ``changed`` (the files, None where that
            is not known), ``model_id`` and ``reason``.
    """

    is_other: bool
    wait_seconds: float | None = None
    result: dict[str, Any] | None = None


class HashComparison:
    """Compares an application with the newest model of a job, or with a hash.

    A model store that cannot be read is a warning in the log, and is asked again the next time.

    Args:
        application: path or address of the JAR or .py file.
        dependencies: further files.
        job: the job whose newest model counts; not used where `known_sha256` is given.
        instance_type: the type of machine that the model must be of; None for any.
        known_sha256: the hash to compare with; None for that of the newest model.
        store: the model store.
        settle_seconds: see `ArtifactWatch`.
        log: the logger.

    Raises:
        InvalidParameterError: the application cannot be watched.
    """

    def __init__(
        self,
        *,
        application: str,
        dependencies: Sequence[str],
        job: str | None,
        instance_type: str | None,
        known_sha256: str | None,
        store: Any,
        settle_seconds: float,
        log: Any,
    ) -> None:
        self._job = job
        self._instance_type = instance_type
        self._known_sha256 = known_sha256
        self._store = store
        self._settle_seconds = settle_seconds
        self._log = log
        self._store_problem = ""
        paths = watched_paths(application, dependencies)
        self._looking = Looking(store.root, paths, settle_seconds=settle_seconds, log=log)

    def compare(self) -> Found:
        """Look at the application and at the newest model, and compare.

        Raises:
            MissingResourceError: nothing installed reads one of the addresses.
            InvalidParameterError: one of them names no file.
        """
        try:
            found = self._compare()
        except StoreError as error:
            if not self._store_problem:
                self._log.warning("The application will be compared with the model later. %s", error)
            self._store_problem = str(error)
            return Found(is_other=False)
        self._store_problem = ""
        return found

    def _compare(self) -> Found:
        look = self._looking.look()
        if look.sha256 is None:
            is_settling = look.state == "settling"
            return Found(is_other=False, wait_seconds=self._settle_seconds if is_settling else None)
        model = None if self._known_sha256 else self._model()
        known = self._known_sha256 or (model.artifact_sha256 if model else None)
        if known == look.sha256:
            return Found(is_other=False)
        return Found(
            is_other=True,
            result={
                "sha256": look.sha256,
                "known_sha256": known,
                "changed": self._looking.changed(known, look),
                "model_id": model.id if model else None,
                "reason": self._reason(look.sha256, known, model),
            },
        )

    def _model(self) -> CatalogueEntry | None:
        from airflow_provider_ernest.triggers.newest_model import newest_model

        return newest_model(self._store, self._job or "", self._instance_type)

    def _reason(self, found: str, known: str | None, model: CatalogueEntry | None) -> str:
        if known is None and model is None:
            where = f" on {self._instance_type}" if self._instance_type else ""
            return f"The store has no model of {self._job!r}{where}: there is nothing to wait for."
        if known is None and model is not None:
            return f"The model {model.id} does not know what application it was trained with."
        of = f"the model {model.id} was trained with it" if model else "was given"
        return f"The application is {found[:_SHOWN]} now, no longer {(known or '')[:_SHOWN]} as {of}."
