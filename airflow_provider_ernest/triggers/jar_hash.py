"""Telling in the triggerer of each change of an application, as events of an asset."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ernest.spark.artifact import listed_paths
from airflow_provider_ernest.triggers.handing_over import handed_over
from airflow_provider_ernest.triggers.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_ernest.triggers.change_watch import ChangeWatch, Step
    from airflow_provider_ernest.triggers.watch_journal import Change

DEFAULT_POLL_SECONDS = 60.0
DEFAULT_SETTLE_SECONDS = 5.0


class JarHashTrigger(BaseEventTrigger):
    """Tells each change of an application, for as long as an asset is watched; for an `AssetWatcher`.

    An event's payload is ``{"sha256", "previous_sha256", "job", "application", "seen_at", "sequence"}``: the
    hash of the application and its dependencies, the one before, and the number of the change in this watch.

    What has been seen and told is kept in the model store, so that a triggerer which starts anew tells what
    has changed meanwhile, and nothing twice that Airflow has stored. A change back to an earlier hash is a
    change. Trouble with the storage or the store is logged, and passes.

    Args:
        application: path or address of the JAR or .py file.
        job: the job's name in the store. The newest model of it, on any type of machine, tells what the
            application was before the watch first began; without one the first look does.
        dependencies: further files of the application: what the job is submitted with as py_files and jars.
        store: root of the model store; None for ``[ernest] store``.
        watch: name of the watch: those of one name, application, dependencies and job tell each change
            once, together. Give each asset's a name of its own.
        poll_seconds: between two looks.
        settle_seconds: for how long files must stay as they are before they are read.
    """

    def __init__(
        self,
        *,
        application: str,
        job: str,
        dependencies: str | Sequence[str] = (),
        store: str | None = None,
        watch: str = "",
        poll_seconds: float = DEFAULT_POLL_SECONDS,
        settle_seconds: float = DEFAULT_SETTLE_SECONDS,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.application = application
        self.job = job
        self.dependencies = sorted(listed_paths("dependencies", dependencies))
        self.store = store
        self.watch = watch
        self.poll_seconds = float(poll_seconds)
        self.settle_seconds = float(settle_seconds)
        self._watch: ChangeWatch | None = None
        self._problem = ""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, all plain values: equal triggers are one to Airflow."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "application": self.application,
                "job": self.job,
                "dependencies": self.dependencies,
                "store": self.store,
                "watch": self.watch,
                "poll_seconds": self.poll_seconds,
                "settle_seconds": self.settle_seconds,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look again and again, and tell each change."""
        while True:
            step = await in_thread(self._step)
            if step.tell is None:
                await asyncio.sleep(step.wait_seconds)
                continue
            yield TriggerEvent(self._payload(step.tell))  # type: ignore[no-untyped-call]
            # Until Airflow has it in its database, the change counts as not told.
            await handed_over()
            await in_thread(partial(self._confirm, step.tell))

    def _step(self) -> Step:
        from airflow_provider_ernest.addresses import without_credentials
        from airflow_provider_ernest.triggers.change_watch import Step

        try:
            if self._watch is None:
                self._watch = self._make_watch()
            step = self._watch.step()
        # Airflow would start a trigger that raises again at once, and again.
        except Exception as error:
            # Without a traceback: what libraries say may hold an address with its password.
            problem = without_credentials(f"{type(error).__name__}: {error}")
            if problem != self._problem:
                self.log.warning("The application of %r cannot be watched now: %s", self.job, problem)
            self._problem = problem
            return Step(wait_seconds=self.poll_seconds)
        self._problem = ""
        return step

    def _confirm(self, change: Change) -> None:
        assert self._watch is not None
        self._watch.confirm(change)

    def _make_watch(self) -> ChangeWatch:
        from airflow_provider_ernest.model.store import ModelStore
        from airflow_provider_ernest.store_location import store_root
        from airflow_provider_ernest.triggers.change_watch import ChangeWatch

        return ChangeWatch(
            application=self.application,
            dependencies=self.dependencies,
            job=self.job,
            store=ModelStore(store_root(self.store)),
            name=self.watch,
            poll_seconds=self.poll_seconds,
            settle_seconds=self.settle_seconds,
            log=self.log,
        )

    def _payload(self, change: Change) -> dict[str, Any]:
        from airflow_provider_ernest.addresses import without_credentials

        return {
            "sha256": change.sha256,
            "previous_sha256": change.previous_sha256,
            "job": self.job,
            "application": without_credentials(self.application),
            "seen_at": change.seen_at,
            "sequence": change.sequence,
        }
