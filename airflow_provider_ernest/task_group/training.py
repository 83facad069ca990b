"""The training on a type of machine: its cluster, the sample runs on it, and their model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from importlib import import_module
from typing import Any, cast

from airflow.sdk import BaseOperator, TaskGroup, XComArg

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.bottleneck_report import BottleneckReportOperator
from airflow_provider_ernest.operators.cluster import PERSISTENCE, TerminateClusterOperator
from airflow_provider_ernest.operators.experiment_design import (
    CANDIDATES,
    ExperimentDesignOperator,
    NextRunsOperator,
)
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.setting_checks import SizingSettings, certain_executors
from airflow_provider_ernest.settings import (
    ConnectedCluster,
    DesignBounds,
    EventLogs,
    ModelSettings,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.values import count, is_template, require_type, whole_number
from airflow_provider_ernest.spark.sizing import refuse_sizes
from airflow_provider_ernest.words import unit

ClusterSpec = LocalClusterSpec | EC2ClusterSpec | EmrJobFlow | ConnectedCluster
"""The kinds of clusters that a task group can start, or find."""

OPERATORS: Mapping[type, tuple[str, str]] = {
    LocalClusterSpec: ("cluster", "LocalClusterOperator"),
    EC2ClusterSpec: ("ec2_cluster", "EC2ClusterOperator"),
    EmrJobFlow: ("cluster", "EmrJobFlowOperator"),
    ConnectedCluster: ("existing_cluster", "ExistingClusterOperator"),
}
"""Module and name of the operator of each, imported on use: DAG files pay for no other kind."""

CHECK_OPTIONS = ("aws_conn_id", "region_name")
"""Options of a cluster on EC2 that its check and its resize have, too."""

MACHINE_SETTINGS = (
    *("memory_megabytes_per_machine", "executor_memory_megabytes"),
    "launch_template",
    "launch_template_version",
    "setup_script",
    "java_home",
    "python",
    "network_encryption",
    "volume_gigabytes",
    "volume_type",
)
"""Fields of the clusters' specifications that may change how long a run takes on one machine."""

RETRY_DELAY = timedelta(seconds=15)
"""Airflow's five minutes would be paid for: the cluster waits meanwhile."""

CREATE_RETRIES = {"retries": 2, "retry_delay": RETRY_DELAY}
"""An attempt that was killed has left machines, and no teardown runs after a failed setup: only another
attempt takes them over, or ends them."""

WITHOUT_DESIGN = "none_failed_min_one_success"
"""The trigger rule of tasks that go on where a stored model made those before them needless."""


def empty_task(task_id: str, **fields: Any) -> BaseOperator:
    """A task that does nothing, to put an order between others."""
    from airflow.providers.standard.operators.empty import EmptyOperator

    return EmptyOperator(task_id=task_id, **fields)


def json_of(task_ids: str | Sequence[str], key: str = "return_value") -> str:
    """A template of what a task has pushed, as JSON text; of several tasks a list, without skipped ones.

    Not an XComArg, which would put the tasks that read it directly behind that task: Airflow forbids that
    behind a setup for tasks that may go on after failures.
    """
    ids = task_ids if isinstance(task_ids, str) else list(task_ids)
    return f"{{{{ ti.xcom_pull(task_ids={ids!r}, key='{key}') | tojson }}}}"


def text_of(task_id: str, key: str) -> str:
    """A template of what a task has pushed, as plain text, empty where there is none."""
    return f"{{{{ ti.xcom_pull(task_ids='{task_id}', key='{key}') or '' }}}}"


