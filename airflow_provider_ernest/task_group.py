"""The whole chain of sizing steps as one task group, to put ahead of a production task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskGroup, XComArg

from airflow_provider_ernest.cluster_tasks import CLUSTER_KINDS, planned, resize_task
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.reuse_task import find_task
from airflow_provider_ernest.setting_checks import Settings
from airflow_provider_ernest.sizing_goal import FAIL
from airflow_provider_ernest.spark.sizing import refuse_sizes
from airflow_provider_ernest.specification import (
    DesignBounds,
    ModelSettings,
    Reuse,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.stated import count, flag, require_type, whole_number
from airflow_provider_ernest.training_branch import (
    WITHOUT_DESIGN,
    Training,
    TrainingBranch,
    training_branch,
)
from airflow_provider_ernest.training_branches import (
    options_of_each,
    refuse_for_several,
    training_branches,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.cluster_tasks import ClusterSpec
    from airflow_provider_ernest.operators.job_conf import JobConf

REUSE = Reuse()


class ErnestTaskGroup(TaskGroup):
    """Design, cluster, sample runs, model, decision: everything ahead of the production task.

    First of all a stored model is looked for that speaks for the job as it is now; where there is one, the
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
            size=ernest.config["machines"], instance_type=ernest.config["instance_type"], ...
        )

    Args:
        job: the application to size.
        input: the production input and how to sample it.
        bounds: what the sample runs may be.
        cluster: the cluster to start for the sample runs: a `LocalClusterSpec`, an
            `EC2ClusterSpec` or an `EmrClusterSpec`; or a `ConnectedCluster` that is there already. A list of
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
        on_stale: callables or Airflow notifiers, called where a model no longer speaks for the job.
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
        teardown: the task that ends the cluster; a list of them with several types.

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
        on_stale: Any = (),
        report_bottlenecks: bool = True,
        group_id: str = "ernest",
        **group_options: Any,
    ) -> None:
        super().__init__(group_id=group_id, **group_options)
        clusters = _listed(cluster)
        _check_arguments(
            types={
                "job": (job, SparkJob),
                "input": (input, SampledInput),
                "bounds": (bounds, DesignBounds),
                "goal": (goal, SizingGoal),
                "model": (model or ModelSettings(), ModelSettings),
                "reuse": (reuse or REUSE, Reuse),
            },
            clusters=clusters,
            flags={"resize_for_production": resize_for_production, "report_bottlenecks": report_bottlenecks},
            parallel_runs=parallel_runs,
            run_retries=run_retries,
        )
        # Before a cluster is paid for: the sample runs would refuse them.
        refuse_sizes(job.submit_options, within="submit_options")
        training = Training(
            job=job,
            input=input,
            bounds=bounds,
            goal=goal,
            model=model or ModelSettings(),
            parallel_runs=parallel_runs,
            run_timeout_seconds=run_timeout_seconds,
            run_retries=run_retries,
            staging_uri=staging_uri,
            store=store,
            reports_bottlenecks=report_bottlenecks,
            found_by=str(self.child_id("find_model")),  # type: ignore[no-untyped-call]
        )
        settings = Settings(
            job=job,
            input=input,
            bounds=bounds,
            goal=goal,
            model=training.model,
            clusters=[planned(each) for each in clusters],
            staging_uri=staging_uri,
            run_timeout_seconds=run_timeout_seconds,
        )
        options = options_of_each(cluster_options, clusters)
        from airflow.providers.standard.operators.empty import EmptyOperator

        with self:
            if len(clusters) == 1:
                branches = [
                    training_branch(
                        clusters[0],
                        training,
                        options=options[0],
                        spark_conn_id=spark_conn_id,
                        serves_production=True,
                    )
                ]
            else:
                refuse_for_several(clusters, resize=resize_for_production, spark_conn_id=spark_conn_id)
                branches = training_branches(
                    clusters, training, options=options, in_parallel=types_in_parallel
                )
            find = find_task(training, branches, reuse=reuse, settings=settings, on_stale=on_stale)
            choose = _choose(training, branches, begins_with=[find.task_id])
            find >> choose
            self.cluster: Any = None
            self.teardown: Any = [branch.terminate for branch in branches]
            if len(clusters) == 1:
                # Where the cluster is production's, too, the decision needs its handle, with or without runs.
                branches[0].create >> EmptyOperator(task_id="cluster_ready") >> choose
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
        self.decision: Any = f"{{{{ ti.xcom_pull(task_ids='{choose.task_id}', key='record') | tojson }}}}"

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
    return clusters


def _check_arguments(
    *,
    types: Mapping[str, tuple[Any, type]],
    clusters: Sequence[Any],
    flags: Mapping[str, Any],
    parallel_runs: Any,
    run_retries: Any,
) -> None:
    """Refuse what the tasks could not be built of."""
    for name, (value, kind) in types.items():
        require_type(name, value, kind)
    for each in clusters:
        require_type("cluster", each, *CLUSTER_KINDS)
    for name, value in flags.items():
        flag(name, value)
    count("parallel_runs", parallel_runs)
    if whole_number("run_retries", run_retries) < 0:
        raise InvalidParameterError("run_retries", run_retries, "is not a number of at least 0")


def _choose(
    training: Training, branches: Sequence[TrainingBranch], *, begins_with: Sequence[str]
) -> ChooseConfigOperator:
    job, goal = training.job, training.goal
    is_one = len(branches) == 1
    models, handles = [branch.fit.output for branch in branches], [branch.handle for branch in branches]
    # Only a stated fallback may go on after a failed training, or what is left of several.
    goes_on = not is_one or (goal.fallback_machines is not None and goal.reaction != FAIL)
    return ChooseConfigOperator(
        task_id="choose_config",
        model=models[0] if is_one else models,
        cluster=handles[0] if is_one else handles,
        training_failure={branch.instance_type: branch.failure for branch in branches},
        training_begins_with=begins_with if goes_on else (),
        stored_models=training.found("models"),
        input_growth=training.found("growth"),
        reuse_reasons=training.found("reasons"),
        cores_per_machine={branch.instance_type: branch.cores for branch in branches},
        price_per_hour=goal.price_per_hour,
        max_machines=goal.max_machines,
        min_machines=goal.min_machines,
        allowed_machines=goal.allowed_machines,
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
        confidence=goal.confidence,
        objective=goal.objective,
        scale=goal.scale,
        iterations=job.iterations,
        billing=goal.billing,
        untrained_types=goal.untrained_types,
        allow_mixed=goal.allow_mixed,
        only_in_memory=goal.only_in_memory,
        on_failure=goal.on_failure,
        fallback_machines=goal.fallback_machines,
        fallback_instance_type=goal.fallback_instance_type,
        conf=dict(job.conf),
        dynamic_allocation=goal.dynamic_allocation,
        job=job.name,
        store=training.store,
        trigger_rule="all_done" if goes_on else WITHOUT_DESIGN,
    )
