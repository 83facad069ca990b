"""Telling in the triggerer of each change of an application, as events of an asset."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ernest.exceptions import (
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
    StoreError,
)
from airflow_provider_ernest.spark.artifact import artifact_paths, is_of_the_machines, listed_paths
from airflow_provider_ernest.triggers.threads import in_thread

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.artifact_watch import ArtifactWatch, Look
    from airflow_provider_ernest.store.catalogue import CatalogueEntry
    from airflow_provider_ernest.store.store import ModelStore


# ---------------------------------------------------------------------------
# When an event that a trigger has yielded is in Airflow's database.
#
# A trigger is resumed as soon as Airflow has put its event into a list. About each second the process that
# runs the triggers sends that list to its parent, which stores the events before it reads the next message.
# So
# an event is stored when the parent has answered, first, so that no earlier message is under way, then,
# after more than that second, a question, and then another.


SECONDS_BETWEEN_MESSAGES = 1.0
"""How long the process that runs the triggers waits between two messages."""

_STEPS = 4
"""So many times it is waited for as long: what blocks the event loop shortens one of them only."""

UNANSWERED_SECONDS = 10.0
"""Where this version of Airflow cannot be asked, an event counts as stored after so long."""

_ANY_DAG = "ernest"


async def handed_over(
    *,
    ask: Callable[[], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Return when Airflow has stored the events that were yielded before.

    Args:
        ask: asks the parent process something; None for the number of a DAG's runs.
        sleep: waits so many seconds.
    """
    ask = ask or _ask
    try:
        await _answered(ask, sleep)
        for _ in range(_STEPS):
            await sleep(SECONDS_BETWEEN_MESSAGES)
        await _answered(ask, sleep)
        await _answered(ask, sleep)
    except (ImportError, AttributeError, NameError):
        await sleep(UNANSWERED_SECONDS)


async def _answered(ask: Callable[[], None], sleep: Callable[[float], Awaitable[None]]) -> None:
    """Return when there is an answer: without, the event may still be on its way."""
    while True:
        try:
            return await in_thread(ask)
        except (ImportError, AttributeError, NameError):
            raise
        # Whatever else is wrong may pass, such as a database that is away.
        except Exception:
            await sleep(SECONDS_BETWEEN_MESSAGES)


def _ask() -> None:
    """Ask the parent of the process that runs the triggers something that costs little."""
    from airflow.sdk.exceptions import AirflowRuntimeError
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    try:
        RuntimeTaskInstance.get_dr_count(_ANY_DAG)
    except AirflowRuntimeError:
        # An error that it answers with is an answer.
        return


# ---------------------------------------------------------------------------


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
        from airflow_provider_ernest.privacy import without_credentials

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
        from airflow_provider_ernest.store.store import ModelStore
        from airflow_provider_ernest.store_location import store_root

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
        from airflow_provider_ernest.privacy import without_credentials

        return {
            "sha256": change.sha256,
            "previous_sha256": change.previous_sha256,
            "job": self.job,
            "application": without_credentials(self.application),
            "seen_at": change.seen_at,
            "sequence": change.sequence,
        }


# ---------------------------------------------------------------------------
# Hashes that outlive the process that took them, so that another need not read the files again.
#
# They lie in the model store under ``.artifacts/looks``. Nothing is kept but hashes: of contents, and of
# paths
# and what storages told.


log = logging.getLogger(__name__)

FOLDER = ".artifacts"
"""Under the store's root. No job's folder has this name."""

KEPT = 10
"""Looks that are kept of an application."""


def digest_of(*parts: Any) -> str:
    """A file name for what is told apart by these parts."""
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


