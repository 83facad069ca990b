"""A small client of Airflow's REST API: what a program needs to run a DAG and read what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import quote

import httpx

_POLL_SECONDS = 1.0
_PAGE = 100
# A busy machine and SQLite: a reading may fail once without anything being wrong.
_READ_ATTEMPTS = 4
# A file may be read while it is written: its error counts if it is still there after this time.
_IMPORT_ERROR_GRACE_SECONDS = 10.0

FINISHED_RUN_STATES = frozenset({"success", "failed"})


class AirflowApiError(RuntimeError):
    """Airflow refused a request or did not do what was waited for.

    Attributes:
        status: the HTTP status, None if there was no answer or none was the matter.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class TaskInstance:
    """One task, or one instance of a mapped task, of a DAG run; times are of its last try.

    Attributes:
        task_id: with the ids of its task groups.
        map_index: -1 where the task is not mapped.
        name: the rendered name of a mapped instance, its index as text by default; empty if not mapped.
        state: None until it is scheduled.
        try_number: 0 until it first starts.
    """

    task_id: str
    map_index: int
    name: str
    state: str | None
    try_number: int
    start: datetime | None
    end: datetime | None
    duration_seconds: float | None

    @property
    def label(self) -> str:
        """The task's id with the instance's name, for people."""
        return f"{self.task_id} [{self.name}]" if self.name else self.task_id

    @property
    def elapsed_seconds(self) -> float:
        """How long its last try took, or has been running; 0 if it never started."""
        if self.start is None:
            return 0.0
        if self.duration_seconds is not None and self.end is not None:
            return self.duration_seconds
        return ((self.end or datetime.now(UTC)) - self.start).total_seconds()

    @classmethod
    def from_response(cls, data: dict[str, Any]) -> TaskInstance:
        """Read one from the API's answer."""
        map_index = data["map_index"]
        return cls(
            task_id=data["task_id"],
            map_index=map_index,
            name=(data.get("rendered_map_index") or str(map_index)) if map_index >= 0 else "",
            state=data["state"],
            try_number=data["try_number"],
            start=_time(data["start_date"]),
            end=_time(data["end_date"]),
            duration_seconds=data["duration"],
        )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


