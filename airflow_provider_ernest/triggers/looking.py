"""Looking at an application for a trigger or a sensor, and telling in the log how that goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.spark.artifact import artifact_paths, is_of_the_machines

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.artifact_watch import Look


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
        from airflow_provider_ernest.spark.artifact_watch import ArtifactWatch
        from airflow_provider_ernest.triggers.known_hashes import KnownHashes
        from airflow_provider_ernest.triggers.s3_files import s3_opener

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
        from airflow_provider_ernest.addresses import without_credentials

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
        from airflow_provider_ernest.addresses import without_credentials

        changed = self._known.changed(known_sha256, look.hashes)
        return None if changed is None else [without_credentials(path) for path in changed]

    def _tell(self, look: Look) -> None:
        from airflow_provider_ernest.addresses import without_credentials
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
