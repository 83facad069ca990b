"""Steps that a task left behind when it was killed too hard to cancel them.

EMR runs the steps of a job flow one after the other: the next try's step would wait for the orphan.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_TRY = re.compile(r"-try\d+$")
_STEPS_PER_CALL = 256


def step_name(application_name: str, directory: Path) -> str:
    """The name that all tries of one task give to their steps, and no other task does.

    Args:
        application_name: that it begins with.
        directory: of one try, DAG/RUN/TASK-tryN at its end (`operators.locations.attempt_path`). What is
            before that may differ between workers.
    """
    *owner, attempt = directory.parts[-3:]
    task = "/".join([*owner, _TRY.sub("", attempt)])
    return f"{application_name}-{hashlib.sha256(task.encode()).hexdigest()[:12]}"


def cancel_orphans(emr: Any, *, job_flow_id: str, name: str, log: Any) -> None:
    """Cancel the steps of a name that wait or run.

    Args:
        emr: a boto3 client of EMR.
        job_flow_id: whose steps.
        name: of `step_name`.
        log: the logger that progress goes to.
    """
    pages = emr.get_paginator("list_steps").paginate(ClusterId=job_flow_id, StepStates=["PENDING", "RUNNING"])
    orphans = [step["Id"] for page in pages for step in page["Steps"] if step["Name"] == name]
    for first in range(0, len(orphans), _STEPS_PER_CALL):
        step_ids = orphans[first : first + _STEPS_PER_CALL]
        log.warning("Cancelling %s, which an earlier try of this run has left behind", ", ".join(step_ids))
        emr.cancel_steps(ClusterId=job_flow_id, StepIds=step_ids, StepCancellationOption="SEND_INTERRUPT")
