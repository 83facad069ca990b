"""A DAG of nothing but the sizing steps and the production task behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow.sdk import DAG, BaseOperator

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.task_group import ONE_TYPE_ONLY, ErnestTaskGroup


def ernest_dag(
    dag_id: str,
    *,
    production: Callable[[ErnestTaskGroup], BaseOperator],
    ernest: Mapping[str, Any],
    production_on_same_cluster: bool = False,
    **dag_options: Any,
) -> DAG:
    """Build a DAG that sizes a production task and then runs it.

    Args:
        dag_id: name of the DAG.
        production: makes the production task from the task group: it reads its ``config``, ``cluster`` if it
            runs on the same one, and ``decision`` if it is to be recorded.
        ernest: the arguments of `ErnestTaskGroup`.
        production_on_same_cluster: production runs on the cluster that the group started, which then ends
            only after it; always so with ``resize_for_production``. Impossible with several types.
        dag_options: further arguments of Airflow's DAG, such as schedule or default_args.

    Raises:
        InvalidParameterError: what cannot be, when the DAG file is parsed.
    """
    with DAG(dag_id, **dag_options) as dag:
        group = ErnestTaskGroup(**ernest)
        if production_on_same_cluster and group.cluster is None:
            raise InvalidParameterError(
                "production_on_same_cluster", True, "is impossible with several types", remedy=ONE_TYPE_ONLY
            )
        task = production(group)
        group >> task
        if production_on_same_cluster or ernest.get("resize_for_production"):
            task >> group.teardown
    return dag