class KnownHashes:
    """The last looks at the files of an application.

    Args:
        root: of the model store.
        paths: the application's files.
    """

    def __init__(self, root: Any, paths: Sequence[str]) -> None:
        self._folder = root / FOLDER / "looks" / digest_of(*paths)
        self._has_warned = False

    def recall(self, watch: ArtifactWatch) -> None:
        """Let a watch know them. What cannot be read is left out: the files are read instead."""
        for look in self._looks():
            watch.remember(look["probes"])

    def keep(self, watch: ArtifactWatch, look: Look) -> None:
        """Keep what a watch has found. Where that is not possible, a warning says so, once."""
        from airflow_provider_ernest.documents import new_id
        from airflow_provider_ernest.store.files import create_whole, store_errors

        document = {
            "sha256": look.sha256,
            "contents": {digest_of(path): content for path, content in look.hashes.items()},
            "probes": watch.known,
        }
        try:
            with store_errors(f"The hashes of the application cannot be kept in {self._folder}"):
                self._folder.mkdir(parents=True, exist_ok=True)
                create_whole(self._folder / f"{new_id(datetime.now(UTC))}.json", json.dumps(document))
                for path in self._paths()[:-KEPT]:
                    path.unlink(missing_ok=True)
        except StoreError as error:
            if not self._has_warned:
                log.warning("%s Its files will be read more often.", error)
            self._has_warned = True

    def changed(self, known_sha256: str | None, hashes: Mapping[str, str]) -> list[str] | None:
        """Which files changed since the application had another hash; None where that is not known.

        Args:
            known_sha256: the hash that it had.
            hashes: of its files now, by path.
        """
        if known_sha256 is None:
            return None
        if len(hashes) == 1:
            return list(hashes)
        for look in self._looks():
            if look.get("sha256") == known_sha256:
                before = look["contents"]
                return [path for path, content in hashes.items() if before.get(digest_of(path)) != content]
        return None

    def _looks(self) -> list[dict[str, Any]]:
        from airflow_provider_ernest.store.files import store_errors

        try:
            with store_errors(f"The hashes in {self._folder} cannot be read"):
                paths = self._paths()[-KEPT:]
        except StoreError as error:
            log.info("%s", error)
            return []
        looks = map(_read_hashes, paths)
        return [look for look in looks if look is not None]

    def _paths(self) -> list[Any]:
        from airflow_provider_ernest.store.files import files

        return sorted(files(self._folder), key=lambda path: str(path.name))


def _read_hashes(path: Any) -> dict[str, Any] | None:
    """The look in a file, None where there is none: another process may have deleted it just now."""
    from airflow_provider_ernest.store.files import decode_json, store_errors

    try:
        with store_errors(f"The hashes in {path} cannot be read"):
            document = decode_json(path.read_text(encoding="utf-8"))
    except StoreError as error:
        log.info("%s", error)
        return None
    tables = [document.get(name) for name in ("probes", "contents")] if isinstance(document, dict) else [None]
    return document if all(isinstance(table, dict) for table in tables) else None


# ---------------------------------------------------------------------------
# Looking at an application for a trigger or a sensor, and telling in the log how that goes.


def watched_paths(application: str, dependencies: str | Sequence[str] | None) -> tuple[str, ...]:
    """The files to watch, each once.

    Args:
        application: path or address of the JAR or .py file.
        dependencies: further files: a list, or a text with commas between.

    Raises:
        InvalidParameterError: there are none, or only the cluster's machines can read the application.
    """
    if not application:
        raise InvalidParameterError("application", application, "names no file")
    if is_of_the_machines(application):
        raise InvalidParameterError(
            "application",
            application,
            "is a file of the cluster's machines, which Airflow cannot watch",
            remedy="Give a path or an address that Airflow can read.",
        )
    return artifact_paths(application, {"jars": dependencies})


class Looking:
    """Looks at the files of an application, with what earlier processes knew of them.

    It logs what it finds when that is something else than the last time.

    Args:
        root: of the model store, where hashes are kept.
        paths: the application's files; see `watched_paths`.
        settle_seconds: see `ArtifactWatch`.
        log: the logger.
    """

    def __init__(self, root: Any, paths: Sequence[str], *, settle_seconds: float, log: Any) -> None:
        from airflow_provider_ernest.hooks.aws import s3_opener
        from airflow_provider_ernest.spark.artifact_watch import ArtifactWatch

        self._watch = ArtifactWatch(paths, settle_seconds=settle_seconds, open_s3=s3_opener())
        self._known = KnownHashes(root, paths)
        self._is_first = True
        self._log = log
        self._told: tuple[str, str, str] | None = None

    def look(self) -> Look:
        """Look once.

        Raises:
            MissingResourceError: nothing installed reads one of the addresses.
            InvalidParameterError: one of them names no file.
        """
        from airflow_provider_ernest.privacy import without_credentials

        if self._is_first:
            self._known.recall(self._watch)
            self._is_first = False
        try:
            look = self._watch.look()
        except MissingResourceError as error:
            raise MissingResourceError(without_credentials(error.message), remedy=error.remedy) from None
        if look.is_new:
            self._known.keep(self._watch, look)
        self._tell(look)
        return look

    def changed(self, known_sha256: str | None, look: Look) -> list[str] | None:
        """Which files changed since the application had another hash; None where that is not known."""
        from airflow_provider_ernest.privacy import without_credentials

        changed = self._known.changed(known_sha256, look.hashes)
        return None if changed is None else [without_credentials(path) for path in changed]

    def _tell(self, look: Look) -> None:
        from airflow_provider_ernest.privacy import without_credentials
        from airflow_provider_ernest.spark.artifact_watch import MISSING, SETTLED, SETTLING, TROUBLE

        state = (look.state, look.path, type(look.problem).__name__)
        if state == self._told:
            return
        is_over = self._told is not None and self._told[0] in (MISSING, TROUBLE)
        self._told = state
        path = without_credentials(look.path)
        if look.state == MISSING:
            self._log.info("There is no %s yet, or not at the moment: waiting for it.", path)
        elif look.state == TROUBLE:
            # What the libraries behind storages say may hold the address with its password.
            problem = without_credentials(str(look.problem).replace(look.path, path))
            self._log.warning(
                "%s cannot be looked at now and will be again: %s: %s",
                path,
                type(look.problem).__name__,
                problem,
            )
        elif look.state == SETTLING:
            self._log.info(
                "The application's files are new here, or being written: waiting until they settle."
            )
        elif look.state == SETTLED and is_over:
            self._log.info("The application can be looked at again.")


