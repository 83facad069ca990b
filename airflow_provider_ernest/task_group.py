"""The whole chain of sizing steps as one task group, to put ahead of a production task."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskGroup, XComArg

from airflow_provider_ernest.cluster_tasks import (
    certain_machines,
    check_task,
    cores_per_machine,
    create_task,
    resize_task,
)
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.terminate_cluster import TerminateClusterOperator
from airflow_provider_ernest.specification import ModelSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import BaseOperator

    from airflow_provider_ernest.cluster_tasks import ClusterSpec
    from airflow_provider_ernest.specification import DesignBounds, SampledInput, SizingGoal, SparkJob


RETRY_DELAY = timedelta(seconds=15)
"""Airflow's five minutes would be paid for: the cluster waits meanwhile."""
TEARDOWN_RETRIES = 3


RUN_NAME = (
    "{{ task.experiment['machines'] }} machine{{ '' if task.experiment['machines'] == 1 else 's' }}, "
    "{{ '%.2f' | format(task.experiment['scale'] * 100) }} %"
)


class ErnestTaskGroup(TaskGroup):
    """Design, cluster, sample runs, model, decision: everything ahead of the production task.

    .. code-block:: python

        ernest = ErnestTaskGroup(job=..., input=..., bounds=..., cluster=..., goal=...)
        production = SparkSubmitOperator(..., conf=ernest.config["spark_conf"])
        ernest >> production  # production runs elsewhere
        ernest >> production >> ernest.teardown  # production runs on the same cluster

    On the same cluster, an `ErnestSparkSubmitOperator` finds it by ``cluster=ernest.cluster``; anywhere, it
    records what production took beside what was predicted by ``decision=ernest.decision``. A cluster on EC2
    is checked first of all: what cannot be had is found out before anything costs money.

    Args:
        job: the application to size.
        input: the production input and how to sample it.
        bounds: what the sample runs may be.
        cluster: the cluster to start for the sample runs: a `LocalClusterSpec`, an
            `EC2ClusterSpec` or an `EmrClusterSpec`; or a `ConnectedCluster` that is there already.
        goal: what the production run must keep to.
        model: how the model is made of the observations; None for the most accurate way known.
        spark_conn_id: Airflow connection at whose address the cluster listens, for a stock operator that
            runs production on the same local cluster; None where there is none.
        cluster_options: further arguments of the operator that starts the cluster, such as aws_conn_id,
            region_name and deferrable.
        resize_for_production: give the cluster the chosen number of machines when the decision is made, so
            that production uses the machines that are paid for already. Only on EC2.
        parallel_runs: sample runs at the same time. On one machine each disturbs the others; on machines
            of their own, more of them shorten the training.
        run_timeout_seconds: how long a sample run may take once it has its machines.
        run_retries: how often a failed sample run is tried again.
        staging_uri: s3:// folder that a local application is uploaded to, for EMR.
        store: root of the model store; None for ``[ernest] store``.
        group_id: name of the group.
        group_options: further arguments of Airflow's TaskGroup, such as tooltip or default_args.

    Attributes:
        config: the decision's XComs: ``config["spark_conf"]``, ``["machines"]``, ``["predicted_seconds"]``,
            ``["predicted_cost"]``, ``["config"]``.
        decision: the record of the decision, for an `ErnestSparkSubmitOperator`: a template that renders to
            JSON text, or to ``null`` where the decision left no record. Then nothing is recorded, and a
            warning says so. As any template it makes no task wait: `config`, or ``ernest >> production``,
            puts production behind the decision.
        cluster: the handle of the cluster that production may run on, resized where that was asked for.
        teardown: the task that ends the cluster.
    """

    def __init__(
        self,
        *,
        job: SparkJob,
        input: SampledInput,  # noqa: A002 - the word that fits
        bounds: DesignBounds,
        cluster: ClusterSpec,
        goal: SizingGoal,
        model: ModelSettings | None = None,
        spark_conn_id: str | None = None,
        cluster_options: Mapping[str, Any] | None = None,
        resize_for_production: bool = False,
        parallel_runs: int = 1,
        run_timeout_seconds: float | None = None,
        run_retries: int = 1,
        staging_uri: str | None = None,
        store: str | None = None,
        group_id: str = "ernest",
        **group_options: Any,
    ) -> None:
        super().__init__(group_id=group_id, **group_options)
        settings, options = model or ModelSettings(), cluster_options or {}
        with self:
            check = check_task(cluster, options)
            design = self._design(job, input, bounds, cluster, goal, settings, check)
            create = create_task(cluster, options, spark_conn_id)
            runs = SampleRunOperator.partial(
                task_id="sample_run",
                application=job.application,
                application_args=list(job.application_args),
                conf=dict(job.conf),
                submit_options=dict(job.submit_options),
                staging_uri=staging_uri,
                input_path=input.path,
                sampling=input.sampling,
                header=input.header,
                seed=input.seed,
                cluster=create.output,
                run_timeout_seconds=run_timeout_seconds,
                retries=run_retries,
                retry_delay=RETRY_DELAY,
                max_active_tis_per_dagrun=parallel_runs,
                map_index_template=RUN_NAME,
            ).expand(experiment=design.output)
            # Not as an XComArg, which would put the tasks directly after the setup: Airflow forbids that to
            # tasks that may go on after failures.
            handle = f"{{{{ ti.xcom_pull(task_ids='{create.task_id}') | tojson }}}}"
            fit = self._fit(
                job,
                input,
                goal,
                settings,
                runs.output,
                design=XComArg(design, key="design"),
                cluster=handle,
                store=store,
            )
            choose = self._choose(job, goal, fit.output, cluster=handle, store=store)
            terminate = TerminateClusterOperator(
                task_id="terminate_cluster",
                cluster=create.output,
                # A moment's silence of a cloud must not leave machines to their time to live.
                retries=TEARDOWN_RETRIES,
                retry_delay=RETRY_DELAY,
            )
            terminate.as_teardown(setups=create)
            design >> create >> runs >> fit >> choose >> terminate
            if check is not None:
                check >> design
            self.cluster: Any = create.output
            if resize_for_production:
                resize = resize_task(
                    cluster, options, handle=create.output, size=XComArg(choose, key="machines")
                )
                choose >> resize >> terminate
                self.cluster = resize.output
        self.config: Any = choose.output
        # Not as an XComArg, which fails the task where there is no such XCom: nobody runs without a size, but
        # anybody may run without a record.
        self.decision: Any = f"{{{{ ti.xcom_pull(task_ids='{choose.task_id}', key='record') | tojson }}}}"
        self.teardown = terminate

    @staticmethod
    def _design(
        job: SparkJob,
        sampled: SampledInput,
        bounds: DesignBounds,
        cluster: ClusterSpec,
        goal: SizingGoal,
        settings: ModelSettings,
        check: BaseOperator | None,
    ) -> ExperimentDesignOperator:
        return ExperimentDesignOperator(
            task_id="design",
            partitions=sampled.partitions,
            input_path=sampled.path,
            cores_per_machine=cores_per_machine(cluster, check),
            available_machines=certain_machines(cluster),
            iterations=job.sample_iterations,
            target_max_machines=goal.max_machines,
            target_min_machines=goal.min_machines,
            target_scale=goal.scale,
            method=settings.method,
            terms=settings.terms,
            extension_terms=settings.extension_terms,
            **asdict(bounds),
        )

    @staticmethod
    def _fit(
        job: SparkJob,
        sampled: SampledInput,
        goal: SizingGoal,
        settings: ModelSettings,
        observations: XComArg,
        *,
        design: XComArg,
        cluster: str,
        store: str | None,
    ) -> FitModelOperator:
        return FitModelOperator(
            task_id="fit_model",
            observations=observations,
            design=design,
            cluster=cluster,
            job=job.name,
            application=job.application,
            input_path=sampled.path,
            max_error_percent=goal.max_error_percent,
            on_inadequate=goal.on_inadequate,
            store=store,
            **asdict(settings),
            # The runs that succeeded may suffice; without a design there is nothing to fit.
            trigger_rule="all_done_min_one_success",
        )

    @staticmethod
    def _choose(
        job: SparkJob, goal: SizingGoal, model: XComArg, *, cluster: str, store: str | None
    ) -> ChooseConfigOperator:
        return ChooseConfigOperator(
            task_id="choose_config",
            model=model,
            cluster=cluster,
            price_per_hour=goal.price_per_hour,
            max_machines=goal.max_machines,
            min_machines=goal.min_machines,
            deadline_seconds=goal.deadline_seconds,
            budget_dollars=goal.budget_dollars,
            scale=goal.scale,
            iterations=job.iterations,
            fallback_machines=goal.fallback_machines,
            conf=dict(job.conf),
            job=job.name,
            store=store,
            # Only a stated fallback may go on after a failed training.
            trigger_rule="all_success" if goal.fallback_machines is None else "all_done",
        )
