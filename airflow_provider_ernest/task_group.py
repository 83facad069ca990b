"""The whole chain of sizing steps as one task group, to put ahead of a production task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import TaskGroup, XComArg

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.bottleneck_report import BottleneckReportOperator
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.experiment_design import CANDIDATES, ExperimentDesignOperator
from airflow_provider_ernest.operators.find_model import FindModelOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.operators.next_runs import NextRunsOperator
from airflow_provider_ernest.operators.read_history import ReadHistoryOperator
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from airflow_provider_ernest.operators.setting_checks import PlannedCluster, SizingSettings
from airflow_provider_ernest.operators.terminate_cluster import PERSISTENCE, TerminateClusterOperator
from airflow_provider_ernest.settings import (
    ConnectedCluster,
    DesignBounds,
    EventLogs,
    ModelSettings,
    Reuse,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.goal import FAIL
from airflow_provider_ernest.settings.templates import require_type
from airflow_provider_ernest.settings.values import count, flag, is_template, whole_number
from airflow_provider_ernest.spark.sizing import refuse_sizes

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator

    from airflow_provider_ernest.operators.choose_config import JobConf

ClusterSpec = LocalClusterSpec | EC2ClusterSpec | EmrJobFlow | ConnectedCluster
"""The kinds of clusters that a task group can start, or find."""

OPERATORS: Mapping[type, tuple[str, str]] = {
    LocalClusterSpec: ("local_cluster", "LocalClusterOperator"),
    EC2ClusterSpec: ("ec2_cluster", "EC2ClusterOperator"),
    EmrJobFlow: ("emr_job_flow", "EmrJobFlowOperator"),
    ConnectedCluster: ("existing_cluster", "ExistingClusterOperator"),
}
"""Module and name of what starts them, imported where they are used: DAG files pay for no other kind."""

KEPT_OF_MACHINE = (
    *("cores_per_machine", "memory_megabytes_per_machine"),
    *("price_per_hour", "master_price_per_hour", "market"),
)
"""What is stated of a machine, or what the check of a cluster finds, for a model without one."""

CHECK_OPTIONS = ("aws_conn_id", "region_name")
"""Options of a cluster on EC2 that its check and its resize have, too."""

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

ONE_TYPE_ONLY = (
    "Start production's own cluster by EC2ClusterOperator(spec=EC2ClusterSpec("
    "machines=group.config['machines'], instance_type=group.config['instance_type'], ...))."
)

MACHINE_SETTINGS = (
    "memory_megabytes_per_machine",
    "cpu_share",
    "launch_template",
    "launch_template_version",
    "setup_script",
    "java_home",
    "python",
    "network_encryption",
    "volume_gigabytes",
    "volume_type",
)
"""Of the specifications of all kinds of clusters: what may change how long a run takes on one machine."""

SETTINGS = {
    "job": SparkJob,
    "input": SampledInput,
    "bounds": DesignBounds,
    "goal": SizingGoal,
    "model": ModelSettings,
}
"""The kinds of what a user states."""

REUSE = Reuse()


class ErnestTaskGroup(TaskGroup):
    """Design, cluster, sample runs, model, decision: everything ahead of the production task.

    First of all a stored model is looked for that holds for the job as it is now; where there is one, the
    training is skipped, and the decision is made by it. See `FindModelOperator`.

    .. code-block:: python

        ernest = ErnestTaskGroup(job=..., input=..., bounds=..., cluster=..., goal=...)
        production = SparkSubmitOperator(..., conf=ernest.job_conf())
        ernest >> production  # production runs elsewhere
        ernest >> production >> ernest.teardown  # production runs on the same cluster

    On the same cluster, an `ErnestSparkSubmitOperator` finds it by ``cluster=ernest.cluster``; anywhere, it
    records what production took beside what was predicted by ``decision=ernest.decision``. A cluster on EC2
    is checked first of all: what cannot be had is found out before anything costs money.

    Over several types of machines, each is trained on a cluster of its own, and the decision is for the best
    of all. A type whose training fails leaves the others. The clusters end with the training; production gets
    one of its own:

    .. code-block:: python

        ernest = ErnestTaskGroup(cluster=[EC2ClusterSpec(...), EC2ClusterSpec(...)], ...)
        create = EC2ClusterOperator(
            spec=EC2ClusterSpec(
                machines=ernest.config["machines"], instance_type=ernest.config["instance_type"], ...
            )
        )

    Args:
        job: the application to size.
        input: the production input and how to sample it.
        bounds: what the sample runs may be.
        cluster: the cluster to start for the sample runs: a `LocalClusterSpec`, an
            `EC2ClusterSpec` or an `EmrJobFlow`; or a `ConnectedCluster` that is there already. A list of
            them, one for each type of machine, to choose among several types.
        goal: what the production run must keep to.
        model: how the model is made of the observations; None for the most accurate way known.
        spark_conn_id: Airflow connection at whose address the cluster listens, for a stock operator that
            runs production on the same local cluster; None where there is none.
        cluster_options: further arguments of the operator that starts the cluster, such as aws_conn_id,
            region_name and deferrable; a list of them for several clusters that take different ones.
        types_in_parallel: train several types at the same time. None to do so unless one of their clusters is
            local, whose runs would disturb the others.
        resize_for_production: give the cluster the chosen number of machines when the decision is made, so
            that production uses the machines that are paid for already. Only on EC2.
        parallel_runs: sample runs at the same time. On one machine each disturbs the others; on machines
            of their own, more of them shorten the training.
        run_timeout_seconds: how long a sample run may take once it has its machines.
        run_retries: how often a failed sample run is tried again.
        staging_uri: s3:// folder that a local application is uploaded to, for EMR.
        store: root of the model store; None for ``[ernest] store``.
        reuse: how long a stored model is good for; None to train in each run.
        history: where past runs of the job are known from, such as ``EventLogs("s3a://bucket/spark-events")``:
            they are read where no stored model holds, and count as observations that cost nothing. Only the
            sample runs that are still missing are made; where none is, no cluster is started for them.
        on_stale: callables or Airflow notifiers, called where a model no longer holds for the job.
        report_bottlenecks: profile the sample runs, and report why the job takes as long as it does; see
            `BottleneckReportOperator`. Nothing waits for it.
        group_id: name of the group.
        group_options: further arguments of Airflow's TaskGroup, such as tooltip or default_args.

    Attributes:
        config: the decision's XComs: ``config["machines"]``, ``["instance_type"]``,
            ``["predicted_seconds"]`` and more, see `ChooseConfigOperator`. Of Spark's properties they have
            those alone that size the run; with those of `job` they are ``job_conf()``.
        decision: the record of the decision, for an `ErnestSparkSubmitOperator`: a template that renders to
            JSON text, or to ``null`` where the decision left no record. Then nothing is recorded, and a
            warning says so. As any template it makes no task wait: `config`, or ``ernest >> production``,
            puts production behind the decision.
        cluster: the handle of the cluster that production may run on, resized where that was asked for; None
            with several types.
        teardown: the task that ends the cluster, drawn beside the group; a list of them with several types.

    Raises:
        InvalidParameterError: what cannot be, when the DAG file is parsed.
    """

    def __init__(
        self,
        *,
        job: SparkJob,
        input: SampledInput,  # noqa: A002 - the word that fits
        bounds: DesignBounds,
        cluster: ClusterSpec | Sequence[ClusterSpec],
        goal: SizingGoal,
        model: ModelSettings | None = None,
        spark_conn_id: str | None = None,
        cluster_options: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        types_in_parallel: bool | None = None,
        resize_for_production: bool = False,
        parallel_runs: int = 1,
        run_timeout_seconds: float | None = None,
        run_retries: int = 1,
        staging_uri: str | None = None,
        store: str | None = None,
        reuse: Reuse | None = REUSE,
        history: EventLogs | None = None,
        on_stale: Any = (),
        report_bottlenecks: bool = True,
        group_id: str = "ernest",
        **group_options: Any,
    ) -> None:
        super().__init__(group_id=group_id, **group_options)
        clusters = _listed(cluster)
        require_type("reuse", reuse or REUSE, Reuse)
        if history is not None:
            require_type("history", history, EventLogs)
        flag("resize_for_production", resize_for_production)
        stated = TaskGroupSettings(
            job=job,
            input=input,
            bounds=bounds,
            goal=goal,
            model=model or ModelSettings(),
            clusters=[planned(each) for each in clusters],
            parallel_runs=parallel_runs,
            run_timeout_seconds=run_timeout_seconds,
            run_retries=run_retries,
            staging_uri=staging_uri,
            store=store,
            report_bottlenecks=report_bottlenecks,
            history=history,
            found_by=str(self.child_id("find_model")),  # type: ignore[no-untyped-call]
            history_by=str(self.child_id("read_history")),  # type: ignore[no-untyped-call]
        )
        stated.check()
        options = options_of_each(cluster_options, clusters)
        is_one = len(clusters) == 1
        with self:
            if is_one:
                branches = [
                    training_branch(
                        clusters[0],
                        stated,
                        options=options[0],
                        spark_conn_id=spark_conn_id,
                        serves_production=True,
                        teardown=self._beside("terminate_cluster"),
                    )
                ]
            else:
                refuse_for_several(clusters, resize=resize_for_production, spark_conn_id=spark_conn_id)
                branches = training_branches(clusters, stated, options=options, in_parallel=types_in_parallel)
            read = None if history is None else history_task(stated, history, branches)
            find = find_task(stated, branches, read=read, reuse=reuse, on_stale=on_stale)
            choose = choose_task(stated, branches, begins_with=[find.task_id])
            find >> choose
            self.cluster: Any = None
            self.teardown: Any = [branch.terminate for branch in branches]
            if is_one:
                # Where the cluster is production's, too, the decision needs its handle, with or without runs.
                branches[0].create >> _empty("cluster_ready") >> choose
                self.cluster, self.teardown = branches[0].create.output, branches[0].terminate
            if resize_for_production:
                resize = resize_task(
                    clusters[0], options[0], handle=self.cluster, size=XComArg(choose, key="machines")
                )
                choose >> resize >> self.teardown
                self.cluster = resize.output
        self.config: Any = choose.output
        self._choose = choose
        # Not as an XComArg, which fails the task where there is no such XCom: nobody runs without a size, but
        # anybody may run without a record.
        self.decision: Any = _json_of(choose.task_id, "record")

    def _beside(self, task_id: str) -> dict[str, Any]:
        """Arguments of a task that has its id within this group, and is drawn beside it.

        Production comes after the group and before the teardown: a graph that has both of these in one box
        cannot draw it to the right of that box.
        """
        prefix = f"{self._group_id}." if self.prefix_group_id else ""
        return {
            "task_id": f"{prefix}{task_id}",
            "task_group": self.parent_group,
            "default_args": self.default_args,
        }

    def job_conf(self, key: str = "spark_conf") -> JobConf:
        """The job's own Spark properties and, over them, those decided on; see `ChooseConfigOperator`.

        Args:
            key: "spark_conf", or "yarn_conf" or "kubernetes_conf".

        Raises:
            InvalidParameterError: another key.
        """
        return self._choose.job_conf(key)


def _listed(cluster: Any) -> list[Any]:
    clusters = list(cluster) if isinstance(cluster, list | tuple) else [cluster]
    if not clusters:
        raise InvalidParameterError("cluster", cluster, "is empty", remedy="Name at least one.")
    for each in clusters:
        require_type("cluster", each, *OPERATORS)
        if isinstance(each, EC2ClusterSpec):
            each.require_literal()
    return clusters


def _empty(task_id: str, **fields: Any) -> BaseOperator:
    from airflow.providers.standard.operators.empty import EmptyOperator

    return EmptyOperator(task_id=task_id, **fields)


def _json_of(task_id: str, key: str = "return_value") -> str:
    """What a task has pushed, as a template of JSON text.

    Not as an XComArg, which would put the tasks that read it directly behind that task: Airflow forbids that
    behind a setup to tasks that may go on after failures.
    """
    return f"{{{{ ti.xcom_pull(task_ids='{task_id}', key='{key}') | tojson }}}}"


def _all_of(task_ids: Sequence[str]) -> str:
    """What all instances of several mapped tasks have returned, as a template of a JSON list.

    Tasks that were skipped have returned nothing.
    """
    return f"{{{{ ti.xcom_pull(task_ids={list(task_ids)!r}) | tojson }}}}"


def _last_of(task_ids: Sequence[str], key: str) -> str:
    """What the last of several tasks has pushed that has pushed anything, as a template of JSON text."""
    pulled = f"ti.xcom_pull(task_ids={list(task_ids)!r}, key='{key}')"
    return f"{{{{ ({pulled} | select | list or [none]) | last | tojson }}}}"


def _text_of(task_id: str, key: str) -> str:
    """The same as a template of plain text, which is empty where there is none."""
    return f"{{{{ ti.xcom_pull(task_ids='{task_id}', key='{key}') or '' }}}}"


@dataclass(frozen=True, kw_only=True)
class TaskGroupSettings(SizingSettings):
    """What the tasks of a group are built of, whatever the types of machines; see `ErnestTaskGroup`.

    Attributes:
        history: where past runs are known from; None where they are not asked for.
        found_by: id of the task that looks for stored models.
        history_by: id of the one that reads past runs.
    """

    parallel_runs: int = 1
    run_retries: int = 1
    store: str | None = None
    report_bottlenecks: bool = True
    history: EventLogs | None = None
    found_by: str = "find_model"
    history_by: str = "read_history"

    def past_runs(self, instance_type: str) -> str | None:
        """What was read of the past runs on a type of machine, as a template; None where nothing is read."""
        if self.history is None:
            return None
        pulled = f"ti.xcom_pull(task_ids='{self.history_by}')"
        return f"{{{{ (({pulled} or {{}}).get({instance_type!r}) or {{}}) | tojson }}}}"

    def check(self) -> None:
        """Refuse what the tasks could not be built of, and what does not fit together."""
        for name, kind in SETTINGS.items():
            require_type(name, getattr(self, name), kind)
        flag("report_bottlenecks", self.report_bottlenecks)
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


# The training on one type of machine: its cluster, the sample runs on it, and the model of them.


@dataclass(frozen=True, kw_only=True)
class TrainingBranch:
    """The tasks of one type of machine.

    Attributes:
        cluster: that it is trained on.
        serves_production: production may have that cluster, too.
        check: checks the cluster's specification; None where there is nothing to ask.
        design: designs the sample runs, maybe for several types.
        start: starts a job flow of EMR, a setup; None where there is none to start.
        create: starts the cluster, else a setup, or finds it.
        fit: fits the model.
        terminate: ends what was started, the teardown.
        training_tasks: ids of those that a stored model makes needless.
        sample_tasks: ids of those among them that are needless without sample runs, too.
    """

    cluster: ClusterSpec
    serves_production: bool
    check: BaseOperator | None
    design: ExperimentDesignOperator
    start: BaseOperator | None
    create: BaseOperator
    fit: FitModelOperator
    terminate: BaseOperator
    training_tasks: tuple[str, ...]
    sample_tasks: tuple[str, ...]

    @property
    def instance_type(self) -> str:
        """The name of its type of machine."""
        return type_name(self.cluster)

    @property
    def first(self) -> BaseOperator:
        """The first of its tasks that may cost money."""
        return self.start or self.create

    @property
    def cores(self) -> Any:
        """Of a machine, or a template that renders to them, or to nothing where the check has failed."""
        return self._stated_or_checked("cores_per_machine")

    def _stated_or_checked(self, name: str) -> Any:
        """What is stated of a machine, or a template of what the check finds; None where nothing tells."""
        stated = getattr(self.cluster, name, None)
        if stated is not None or self.check is None:
            return stated
        return _text_of(self.check.task_id, name)

    @property
    def machine(self) -> Mapping[str, Any]:
        """What is known of a machine where no cluster is started."""
        return {
            "kind": self.cluster.kind,
            "instance_type": self.instance_type,
            **{name: self._stated_or_checked(name) for name in KEPT_OF_MACHINE},
        }

    def for_find_model(self) -> Mapping[str, Any]:
        """What `FindModelOperator` wants to know of a type."""
        cluster = self.cluster
        return {
            "instance_type": self.instance_type,
            "spark": spark_release(cluster),
            "cores_per_machine": cluster.cores_per_machine,
            "settings": {
                f"the cluster's {name}": getattr(cluster, name)
                for name in MACHINE_SETTINGS
                if getattr(cluster, name, None) not in (None, "", False, ())
            }
            | getattr(cluster, "compared", {}),
            "training_tasks": list(self.training_tasks),
            "sample_tasks": list(self.sample_tasks),
            "run_cluster_tasks": list(_ids([self.start, self.create, self.terminate])),
            "cluster_tasks": list(_ids([self.check, self.start, self.create, self.terminate])),
            "teardown": self.terminate.task_id,
            # One that is there anyway costs nothing, and tells how large it is today.
            "keeps_cluster": self.serves_production and isinstance(cluster, ConnectedCluster),
        }


def training_branch(
    cluster: ClusterSpec,
    stated: TaskGroupSettings,
    *,
    options: Mapping[str, Any],
    spark_conn_id: str | None = None,
    design: ExperimentDesignOperator | None = None,
    serves_production: bool = False,
    teardown: Mapping[str, Any] | None = None,
) -> TrainingBranch:
    """Build the tasks of one type of machine, in the task group that is open.

    Args:
        cluster: the cluster to start.
        stated: what the user has stated, for all types.
        options: further arguments of the operator that starts the cluster.
        spark_conn_id: Airflow connection at whose address a local cluster listens.
        design: of the sample runs, where several types share it; None to make one.
        serves_production: production may have the cluster, too. Then it is started also where a stored model
            makes the training needless.
        teardown: arguments of the task that ends the cluster; None for one in the group that is open.

    Raises:
        InvalidParameterError: such a cluster cannot be.
    """
    check = check_task(cluster, options)
    cores = cores_per_machine(cluster, check)
    past_runs = stated.past_runs(type_name(cluster))
    own_design = design or design_task(stated, [cluster], cores=cores, past_runs=past_runs)
    rule = {"trigger_rule": WITHOUT_DESIGN} if serves_production else {}
    beside = teardown or {"task_id": "terminate_cluster"}
    start, terminate = None, None
    if isinstance(cluster, EmrJobFlow) and cluster.job_flow is not None:
        start, terminate = job_flow_tasks(cluster, rule=rule, teardown=beside, **_shared(options))
        started: Any = start.output
        found = replace(cluster, job_flow_id=started, job_flow=None)
        create = create_task(found, {**CREATE_RETRIES, **options}, spark_conn_id)
    else:
        create = create_task(cluster, {**CREATE_RETRIES, **rule, **options}, spark_conn_id)
    rounds = _rounds(stated, own_design, create, cluster=cluster, past_runs=past_runs)
    fit = _fit_task(stated, rounds, design=own_design, cluster=_json_of(create.task_id), past_runs=past_runs)
    if terminate is None:
        terminate = TerminateClusterOperator(**beside, cluster=create.output)
        terminate.as_teardown(setups=create)
    report = _report_task(stated, rounds, fit) if stated.report_bottlenecks else None
    own_design >> (start or create)
    create >> rounds.runs[0]
    rounds.runs >> fit
    # Nothing else needs the cluster. What lies between a setup and its teardown does not run where the setup
    # fails, whatever its trigger rule: the decision has to, for its fallback.
    rounds.runs >> terminate
    if check is not None:
        check >> create
        if design is None:  # one that is shared is not held up by the check of one type
            check >> own_design
    branch = TrainingBranch(
        cluster=cluster,
        serves_production=serves_production,
        check=check,
        design=own_design,
        start=start,
        create=create,
        fit=fit,
        terminate=terminate,
        training_tasks=_ids([None if design else own_design, *rounds.tasks, fit, report]),
        sample_tasks=_ids([*rounds.tasks, report]),
    )
    if stated.history is not None:
        own_design.type_tasks = branch.for_find_model()
        fit.machine = branch.machine
    return branch


def design_task(
    stated: TaskGroupSettings,
    clusters: Sequence[ClusterSpec],
    *,
    cores: Any,
    past_runs: str | None = None,
) -> ExperimentDesignOperator:
    """The task that designs the sample runs.

    Args:
        stated: what the user has stated, for all types.
        clusters: that they will be made on.
        cores: of each machine, which all clusters have in common.
        past_runs: what a `ReadHistoryOperator` has read, as a template; None where nothing is read.
    """
    return ExperimentDesignOperator(
        task_id="design",
        bounds=stated.bounds,
        input=stated.input,
        goal=stated.goal,
        model=stated.model,
        cores_per_machine=cores,
        iterations=stated.job.sample_iterations,
        available_machines=min(certain_machines(cluster) for cluster in clusters),
        billed_machines=billed_machines(clusters, stated.parallel_runs),
        history=past_runs,
    )


@dataclass(frozen=True)
class _Rounds:
    """The tasks that make sample runs, in all rounds.

    Attributes:
        runs: mapped over the experiments of each round.
        choices: the tasks that choose those of a further round, one fewer.
    """

    runs: list[Any]
    choices: list[NextRunsOperator]

    @property
    def tasks(self) -> list[Any]:
        return [*self.runs, *self.choices]

    @property
    def observations(self) -> Any:
        """What all of them have observed."""
        return _all_of(_ids(self.runs)) if self.choices else self.runs[0].output

    def last_design(self, design: ExperimentDesignOperator) -> str:
        """That of all runs which were chosen, as a template of JSON text."""
        return _last_of(_ids([design, *self.choices]), "design")


def _rounds(
    stated: TaskGroupSettings,
    design: ExperimentDesignOperator,
    create: BaseOperator,
    *,
    cluster: ClusterSpec,
    past_runs: str | None,
) -> _Rounds:
    """Build the sample runs, and of several rounds what chooses those of the further ones."""
    rounds = _Rounds([_sample_runs(stated, "sample_run", design.output, create.output)], [])
    for number in range(2, 1 + count("rounds", stated.bounds.rounds)):
        choice = NextRunsOperator(
            task_id=f"next_runs_{number}",
            observations=_all_of(_ids(rounds.runs)),
            design=rounds.last_design(design),
            candidates=_json_of(design.task_id, CANDIDATES),
            bounds=stated.bounds,
            job=stated.job,
            goal=stated.goal,
            cluster=_json_of(create.task_id),
            model=stated.model,
            history=past_runs,
            billed_machines=billed_machines([cluster], stated.parallel_runs),
            store=stated.store,
            # A round that was skipped, or in which all runs failed, is the last one.
            trigger_rule="all_done_min_one_success",
            retry_delay=RETRY_DELAY,
        )
        rounds.runs[-1] >> choice
        rounds.choices.append(choice)
        rounds.runs.append(_sample_runs(stated, f"sample_run_{number}", choice.output, create.output))
    return rounds


def _sample_runs(stated: TaskGroupSettings, task_id: str, experiments: XComArg, cluster: XComArg) -> Any:
    return SampleRunOperator.partial(
        task_id=task_id,
        job=stated.job,
        input=stated.input,
        cluster=cluster,
        staging_uri=stated.staging_uri,
        run_timeout_seconds=stated.run_timeout_seconds,
        profile=stated.report_bottlenecks,
        store=stated.store,
        artifact_sha256=_text_of(stated.found_by, "artifact_sha256"),
        conditions=_json_of(stated.found_by, "conditions"),
        retries=stated.run_retries,
        retry_delay=RETRY_DELAY,
        max_active_tis_per_dagrun=stated.parallel_runs,
        map_index_template=RUN_NAME,
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
    may_be_skipped = past_runs is not None or rounds.choices
    if may_be_skipped:
        rule = {"trigger_rule": "all_done", "training_begins_with": [design.task_id]}
    return FitModelOperator(
        task_id="fit_model",
        observations=rounds.observations,
        job=stated.job,
        input=stated.input,
        model=stated.model,
        goal=stated.goal,
        # As text, so that it need not be there.
        design=rounds.last_design(design) if may_be_skipped else XComArg(design, key="design"),
        cluster=cluster,
        history=past_runs,
        store=stated.store,
        artifact_sha256=_text_of(stated.found_by, "artifact_sha256"),
        conditions=_json_of(stated.found_by, "conditions"),
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
        model=_json_of(fit.task_id),
        store=stated.store,
    )
    fit >> report
    # A teardown is what Airflow lets fail, or be killed, without a word about the DAG run's state, and what
    # a task behind the group does not wait for.
    report.as_teardown()
    return report


def _ids(tasks: Iterable[Any]) -> tuple[str, ...]:
    return tuple(task.task_id for task in tasks if task is not None)


# The trainings on several types of machines, side by side or one after the other.


def training_branches(
    clusters: Sequence[ClusterSpec],
    stated: TaskGroupSettings,
    *,
    options: Sequence[Mapping[str, Any]],
    in_parallel: bool | None,
) -> list[TrainingBranch]:
    """Build the tasks of several types, each type in a task group of its own within the one that is open.

    Args:
        clusters: to start, one for each type.
        stated: what the user has stated, for all types.
        options: further arguments of the operator that starts each cluster.
        in_parallel: at the same time; None unless a cluster is local, whose runs would disturb the others.

    Raises:
        InvalidParameterError: such a cluster cannot be.
    """
    if in_parallel is None:
        in_parallel = not any(isinstance(cluster, LocalClusterSpec) for cluster in clusters)
    design = _shared_design(stated, clusters)
    branches: list[TrainingBranch] = []
    for name, cluster, further in zip(_group_names(clusters), clusters, options, strict=True):
        with TaskGroup(group_id=name, tooltip=type_name(cluster)):
            branch = training_branch(cluster, stated, options=further, design=design)
            if branches and not in_parallel:
                _follow(branch, branches[-1])
        branches.append(branch)
    return branches


def _follow(branch: TrainingBranch, before: TrainingBranch) -> None:
    """Start a cluster only when the one before is ended, however its training went."""
    # A task between them, for the rule is not one for a setup: it must not start after a failed design.
    ended = _empty("type_before_ended", trigger_rule="all_done")
    before.terminate >> ended >> branch.first


def _shared_design(
    stated: TaskGroupSettings, clusters: Sequence[ClusterSpec]
) -> ExperimentDesignOperator | None:
    """One design for all types where it would be the same; None where cores differ or are not known."""
    if stated.history is not None:  # each type has past runs of its own
        return None
    cores = {cluster.cores_per_machine for cluster in clusters}
    (common,) = cores if len(cores) == 1 else (None,)
    return None if common is None else design_task(stated, clusters, cores=common)


def options_of_each(given: Any, clusters: Sequence[ClusterSpec]) -> list[Mapping[str, Any]]:
    """Further arguments for each cluster, of a mapping for all, a list of them, or None.

    Raises:
        InvalidParameterError: there are fewer or more than clusters.
    """
    if given is None or isinstance(given, Mapping):
        return [given or {}] * len(clusters)
    if len(given) != len(clusters):
        raise InvalidParameterError(
            "cluster_options",
            given,
            f"is not one for each of the {len(clusters)} clusters",
            remedy="Give a mapping for all of them, or a list of as many.",
        )
    return list(given)


def refuse_for_several(clusters: Sequence[ClusterSpec], *, resize: bool, spark_conn_id: str | None) -> None:
    """Refuse what cannot be with several types.

    Args:
        clusters: one for each type.
        resize: production was to have the training's cluster in another size.
        spark_conn_id: production was to find the training's cluster by it.

    Raises:
        InvalidParameterError: it cannot be.
    """
    names = [type_name(cluster) for cluster in clusters]
    if len(set(names)) < len(names):
        raise InvalidParameterError(
            "cluster",
            names,
            "names a type of machine twice",
            remedy="Models are kept by type: name each one once, by its instance_type.",
        )
    if resize:
        raise InvalidParameterError(
            "resize_for_production", True, "is impossible with several types", remedy=ONE_TYPE_ONLY
        )
    if spark_conn_id is not None:
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            "has no meaning with several types, whose clusters end before production",
            remedy="Leave it out.",
        )


def _group_names(clusters: Sequence[ClusterSpec]) -> list[str]:
    """Names for the task groups, each once: types may differ only in signs that Airflow does not allow."""
    names: list[str] = []
    for cluster in clusters:
        plain = name = re.sub(r"[^A-Za-z0-9_-]", "_", type_name(cluster)) or "type"
        number = 1
        while name in (*names, "design", "choose_config"):
            number += 1
            name = f"{plain}_{number}"
        names.append(name)
    return names


# The tasks ahead of the trainings and behind them.


def history_task(
    stated: TaskGroupSettings, history: EventLogs, branches: Sequence[TrainingBranch]
) -> ReadHistoryOperator:
    """Build the task that reads past runs, ahead of the designs."""
    read = ReadHistoryOperator(
        task_id="read_history",
        history=history,
        job=stated.job,
        input=stated.input,
        types=[
            {
                "instance_type": branch.instance_type,
                # What a log calls them is something else.
                "is_name": isinstance(branch.cluster, LocalClusterSpec | ConnectedCluster),
                "cores_per_machine": branch.cores,
            }
            for branch in branches
        ],
        conditions=_json_of(stated.found_by, "conditions"),
        artifact_sha256=_text_of(stated.found_by, "artifact_sha256"),
        store=stated.store,
        # The check of one type may fail, and the others are trained all the same.
        trigger_rule="all_done_min_one_success",
    )
    for branch in branches:
        if branch.check is not None:
            branch.check >> read
        read >> branch.design
    return read


def find_task(
    stated: TaskGroupSettings,
    branches: Sequence[TrainingBranch],
    *,
    read: ReadHistoryOperator | None,
    reuse: Reuse | None,
    on_stale: Any,
) -> FindModelOperator:
    """Build it, ahead of all tasks of the task group that is open.

    Args:
        stated: what the user has stated, for all types.
        branches: the trainings.
        read: reads past runs; None where nobody does.
        reuse: how long a stored model is good for; None to train in each run.
        on_stale: called where a model no longer holds for the job.
    """
    shared = {branch.design.task_id for branch in branches}
    find = FindModelOperator(
        task_id="find_model",
        job=stated.job,
        input=stated.input,
        types=[branch.for_find_model() for branch in branches],
        # The design of several types is needless where all of them have a model.
        shared_tasks=[*(sorted(shared) if len(shared) < len(branches) else ()), *_ids([read])],
        model=stated.model,
        goal=stated.goal,
        reuse=reuse,
        bounds=stated.bounds,
        clusters=stated.clusters,
        staging_uri=stated.staging_uri,
        run_timeout_seconds=stated.run_timeout_seconds,
        store=stated.store,
        on_stale=on_stale,
    )
    if read is not None:
        find >> read
    for branch in branches:
        find >> [task for task in (branch.check, branch.design) if task is not None]
        if branch.serves_production:
            find >> branch.first
    return find


def choose_task(
    stated: TaskGroupSettings, branches: Sequence[TrainingBranch], *, begins_with: Sequence[str]
) -> ChooseConfigOperator:
    """The task that decides, behind the trainings."""
    goal = stated.goal
    is_one = len(branches) == 1
    models = [branch.fit.output for branch in branches]
    handles = [_json_of(branch.create.task_id) for branch in branches]
    # Only a stated fallback may go on after a failed stated, or what is left of several.
    goes_on = not is_one or (goal.fallback_machines is not None and goal.reaction != FAIL)
    return ChooseConfigOperator(
        task_id="choose_config",
        model=models[0] if is_one else models,
        cluster=handles[0] if is_one else handles,
        training_failure={
            branch.instance_type: _text_of(branch.fit.task_id, "failure") for branch in branches
        },
        training_begins_with=begins_with if goes_on else (),
        stored_models=_json_of(stated.found_by, "models"),
        input_growth=_json_of(stated.found_by, "growth"),
        reuse_reasons=_json_of(stated.found_by, "reasons"),
        cores_per_machine={branch.instance_type: branch.cores for branch in branches},
        goal=goal,
        job=stated.job,
        store=stated.store,
        trigger_rule="all_done" if goes_on else WITHOUT_DESIGN,
    )


# What the kinds of clusters differ in.


def check_task(cluster: ClusterSpec, options: Mapping[str, Any]) -> BaseOperator | None:
    """The task that checks a specification before anything costs money; None where nothing can be asked."""
    if not isinstance(cluster, EC2ClusterSpec):
        return None
    from airflow_provider_ernest.operators.ec2_cluster import EC2PreflightOperator

    return EC2PreflightOperator(task_id="check_cluster", spec=cluster, **_shared(options))


def create_task(cluster: ClusterSpec, options: Mapping[str, Any], spark_conn_id: str | None) -> BaseOperator:
    """The task that starts a cluster, a local one at the address of a connection.

    Raises:
        InvalidParameterError: such a cluster cannot listen where a connection says.
    """
    if isinstance(cluster, LocalClusterSpec):
        options = {"spark_conn_id": spark_conn_id, **options}
    elif spark_conn_id is not None:
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            f"has no meaning for a cluster of {type(cluster).__name__}, whose address is not known before",
            remedy="Run production by ErnestSparkSubmitOperator(cluster=group.cluster).",
        )
    module, name = OPERATORS[type(cluster)]
    operator = getattr(import_module(f"airflow_provider_ernest.operators.{module}"), name)
    create: BaseOperator = operator(task_id="create_cluster", spec=cluster, **options)
    return create


def job_flow_tasks(
    cluster: EmrJobFlow, *, rule: Mapping[str, Any], teardown: Mapping[str, Any], **options: Any
) -> tuple[BaseOperator, BaseOperator]:
    """Amazon's operators that start a job flow, as a setup, and end it, as its teardown.

    The setup has succeeded when EMR names the job flow, and not when that is ready: a setup that failed while
    it waited would have no teardown.
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
    """The task that gives a running cluster another size.

    Raises:
        InvalidParameterError: such clusters keep their size.
    """
    if not isinstance(cluster, EC2ClusterSpec):
        raise InvalidParameterError(
            "resize_for_production", True, f"is impossible for a cluster of {type(cluster).__name__}"
        )
    from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator

    return EC2ClusterOperator(
        task_id="resize_cluster", spec=cluster, cluster=handle, size=size, **_shared(options)
    )


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in CHECK_OPTIONS if name in options}


