"""The tasks of a job that is sized by its past runs alone: read them, fit a model, choose executors."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.read_history import ReadHistoryOperator
from airflow_provider_ernest.settings import (
    EventLogs,
    ExpectedInput,
    Exploration,
    ModelSettings,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.bounds import AVERAGING
from airflow_provider_ernest.settings.goal import FAIL
from airflow_provider_ernest.settings.values import NOTHING, is_template, require_type
from airflow_provider_ernest.task_group.training import json_of, text_of


def history_tasks(
    *,
    job: SparkJob,
    history: EventLogs | None,
    goal: SizingGoal,
    next_input: Any,
    explore: Exploration | None,
    model: ModelSettings,
) -> ChooseConfigOperator:
    """Build the tasks in the open task group, and return the last of them.

    Raises:
        InvalidParameterError: a value that cannot work without sample runs.
    """
    require_type("job", job, SparkJob)
    require_type("goal", goal, SizingGoal)
    require_type("model", model, ModelSettings)
    if history is None:
        raise InvalidParameterError(
            "(history, cluster)",
            (None, None),
            "leaves nothing to learn from",
            remedy='Give history=EventLogs("s3a://BUCKET/FOLDER"), or a cluster for sample runs.',
        )
    if next_input is not None:
        require_type("input", next_input, ExpectedInput)
    if explore is not None:
        require_type("explore", explore, Exploration)
    _check(history, goal, model, explores=explore is not None)
    read = ReadHistoryOperator(task_id="read_history", history=history, job=job, next_input=next_input)
    # Of the one type that the job runs on; of none before its first run.
    pulled = f"(ti.xcom_pull(task_ids='{read.task_id}') or {{}}).values()"
    of_type = f"({pulled} | list | first | default({{}}, true))"
    fit = FitModelOperator(
        task_id="fit_model",
        job=job,
        goal=goal,
        model=model,
        history=f"{{{{ {of_type} | tojson }}}}",
    )
    # Only a stated fallback goes on where logs cannot be read.
    goes_on = goal.fallback_executors is not None and goal.reaction != FAIL
    choose = ChooseConfigOperator(
        task_id="choose_config",
        model=json_of(fit.task_id),
        goal=goal,
        job=job,
        training_failure=text_of(fit.task_id, "failure"),
        training_begins_with=[read.task_id] if goes_on else (),
        may_leave_size=True,
        executor_cores=job.conf.get("spark.executor.cores"),
        input_growth=json_of(read.task_id, "growth"),
        explore=explore,
        runs_per_month=f"{{{{ {of_type}.get('runs_per_month') or '' }}}}",
        input_amount=f"{{{{ {of_type}.get('input_amount') or '' }}}}",
        todays_sizes=f"{{{{ {of_type}.get('sizes') | tojson }}}}",
        trigger_rule="all_done" if goes_on else "all_success",
    )
    read >> fit >> choose
    return choose


def _check(history: EventLogs, goal: SizingGoal, model: ModelSettings, *, explores: bool) -> None:
    if history.place in NOTHING:
        raise InvalidParameterError(
            "history",
            history,
            "names no folder of event logs, and there is no cluster for sample runs",
            remedy='Write EventLogs("s3a://BUCKET/FOLDER").',
        )
    if not is_template(model.method) and model.method != AVERAGING:
        raise InvalidParameterError(
            "method",
            model.method,
            "needs runs that were designed to determine its terms",
            remedy=f'Use method="{AVERAGING}", or a cluster for sample runs.',
        )
    if goal.allow_mixed is True:
        raise InvalidParameterError(
            "allow_mixed", True, "needs models of two types of machines", remedy="Leave it out."
        )
    needed = "explorations" if explores else "a budget" if goal.needs_price(types=1) else ""
    if needed and goal.price_per_hour in NOTHING:
        raise InvalidParameterError(
            "price_per_hour",
            None,
            f"is needed for {needed} in dollars: event logs tell no price",
            remedy="Give the dollars for one executor and hour.",
        )


def refuse_without_cluster(**stated: Any) -> None:
    """Refuse arguments of a task group that mean nothing without sample runs."""
    for name, value in stated.items():
        if value:
            raise InvalidParameterError(
                name,
                value,
                "is for sample runs, and there is no cluster",
                remedy="Leave it out, or give one.",
            )
