"""One attempt of a task in a process of its own, that a test can kill.

Takes a JSON document on standard input: the operator's module, class and arguments, and the number of the
attempt. Prints what the operator returned, or that it was deferred. A SIGTERM does what Airflow's task runner
does: it calls the operator's on_kill.
"""

from __future__ import annotations

import importlib
import json
import logging
import signal
import sys
from typing import Any


class TaskInstance:
    """What an operator sees of its task instance."""

    dag_id = "nightly"
    map_index = -1

    def __init__(self, run_id: str, task_id: str, try_number: int) -> None:
        self.run_id = run_id
        self.task_id = task_id
        self.try_number = try_number

    def xcom_push(self, key: str, value: Any) -> None:
        pass


def main() -> None:
    task = json.load(sys.stdin)
    logging.basicConfig(level=logging.INFO, stream=sys.stdout)
    operator = getattr(importlib.import_module(task["module"]), task["operator"])(
        task_id=task["task_id"], **task["arguments"]
    )
    signal.signal(signal.SIGTERM, lambda _signal, _frame: operator.on_kill())

    from airflow.sdk.exceptions import TaskDeferred

    try:
        returned = operator.execute({"ti": TaskInstance(task["run_id"], task["task_id"], task["try_number"])})
    except TaskDeferred as deferred:
        sys.stdout.write(f"DEFERRED {json.dumps(deferred.trigger.serialize()[1])}\n")
    else:
        sys.stdout.write(f"RETURNED {json.dumps(returned)}\n")


if __name__ == "__main__":
    main()
