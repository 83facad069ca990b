"""The record of a production run that another operator made, beside what was predicted of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.settings.templates import Number


class RecordRunOperator(EmitsLineage, BaseOperator):
    """Record what a production run took beside what was predicted, whatever operator ran it.

    .. code-block:: python

        production = SparkSubmitOperator(task_id="production", conf=ernest.job_conf(), ...)
        record = RecordRunOperator(
            task_id="record_run", decision=ernest.decision, production_task_id="production",
            application="job.py"
        )
        ernest >> production >> record

    An `ErnestSparkSubmitOperator` with a decision records by itself.

    The run's time comes, in this order, from `seconds`; from Spark's event log (the work's own time plus the
    predicted start-up, or a longer one that the log shows); or from Airflow's duration of the last try of
    `production_task_id`. A task that is mapped, was skipped or failed is not recorded.

    The record, a `ProductionRun` document, is stored, returned, and pushed as ``production_run``. Then the
    model learns: a new one is fitted to the sample runs and to production, and saved beside it. If production
    misses the model's intervals more often than chance allows (see `learning.drift`), the model is marked as
    stale instead, the `on_stale` callbacks are called, and the next DAG run makes sample runs again.

    Never fails the task: whatever prevents the record is a warning.

    Args:
        decision: `DecisionRecord` document that the run went by, ``ernest.decision``, also as JSON text.
        production_task_id: the task in the same DAG run that ran production, with its group's id; None if
            `seconds` or `event_log` are given.
        application: path of the JAR or .py file that ran; None to take the hash from the `FindModelOperator`.
        submit_options: what it was submitted with: py_files and jars belong to its hash.
        seconds: from submission to end, a number or a template.
        machines: that it ran on; None for those in the event log, or else those decided on.
        event_log: Spark's event log of the run, or its folder: a path or any URL of Airflow's object storage.
        application_id: Spark's id of the run, to find its log in a folder with others.
        cluster: `ClusterHandle` document of its cluster, also as JSON text: the measured bandwidth is kept.
        store: root of the model store; None for ``[ernest] store``.
        learn: whether the model that predicted the run learns from it.
        on_stale: callables or Airflow notifiers, called if the model no longer holds for the job.
        profile: keep where the run's time went, from its event log; the pages show it.
    """

    template_fields: Sequence[str] = (
        "decision",
        "production_task_id",
        "application",
        "submit_options",
        "seconds",
        "machines",
        "event_log",
        "application_id",
        "cluster",
        "store",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#d5e4f7"

    def __init__(
        self,
        *,
        decision: Any,
        production_task_id: str | None = None,
        application: str | None = None,
        submit_options: Mapping[str, Any] | None = None,
        seconds: Number | None = None,
        machines: Number | None = None,
        event_log: str | None = None,
        application_id: str | None = None,
        cluster: Any = None,
        store: str | None = None,
        learn: bool = True,
        on_stale: Any = (),
        profile: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.decision = decision
        self.production_task_id = production_task_id
        self.application = application
        self.submit_options = submit_options
        self.seconds = seconds
        self.machines = machines
        self.event_log = event_log
        self.application_id = application_id
        self.cluster = cluster
        self.store = store
        self.learn = learn
        self.on_stale = on_stale
        self.profile = profile

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Return the record; None if there is none."""
        from airflow_provider_ernest.operators.production_record import Recording, StatedRun
        from airflow_provider_ernest.settings.values import optional_text

        stated = StatedRun(
            seconds=self.seconds,
            machines=self.machines,
            event_log=optional_text(self.event_log),
            application_id=optional_text(self.application_id),
            task_id=optional_text(self.production_task_id),
        )
        production = Recording(
            decision=self.decision,
            application=optional_text(self.application),
            submit_options=self.submit_options or {},
            cluster=self.cluster,
            store=optional_text(self.store),
            learn=self.learn,
            on_stale=self.on_stale,
            profile=self.profile,
            context=context,
            log=self.log,
        ).record(lambda decision: stated.timed(decision, context=context, log=self.log))
        self.add_lineage(*([production] if production else ()))
        return production.to_dict() if production is not None else None