@dataclass(frozen=True, kw_only=True)
class TaskGroupSettings(SizingSettings):
    """What the tasks of a group are built of, whatever the types of machines; see `ErnestTaskGroup`."""

    options: Mapping[str, Any]  # further arguments of the operators that start the clusters
    parallel_runs: int = 1
    run_retries: int = 1
    history: EventLogs | None = None
    found_by: str = "find_model"  # ids of the tasks that look for stored models, and read past runs
    history_by: str = "read_history"

    def past_runs(self, instance_type: str) -> str | None:
        """A template of what was read of the past runs on a type of machine; None where nothing is read."""
        if self.history is None:
            return None
        pulled = f"ti.xcom_pull(task_ids='{self.history_by}')"
        return f"{{{{ (({pulled} or {{}}).get({instance_type!r}) or {{}}) | tojson }}}}"

    def check(self) -> None:
        """Refuse what the tasks could not be built of, and what does not fit together."""
        require_type("job", self.job, SparkJob)
        require_type("input", self.input, SampledInput)
        require_type("bounds", self.bounds, DesignBounds)
        require_type("goal", self.goal, SizingGoal)
        require_type("model", self.model, ModelSettings)
        if is_template(self.bounds.rounds):
            raise InvalidParameterError(
                "rounds",
                self.bounds.rounds,
                "is a template, and each round is a task",
                remedy="Give a number.",
            )
        count("parallel_runs", self.parallel_runs)
        if whole_number("run_retries", self.run_retries) < 0:
            raise InvalidParameterError("run_retries", self.run_retries, "is not a number of at least 0")
        # Before a cluster is paid for: the sample runs would refuse them.
        refuse_sizes(self.job.submit_options, within="submit_options")
        super().check()


@dataclass(frozen=True, kw_only=True)
class TrainingBranch:
    """The tasks of one type of machine."""

    cluster: ClusterSpec
    serves_production: bool  # production may have the cluster, too
    check: BaseOperator | None  # checks the specification; None where there is nothing to ask
    design: ExperimentDesignOperator
    start: BaseOperator | None  # starts a job flow of EMR, a setup; None where there is none to start
    create: BaseOperator  # starts the cluster, a setup unless there is `start`, or finds it
    fit: FitModelOperator
    terminate: BaseOperator
    training_tasks: tuple[str, ...]  # ids of those that a stored model makes needless
    sample_tasks: tuple[str, ...]  # ids of those among them that are needless without sample runs, too

    @property
    def instance_type(self) -> str:
        """The name of its type of machine."""
        return str(self.cluster.type_name)

    @property
    def first(self) -> BaseOperator:
        """The first of its tasks that may cost money."""
        return self.start or self.create

    @property
    def cores(self) -> Any:
        """Of an executor, or a template of them, which is empty where the check has failed."""
        return self._stated_or_checked("executor_cores", "cores_per_machine")

    @property
    def memory_megabytes(self) -> Any:
        """Of an executor, likewise."""
        return self._stated_or_checked("executor_memory_megabytes", "memory_megabytes_per_machine")

    def _stated_or_checked(self, name: str, of_machine: str) -> Any:
        """What the specification states of an executor, or the check has pushed of its machine."""
        stated = getattr(self.cluster, name, None)
        if stated is not None or self.check is None:
            return stated
        return text_of(self.check.task_id, of_machine)

    @property
    def machine(self) -> Mapping[str, Any]:
        """What is known of a machine if no cluster is started."""
        return {
            "kind": self.cluster.kind,
            "instance_type": self.instance_type,
            "executor_cores": self.cores,
            "executor_memory_megabytes": self.memory_megabytes,
            "executors_per_machine": self.cluster.executors_per_machine,
            "price_per_hour": self._stated_or_checked("executor_price_per_hour", "price_per_hour"),
            **{name: self._stated_or_checked(name, name) for name in ("master_price_per_hour", "market")},
        }

    def for_find_model(self) -> Mapping[str, Any]:
        """The type for `FindModelOperator`."""
        cluster = self.cluster
        return {
            "instance_type": self.instance_type,
            "spark": spark_release(cluster),
            "executor_cores": cluster.executor_cores,
            "settings": {
                f"the cluster's {each.name}": stated
                for each in fields(cluster)
                if each.name in MACHINE_SETTINGS
                and (stated := getattr(cluster, each.name)) not in (None, "", False, ())
            }
            | (cluster.compared if isinstance(cluster, EmrJobFlow) else {}),
            "training_tasks": list(self.training_tasks),
            "sample_tasks": list(self.sample_tasks),
            "run_cluster_tasks": list(ids_of([self.start, self.create, self.terminate])),
            "cluster_tasks": list(ids_of([self.check, self.start, self.create, self.terminate])),
            "teardown": self.terminate.task_id,
            # One that is there anyway costs nothing, and tells how large it is today.
            "keeps_cluster": self.serves_production and isinstance(cluster, ConnectedCluster),
        }


