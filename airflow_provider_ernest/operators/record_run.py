"""The record of a production run that another operator made: what it took beside what was predicted of it."""

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
    """Record what a production run took beside what was predicted of it, whatever operator it ran by.

    .. code-block:: python

        production = SparkSubmitOperator(task_id="production", conf=ernest.job_conf(), ...)
        record = RecordRunOperator(
            task_id="record_run", decision=ernest.decision, production_task_id="production",
            application="job.py"
        )
        ernest >> production >> record

    An `ErnestSparkSubmitOperator` with a decision needs none: it records by itself.

    How long the run took is known, in this order, from `seconds`; from Spark's event log, whose time is that
    of the work itself, with a start-up as it was decided unless the log shows a longer one; or from how long
    Airflow saw the task of `production_task_id` run, its last attempt, with all that this did besides. A task
    that is mapped, was skipped or has failed is no run whose time was predicted: nothing is recorded, and a
    warning says why.

    The record, a `ProductionRun` document, is kept in the model store, returned, and pushed as XCom
    ``production_run``. Then the model learns: a new one is saved beside it, fitted to the sample runs and to
    what production has shown since. Where production misses the model's intervals more often than chance
    allows (see `learning.drift`), nothing is learned; the model is marked as stale, with what is known of the
    cause, and the `on_stale` callbacks are called. The next run of the DAG then makes the sample runs again.

    Nothing of it fails the task: what hinders the record is a warning.

    Args:
        decision: `DecisionRecord` document that the run went by, ``ernest.decision``, also as JSON text.
        production_task_id: the task in the same DAG run that ran production, with its group's id; None where
            `seconds` or `event_log` tell enough.
        application: path of the JAR or .py file that ran; None to take the hash that the `FindModelOperator`
            took.
        submit_options: what it was submitted with: py_files and jars belong to its hash.
        seconds: from submission to end, a number or a template.
        machines: that it ran on; None for those that the event log tells, or else those decided on.
        event_log: Spark's event log of the run, or the folder that it is in, a path or any URL of Airflow's
            object storage. It may be compressed and rolled over.
        application_id: Spark's id of the run, to find its log in a folder with others.
        cluster: `ClusterHandle` document of the cluster that it ran on, also as JSON text: what its machines
            were measured to do is kept.
        store: root of the model store; None for ``[ernest] store``.
        learn: whether the model that predicted the run learns from it.
        on_stale: callables or Airflow notifiers, called where the model no longer holds for the job.
        profile: whether to keep where the run's time went, by its event log; the pages show it.
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
        """Record, and learn; returns the record, None where there is none."""
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
