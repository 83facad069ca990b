"""The whole chain of sizing steps as one task group, to put ahead of a production task.

Two chains: of past runs alone (`task_group.history`), and with sample runs on clusters
(`task_group.training`), which past runs may spare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import TaskGroup, XComArg

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator, JobConf
from airflow_provider_ernest.operators.find_model import FindModelOperator
from airflow_provider_ernest.operators.read_history import ReadHistoryOperator
from airflow_provider_ernest.settings import (
    ConnectedCluster,
    DesignBounds,
    EventLogs,
    ExpectedInput,
    Exploration,
    ModelSettings,
    Reuse,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.goal import FAIL
from airflow_provider_ernest.settings.values import flag, require_type
from airflow_provider_ernest.task_group.history import history_tasks, refuse_without_cluster
from airflow_provider_ernest.task_group.training import (
    OPERATORS,
    WITHOUT_DESIGN,
    ClusterSpec,
    TaskGroupSettings,
    TrainingBranch,
    empty_task,
    ids_of,
    json_of,
    resize_task,
    text_of,
    training_branch,
    training_branches,
)

ONE_TYPE_ONLY = (
    "Start production's own cluster by EC2ClusterOperator(spec=EC2ClusterSpec("
    "machines=group.config['machines'], instance_type=group.config['instance_type'], ...))."
)

REUSE = Reuse()


class ErnestTaskGroup(TaskGroup):
    """Everything ahead of a production task that tells how large it should be.

    From the runs that exist nothing is started and nothing paid. They are read (only new ones in full), a
    model is fitted, and executors are chosen; with too few runs production keeps its size, or the replay of
    one tells of others, and the decision's ``basis`` says which it was:

    .. code-block:: python

        ernest = ErnestTaskGroup(
            job=SparkJob(name="enrich"),
            history=EventLogs("s3a://logs/spark-events"),
            goal=SizingGoal(deadline_seconds=3600, max_executors=40),
        )
        production = SparkSubmitOperator(..., conf=ernest.job_conf())
        ernest >> production

    With a cluster, sample runs are made on it: design, cluster, runs, model, decision. First a stored model
    that still holds for the job is looked for; if there is one, the training is skipped. See
    `FindModelOperator`.

    .. code-block:: python

        ernest = ErnestTaskGroup(job=..., input=..., bounds=..., cluster=..., goal=...)
        production = SparkSubmitOperator(..., conf=ernest.job_conf())
        ernest >> production  # production runs elsewhere
        ernest >> production >> ernest.teardown  # production runs on the same cluster

    On the same cluster, an `ErnestSparkSubmitOperator` finds it by ``cluster=ernest.cluster``; anywhere, it
    records what production took beside what was predicted by ``decision=ernest.decision``. A cluster on EC2
    is checked before anything costs money.

    Several types of machines are each trained on a cluster of their own, at the same time unless one of these
    is local, and the decision is for the best of all. A type whose training fails leaves the others. The
    clusters end with the training; production gets
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
        goal: what the production run must keep to.
        history: where past runs of the job are known from, such as ``EventLogs("s3a://bucket/spark-events")``.
            Without a cluster they are all there is to learn from. With one they are read if no stored model
            holds, and count as observations that cost nothing: only the sample runs that are still missing
            are made; if none is, no cluster is started for them.
        cluster: for the sample runs: a `LocalClusterSpec`, an `EC2ClusterSpec` or an `EmrJobFlow` to start,
            or a `ConnectedCluster` that is there already. A list of them, one for each type of machine, to
            choose among several types. None for none.
        input: the production input and how to sample it; of past runs alone what the next run reads (an
            `ExpectedInput`), None to forecast it.
        bounds: what the sample runs may be.
        explore: of past runs alone: within which limits production may run on another size now and then, to
            learn from it; None for never. Put a `RecordRunOperator` behind production.
        model: how the model is fitted; None for the most accurate way known.
        cluster_options: further arguments of the operator that starts the cluster, such as aws_conn_id,
            region_name and deferrable. For clusters of several kinds, use the ``default_args`` of
            `group_options`, which each operator takes what it knows of.
        resize_for_production: give the cluster the chosen number of machines, so that production uses the
            machines that are paid for already. Only on EC2.
        parallel_runs: sample runs at the same time. On one machine each disturbs the others; on machines
            of their own, more of them shorten the training.
        run_timeout_seconds: how long a sample run may take once it has its executors.
        run_retries: how often a failed sample run is tried again.
        reuse: how long a stored model is good for; None to train in each run.
        on_stale: callables or Airflow notifiers, called when a model no longer holds for the job.
        group_id: name of the group.
        group_options: further arguments of Airflow's TaskGroup, such as tooltip or default_args.

    Attributes:
        config: the decision's XComs: ``config["executors"]``, ``["machines"]``, ``["instance_type"]``,
            ``["predicted_seconds"]`` and more, see `ChooseConfigOperator`. Its Spark properties are only
            those that size the run; with those of `job` they are ``job_conf()``.
        decision: the record of the decision, for an `ErnestSparkSubmitOperator`: a template that renders to
            JSON text, or to ``null`` if the decision left no record. Then nothing is recorded, and a
            warning says so. As any template it makes no task wait: `config`, or ``ernest >> production``,
            puts production behind the decision.
        cluster: the handle of the cluster that production may run on, resized if that was asked for; None
            with several types, and with none.
        teardown: the task that ends the cluster, drawn beside the group; a list of them with several types,
            empty without any.

    Raises:
        InvalidParameterError: what cannot be, when the DAG file is parsed.
    """

    def __init__(
        self,
        *,
        job: SparkJob,
        goal: SizingGoal,
        history: EventLogs | None = None,
        cluster: ClusterSpec | Sequence[ClusterSpec] | None = None,
        input: SampledInput | ExpectedInput | None = None,  # noqa: A002 - the word that fits
        bounds: DesignBounds | None = None,
        explore: Exploration | None = None,
        model: ModelSettings | None = None,
        cluster_options: Mapping[str, Any] | None = None,
        resize_for_production: bool = False,
        parallel_runs: int = 1,
        run_timeout_seconds: float | None = None,
        run_retries: int = 1,
        reuse: Reuse | None = REUSE,
        on_stale: Any = (),
        group_id: str = "ernest",
        **group_options: Any,
    ) -> None:
        super().__init__(group_id=group_id, **group_options)
        require_type("reuse", reuse or REUSE, Reuse)
        if history is not None:
            require_type("history", history, EventLogs)
        self.cluster: Any = None
        self.teardown: Any = []
        if cluster is None:
            refuse_without_cluster(
                bounds=bounds,
                cluster_options=cluster_options,
                resize_for_production=resize_for_production,
            )
            with self:
                self._offer(
                    history_tasks(
                        job=job,
                        history=history,
                        goal=goal,
                        next_input=input,
                        explore=explore,
                        model=model or ModelSettings(),
                    )
                )
            return
        if explore is not None:
            raise InvalidParameterError(
                "explore", explore, "is for jobs without sample runs", remedy="Leave it out, or the cluster."
            )
        if bounds is None or not isinstance(input, SampledInput):
            raise InvalidParameterError(
                "bounds" if bounds is None else "input",
                bounds and input,
                "is no description of sample runs, which are designed by it",
                remedy="Give DesignBounds and SampledInput, or leave the cluster out and learn from history.",
            )
        clusters = _listed(cluster)
        flag("resize_for_production", resize_for_production)
        stated = TaskGroupSettings(
            job=job,
            input=input,
            bounds=bounds,
            goal=goal,
            model=model or ModelSettings(),
            clusters=clusters,
            options=cluster_options or {},
            parallel_runs=parallel_runs,
            run_timeout_seconds=run_timeout_seconds,
            run_retries=run_retries,
            history=history,
            found_by=str(self.child_id("find_model")),  # type: ignore[no-untyped-call]
            history_by=str(self.child_id("read_history")),  # type: ignore[no-untyped-call]
        )
        stated.check()
        is_one = len(clusters) == 1
        with self:
            if is_one:
                branches = [
                    training_branch(
                        clusters[0],
                        stated,
                        serves_production=True,
                        teardown=self._beside("terminate_cluster"),
                    )
                ]
            else:
                _refuse_for_several(clusters, resize=resize_for_production)
                branches = training_branches(clusters, stated)
            read = None if history is None else _history_task(stated, history, branches)
            find = _find_task(stated, branches, read=read, reuse=reuse, on_stale=on_stale)
            choose = _choose_task(stated, branches, begins_with=[find.task_id])
            find >> choose
            self.teardown = [branch.terminate for branch in branches]
            if is_one:
                # Where the cluster is production's, too, the decision needs its handle, with or without runs.
                branches[0].create >> empty_task("cluster_ready") >> choose
                self.cluster, self.teardown = branches[0].create.output, branches[0].terminate
            if resize_for_production:
                resize = resize_task(
                    clusters[0], stated.options, handle=self.cluster, size=XComArg(choose, key="executors")
                )
                choose >> resize >> self.teardown
                self.cluster = resize.output
        self._offer(choose)

    def _offer(self, choose: ChooseConfigOperator) -> None:
        """What the production task takes of the decision."""
        self.config: Any = choose.output
        self._choose = choose
        # Not as an XComArg, which fails the task where there is no such XCom: nobody runs without a size, but
        # anybody may run without a record.
        self.decision: Any = json_of(choose.task_id, "record")

    def _beside(self, task_id: str) -> dict[str, Any]:
        """Arguments of a task that has its id within this group, and is drawn beside it.

        Production comes after the group and before the teardown: if both were in one box, the graph could
        not draw it to the right of that box.
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