# ---------------------------------------------------------------------------
# What a watch has seen and told, kept so that a triggerer which starts anew neither misses nor doubles it.
#
# One folder for each watch, in the model store under ``.artifacts/watches``, of files that are only ever
# added:
#
# * ``00000001.change.json``: the hash that was seen as the first change (number 0 is what it began with),
# * ``00000001.told-1``: a triggerer is about to tell it, for the first time,
# * ``00000001.confirmed``: Airflow has stored the event.
#
# The number is taken by creating the file, which only one of several triggerers can. So A, B, A are three
# entries, and a hash that was told is told again when it comes back.


LEASE_SECONDS = 60.0
"""What another triggerer began to tell, and has not confirmed for so long, is told again."""

_CHANGE, _TOLD, _CONFIRMED = ".change.json", ".told-", ".confirmed"
_DIGITS = 8


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of an application.

    Attributes:
        sequence: its number; 0 for what the watch began with, which is no change and is not told.
        sha256: the hash that was seen.
        previous_sha256: the one before; None for number 0.
        seen_at: ISO 8601 with UTC offset.
    """

    sequence: int
    sha256: str
    previous_sha256: str | None
    seen_at: str


class WatchJournal:
    """The changes that a watch has seen.

    Where the folder cannot be written, it goes on in memory, with a warning, and writes what is missing as
    soon as that is possible.

    Args:
        folder: of the watch: a `pathlib.Path` or anything with its methods.
        lease_seconds: see `LEASE_SECONDS`.
        clock: tells seconds that only grow.
    """

    def __init__(
        self,
        folder: Any,
        *,
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._changes: dict[int, Change] = {}
        self._attempts: dict[int, int] = {}
        self._attempted_at: dict[int, float] = {}
        self._confirmed: set[int] = set()
        self._unwritten: dict[str, str] = {}
        self._has_warned = False

    @property
    def last(self) -> Change | None:
        """The last change, as far as it is known here."""
        return self._changes[max(self._changes)] if self._changes else None

    def refresh(self) -> None:
        """Read what others have written.

        Raises:
            StoreError: the folder cannot be read.
        """
        from airflow_provider_ernest.store.files import files, store_errors

        with store_errors(f"The watch's state in {self.folder} cannot be read"):
            for path in sorted(files(self.folder), key=lambda path: str(path.name)):
                self._note(path)

    def add(self, sha256: str, *, seen_at: str) -> bool:
        """Note that the application has another hash now; returns whether that is how it was noted.

        It is not where another triggerer has noted something meanwhile, which `last` then tells.

        Raises:
            StoreError: what others have noted cannot be read.
        """
        last = self.last
        change = Change(
            sequence=last.sequence + 1 if last else 0,
            sha256=sha256,
            previous_sha256=last.sha256 if last else None,
            seen_at=seen_at,
        )
        if not self._write(f"{change.sequence:0{_DIGITS}}{_CHANGE}", json.dumps(asdict(change), indent=2)):
            self.refresh()
            return False
        self._changes[change.sequence] = change
        if change.sequence == 0:
            self._confirmed.add(0)
        return True

    def due(self) -> Change | None:
        """The oldest change that somebody has to tell, and nobody is known to be telling.

        Raises:
            StoreError: what others have noted cannot be read.
        """
        if self._untold():
            self.refresh()
        now = self._clock()
        for sequence in self._untold():
            attempted_at = self._attempted_at.get(sequence)
            if attempted_at is None or now - attempted_at >= self._lease_seconds:
                return self._changes[sequence]
        return None

    def claim(self, change: Change) -> bool:
        """Take it upon oneself to tell a change; returns whether nobody else was faster."""
        attempt = self._attempts.get(change.sequence, 0) + 1
        is_ours = self._write(f"{change.sequence:0{_DIGITS}}{_TOLD}{attempt}", "")
        self._attempts[change.sequence] = attempt
        self._attempted_at[change.sequence] = self._clock()
        return is_ours

    def confirm(self, change: Change) -> None:
        """Note that a change has been told for good."""
        self._write(f"{change.sequence:0{_DIGITS}}{_CONFIRMED}", "")
        self._confirmed.add(change.sequence)

    def _untold(self) -> list[int]:
        return sorted(self._changes.keys() - self._confirmed)

    def _note(self, path: Any) -> None:
        name = str(path.name)
        number, what = name[:_DIGITS], name[_DIGITS:]
        if not number.isdecimal():
            return
        sequence = int(number)
        if what == _CHANGE:
            if sequence not in self._changes:
                self._changes[sequence] = _read_journal(path, sequence)
            if sequence == 0 or not self._changes[sequence].sha256:
                self._confirmed.add(sequence)
        elif what == _CONFIRMED:
            self._confirmed.add(sequence)
        elif what.startswith(_TOLD) and what.removeprefix(_TOLD).isdecimal():
            attempt = int(what.removeprefix(_TOLD))
            if attempt > self._attempts.get(sequence, 0):
                self._attempts[sequence] = attempt
                self._attempted_at[sequence] = self._clock()

    def _write(self, name: str, text: str) -> bool:
        """Create a file, after those that could not be created earlier; False where there is one already."""
        from airflow_provider_ernest.store.files import create_whole, store_errors

        self._unwritten[name] = text
        is_created = True
        try:
            with store_errors(f"The watch's state in {self.folder} cannot be written"):
                self.folder.mkdir(parents=True, exist_ok=True)
                for earlier, content in list(self._unwritten.items()):
                    try:
                        create_whole(self.folder / earlier, content)
                    except FileExistsError:
                        is_created = is_created and earlier != name
                    del self._unwritten[earlier]
        except StoreError as error:
            if not self._has_warned:
                log.warning(
                    "%s It is kept in memory, so that a change may be missed or told twice when the "
                    "triggerer starts anew.",
                    error,
                )
            self._has_warned = True
        else:
            self._has_warned = False
        return is_created


def _read_journal(path: Any, sequence: int) -> Change:
    """The change in a file; one of no hash, which whatever comes is another than, where there is none."""
    from airflow_provider_ernest.store.files import decode_json

    try:
        document = decode_json(path.read_text(encoding="utf-8"))
        return Change(
            sequence=sequence,
            sha256=str(document["sha256"]),
            previous_sha256=document["previous_sha256"],
            seen_at=str(document["seen_at"]),
        )
    except (InvalidDocumentError, UnicodeDecodeError, KeyError, TypeError) as error:
        log.warning("%s is no change of an application, so the next look counts as one: %r", path, error)
        return Change(sequence=sequence, sha256="", previous_sha256=None, seen_at="")


# ---------------------------------------------------------------------------
# One step after the other of a watch that tells each change of an application; without Airflow's loop.


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


# ---------------------------------------------------------------------------
# The model that an application is compared with.


def newest_model(store: ModelStore, job: str, instance_type: str | None = None) -> CatalogueEntry | None:
    """What the catalogue says of a job's newest model, None where it has none.

    Args:
        store: the model store. Keep it where this is asked for often: it reads only what is new.
        job: the user's name of the job.
        instance_type: the type of machine; None for any.

    Raises:
        StoreError: the store cannot be read.
    """
    from airflow_provider_ernest.store.catalogue import MODEL

    models = (
        entry
        for entry in store.catalogue.entries()
        if entry.kind == MODEL and entry.job == job and instance_type in (None, entry.instance_type)
    )
    return max(models, key=lambda entry: entry.id, default=None)
