"""Why the job takes as long as it does: what its sample runs waited for, and a replay as second opinion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import OfJob, in_time, origin_of
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings import SizingGoal, SparkJob
from airflow_provider_ernest.settings.values import (
    as_template,
    documents,
    optional_document,
    optional_whole_number,
    settings_of,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.profiles import BottleneckReport

MOST_SECONDS = 300.0
"""Limit for reading and replaying: slow storage must not delay the end of the DAG run."""


class BottleneckReportOperator(OfJob, BaseOperator):
    """Report what limits a job, from the event logs of its sample runs. Never fails the task.

    Reads the profiles that each `SampleRunOperator` has stored, and reports on the run most like production:
    what its tasks were blocked on, the most that could be gained, stragglers, and advice with its figures. It
    also replays the runs at production's size and warns where the replay lies outside the model's 95 %
    interval.

    Returns the `BottleneckReport` document, which is also stored; None, with a warning, if there is nothing
    to report on. In an `ErnestTaskGroup` the task is a teardown, so that nothing depends on it.

    Args:
        observations: `Observation` documents of the sample runs, also as JSON text.
        job: names the job in the store and the iterations of production.
        goal: of production: its range of executors and its scale.
        model: the `Model` document fitted to the runs, also as JSON text; None to report without it.
    """

    template_fields: Sequence[str] = ("observations", "job", "goal", "model")
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#e4ddf4"

    def __init__(
        self,
        *,
        observations: Any,
        job: SparkJob | Mapping[str, Any],
        goal: SizingGoal | Mapping[str, Any] | str,
        model: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.observations = observations
        self._keep_job(job)
        self.goal: Any = as_template(SizingGoal, goal, "goal")
        self.model = model

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Return the report; None if there is none."""
        from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table
        from airflow_provider_ernest.operators.recording import keep

        try:
            # No task waits for this one, but the end of the DAG run does.
            report = in_time(lambda: self._report(context), most_seconds=MOST_SECONDS)
        # The training has succeeded; a failed report must not make it look failed.
        except Exception as error:
            why = without_credentials(str(error))
            self.log.warning("There is no report of bottlenecks: %s: %s", type(error).__name__, why)
            return None
        if report is None:
            return None
        for line in bottleneck_table(report):
            self.log.info("%s", line)
        for warning in report.warnings:
            self.log.warning("%s", warning)
        keep(report, what="The report of bottlenecks", log=self.log)
        return report.to_dict()

    def _report(self, context: Context) -> BottleneckReport | None:
        from airflow_provider_ernest.clarity.bottleneck_report import profiles_of, report_of
        from airflow_provider_ernest.documents.models import Model
        from airflow_provider_ernest.documents.runs import Observation

        observations = [
            Observation.from_dict(each) for each in documents("observations", self.observations) if each
        ]
        if not observations:
            self.log.warning("There is no report of bottlenecks: no sample run was made, or none succeeded.")
            return None
        records = profiles_of(observations, job=self.job["name"], store=model_store())
        if not records:
            self.log.warning(
                "There is no report of bottlenecks: none of the %d sample runs left a profile. Their tasks' "
                "logs say why.",
                len(observations),
            )
            return None
        given = optional_document("model", self.model)
        goal = settings_of(SizingGoal, self.goal, "goal")
        return report_of(
            records,
            Model.from_dict(given) if given else None,
            executors=goal.executors,
            scale=goal.scale,
            iterations=optional_whole_number("iterations", self.job.get("iterations")),
            origin=origin_of(context),
        )