def _refuse_for_several(clusters: Sequence[ClusterSpec], *, resize: bool) -> None:
    names = [cluster.type_name for cluster in clusters]
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


def _history_task(
    stated: TaskGroupSettings, history: EventLogs, branches: Sequence[TrainingBranch]
) -> ReadHistoryOperator:
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
                "executor_cores": branch.cores,
                "executors_per_machine": branch.cluster.executors_per_machine,
            }
            for branch in branches
        ],
        conditions=json_of(stated.found_by, "conditions"),
        artifact_sha256=text_of(stated.found_by, "artifact_sha256"),
        # The check of one type may fail, and the others are trained all the same.
        trigger_rule="all_done_min_one_success",
    )
    for branch in branches:
        if branch.check is not None:
            branch.check >> read
        read >> branch.design
    return read


def _find_task(
    stated: TaskGroupSettings,
    branches: Sequence[TrainingBranch],
    *,
    read: ReadHistoryOperator | None,
    reuse: Reuse | None,
    on_stale: Any,
) -> FindModelOperator:
    find = FindModelOperator(
        task_id="find_model",
        job=stated.job,
        input=stated.input,
        types=[branch.for_find_model() for branch in branches],
        shared_tasks=ids_of([read]),
        model=stated.model,
        goal=stated.goal,
        reuse=reuse,
        bounds=stated.bounds,
        clusters=stated.clusters,
        run_timeout_seconds=stated.run_timeout_seconds,
        on_stale=on_stale,
    )
    if read is not None:
        find >> read
    for branch in branches:
        find >> [task for task in (branch.check, branch.design) if task is not None]
        if branch.serves_production:
            find >> branch.first
    return find


def _choose_task(
    stated: TaskGroupSettings, branches: Sequence[TrainingBranch], *, begins_with: Sequence[str]
) -> ChooseConfigOperator:
    goal = stated.goal
    is_one = len(branches) == 1
    models = [branch.fit.output for branch in branches]
    handles = [json_of(branch.create.task_id) for branch in branches]
    # Only a stated fallback may go on after a failed training, or what is left of several types.
    goes_on = not is_one or (goal.fallback_executors is not None and goal.reaction != FAIL)
    return ChooseConfigOperator(
        task_id="choose_config",
        model=models[0] if is_one else models,
        cluster=handles[0] if is_one else handles,
        training_failure={
            branch.instance_type: text_of(branch.fit.task_id, "failure") for branch in branches
        },
        training_begins_with=begins_with if goes_on else (),
        stored_models=json_of(stated.found_by, "models"),
        input_growth=json_of(stated.found_by, "growth"),
        reuse_reasons=json_of(stated.found_by, "reasons"),
        executor_cores={branch.instance_type: branch.cores for branch in branches},
        goal=goal,
        job=stated.job,
        trigger_rule="all_done" if goes_on else WITHOUT_DESIGN,
    )
