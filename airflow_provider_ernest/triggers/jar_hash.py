"""Noticing that an application has changed: in the triggerer for an asset, in a task for a sensor.

`HashComparison` compares what `ArtifactWatch` finds with the newest model of the job.

An asset's trigger forgets what it has seen when it ends. Its successor compares with the newest model again:
a change that no model has been trained for yet is an event once more, and the run that it starts finds out
whether there is anything to do. So nothing is missed, and triggerers need not agree.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from inspect import signature
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

import airflow_provider_ernest.spark.artifact as artifact
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError, StoreError
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.triggers import in_thread

if TYPE_CHECKING:
    from airflow_provider_ernest.store.catalogue import CatalogueEntry
    from airflow_provider_ernest.store.store import ModelStore

DEFAULT_POLL_SECONDS = 60.0

_SHOWN = 12
"""Digits of a hash in a sentence."""


class JarHashTrigger(BaseEventTrigger):
    """Fires at each change of an application, for as long as an asset is watched; for an `AssetWatcher`.

    An event's payload is ``{"sha256", "previous_sha256", "job", "application", "seen_at"}``: the hash of the
    application and its dependencies, and the one before. A change back to an earlier hash is a change.
    Trouble with the storage or the store is logged, and passes.

    The job's newest model, on any type of machine, tells what the application was before the trigger started;
    without a model, the first look does. `dependencies` are what it is submitted with as py_files and jars.
    """

    _comparison: HashComparison | None = None
    _last_sha256: str | None = None
    _problem = ""

    def __init__(
        self,
        *,
        application: str,
        job: str,
        dependencies: str | Sequence[str] = (),
        poll_seconds: float = DEFAULT_POLL_SECONDS,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.application = application
        self.job = job
        self.dependencies = sorted(artifact.listed_paths("dependencies", dependencies))
        self.poll_seconds = float(poll_seconds)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, all plain values: equal triggers are one to Airflow."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {name: getattr(self, name) for name in signature(JarHashTrigger).parameters}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield an event for each change."""
        while True:
            found = await in_thread(self._look)
            if found.sha256 is not None:
                if found.has_changed and found.known_sha256 is not None:
                    payload = {
                        "sha256": found.sha256,
                        "previous_sha256": found.known_sha256,
                        "job": self.job,
                        "application": without_credentials(self.application),
                        "seen_at": datetime.now(UTC).isoformat(),
                    }
                    yield TriggerEvent(payload)  # type: ignore[no-untyped-call]
                self._last_sha256 = found.sha256
            await asyncio.sleep(artifact.SETTLE_SECONDS if found.is_settling else self.poll_seconds)

    def _look(self) -> Found:
        try:
            if self._comparison is None:
                self._comparison = HashComparison(
                    application=self.application, dependencies=self.dependencies, job=self.job, log=self.log
                )
            found = self._comparison.compare(self._last_sha256)
        # Airflow would start a trigger that raises again at once, and again.
        except Exception as error:
            # Without a traceback: what libraries say may hold an address with its password.
            problem = without_credentials(f"{type(error).__name__}: {error}")
            if problem != self._problem:
                self.log.warning("The application of %r cannot be watched now: %s", self.job, problem)
            self._problem = problem
            return Found()
        self._problem = ""
        if self._last_sha256 is None and found.sha256 is not None:
            self.log.info("The watch of %r begins with %s. %s", self.job, found.sha256[:_SHOWN], found.reason)
        return found


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a comparison found."""

    sha256: str | None = None  # of the application as it is; None if it is not known now
    known_sha256: str | None = None  # what it was compared with, if anything
    model_id: str | None = None  # the model with that hash; None if it is that of an earlier look
    reason: str = ""  # the same in a sentence
    is_settling: bool = False  # the files are new or being written: look again soon

    @property
    def has_changed(self) -> bool:
        """True if the application changed, or was never seen."""
        return self.sha256 is not None and self.sha256 != self.known_sha256

    def result(self) -> dict[str, Any]:
        """What a sensor returns."""
        return {name: value for name, value in asdict(self).items() if name != "is_settling"}


class HashComparison:
    """Compares an application with the newest model of a job. Its methods block.

    Trouble with the storage or the model store is a warning, given once, and passes with the next look.
    """

    def __init__(
        self,
        *,
        application: str,
        dependencies: str | Sequence[str],
        job: str,
        log: Any,
    ) -> None:
        from airflow_provider_ernest.hooks.aws import s3_clients
        from airflow_provider_ernest.hooks.store_location import model_store

        self._job = job
        self._store = model_store()
        self._log = log
        paths = watched_paths(application, dependencies)
        self._watch = artifact.ArtifactWatch(paths, s3_clients=s3_clients())
        self._warned = ""

    def compare(self, known_sha256: str | None = None) -> Found:
        """Look at the application; compare it with an earlier look's hash, else with the newest model's."""
        try:
            sha256 = self._watch.look()
        except MissingResourceError:
            raise
        except Exception as error:
            self._warn_of(error)
            return Found()
        if sha256 is None:
            return Found(is_settling=True)
        try:
            model = None if known_sha256 else newest_model(self._store, self._job)
        except StoreError as error:
            self._warn(f"The application will be compared with the model later. {error}")
            return Found()
        self._warned = ""
        known = known_sha256 or (model.artifact_sha256 if model else None)
        return Found(
            sha256=sha256,
            known_sha256=known,
            model_id=model.id if model else None,
            reason=self._reason(sha256, known, model),
        )

    def _warn_of(self, error: Exception) -> None:
        path = without_credentials(self._watch.looking_at)
        # fsspec's HTTP says that there is no such file whatever the server's answer was.
        if isinstance(error, FileNotFoundError):
            self._warn(f"There is no {path} now: waiting for it.")
        else:
            # What the libraries behind storages say may hold the address with its password.
            problem = without_credentials(str(error).replace(self._watch.looking_at, path))
            self._warn(f"{path} cannot be read now: {type(error).__name__}: {problem}")

    def _warn(self, message: str) -> None:
        if message != self._warned:
            self._log.warning("%s", message)
        self._warned = message

    def _reason(self, found: str, known: str | None, model: CatalogueEntry | None) -> str:
        which = f"that model {model.id} was trained with" if model else "of the last look"
        if known == found:
            return f"The application is the one {which}."
        if known is not None:
            return f"The application is {found[:_SHOWN]} now, not {known[:_SHOWN]} {which}."
        if model is not None:
            return f"The model {model.id} does not know what application it was trained with."
        return f"The store has no model of {self._job!r}: there is nothing to compare with."


def newest_model(store: ModelStore, job: str) -> CatalogueEntry | None:
    """The catalogue's entry of a job's newest model, on any type of machine; None without one."""
    from airflow_provider_ernest.store.catalogue import MODEL

    models = (entry for entry in store.catalogue.entries(job) if entry.kind == MODEL)
    return max(models, key=lambda entry: entry.id, default=None)


def watched_paths(application: str, dependencies: str | Sequence[str] | None) -> tuple[str, ...]:
    """The application, then its dependencies (a list, or a text with commas between), each once.

    Raises:
        InvalidParameterError: there is no application, or only the cluster's machines can read it.
    """
    if not application:
        raise InvalidParameterError("application", application, "names no file")
    if artifact.is_of_the_machines(application):
        raise InvalidParameterError(
            "application",
            application,
            "is a file of the cluster's machines, which Airflow cannot watch",
            remedy="Give a path or an address that Airflow can read.",
        )
    return artifact.artifact_paths(application, {"jars": dependencies})
