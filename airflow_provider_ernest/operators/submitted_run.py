"""A production run as its task sees it: when it was submitted, and where its event log lies."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.spark.run_record import application_id_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

WAITING_PROPERTIES = ("spark.yarn.submit.waitAppCompletion", "spark.kubernetes.submission.waitAppCompletion")


class SubmittedRun:
    """A run that is about to be submitted by a hook.

    Args:
        hook: the hook, before it submits.
        finds_event_log: whether to look for its event log, in a folder where others' may lie, too, and many.
    """

    def __init__(self, hook: SparkSubmitHook, *, finds_event_log: bool) -> None:
        self.submitted_at = time.time()
        self._hook = hook
        # Looked at now: the stock operator sets them, too, but later, and then waits in another way.
        unawaited = (key for key in WAITING_PROPERTIES if str(hook._conf.get(key)).lower() == "false")
        self._unawaited = next(unawaited, "")
        self._folder = event_log_folder(hook._conf) if finds_event_log else None
        self._before = {application_id_of(path) for path in self._logs()}

    @property
    def untimed_because(self) -> str:
        """Why its time is not the time that passed in this task; empty where it is."""
        if getattr(self._hook, "_submit_sp", None) is None:
            return "an earlier attempt had submitted it"
        return f"{self._unawaited} let spark-submit end before it" if self._unawaited else ""

    @property
    def event_log(self) -> Path | None:
        """Its event log; None where it lies elsewhere, or others began one there, or it is not looked for."""
        # By application, not by file: Spark renames each log when its application ends.
        found = [path for path in self._logs() if application_id_of(path) not in self._before]
        return found[0] if len(found) == 1 else None

    @property
    def application_id(self) -> str | None:
        """Spark's id of it, by its event log's name or as spark-submit told; None where neither tells."""
        event_log = self.event_log
        if event_log is not None:
            return application_id_of(event_log)
        return getattr(self._hook, "_yarn_application_id", None)

    def _logs(self) -> Iterable[Path]:
        if self._folder is None:
            return []
        try:
            return [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        # A path with a null character is no path.
        except (OSError, ValueError):
            return []


def event_log_folder(conf: Mapping[Any, Any]) -> Path | None:
    """The folder of this host that a run's properties send its event log to; None for any other place."""
    place = str(conf.get("spark.eventLog.dir") or "")
    path = Path(place.removeprefix("file://").removeprefix("file:"))
    return path if path.is_absolute() else None
