"""One step after the other of a watch that tells each change of an application; without Airflow's loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.triggers.known_hashes import FOLDER, digest_of
from airflow_provider_ernest.triggers.looking import Looking, watched_paths
from airflow_provider_ernest.triggers.watch_journal import LEASE_SECONDS, Change, WatchJournal

AT_ONCE_SECONDS = 0.1


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is to be done next.

    Attributes:
        tell: the change to tell, None where there is none.
        wait_seconds: until the next step.
    """

    tell: Change | None = None
    wait_seconds: float = 0.0


class ChangeWatch:
    """A watch over an application for the changes since the newest model, or since it began.

    Its methods block.

    Args:
        application: path or address of the JAR or .py file.
        dependencies: further files.
        job: the job whose newest model tells what the application was when the watch first began. Where it
            has none, or one that does not know, the first look tells that.
        store: the model store.
        name: of the watch: those of one name, application, dependencies and job share what they have told.
        poll_seconds: between two looks.
        settle_seconds: see `ArtifactWatch`.
        lease_seconds: see `WatchJournal`; None for `LEASE_SECONDS`.
        log: the logger.
    """

    def __init__(
        self,
        *,
        application: str,
        dependencies: Sequence[str],
        job: str,
        store: Any,
        name: str,
        poll_seconds: float,
        settle_seconds: float,
        lease_seconds: float | None = None,
        log: Any,
    ) -> None:
        paths = watched_paths(application, dependencies)
        self._job = job
        self._store = store
        self._poll_seconds = poll_seconds
        self._settle_seconds = settle_seconds
        self._log = log
        self._looking = Looking(store.root, paths, settle_seconds=settle_seconds, log=log)
        watch = digest_of(name, job, paths[0], *sorted(paths[1:]))
        self._journal = WatchJournal(
            store.root / FOLDER / "watches" / watch,
            lease_seconds=LEASE_SECONDS if lease_seconds is None else lease_seconds,
        )
        self._is_read = False
        self._store_problem = ""

    def step(self) -> Step:
        """Look, and say what is next.

        Raises:
            MissingResourceError: nothing installed reads one of the addresses.
            InvalidParameterError: one of them names no file.
        """
        try:
            step = self._step()
        except StoreError as error:
            if not self._store_problem:
                self._log.warning("Changes are told when the model store can be read again. %s", error)
            self._store_problem = str(error)
            return Step(wait_seconds=self._poll_seconds)
        if self._store_problem:
            self._log.info("The model store can be read again.")
        self._store_problem = ""
        return step

    def confirm(self, change: Change) -> None:
        """Note that Airflow has stored the event of a change."""
        self._journal.confirm(change)

    def _step(self) -> Step:
        if not self._is_read:
            self._journal.refresh()
            self._is_read = True
        # What an earlier process has seen and not told for good, before anything new.
        due = self._journal.due()
        if due is not None:
            return self._tell(due)
        look = self._looking.look()
        if look.sha256 is None:
            is_settling = look.state == "settling"
            return Step(wait_seconds=self._settle_seconds if is_settling else self._poll_seconds)
        if self._journal.last is None:
            self._begin(look.sha256)
        last = self._journal.last
        if last is None or last.sha256 == look.sha256:
            return Step(wait_seconds=self._poll_seconds)
        self._journal.add(look.sha256, seen_at=_now())
        # At once: the change is due, or another triggerer has noted one, and this look may be older.
        return Step(wait_seconds=AT_ONCE_SECONDS)

    def _begin(self, sha256: str) -> None:
        """Note what the application was before the first change."""
        from airflow_provider_ernest.triggers.newest_model import newest_model

        model = newest_model(self._store, self._job)
        trained_with = model.artifact_sha256 if model else None
        self._journal.add(trained_with or sha256, seen_at=_now())
        if model is None:
            since = f"as it is now ({sha256[:12]}): the store has no model of {self._job!r}"
        elif trained_with is None:
            since = (
                f"as it is now ({sha256[:12]}): the model {model.id} does not know what it was trained with"
            )
        else:
            since = f"as the model {model.id} was trained with it ({trained_with[:12]})"
        self._log.info("The watch begins with the application %s.", since)

    def _tell(self, change: Change) -> Step:
        if not self._journal.claim(change):
            return Step(wait_seconds=AT_ONCE_SECONDS)
        return Step(tell=change)


def _now() -> str:
    return datetime.now(UTC).isoformat()