def type_name(cluster: ClusterSpec) -> str:
    """The name of its type of machine, under which models are stored."""
    if isinstance(cluster, ConnectedCluster):
        return cluster.instance_type or cluster.spark_conn_id
    return cluster.instance_type


def spark_release(cluster: ClusterSpec) -> str | None:
    """What tells the Spark that it runs, as `FindModelOperator` takes it; None where nothing does."""
    if isinstance(cluster, LocalClusterSpec):
        return "installed"
    if isinstance(cluster, EC2ClusterSpec):
        distribution = cluster.spark_distribution.rpartition("/")[2]
        return f"{distribution} on {cluster.image}" if cluster.image else distribution
    return cluster.release_label if isinstance(cluster, EmrJobFlow) else None


def cores_per_machine(cluster: ClusterSpec, check: BaseOperator | None) -> Any:
    """The cores of each machine, or what they are read from at run time.

    Raises:
        InvalidParameterError: nothing tells them.
    """
    if cluster.cores_per_machine is not None:
        return cluster.cores_per_machine
    if check is None:
        raise InvalidParameterError(
            "cores_per_machine",
            None,
            f"must be stated of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return XComArg(check, key="cores_per_machine")


def planned(cluster: ClusterSpec) -> PlannedCluster:
    """What is known beforehand of a cluster."""
    return PlannedCluster(
        instance_type=type_name(cluster),
        machines=certain_machines(cluster),
        # AWS tells the prices of EC2's machines; those of EMR include its own share.
        has_price=isinstance(cluster, EC2ClusterSpec) or getattr(cluster, "price_per_hour", None) is not None,
        is_emr=isinstance(cluster, EmrJobFlow),
        limits_production=isinstance(cluster, LocalClusterSpec),
    )


def certain_machines(cluster: ClusterSpec) -> int:
    """How many machines the cluster has at least, if it starts at all.

    Raises:
        InvalidParameterError: only the running DAG will know.
    """
    machines = cluster.smallest_machines if isinstance(cluster, EC2ClusterSpec) else cluster.machines
    if machines is None or is_template(machines):
        raise InvalidParameterError(
            "machines",
            machines,
            f"must be known of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return count("machines", machines)


def billed_machines(clusters: Sequence[ClusterSpec], parallel_runs: int) -> float | None:
    """The machines that are paid for while a sample run is on, however few it uses; None for its own.

    Args:
        clusters: that the runs are made on; one that somebody else starts is there anyway.
        parallel_runs: that share the cluster.
    """
    started = [cluster.machines for cluster in clusters if not isinstance(cluster, ConnectedCluster)]
    return max(started) / parallel_runs if started else None