def training_branch(
    cluster: ClusterSpec,
    stated: TaskGroupSettings,
    *,
    serves_production: bool = False,
    teardown: Mapping[str, Any] | None = None,
) -> TrainingBranch:
    """Build the tasks of one type of machine, in the open task group.

    Where it `serves_production`, too, the cluster is started also if a stored model makes the training
    needless. `teardown` are arguments of the task that ends it; None for one in the open group.

    Raises:
        InvalidParameterError: such a cluster cannot be.
    """
    check = check_task(cluster, stated.options)
    past_runs = stated.past_runs(cluster.type_name)
    design = design_task(stated, cluster, cores=executor_cores(cluster, check), past_runs=past_runs)
    rule = {"trigger_rule": WITHOUT_DESIGN} if serves_production else {}
    options = {**CREATE_RETRIES, **stated.options}
    beside = teardown or {"task_id": "terminate_cluster"}
    start, terminate = None, None
    if isinstance(cluster, EmrJobFlow) and cluster.job_flow is not None:
        start, terminate = job_flow_tasks(
            cluster, rule=rule, teardown=beside, **shared_options(stated.options)
        )
        started: Any = start.output
        create = create_task(replace(cluster, job_flow_id=started, job_flow=None), options)
    else:
        create = create_task(cluster, {**rule, **options})
    rounds = _rounds(stated, design, create, cluster=cluster, past_runs=past_runs)
    fit = _fit_task(stated, rounds, design=design, cluster=json_of(create.task_id), past_runs=past_runs)
    if terminate is None:
        terminate = TerminateClusterOperator(**beside, cluster=create.output)
        terminate.as_teardown(setups=create)
    report = _report_task(stated, rounds, fit)
    design >> (start or create)
    create >> rounds.runs[0]
    # Behind the design, too: where all runs have failed, it says that none succeeded.
    [design, *rounds.runs] >> fit
    # Nothing else needs the cluster. What lies between a setup and its teardown does not run where the setup
    # fails, whatever its trigger rule: the decision has to, for its fallback.
    rounds.runs >> terminate
    if check is not None:
        check >> [design, create]
    branch = TrainingBranch(
        cluster=cluster,
        serves_production=serves_production,
        check=check,
        design=design,
        start=start,
        create=create,
        fit=fit,
        terminate=terminate,
        training_tasks=ids_of([design, *rounds.tasks, fit, report]),
        sample_tasks=ids_of([*rounds.tasks, report]),
    )
    if stated.history is not None:
        design.type_tasks = branch.for_find_model()
        fit.machine = branch.machine
    return branch


def design_task(
    stated: TaskGroupSettings, cluster: ClusterSpec, *, cores: Any, past_runs: str | None = None
) -> ExperimentDesignOperator:
    """The task that designs a cluster's sample runs."""
    return ExperimentDesignOperator(
        task_id="design",
        bounds=stated.bounds,
        input=stated.input,
        goal=stated.goal,
        model=stated.model,
        executor_cores=cores,
        iterations=stated.job.sample_iterations,
        available_executors=certain_executors(cluster),
        billed_machines=billed_machines(cluster, stated.parallel_runs),
        history=past_runs,
    )


@dataclass(frozen=True)
class _Rounds:
    """The sample runs of each round, and the tasks that choose those of a further round, one fewer."""

    runs: list[Any]
    choices: list[NextRunsOperator]

    @property
    def tasks(self) -> list[Any]:
        return [*self.runs, *self.choices]

    @property
    def observations(self) -> str:
        return json_of(ids_of(self.runs))

    def last_design(self, design: ExperimentDesignOperator) -> str:
        """A template of the design of all runs that were chosen, of the last task that has pushed one."""
        pulled = f"ti.xcom_pull(task_ids={list(ids_of([design, *self.choices]))!r}, key='design')"
        return f"{{{{ ({pulled} | select | list or [none]) | last | tojson }}}}"


