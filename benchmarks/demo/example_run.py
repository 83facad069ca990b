"""A run of one of the example DAGs: triggered, followed, and what came of it."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents.decisions import Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import BottleneckReport
from airflow_provider_ernest.documents.runs import Design
from airflow_provider_ernest.eventlog.files import find_event_log
from airflow_provider_ernest.eventlog.run_facts import read_run
from airflow_provider_ernest.operators.task_context import path_name
from benchmarks.demo.api import AirflowApiError
from benchmarks.demo.progress import follow_run
from benchmarks.demo.report import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.demo.api import AirflowApi, TaskInstance

PRODUCTION_TASK = "enrich_all_flights"
RUN_TIMEOUT_SECONDS = 1800.0

ERROR = re.compile(r"^  (?:AirflowFailException: )?(\w+(?:Error|Exception|Timeout): .*)")
"""A line of a task's log that names what ended it; what that was caused by begins otherwise."""


@dataclass(frozen=True, kw_only=True)
class ExampleRun:
    """A run that has ended; it succeeded if all of it went well, and not only its last tasks."""

    api: AirflowApi
    dag_id: str
    run_id: str
    tasks: tuple[TaskInstance, ...]
    succeeded: bool

    def task(self, task_id: str) -> TaskInstance:
        """The task instance of a task that is not mapped."""
        return next(task for task in self.tasks if task.task_id == task_id)

    @property
    def failure(self) -> str:
        """Which task failed first, and why; empty where none did."""
        failed = [task for task in self.tasks if task.state == "failed"]
        if not failed:
            return ""
        first = min(failed, key=lambda task: (task.end is None, task.end, task.map_index))
        try:
            lines = self.api.task_log(self.dag_id, self.run_id, first)
        except AirflowApiError as error:
            return f"{first.label} failed, and its log cannot be read: {error}"
        told = [match[1] for line in lines if (match := ERROR.match(line))]
        return f"{first.label} failed: {told[-1] if told else 'its log, above, does not say why.'}"

    def xcom(self, task: str, key: str = "return_value") -> dict[str, Any]:
        """A document that a task of the Ernest group has pushed.

        Raises:
            AirflowApiError: there is none.
        """
        value = self.api.xcom(self.dag_id, self.run_id, f"ernest.{task}", key=key)
        assert isinstance(value, dict)
        return value

    def outcome(self, airflow_home: Path) -> Outcome:
        """The documents and the production run, of a run that succeeded."""
        event_log = find_event_log(self._event_logs(airflow_home))
        if event_log is None:
            raise AirflowApiError("The production run wrote no event log.")
        bottlenecks = None
        with suppress(AirflowApiError):  # it is an addition, which no run fails for
            bottlenecks = BottleneckReport.from_dict(self.xcom("bottleneck_report"))
        return Outcome(
            design=Design.from_dict(self.xcom("design", "design")),
            model=Model.from_dict(self.xcom("fit_model")),
            decision=Decision.from_dict(self.xcom("choose_config")),
            production=read_run(event_log),
            bottlenecks=bottlenecks,
            production_task_seconds=self.task(PRODUCTION_TASK).duration_seconds or 0.0,
        )

    def _event_logs(self, airflow_home: Path) -> Path:
        """The folder of the production run's event log."""
        # A stock operator is told by the decision; `ErnestSparkSubmitOperator` has a folder for each attempt.
        told = self.xcom("choose_config", "spark_conf").get("spark.eventLog.dir")
        if told is not None:
            return Path(str(told))
        attempt = f"{PRODUCTION_TASK}-try{self.task(PRODUCTION_TASK).try_number}"
        run = Path(path_name(self.dag_id)) / path_name(self.run_id)
        return airflow_home / "ernest" / "event_logs" / run / attempt


def run_example(api: AirflowApi, dag_id: str, *, conf: Mapping[str, Any]) -> ExampleRun:
    """Trigger an example DAG with values of its Params, and print what it does until it ends.

    Raises:
        AirflowApiError: Airflow does not know the DAG, or does not answer.
        TimeoutError: it has not ended in time.
    """
    api.wait_for_dag(dag_id)
    api.unpause(dag_id)
    run_id = api.trigger(dag_id, conf=dict(conf))
    print(f"Triggered {dag_id}, run {run_id}")
    tasks = follow_run(api, dag_id, run_id, timeout_seconds=RUN_TIMEOUT_SECONDS)
    failed = any(task.state == "failed" for task in tasks) or api.run_state(dag_id, run_id) != "success"
    return ExampleRun(api=api, dag_id=dag_id, run_id=run_id, tasks=tuple(tasks), succeeded=not failed)
