"""Production on a cluster of this package: the stock SparkSubmitOperator, pointed at it."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_provider_ernest.links.spark_history import SparkHistoryLink
from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.lineage import TellsLineage
from airflow_provider_ernest.operators.rendered import NOTHING, optional_document
from airflow_provider_ernest.spark.sizing import SIZES, refuse_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
    from airflow.sdk import Context

    from airflow_provider_ernest.operators.production_submit import ProductionHook
    from airflow_provider_ernest.operators.submitted_run import SubmittedRun


class ErnestSparkSubmitOperator(TellsLineage, SparkSubmitOperator):
    """The stock operator with two parameters more: the cluster to run on, and the decision that sized it.

    .. code-block:: python

        ErnestSparkSubmitOperator(
            task_id="production",
            application="job.py",
            cluster=ernest.cluster,
            decision=ernest.decision,
            conf=ernest.job_conf(),
        )

    The cluster tells the master's address and what applications need there; `conf` wins over both. Its secret
    is fetched when the task runs and handed over in a private file: it is in no template, XCom, log or
    command line. The driver ends with this task, however that ends. Without `cluster`, the run is as in the
    stock operator.

    With `decision`, a run that succeeds is recorded beside what was predicted of it, in the model store and
    as XCom ``production_run`` (a `ProductionRun` document). Its machines and its time, from submission to the
    application's end, are read from Spark's event log where ``spark.eventLog.dir`` is a folder of this host;
    else they are those decided on and the time that spark-submit took. What hinders the record is a warning:
    it fails no run.

    The model that predicted it then learns from it, as long as its predictions hold, and is marked as stale
    where they do not any more; see `RecordRunOperator`, which does the same for runs by other operators.

    Args:
        cluster: `ClusterHandle` document, the output of the operator that started or resized the cluster.
        decision: `DecisionRecord` document, ``choose.output["record"]`` of the `ChooseConfigOperator`, also
            as JSON text; None to record nothing. Without it, the event log is not looked for, and so
            Spark's id of the run stays unknown unless spark-submit tells it.
        store: root of the model store; None for ``[ernest] store``.
        learn: whether the model that predicted the run learns from it.
        on_stale: callables or Airflow notifiers, called where the model no longer speaks for the job.
        profile: whether to keep where the run's time went, by its event log; the pages show it.
        kwargs: the stock operator's arguments. `conn_id` counts without `cluster` only.

    Raises:
        InvalidParameterError: what was asked for cannot run on this cluster (no retry); when the DAG file is
            parsed, num_executors, executor_cores, executor_memory or total_executor_cores, which spark-submit
            prefers to `conf`.
        ClusterLostError: the cluster has ended.
        AirflowException: spark-submit ended with another exit code than 0.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "cluster", "decision", "store")
    operator_extra_links = (*SparkSubmitOperator.operator_extra_links, SparkHistoryLink())
    application_id: str | None = None
    """Spark's id of the run, also of one that failed, where it was found out; for `SparkHistoryLink`."""

    def __init__(
        self,
        *,
        cluster: Any = None,
        decision: Any = None,
        store: str | None = None,
        learn: bool = True,
        on_stale: Any = (),
        profile: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Not in kwargs alone: a DAG's default_args may say it, too. They are no templates.
        refuse_sizes({name: getattr(self, f"_{name}") for name in SIZES})
        self.cluster = cluster
        self.decision = decision
        self.store = store
        self.learn = learn
        self.on_stale = on_stale
        self.profile = profile
        self._event_logs = ""
        self._production_hook: ProductionHook | None = None
        self._submitted: SubmittedRun | None = None
        self._is_killed = False

    def execute(self, context: Context) -> None:
        """Submit, wait for the end, and record it."""
        try:
            if self.cluster:
                self._execute_on_cluster(context)
            else:
                super().execute(context)
        finally:
            ended_at = time.time()
            self.application_id = self._submitted.application_id if self._submitted else None
        if self.decision not in NOTHING:
            self._record(ended_at, context)

    def _record(self, ended_at: float, context: Context) -> None:
        from airflow_provider_ernest.operators.production_record import Recording, record_production
        from airflow_provider_ernest.operators.timed_run import timed_here

        production = record_production(
            lambda decision: timed_here(self._submitted, decision, ended_at=ended_at, log=self.log),
            recording=Recording(
                decision=self.decision,
                application=self.application,
                submit_options=self._submit_options(),
                cluster=self.cluster,
                store=self.store,
                learn=self.learn,
                on_stale=self.on_stale,
                profile=self.profile,
            ),
            context=context,
            log=self.log,
        )
        self.tells_lineage(*([production] if production else ()))

    def _execute_on_cluster(self, context: Context) -> None:
        from airflow.providers.common.compat.sdk import AirflowException

        from airflow_provider_ernest.exceptions import SampleRunError
        from airflow_provider_ernest.operators.locations import event_logs

        self._event_logs = str(event_logs(context))
        with no_vain_retries():
            try:
                super().execute(context)
            except SampleRunError as error:
                # It is no sample; and users of the stock operator look out for its exception.
                raise AirflowException(str(error)) from error

    def on_kill(self) -> None:
        """End the driver, and with it the Spark application."""
        if not self.cluster:
            super().on_kill()
            return
        self._is_killed = True
        if self._production_hook is not None:
            self._production_hook.end()
            # The driver may run elsewhere, such as on YARN; the stock operator knows how to end it there.
            super().on_kill()

    def _get_hook(self) -> SparkSubmitHook:
        from airflow_provider_ernest.operators.submitted_run import SubmittedRun

        document = optional_document("cluster", self.cluster)
        hook = self._hook_to(document) if document else super()._get_hook()
        # The hook submits next; what it began earlier is not this run.
        self._submitted = SubmittedRun(hook, finds_event_log=self.decision not in NOTHING)
        return hook

    def _hook_to(self, document: dict[str, Any]) -> ProductionHook:
        from airflow_provider_ernest.clusters.base import EXISTING, ClusterHandle
        from airflow_provider_ernest.operators.aws import cluster_secret
        from airflow_provider_ernest.operators.production_submit import (
            ProductionHook,
            check_fits,
            production_conf,
        )
        from airflow_provider_ernest.operators.spark_connection import require_same_master

        handle = ClusterHandle.from_dict(document)
        conf = production_conf(handle, self.conf or {}, event_logs=self._event_logs)
        check_fits(handle, conf, deploy_mode=self._deploy_mode)
        hook = ProductionHook(
            master_url=None if handle.spark_conn_id else handle.master_url,
            spark_conn_id=handle.spark_conn_id,
            conf=conf,
            application_args=[str(argument) for argument in self.application_args or ()],
            name=self.name,
            options=self._submit_options(),
            secret=cluster_secret(handle),
        )
        if handle.kind == EXISTING:
            require_same_master(hook, handle)
        self._production_hook = hook
        if self._is_killed:
            hook.end()
        return hook

    def _submit_options(self) -> dict[str, Any]:
        """What the user has set of the stock operator, by the names that the hook has for it."""
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

        ours = {"self", "conf", "conn_id", "application_args", "name"}
        names = [name for name in inspect.signature(SparkSubmitHook.__init__).parameters if name not in ours]
        # The stock operator keeps each under its name or, if it is no template field, behind an underscore.
        kept = {name: name if name in self.template_fields else f"_{name}" for name in names}
        return {name: getattr(self, at) for name, at in kept.items() if hasattr(self, at)}