class AirflowApi:
    """A client that is logged in; close it or use it as a context manager.

    All methods raise AirflowApiError, with the text of Airflow's answer, when it refuses.
    """

    def __init__(self, url: str, *, username: str, password: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=60.0, trust_env=False)
        credentials = {"username": username, "password": password}
        try:
            token = self._send("POST", "/auth/token", json=credentials).json()["access_token"]
        except BaseException:
            self.close()
            raise
        self._client.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, **params: Any) -> Any:
        """The JSON answer of ``GET /api/v2/<path>``; repeated when the server is too busy to answer."""
        for _attempt in range(_READ_ATTEMPTS - 1):
            try:
                return self._send("GET", f"/api/v2/{path}", params=params).json()
            except AirflowApiError as error:
                if error.status is not None and error.status < httpx.codes.INTERNAL_SERVER_ERROR:
                    raise
                time.sleep(_POLL_SECONDS)
        return self._send("GET", f"/api/v2/{path}", params=params).json()

    def import_errors(self) -> dict[str, str]:
        """The stack trace of each DAG file that cannot be imported."""
        errors = self.get("importErrors", limit=_PAGE)["import_errors"]
        return {error["filename"]: error["stack_trace"] for error in errors}

    def wait_for_dag(self, dag_id: str, *, timeout_seconds: float = 180.0) -> None:
        """Wait until Airflow has read a DAG.

        Raises:
            AirflowApiError: it is not there in time, or files with import errors, which the message
                shows, stay as they are.
        """
        deadline = time.monotonic() + timeout_seconds
        broken_since: float | None = None
        while not self._has_dag(dag_id):
            errors = self.import_errors()
            now = time.monotonic()
            broken_since = (broken_since or now) if errors else None
            if now > deadline or (broken_since and now - broken_since > _IMPORT_ERROR_GRACE_SECONDS):
                traces = "".join(f"\n{file}:\n{trace}" for file, trace in errors.items())
                raise AirflowApiError(
                    f"Airflow has no DAG {dag_id!r}.{traces or ' There are no import errors.'}"
                )
            time.sleep(_POLL_SECONDS)

    def _has_dag(self, dag_id: str) -> bool:
        try:
            self.get(f"dags/{quote(dag_id)}")
        except AirflowApiError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return False
            raise
        return True

    def unpause(self, dag_id: str) -> None:
        """Let a DAG's runs be scheduled."""
        self._send("PATCH", f"/api/v2/dags/{quote(dag_id)}", json={"is_paused": False})

    def trigger(self, dag_id: str, *, conf: dict[str, Any] | None = None) -> str:
        """Start a run of a DAG and return its id."""
        body = {"logical_date": None, "conf": conf or {}}
        answer = self._send("POST", f"/api/v2/dags/{quote(dag_id)}/dagRuns", json=body)
        return str(answer.json()["dag_run_id"])

    def run_state(self, dag_id: str, run_id: str) -> str:
        """queued, running, success or failed."""
        return str(self.get(_run_path(dag_id, run_id))["state"])

    def mark_failed(self, dag_id: str, run_id: str) -> None:
        """Mark a run as failed, as a person does in the UI: its running tasks are killed."""
        self._send("PATCH", f"/api/v2/{_run_path(dag_id, run_id)}", json={"state": "failed"})

    def task_instances(self, dag_id: str, run_id: str) -> list[TaskInstance]:
        """All task instances of a run."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances"
        found: list[TaskInstance] = []
        while True:
            page = self.get(path, limit=_PAGE, offset=len(found), order_by="id")
            found.extend(TaskInstance.from_response(data) for data in page["task_instances"])
            if not page["task_instances"] or len(found) >= page["total_entries"]:
                return found

    def xcom(
        self, dag_id: str, run_id: str, task_id: str, *, key: str = "return_value", map_index: int = -1
    ) -> Any:
        """What a task has pushed to XCom."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{quote(task_id)}/xcomEntries/{quote(key)}"
        return self.get(path, map_index=map_index)["value"]

    def task_log(self, dag_id: str, run_id: str, task: TaskInstance) -> list[str]:
        """The lines of the log of a task instance's last try."""
        path = f"{_run_path(dag_id, run_id)}/taskInstances/{quote(task.task_id)}/logs/{task.try_number}"
        answer = self.get(path, map_index=task.map_index, full_content="true")
        return [line for entry in answer["content"] for line in _log_lines(entry)]

    def clear(self, dag_id: str, run_id: str, task_id: str) -> None:
        """Let a task run again, and whatever comes after it."""
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": [task_id],
            "only_failed": False,
            "include_downstream": True,
        }
        self._send("POST", f"/api/v2/dags/{quote(dag_id)}/clearTaskInstances", json=body)

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._client.request(method, path, **options)
        except httpx.HTTPError as error:
            raise AirflowApiError(f"{method} {path}: no answer from Airflow ({error!r})") from error
        if response.is_error:
            raise AirflowApiError(
                f"{method} {path}: Airflow answered {response.status_code}: {response.text}",
                status=response.status_code,
            )
        return response


def _run_path(dag_id: str, run_id: str) -> str:
    return f"dags/{quote(dag_id)}/dagRuns/{quote(run_id, safe='')}"


def _log_lines(entry: dict[str, Any] | str) -> list[str]:
    """One entry of a structured log as plain text."""
    if isinstance(entry, str):
        return entry.splitlines()
    event = str(entry["event"])
    if event.startswith(("::group::", "::endgroup::")):  # the UI folds what lies between
        return []
    prefix = f"{str(entry.get('timestamp', ''))[11:19]} {entry.get('level', ''):<7} "
    lines = [prefix + line for line in event.splitlines()]
    # The cause comes after the exception that it led to.
    for error in entry.get("error_detail") or ():
        lines.extend(
            f"    {frame['filename']}:{frame['lineno']} in {frame['name']}" for frame in error["frames"]
        )
        lines.append(
            f"  {'caused by ' if error['is_cause'] else ''}{error['exc_type']}: {error['exc_value']}"
        )
    return lines
