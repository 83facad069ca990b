"""Why the job takes as long as it does: what its sample runs waited for, and a second opinion by replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import in_time
from airflow_provider_ernest.privacy import without_credentials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.documents import BottleneckReport
    from airflow_provider_ernest.settings import Number

MOST_SECONDS = 300.0
"""So long the task reads and replays. Storage that does not answer must not keep the DAG run from its end."""


class BottleneckReportOperator(BaseOperator):
    """Report what binds a job, from the event logs of its own sample runs; nothing of it fails the task.

    Each sample run was profiled when it was done, by the `SampleRunOperator`, where its event log lay. This
    task reads the profiles from the model store and reports on the run most like production: what its tasks
    were blocked on and what could be won at most, its stragglers, and advice with the figures it rests on.
    The runs are replayed at production's size, beside the model's predictions; where the two disagree beyond
    what the model is nearly certain of, that is a warning.

    The report, a `BottleneckReport` document, is kept in the model store, returned, and shown by the pages.
    None is returned where there is nothing to report on, and a warning says why.

    Within an `ErnestTaskGroup` the task is a teardown to Airflow: the decision and production do not wait for
    it, and the state of the DAG run does not depend on it.

    Args:
        observations: `Observation` documents of the sample runs.
        job: the job's name in the model store.
        model: the `Model` document fitted to them, also as JSON text; None to report without it.
        max_machines: the most that production may have.
        min_machines: the fewest.
        allowed_machines: the numbers that it may have, where not all between fewest and most.
        scale: of production's input, relative to that which was sampled.
        iterations: of production, for iterative jobs.
        store: root of the model store; None for ``[ernest] store``.
    """

    template_fields: Sequence[str] = (
        "observations",
        "job",
        "model",
        "max_machines",
        "min_machines",
        "allowed_machines",
        "scale",
        "iterations",
        "store",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#e4ddf4"

    def __init__(
        self,
        *,
        observations: Any,
        job: str,
        model: Any = None,
        max_machines: Number | None = 16,
        min_machines: Number = 1,
        allowed_machines: Any = None,
        scale: Number = 1.0,
        iterations: Number | None = None,
        store: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.observations = observations
        self.job = job
        self.model = model
        self.max_machines = max_machines
        self.min_machines = min_machines
        self.allowed_machines = allowed_machines
        self.scale = scale
        self.iterations = iterations
        self.store = store

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Report; returns the report, None where there is none."""
        try:
            # No task waits for this one, but the DAG run's end does.
            report = in_time(lambda: self._report(context), most_seconds=MOST_SECONDS)
        # The training is done. What it could tell besides must not make it look failed.
        except Exception as error:
            told = without_credentials(str(error))
            self.log.warning("There is no report of bottlenecks: %s: %s", type(error).__name__, told)
            return None
        if report is None:
            return None
        self._tell(report)
        self._keep(report)
        return report.to_dict()

    def _report(self, context: Context) -> BottleneckReport | None:
        from airflow_provider_ernest.clarity.bottleneck_report import profiles_of, report_of
        from airflow_provider_ernest.documents import Model, Observation
        from airflow_provider_ernest.operators.task_context import origin_of
        from airflow_provider_ernest.stated import number, optional_document, optional_whole_number
        from airflow_provider_ernest.store.store import ModelStore
        from airflow_provider_ernest.store_location import store_root

        observations = [Observation.from_dict(each) for each in self.observations or () if each]
        if not observations:
            self.log.warning("There is no report of bottlenecks: no sample run was made, or none succeeded.")
            return None
        records = profiles_of(observations, job=self.job, store=ModelStore(store_root(self.store)))
        if not records:
            self.log.warning(
                "There is no report of bottlenecks: none of the %d sample runs left a profile. Their tasks' "
                "logs say why.",
                len(observations),
            )
            return None
        given = optional_document("model", self.model)
        return report_of(
            records,
            Model.from_dict(given) if given else None,
            machines=self._counts(),
            scale=number("scale", self.scale),
            iterations=optional_whole_number("iterations", self.iterations),
            origin=origin_of(context),
        )

    def _counts(self) -> Sequence[int]:
        from airflow_provider_ernest.stated import machine_counts

        return machine_counts(
            minimum=self.min_machines, maximum=self.max_machines, allowed=self.allowed_machines
        )

    def _tell(self, report: BottleneckReport) -> None:
        from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table

        for line in bottleneck_table(report):
            self.log.info("%s", line)
        for warning in report.warnings:
            self.log.warning("%s", warning)

    def _keep(self, report: BottleneckReport) -> None:
        from airflow_provider_ernest.operators.recording import record_in_time
        from airflow_provider_ernest.store.store import ModelStore
        from airflow_provider_ernest.store_location import store_root

        record_in_time(
            lambda: ModelStore(store_root(self.store)).save_bottlenecks(report),
            what="The report of bottlenecks",
            log=self.log,
        )
