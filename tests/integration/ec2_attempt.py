"""One attempt of a task in a process of its own, that a test can kill.

They are forked from a process that has imported what operators need, which would take most of their time.
A SIGTERM does what Airflow's task runner does: it calls the operator's on_kill.
"""

from __future__ import annotations

import importlib
import json
import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

PACKAGE = "airflow_provider_ernest.operators"


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


def start(order: Mapping[str, Any], environment: Mapping[str, str], output: Path) -> ForkServerProcess:
    """Start an attempt.

    Args:
        order: module, class and arguments of the operator, the run, the task and the number of the attempt.
        environment: its environment variables.
        output: file of what it writes, at the end what the operator returned, or that it was deferred.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "boto3", f"{PACKAGE}.ec2_cluster"])
    process = context.Process(target=_run, args=(dict(order), dict(environment), str(output)))
    process.start()
    return process


def _run(order: dict[str, Any], environment: dict[str, str], output: str) -> None:
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - it lasts as long as the process
    os.environ.clear()
    os.environ.update(environment)
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, force=True)
    operator = getattr(importlib.import_module(f"{PACKAGE}.{order['module']}"), order["operator"])(
        task_id=order["task_id"], **order["arguments"]
    )
    signal.signal(signal.SIGTERM, lambda _signal, _frame: operator.on_kill())

    from airflow.sdk.exceptions import TaskDeferred

    try:
        instance = TaskInstance(order["run_id"], order["task_id"], order["try_number"])
        returned = operator.execute({"ti": instance})
    except TaskDeferred as deferred:
        sys.stdout.write(f"DEFERRED {json.dumps(deferred.trigger.serialize()[1])}\n")
    else:
        sys.stdout.write(f"RETURNED {json.dumps(returned)}\n")