def _rounds(
    stated: TaskGroupSettings,
    design: ExperimentDesignOperator,
    create: BaseOperator,
    *,
    cluster: ClusterSpec,
    past_runs: str | None,
) -> _Rounds:
    """Build the sample runs, and what chooses those of further rounds."""
    name = run_name(cluster)
    rounds = _Rounds([_sample_runs(stated, "sample_run", design.output, create.output, name)], [])
    for number in range(2, 1 + count("rounds", stated.bounds.rounds)):
        choice = NextRunsOperator(
            task_id=f"next_runs_{number}",
            observations=rounds.observations,
            design=rounds.last_design(design),
            candidates=json_of(design.task_id, CANDIDATES),
            bounds=stated.bounds,
            job=stated.job,
            goal=stated.goal,
            cluster=json_of(create.task_id),
            model=stated.model,
            history=past_runs,
            billed_machines=billed_machines(cluster, stated.parallel_runs),
            # A round that was skipped, or in which all runs failed, is the last one.
            trigger_rule="all_done_min_one_success",
            retry_delay=RETRY_DELAY,
        )
        rounds.runs[-1] >> choice
        rounds.choices.append(choice)
        rounds.runs.append(_sample_runs(stated, f"sample_run_{number}", choice.output, create.output, name))
    return rounds


def _sample_runs(
    stated: TaskGroupSettings, task_id: str, experiments: XComArg, cluster: XComArg, name: str
) -> Any:
    return SampleRunOperator.partial(
        task_id=task_id,
        job=stated.job,
        input=stated.input,
        cluster=cluster,
        run_timeout_seconds=stated.run_timeout_seconds,
        artifact_sha256=text_of(stated.found_by, "artifact_sha256"),
        retries=stated.run_retries,
        retry_delay=RETRY_DELAY,
        max_active_tis_per_dagrun=stated.parallel_runs,
        map_index_template=name,
    ).expand(experiment=experiments)


def _fit_task(
    stated: TaskGroupSettings,
    rounds: _Rounds,
    *,
    design: ExperimentDesignOperator,
    cluster: str,
    past_runs: str | None,
) -> FitModelOperator:
    # The runs that succeeded may suffice; without a design there is nothing to fit. That rule takes runs that
    # were skipped for none at all, and past runs, or those of the first round, may make them needless.
    rule: dict[str, Any] = {"trigger_rule": "all_done_min_one_success"}
    if past_runs is not None or rounds.choices:
        rule = {"trigger_rule": "all_done", "training_begins_with": [design.task_id]}
    return FitModelOperator(
        task_id="fit_model",
        observations=rounds.observations,
        job=stated.job,
        input=stated.input,
        model=stated.model,
        goal=stated.goal,
        design=rounds.last_design(design),
        cluster=cluster,
        history=past_runs,
        artifact_sha256=text_of(stated.found_by, "artifact_sha256"),
        conditions=json_of(stated.found_by, "conditions"),
        **rule,
    )


def _report_task(
    stated: TaskGroupSettings, rounds: _Rounds, fit: FitModelOperator
) -> BottleneckReportOperator:
    report = BottleneckReportOperator(
        task_id="bottleneck_report",
        observations=rounds.observations,
        job=stated.job,
        goal=stated.goal,
        # As text, so that a training without a model is reported on, too.
        model=json_of(fit.task_id),
    )
    fit >> report
    # A teardown is what Airflow lets fail, or be killed, without a word about the DAG run's state, and what
    # a task behind the group does not wait for.
    report.as_teardown()
    return report


def ids_of(tasks: Iterable[Any]) -> tuple[str, ...]:
    """The ids of tasks, without None."""
    return tuple(task.task_id for task in tasks if task is not None)


def training_branches(clusters: Sequence[ClusterSpec], stated: TaskGroupSettings) -> list[TrainingBranch]:
    """Build the tasks of several types, each in a task group of its own within the open one."""
    # Runs on a local cluster would disturb the others.
    in_parallel = not any(isinstance(cluster, LocalClusterSpec) for cluster in clusters)
    branches: list[TrainingBranch] = []
    for cluster in clusters:
        # Airflow allows no other characters.
        group_id = re.sub(r"[^A-Za-z0-9_-]", "_", cluster.type_name)
        with TaskGroup(group_id=group_id, tooltip=cluster.type_name):
            branch = training_branch(cluster, stated)
            if branches and not in_parallel:
                # A cluster starts only when the one before has ended, however its training went. The rule is
                # that of a task between them: a setup with it would start after a failed design.
                ended = empty_task("type_before_ended", trigger_rule="all_done")
                branches[-1].terminate >> ended >> branch.first
        branches.append(branch)
    return branches


