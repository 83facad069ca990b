"""Whether a training was to be made at all: what comes before it may have failed, or been skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

SKIPPED, UPSTREAM_FAILED = "skipped", "upstream_failed"


def end_unless_begun(context: Context, first_tasks: Sequence[str]) -> None:
    """End the task as those did that the training begins with, where none of them was started.

    A task that goes on after failures, for its fallback, would otherwise size production also where what
    prepares its input has failed.

    Args:
        context: of the task that decides.
        first_tasks: ids of the tasks that the training begins with.

    Raises:
        AirflowSkipException: all of them were skipped.
        AirflowFailException: what they wait for has failed.
    """
    from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

    ti, run_id = context["ti"], context["run_id"]
    told = ti.get_task_states(dag_id=ti.dag_id, task_ids=list(first_tasks), run_ids=[run_id])
    states = {str(state) for state in told.get(run_id, {}).values()}
    if states == {SKIPPED}:
        raise AirflowSkipException("The training was skipped, and with it the decision.")
    if states and states <= {SKIPPED, UPSTREAM_FAILED}:
        raise AirflowFailException(
            "What comes before the training has failed: production is not sized, nor is the fallback taken."
        )
