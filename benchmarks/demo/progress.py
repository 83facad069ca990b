"""What a DAG run is doing, as plain lines of text that read well on a terminal and in a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from benchmarks.demo.api import FINISHED_RUN_STATES, AirflowApi, AirflowApiError, TaskInstance

_POLL_SECONDS = 1.0
_ACTIVE_STATES = frozenset({"running", "deferred", "restarting"})
_FAILURE_STATES = frozenset({"failed", "up_for_retry"})


def follow_run(
    api: AirflowApi,
    dag_id: str,
    run_id: str,
    *,
    timeout_seconds: float,
    heartbeat_seconds: float = 15.0,
    log_lines: int = 40,
    write: Callable[[str], None] = print,
) -> list[TaskInstance]:
    """Print what a DAG run does until it ends, by lines that `write` takes.

    There is a line for each change of a task's state, with the seconds since this call, and at least every
    `heartbeat_seconds` one on what is running. Of a task that fails, the last `log_lines` of its log are
    printed.

    Returns:
        The run's task instances as they ended: a run whose work failed counts as successful to Airflow if its
        last tasks did not fail.

    Raises:
        TimeoutError: it has not ended in time. It is left running.
        AirflowApiError: Airflow does not answer.
    """
    printer = _Printer(write)
    while True:
        state = api.run_state(dag_id, run_id)
        tasks = api.task_instances(dag_id, run_id)
        for task in printer.changes(tasks):
            if task.state in _FAILURE_STATES:
                write(_log_tail(api, dag_id, run_id, task, log_lines))
        if state in FINISHED_RUN_STATES:
            counts = Counter(task.state or "no state" for task in tasks)
            summary = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
            printer.line(f"DAG run {run_id}: {state} ({summary})")
            return tasks
        if printer.elapsed_seconds > timeout_seconds:
            raise TimeoutError(
                f"DAG {dag_id}, run {run_id}, has not ended in {timeout_seconds:.0f} s: {_activity(tasks)}."
            )
        if printer.silent_seconds >= heartbeat_seconds:
            printer.line(_activity(tasks))
        time.sleep(_POLL_SECONDS)


class _Printer:
    """Writes lines that begin with the time since the start, and remembers what it has told."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._started = self._last_line = time.monotonic()
        self._told: dict[tuple[str, int], tuple[str | None, int]] = {}

    @property
    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def silent_seconds(self) -> float:
        return time.monotonic() - self._last_line

    def line(self, text: str) -> None:
        self._last_line = time.monotonic()
        self._write(f"{self.elapsed_seconds:6.0f} s  {text}")

    def changes(self, tasks: list[TaskInstance]) -> list[TaskInstance]:
        """Tell the changes of state since the last call; return the tasks that changed."""
        changed = []
        for task in sorted(tasks, key=lambda task: (task.start is None, task.start, task.map_index)):
            key, now = (task.task_id, task.map_index), (task.state, task.try_number)
            # "scheduled" lasts for one turn of the scheduler: of no interest.
            if task.state in (None, "scheduled") or self._told.get(key) == now:
                continue
            self._told[key] = now
            changed.append(task)
            attempt = f", try {task.try_number}" if task.try_number > 1 else ""
            duration = f" after {task.elapsed_seconds:.1f} s" if task.end else ""
            self.line(f"{task.label:<44} {task.state}{duration}{attempt}")
        return changed


def _activity(tasks: list[TaskInstance]) -> str:
    """What runs and for how long, or else what waits."""
    running = [task for task in tasks if task.state in _ACTIVE_STATES]
    if running:
        names = (f"{task.label} {task.state} for {task.elapsed_seconds:.0f} s" for task in running)
        return "... " + ", ".join(names)
    waiting = Counter(task.state or "waiting" for task in tasks if task.end is None)
    return "... nothing runs: " + (
        ", ".join(f"{count} {name}" for name, count in waiting.items()) or "no tasks"
    )


def _log_tail(api: AirflowApi, dag_id: str, run_id: str, task: TaskInstance, lines: int) -> str:
    try:
        tail = api.task_log(dag_id, run_id, task)[-lines:]
    except AirflowApiError as error:
        tail = [f"(the log cannot be read: {error})"]
    return "\n".join([f"---- log of {task.label}, try {task.try_number} ----", *tail, "----"])