# What the kinds of clusters differ in.


def check_task(cluster: ClusterSpec, options: Mapping[str, Any]) -> BaseOperator | None:
    """The task that checks a specification before anything costs money; None if nothing can be asked."""
    if not isinstance(cluster, EC2ClusterSpec):
        return None
    from airflow_provider_ernest.operators.ec2_cluster import EC2PreflightOperator

    return EC2PreflightOperator(task_id="check_cluster", spec=cluster, **shared_options(options))


def create_task(cluster: ClusterSpec, options: Mapping[str, Any]) -> BaseOperator:
    """The task that starts a cluster, or finds it."""
    module, name = OPERATORS[type(cluster)]
    operator = getattr(import_module(f"airflow_provider_ernest.operators.{module}"), name)
    create: BaseOperator = operator(task_id="create_cluster", spec=cluster, **options)
    return create


def job_flow_tasks(
    cluster: EmrJobFlow, *, rule: Mapping[str, Any], teardown: Mapping[str, Any], **options: Any
) -> tuple[BaseOperator, BaseOperator]:
    """Amazon's operators that start a job flow, as a setup, and end it, as its teardown.

    The setup does not wait until the job flow is ready: if it failed meanwhile, no teardown would run.
    """
    from airflow.providers.amazon.aws.operators.emr import (
        EmrCreateJobFlowOperator,
        EmrTerminateJobFlowOperator,
    )

    request: Any = cluster.job_flow
    start: BaseOperator = EmrCreateJobFlowOperator(
        task_id="start_job_flow", emr_conn_id=None, job_flow_overrides=request, **rule, **options
    )
    end: BaseOperator = EmrTerminateJobFlowOperator(
        **{**PERSISTENCE, **teardown}, job_flow_id=cast("str", start.output), **options
    )
    end.as_teardown(setups=start)
    return start, end


def resize_task(cluster: ClusterSpec, options: Mapping[str, Any], *, handle: Any, size: Any) -> BaseOperator:
    """The task that gives a running cluster on EC2 another size; others keep theirs."""
    if not isinstance(cluster, EC2ClusterSpec):
        raise InvalidParameterError(
            "resize_for_production", True, f"is impossible for a cluster of {type(cluster).__name__}"
        )
    from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator

    return EC2ClusterOperator(
        task_id="resize_cluster", spec=cluster, cluster=handle, size=size, **shared_options(options)
    )


def shared_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The `CHECK_OPTIONS` among them."""
    return {name: options[name] for name in CHECK_OPTIONS if name in options}


def spark_release(cluster: ClusterSpec) -> str | None:
    """The Spark that it runs, as `FindModelOperator` takes it; None if unknown."""
    if isinstance(cluster, LocalClusterSpec):
        return "installed"
    if isinstance(cluster, EC2ClusterSpec):
        distribution = cluster.spark_distribution.rpartition("/")[2]
        return f"{distribution} on {cluster.image}" if cluster.image else distribution
    return cluster.release_label if isinstance(cluster, EmrJobFlow) else None


def executor_cores(cluster: ClusterSpec, check: BaseOperator | None) -> Any:
    """The cores of an executor, or the XCom that they are read from; an error if nothing tells them."""
    if cluster.executor_cores is not None:
        return cluster.executor_cores
    if check is None:
        raise InvalidParameterError(
            "executor_cores",
            None,
            f"must be stated of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return XComArg(check, key="cores_per_machine")


def run_name(cluster: ClusterSpec) -> str:
    """A template of what a sample run is called in Airflow's grid."""
    counted = unit(cluster.executors_per_machine)
    return (
        f"{{{{ task.experiment['executors'] }}}} {counted}"
        "{{ '' if task.experiment['executors'] == 1 else 's' }}, "
        "{{ '%.2f' | format(task.experiment['scale'] * 100) }} %"
    )


def billed_machines(cluster: ClusterSpec, parallel_runs: int) -> float | None:
    """The machines that are paid for while a sample run is on, however few it uses; None for its own.

    A cluster that is there anyway costs nothing.
    """
    return None if isinstance(cluster, ConnectedCluster) else cluster.machines / parallel_runs
