"""The training on one type of machine: its cluster, the sample runs on it, and the model of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import XComArg

from airflow_provider_ernest.cluster_tasks import (
    billed_machines,
    certain_machines,
    check_task,
    cores_per_machine,
    create_task,
    type_name,
)
from airflow_provider_ernest.operators.bottleneck_report import BottleneckReportOperator
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.terminate_cluster import TerminateClusterOperator
from airflow_provider_ernest.specification import ModelSettings

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

    from airflow_provider_ernest.cluster_tasks import ClusterSpec
    from airflow_provider_ernest.specification import DesignBounds, SampledInput, SizingGoal, SparkJob

RETRY_DELAY = timedelta(seconds=15)
"""Airflow's five minutes would be paid for: the cluster waits meanwhile."""
CREATE_RETRIES = {"retries": 2, "retry_delay": RETRY_DELAY}
"""An attempt that was killed has left machines, and no teardown runs after a setup that failed: only another
attempt takes them over, or ends them."""

WITHOUT_DESIGN = "none_failed_min_one_success"
"""The rule of tasks that go on where a stored model has made those before them needless."""

RUN_NAME = (
    "{{ task.experiment['machines'] }} machine{{ '' if task.experiment['machines'] == 1 else 's' }}, "
    "{{ '%.2f' | format(task.experiment['scale'] * 100) }} %"
)


@dataclass(frozen=True, kw_only=True)
class Training:
    """What the trainings on all types of machines have in common; see `ErnestTaskGroup` for the fields.

    Attributes:
        found_by: id of the task that looks for stored models.
    """

    job: SparkJob
    input: SampledInput
    bounds: DesignBounds
    goal: SizingGoal
    model: ModelSettings = field(default_factory=ModelSettings)
    parallel_runs: int = 1
    run_timeout_seconds: float | None = None
    run_retries: int = 1
    staging_uri: str | None = None
    store: str | None = None
    reports_bottlenecks: bool = True
    found_by: str = "find_model"

    def found(self, key: str) -> str:
        """What the task that looked for stored models has pushed, as a template of JSON text."""
        return f"{{{{ ti.xcom_pull(task_ids='{self.found_by}', key='{key}') | tojson }}}}"

    def found_text(self, key: str) -> str:
        """The same as a template of plain text."""
        return f"{{{{ ti.xcom_pull(task_ids='{self.found_by}', key='{key}') or '' }}}}"


@dataclass(frozen=True, kw_only=True)
class TrainingBranch:
    """The tasks of one type of machine.

    Attributes:
        instance_type: its name.
        create: starts the cluster, a setup.
        fit: fits the model.
        terminate: ends the cluster, the teardown.
        cores: of a machine, or a template that renders to them or to nothing.
        cluster: that it is trained on.
        serves_production: production may have that cluster, too.
        check: checks the cluster's specification; None where there is nothing to ask.
        design: designs the sample runs, maybe for several types.
        training_tasks: ids of those that a stored model makes needless.
        cluster_tasks: ids of those that check, start and end the cluster.
    """

    instance_type: str
    create: BaseOperator
    fit: FitModelOperator
    terminate: TerminateClusterOperator
    cores: Any
    cluster: ClusterSpec
    serves_production: bool
    check: BaseOperator | None
    design: ExperimentDesignOperator
    training_tasks: tuple[str, ...]
    cluster_tasks: tuple[str, ...]

    @property
    def handle(self) -> str:
        """The cluster's handle as a template of JSON text.

        Not as an XComArg, which would put the tasks that read it directly after the setup: Airflow forbids
        that to tasks that may go on after failures.
        """
        return _handle(self.create)

    @property
    def failure(self) -> str:
        """Why there is no model, as a template that renders to nothing where there is one."""
        return f"{{{{ ti.xcom_pull(task_ids='{self.fit.task_id}', key='failure') or '' }}}}"


def training_branch(
    cluster: ClusterSpec,
    training: Training,
    *,
    options: Mapping[str, Any],
    spark_conn_id: str | None = None,
    design: ExperimentDesignOperator | None = None,
    serves_production: bool = False,
) -> TrainingBranch:
    """Build the tasks of one type of machine, in the task group that is open.

    Args:
        cluster: the cluster to start.
        training: what the trainings of all types have in common.
        options: further arguments of the operator that starts the cluster.
        spark_conn_id: Airflow connection at whose address a local cluster listens.
        design: of the sample runs, where several types share it; None to make one.
        serves_production: production may have the cluster, too. Then it is started also where a stored model
            makes the training needless.

    Raises:
        InvalidParameterError: such a cluster cannot be.
    """
    check = check_task(cluster, options)
    own_design = design or design_task(training, [cluster], cores=cores_per_machine(cluster, check))
    rule = {"trigger_rule": WITHOUT_DESIGN} if serves_production else {}
    create = create_task(cluster, {**CREATE_RETRIES, **rule, **options}, spark_conn_id)
    runs = _sample_runs(training, own_design.output, create.output)
    fit = _fit_task(training, runs.output, design=XComArg(own_design, key="design"), cluster=_handle(create))
    terminate = TerminateClusterOperator(task_id="terminate_cluster", cluster=create.output)
    terminate.as_teardown(setups=create)
    report = _report_task(training, runs.output, fit) if training.reports_bottlenecks else None
    own_design >> create >> runs >> fit
    # Nothing else needs the cluster. What lies between a setup and its teardown does not run where the setup
    # fails, whatever its trigger rule: the decision has to, for its fallback.
    runs >> terminate
    if check is not None:
        check >> create
        if design is None:  # one that is shared is not held up by the check of one type
            check >> own_design
    return TrainingBranch(
        instance_type=type_name(cluster),
        create=create,
        fit=fit,
        terminate=terminate,
        cores=_cores(cluster, check),
        cluster=cluster,
        serves_production=serves_production,
        check=check,
        design=own_design,
        training_tasks=_ids([None if design else own_design, runs, fit, report]),
        cluster_tasks=_ids([check, create, terminate]),
    )


