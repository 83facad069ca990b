"""The executors of an application, as its event log tells of them: who came, and who was lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, kw_only=True)
class Executor:
    """An executor as it registered with the driver.

    Attributes:
        host: address of its machine.
        worker: address of the worker daemon (host:port) that runs it, the host where none is known.
        cores: the cores it brought.
        added_at: when it registered, seconds since the epoch.
        id: Spark's id of it.
    """

    host: str
    worker: str
    cores: int
    added_at: float
    id: str = ""


@dataclass(frozen=True, kw_only=True)
class LostExecutor:
    """An executor that was removed while its application needed it.

    Attributes:
        id: Spark's id of it.
        worker: of the executor.
        reason: Spark's words.
        removed_at: seconds since the epoch.
    """

    id: str
    worker: str
    reason: str
    removed_at: float

    def __str__(self) -> str:
        return f"executor {self.id} on machine {self.worker} ({self.reason})"


def added_executor(event: dict[str, Any]) -> Executor:
    """Read an event SparkListenerExecutorAdded."""
    info = event["Executor Info"]
    # The log page is served by the worker daemon: its address tells two workers of one host apart.
    log_urls = info.get("Log Urls") or {}
    address = urlsplit(log_urls.get("stderr", "")).netloc
    return Executor(
        host=info["Host"],
        worker=address or info["Host"],
        cores=info["Total Cores"],
        added_at=event["Timestamp"] / 1000,
        id=str(event.get("Executor ID", "")),
    )


def lost_executor(event: dict[str, Any], known: Iterable[Executor]) -> LostExecutor | None:
    """Read an event SparkListenerExecutorRemoved.

    Args:
        event: as logged.
        known: the executors that have registered.

    Returns:
        None for one that never registered: its process did not start, and the run has lost nothing by it.
    """
    executor_id = str(event.get("Executor ID", ""))
    executor = next((one for one in known if one.id == executor_id), None)
    if executor is None:
        return None
    return LostExecutor(
        id=executor_id,
        worker=executor.worker,
        reason=" ".join(str(event.get("Removed Reason") or "no reason told").split()).rstrip("."),
        removed_at=event["Timestamp"] / 1000,
    )
