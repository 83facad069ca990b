"""Waiting in the triggerer, for a sensor, until an application is another than a model was trained with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ernest.spark.artifact import listed_paths
from airflow_provider_ernest.triggers.jar_hash import DEFAULT_POLL_SECONDS, DEFAULT_SETTLE_SECONDS
from airflow_provider_ernest.triggers.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_ernest.triggers.hash_comparison import HashComparison

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
        from airflow_provider_ernest.addresses import without_credentials

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
        from airflow_provider_ernest.model.store import ModelStore
        from airflow_provider_ernest.store_location import store_root
        from airflow_provider_ernest.triggers.hash_comparison import HashComparison

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
