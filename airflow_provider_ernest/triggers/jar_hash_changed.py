"""Waiting in the triggerer, for a sensor, until an application is another than a model was trained with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.spark.artifact import listed_paths
from airflow_provider_ernest.triggers.jar_hash import (
    DEFAULT_POLL_SECONDS,
    DEFAULT_SETTLE_SECONDS,
    Looking,
    watched_paths,
)
from airflow_provider_ernest.triggers.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_ernest.store.catalogue import CatalogueEntry

CHANGED = "changed"
FAILED = "failed"


class JarHashChangedTrigger(BaseTrigger):
    """Fires once, when an application is another than the newest model was trained with; for `JarHashSensor`.

    Its event is ``{"status": "changed", "result": ...}``, or ``{"status": "failed", "reason": ...}`` where
    waiting is vain.

    Args:
        application: path or address of the JAR or .py file.
        job: the job's name in the store; None where `known_sha256` is given.
        dependencies: further files of the application.
        instance_type: the type of machine that the model must be of; None for any.
        known_sha256: the hash to compare with; None for that of the newest model.
        store: root of the model store; None for ``[ernest] store``.
        poll_seconds: between two looks.
        settle_seconds: for how long files must stay as they are before they are read.
    """

    def __init__(
        self,
        *,
        application: str,
        job: str | None,
        dependencies: str | Sequence[str] = (),
        instance_type: str | None = None,
        known_sha256: str | None = None,
        store: str | None = None,
        poll_seconds: float = DEFAULT_POLL_SECONDS,
        settle_seconds: float = DEFAULT_SETTLE_SECONDS,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.application = application
        self.job = job
        self.dependencies = sorted(listed_paths("dependencies", dependencies))
        self.instance_type = instance_type
        self.known_sha256 = known_sha256
        self.store = store
        self.poll_seconds = float(poll_seconds)
        self.settle_seconds = float(settle_seconds)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, all plain values."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "application": self.application,
                "job": self.job,
                "dependencies": self.dependencies,
                "instance_type": self.instance_type,
                "known_sha256": self.known_sha256,
                "store": self.store,
                "poll_seconds": self.poll_seconds,
                "settle_seconds": self.settle_seconds,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look again and again until the application is another."""
        from airflow_provider_ernest.privacy import without_credentials

        try:
            event = {"status": CHANGED, "result": await self._wait()}
        except Exception as error:  # so that the sensor can say what is wrong
            event = {"status": FAILED, "reason": without_credentials(f"{type(error).__name__}: {error}")}
        yield TriggerEvent(event)  # type: ignore[no-untyped-call]

    async def _wait(self) -> dict[str, Any]:
        comparison = await in_thread(self._make_comparison)
        while True:
            found = await in_thread(comparison.compare)
            if found.result is not None:
                return found.result
            await asyncio.sleep(self.poll_seconds if found.wait_seconds is None else found.wait_seconds)

    def _make_comparison(self) -> HashComparison:
        from airflow_provider_ernest.store.store import ModelStore
        from airflow_provider_ernest.store_location import store_root

        return HashComparison(
            application=self.application,
            dependencies=self.dependencies,
            job=self.job,
            instance_type=self.instance_type,
            known_sha256=self.known_sha256,
            store=ModelStore(store_root(self.store)),
            settle_seconds=self.settle_seconds,
            log=self.log,
        )


# ---------------------------------------------------------------------------
# Whether an application is another than the newest model was trained with, for a sensor and its trigger.


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
        from airflow_provider_ernest.triggers.jar_hash import newest_model

        return newest_model(self._store, self._job or "", self._instance_type)

    def _reason(self, found: str, known: str | None, model: CatalogueEntry | None) -> str:
        if known is None and model is None:
            where = f" on {self._instance_type}" if self._instance_type else ""
            return f"The store has no model of {self._job!r}{where}: there is nothing to wait for."
        if known is None and model is not None:
            return f"The model {model.id} does not know what application it was trained with."
        of = f"the model {model.id} was trained with it" if model else "was given"
        return f"The application is {found[:_SHOWN]} now, no longer {(known or '')[:_SHOWN]} as {of}."
