"""The link from a task of the training to the model that came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink

from airflow_provider_ernest.links.task_tab import task_tab

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class ModelFitLink(BaseOperatorLink):
    """From a sample run, a fit or a decision to the Ernest tab of its task instance, with the model."""

    name = "Model fit"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The tab's address. Airflow asks for it at the end of the task, in its process."""
        return task_tab(ti_key)