def design_task(
    training: Training, clusters: Sequence[ClusterSpec], *, cores: Any
) -> ExperimentDesignOperator:
    """The task that designs the sample runs.

    Args:
        training: what they are for.
        clusters: that they will be made on.
        cores: of each machine, which all clusters have in common.
    """
    goal, settings = training.goal, training.model
    return ExperimentDesignOperator(
        task_id="design",
        partitions=training.input.partitions,
        input_path=training.input.path,
        cores_per_machine=cores,
        available_machines=min(certain_machines(cluster) for cluster in clusters),
        iterations=training.job.sample_iterations,
        target_max_machines=goal.max_machines,
        target_min_machines=goal.min_machines,
        target_allowed_machines=goal.allowed_machines,
        target_scale=goal.scale,
        target_deadline_seconds=goal.deadline_seconds,
        billed_machines=billed_machines(clusters, training.parallel_runs),
        method=settings.method,
        terms=settings.terms,
        extension_terms=settings.extension_terms,
        **asdict(training.bounds),
    )


def _sample_runs(training: Training, experiments: XComArg, cluster: XComArg) -> Any:
    job, sampled = training.job, training.input
    return SampleRunOperator.partial(
        task_id="sample_run",
        application=job.application,
        application_args=list(job.application_args),
        conf=dict(job.conf),
        submit_options=dict(job.submit_options),
        staging_uri=training.staging_uri,
        input_path=sampled.path,
        sampling=sampled.sampling,
        header=sampled.header,
        seed=sampled.seed,
        cluster=cluster,
        run_timeout_seconds=training.run_timeout_seconds,
        profile=training.reports_bottlenecks,
        job=job.name,
        store=training.store,
        artifact_sha256=training.found_text("artifact_sha256"),
        conditions=training.found("conditions"),
        retries=training.run_retries,
        retry_delay=RETRY_DELAY,
        max_active_tis_per_dagrun=training.parallel_runs,
        map_index_template=RUN_NAME,
    ).expand(experiment=experiments)


def _fit_task(
    training: Training, observations: XComArg, *, design: XComArg, cluster: str
) -> FitModelOperator:
    return FitModelOperator(
        task_id="fit_model",
        observations=observations,
        design=design,
        cluster=cluster,
        job=training.job.name,
        application=training.job.application,
        submit_options=dict(training.job.submit_options),
        input_path=training.input.path,
        max_error_percent=training.goal.max_error_percent,
        on_inadequate=training.goal.on_inadequate,
        store=training.store,
        artifact_sha256=training.found_text("artifact_sha256"),
        conditions=training.found("conditions"),
        **asdict(training.model),
        # The runs that succeeded may suffice; without a design there is nothing to fit.
        trigger_rule="all_done_min_one_success",
    )


def _report_task(
    training: Training, observations: XComArg, fit: FitModelOperator
) -> BottleneckReportOperator:
    goal = training.goal
    report = BottleneckReportOperator(
        task_id="bottleneck_report",
        observations=observations,
        job=training.job.name,
        # As text, so that a training without a model is reported on, too.
        model=f"{{{{ ti.xcom_pull(task_ids='{fit.task_id}') | tojson }}}}",
        max_machines=goal.max_machines,
        min_machines=goal.min_machines,
        allowed_machines=goal.allowed_machines,
        scale=goal.scale,
        iterations=training.job.iterations,
        store=training.store,
    )
    fit >> report
    # A teardown is what Airflow lets fail, or be killed, without a word about the DAG run's state, and what
    # a task behind the group does not wait for.
    report.as_teardown()
    return report


def _ids(tasks: Iterable[Any]) -> tuple[str, ...]:
    return tuple(task.task_id for task in tasks if task is not None)


def _handle(create: BaseOperator) -> str:
    return f"{{{{ ti.xcom_pull(task_ids='{create.task_id}') | tojson }}}}"


def _cores(cluster: ClusterSpec, check: BaseOperator | None) -> Any:
    """As `cores_per_machine`, and no XComArg, which fails the task where the check has failed."""
    if cluster.cores_per_machine is not None or check is None:
        return cluster.cores_per_machine
    return f"{{{{ ti.xcom_pull(task_ids='{check.task_id}', key='cores_per_machine') }}}}"
