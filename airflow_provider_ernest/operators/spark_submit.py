"""Production on a cluster of this package: the stock SparkSubmitOperator, pointed at it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk import Context
from jinja2 import Environment

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.spec import EC2
from airflow_provider_ernest.clusters.emr.spec import EMR
from airflow_provider_ernest.clusters.local_spec import LOCAL
from airflow_provider_ernest.exceptions import InvalidParameterError, SampleRunError
from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import SparkHistoryLink
from airflow_provider_ernest.operators.task_context import event_logs, no_vain_retries, rendered_texts
from airflow_provider_ernest.settings.values import NOTHING, optional_document
from airflow_provider_ernest.spark.sizing import SIZES, event_log_conf, refuse_sizes
from airflow_provider_ernest.spark.submit import ErnestSubmitHook, SubmittedRun, driver_conf


class ErnestSparkSubmitOperator(EmitsLineage, SparkSubmitOperator):
    """The stock operator with two more parameters: the cluster to run on, and the decision that sized it.

    .. code-block:: python

        ErnestSparkSubmitOperator(
            task_id="production",
            application="job.py",
            cluster=ernest.cluster,
            decision=ernest.decision,
            conf=ernest.job_conf(),
        )

    The cluster supplies the master's address and the properties that applications need there; `conf` wins
    over both. Its secret is fetched when the task runs and passed in a private file, never in a template,
    XCom, log or command line. The driver ends with this task.

    With `decision`, a successful run is recorded beside its prediction, in the model store and as XCom
    ``production_run`` (a `ProductionRun` document), and the model learns from it or is marked as stale, as by
    `RecordRunOperator`. Executors and time come from Spark's event log if ``spark.eventLog.dir`` is a folder
    of this host; else they are those decided on and the time of spark-submit.

    Args:
        cluster: `ClusterHandle` document, the output of the operator that started or resized the cluster.
        decision: `DecisionRecord` document, ``choose.output["record"]`` of the `ChooseConfigOperator`, also
            as JSON text; None to record nothing.
        on_stale: callables or Airflow notifiers, called if the model no longer holds for the job.
        kwargs: the stock operator's arguments. `conn_id` counts without `cluster` only.

    Raises:
        InvalidParameterError: the run is impossible on this cluster (no retry); when the DAG file is parsed,
            num_executors, executor_cores, executor_memory or total_executor_cores, which spark-submit prefers
            to `conf`.
        ClusterLostError: the cluster has ended.
        AirflowException: spark-submit ended with another exit code than 0.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "cluster", "decision")
    operator_extra_links = (*SparkSubmitOperator.operator_extra_links, SparkHistoryLink())
    application_id: str | None = None
    """Spark's id of the run, also of a failed one, if known; for `SparkHistoryLink`."""

    def __init__(
        self,
        *,
        cluster: Any = None,
        decision: Any = None,
        on_stale: Any = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        # Not in kwargs alone: a DAG's default_args may set them, too. They are no templates.
        refuse_sizes({name: getattr(self, f"_{name}") for name in SIZES})
        self.cluster = cluster
        self.decision = decision
        self.on_stale = on_stale
        self._event_logs = ""
        self._production_hook: ProductionHook | None = None
        self._submitted: SubmittedRun | None = None
        self._is_killed = False

    def render_template_fields(self, context: Context, jinja_env: Environment | None = None) -> None:
        """Render, but keep as text what Spark is given as text; see `rendered_texts`."""
        stated = {name: getattr(self, name) for name in ("application_args", "conf")}
        super().render_template_fields(context, jinja_env)
        for name, value in stated.items():
            # A template of the whole, not of one of its texts, may become a list or a mapping.
            if value and not isinstance(value, str):
                setattr(self, name, rendered_texts(self, value, context))

    def execute(self, context: Context) -> None:
        """Submit, wait for the end, and record it."""
        from airflow_provider_ernest.operators.recording import Recording, timed_here

        try:
            if self.cluster:
                self._event_logs = str(event_logs(context))
            with no_vain_retries():
                super().execute(context)
        except SampleRunError as error:
            # Users of the stock operator expect its exception.
            raise AirflowException(str(error)) from error
        finally:
            ended_at = time.time()
            self.application_id = self._submitted.application_id if self._submitted else None
        if self.decision in NOTHING:
            return
        production = Recording(
            decision=self.decision,
            application=self.application,
            submit_options=self._submit_options(),
            cluster=self.cluster,
            on_stale=self.on_stale,
            context=context,
            log=self.log,
        ).record(lambda decision: timed_here(self._submitted, decision, ended_at=ended_at, log=self.log))
        self.add_lineage(*([production] if production else ()))

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
        document = optional_document("cluster", self.cluster)
        hook = self._hook_to(document) if document else super()._get_hook()
        # The hook submits next; what it began earlier is not this run.
        self._submitted = SubmittedRun(hook, finds_event_log=self.decision not in NOTHING)
        return hook

    def _hook_to(self, document: dict[str, Any]) -> ProductionHook:
        from airflow_provider_ernest.operators.task_context import cluster_secret

        handle = ClusterHandle.from_dict(document)
        # The driver's pages have no login. Users decide whether to show them; nobody may end jobs there.
        own = {str(key): str(value) for key, value in (self.conf or {}).items()}
        conf = driver_properties(handle, {"spark.ui.killEnabled": "false", **own})
        if handle.kind in STANDALONE:
            conf = {**event_log_conf(self._event_logs), **conf}
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
        self._production_hook = hook
        if self._is_killed:
            hook.end()
        return hook

    def _submit_options(self) -> dict[str, Any]:
        """The stock operator's arguments as the user set them, by the hook's names for them."""
        ours = {"self", "conf", "conn_id", "application_args", "name"}
        names = [name for name in inspect.signature(SparkSubmitHook.__init__).parameters if name not in ours]
        # The stock operator keeps each under its name or, if it is no template field, behind an underscore.
        kept = {name: name if name in self.template_fields else f"_{name}" for name in names}
        return {name: getattr(self, at) for name, at in kept.items() if hasattr(self, at)}


def driver_properties(handle: ClusterHandle, conf: Mapping[str, str]) -> dict[str, str]:
    """The properties of a cluster and of a driver on this host, and the user's own, which win."""
    given = {**handle.spark_conf(), **conf}
    # A local cluster's handle already has its drivers' properties.
    return given if handle.kind == LOCAL else {**given, **driver_conf(handle.master_url, conf=given)}


STANDALONE = (LOCAL, EC2)
"""Kinds of clusters whose master is Spark's own and whose drivers run beside their tasks."""


class ProductionHook(ErnestSubmitHook):
    """`ErnestSubmitHook` as the stock operator calls it: by `submit`."""

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Submit, wait, and end with the task; returns the driver's id if it runs on the cluster."""
        if kwargs:  # how the process is started: `run` calls this again with them, the operator does not
            super().submit(application, **kwargs)
        else:
            self.run(application)
        driver: str | None = self._driver_id
        return driver


def check_fits(handle: ClusterHandle, conf: Mapping[str, str], *, deploy_mode: str | None) -> None:
    """Refuse a run that would wait, or quietly get less than it was sized for."""
    if handle.kind == EMR:
        raise InvalidParameterError(
            "cluster",
            handle.name,
            "is a job flow of EMR, whose drivers run as its steps",
            remedy="Add a step with EmrAddStepsOperator of Airflow's amazon provider.",
        )
    if handle.kind not in STANDALONE:
        return
    if deploy_mode == "cluster":
        raise InvalidParameterError(
            "deploy_mode",
            deploy_mode,
            f"is impossible on cluster {handle.name}: its master starts no drivers",
            remedy="Leave it out; the driver runs on the Airflow worker.",
        )
    wanted, present = conf.get("spark.cores.max", ""), sum(machine.cores for machine in handle.machines)
    if wanted.isdigit() and int(wanted) > present:
        raise InvalidParameterError(
            "spark.cores.max",
            int(wanted),
            f"is more than the {present} cores of cluster {handle.name}",
            remedy="Resize the cluster to the chosen number of machines before "
            "(ErnestTaskGroup(resize_for_production=True)), or lower max_executors.",
        )
