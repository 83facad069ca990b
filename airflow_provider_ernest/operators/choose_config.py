"""The decision: how many executors, on which type of machine, in the form that downstream tasks need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, cast

from airflow.sdk import BaseOperator, Context, XComArg
from airflow.sdk.definitions.xcom_arg import PlainXComArg

from airflow_provider_ernest.decision.forms import PROPERTIES, own_sizes
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import (
    OfJob,
    end_unless_begun,
    failure_pushed,
    no_vain_retries,
    origin_of,
    owner_of,
    rendered_texts,
)
from airflow_provider_ernest.privacy import names_a_secret
from airflow_provider_ernest.settings import Exploration, SizingGoal, SparkJob
from airflow_provider_ernest.settings.goal import DYNAMIC
from airflow_provider_ernest.settings.values import (
    Number,
    as_template,
    count,
    optional,
    optional_document,
    optional_number,
    optional_text,
    settings_of,
)
from airflow_provider_ernest.spark.sizing import INSTANCES, TASK_PROPERTY, kept_sizes

if TYPE_CHECKING:
    from airflow_provider_ernest.decision.deciding import Choice
    from airflow_provider_ernest.decision.trainings import Types
    from airflow_provider_ernest.documents.decisions import Decision


class ChooseConfigOperator(OfJob, EmitsLineage, BaseOperator):
    """Choose the number of executors, and the type of machine, that best meet the goal.

    Considers one or several types of machine, each with its own model. A configuration meets the goal if it
    does so with the probability `confidence`.

    Returns the `Decision` document and pushes ``config``, ``executors``, ``machines`` (that hold them;
    not where a shared cluster places them), ``instance_type``, ``spark_conf``, ``predicted_seconds``,
    ``predicted_cost`` (where a price is known), ``fallback_reason`` (empty if no fallback was taken),
    ``basis`` (what past runs alone tell of sizes, in a sentence) and ``record`` (the `DecisionRecord`
    document), and under dynamic allocation ``bounds`` (the `ExecutorBounds` document: minimum, initial and
    maximum); for other operators also the forms of `decision.forms`: ``yarn_conf``,
    ``kubernetes_conf``, ``spark_arguments``, ``emr_instance_groups``, ``emr_managed_scaling``,
    ``emr_serverless``, ``glue``, ``databricks_cluster``. A form that is
    impossible, or needs cores that are unknown, is not pushed, so that a task reading it fails;
    ``unavailable`` says why.
    Only properties that size the run, or that the cluster needs, are pushed;
    ``SparkSubmitOperator(conf=choose.job_conf())`` adds the job's own. The record is also stored.

    Args:
        model: the `Model` document, or one per type; None if its training failed.
        goal: the `SizingGoal`, a mapping of its fields, or a template that renders to one. To go on without a
            model, state a fallback and set ``trigger_rule="all_done"``.
        job: its name in the store, its iterations in production, and its properties for `job_conf`. None for
            the model's job without iterations and properties; needed to record a fallback without a model.
        training_failure: why there is no model, ``fit.output["failure"]``; a list, or a mapping by type.
        training_begins_with: ids of the training's first tasks. If all were skipped, this task is skipped; if
            none started because an upstream task failed, it fails and takes no fallback.
        may_leave_size: where there is neither a model nor a fallback, production keeps the size that it has:
            the job's own ``spark.executor.instances``, else nothing but the job's own sizes is pushed.
        stored_models: ``find.output["models"]`` of the `FindModelOperator`, for types without a `model`;
            likewise `input_growth` and `reuse_reasons`.
        cluster: `ClusterHandle` document of the cluster that production runs on, or one per training. No more
            executors than it has are chosen, unless executors can be added to it. Pass JSON text if this
            task's trigger rule is not ``all_success``: an XComArg would put it directly after a setup task,
            which Airflow refuses.
        executor_cores: cores of an executor, or a mapping by type, if no `cluster` of the type tells; None
            for those of the executors that the model was trained on.
        todays_sizes: the Spark properties that say how large executors and driver are today, also as JSON
            text; those of `job` win.
        input_amount: what was named of production's input, to be kept with the decision.
        explore: within which limits the run may take another size to learn from it; None for never. It goes
            by the runs that a `RecordRunOperator` behind production has recorded.
        runs_per_month: how often the job runs, where `explore` does not state it.

    Raises:
        InfeasibleGoalError: the goal cannot be met; says what can. What was considered is pushed as
            ``refusal``, a `Refusal` document.
        InvalidParameterError: a value that cannot work.
        MissingResourceError: there is no model, or no price.
    """

    template_fields: Sequence[str] = (
        "model",
        "goal",
        "job",
        "training_failure",
        "stored_models",
        "input_growth",
        "reuse_reasons",
        "cluster",
        "executor_cores",
        "todays_sizes",
        "input_amount",
        "explore",
        "runs_per_month",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#d9edc8"

    def __init__(
        self,
        *,
        model: Any,
        goal: SizingGoal | Mapping[str, Any] | str,
        job: SparkJob | Mapping[str, Any] | None = None,
        training_failure: Any = None,
        training_begins_with: Sequence[str] = (),
        may_leave_size: bool = False,
        stored_models: Any = None,
        input_growth: Any = None,
        reuse_reasons: Any = None,
        cluster: Any = None,
        executor_cores: Number | Mapping[str, Any] | None = None,
        todays_sizes: Any = None,
        input_amount: Any = None,
        explore: Exploration | Mapping[str, Any] | str | None = None,
        runs_per_month: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.model = model
        self.goal: Any = as_template(SizingGoal, goal, "goal")
        self.job: Any = {}
        self.conf = {}
        if job is not None:
            self._keep_job(job)
        self.training_failure = training_failure
        self.training_begins_with = training_begins_with
        self.may_leave_size = may_leave_size
        self.stored_models = stored_models
        self.input_growth = input_growth
        self.reuse_reasons = reuse_reasons
        self.cluster = cluster
        self.executor_cores = executor_cores
        self.todays_sizes = todays_sizes
        self.input_amount = input_amount
        self.explore: Any = explore and as_template(Exploration, explore, "explore")
        self.runs_per_month = runs_per_month

    def job_conf(self, key: str = "spark_conf") -> JobConf:
        """Return the ``conf`` of a production task: the job's properties, overridden by the decided ones.

        They are merged when that task runs: no XCom holds the job's own properties. `key` is "spark_conf",
        "yarn_conf" or "kubernetes_conf".
        """
        if key not in PROPERTIES:
            raise InvalidParameterError(
                "key", key, "does not hold Spark properties", remedy=f"Use one of {', '.join(PROPERTIES)}."
            )
        return JobConf(self, key)

    def execute(self, context: Context) -> dict[str, Any] | None:
        """Decide, and push the decision in the forms that downstream tasks need."""
        from airflow_provider_ernest.decision.deciding import decide
        from airflow_provider_ernest.decision.trainings import offered_by, record_of
        from airflow_provider_ernest.operators.deciding import (
            decided_outputs,
            only_tried,
            outputs_of_own_executors,
            outputs_without_size,
            stated_cores,
            todays_size,
            trained_types,
            with_allocations,
            with_exploration,
            with_stored_models,
        )

        if self.training_begins_with:
            end_unless_begun(context, self.training_begins_with)
        with no_vain_retries(), failure_pushed(context):
            today = optional_document("todays_sizes", self.todays_sizes) or {}
            sizes = {**today, **self.render_template(own_sizes(self.conf), context)}
            types = with_stored_models(
                trained_types(models=self.model, clusters=self.cluster, failures=self.training_failure),
                models=self.stored_models,
                growth=self.input_growth,
                reasons=self.reuse_reasons,
            )
            goal = settings_of(SizingGoal, self.goal, "goal")
            iterations = optional(count)("iterations", self.job.get("iterations"))
            cores = stated_cores(self.executor_cores)
            if (
                self.may_leave_size
                and goal.fallback_executors is None
                and not any(each.model for each in types)
            ):
                known = todays_size(self.render_template(self.conf.get(INSTANCES, ""), context), goal)
                if known is None:
                    self._leave_size(context, outputs_without_size(sizes, types))
                    return None
                goal = replace(goal, fallback_executors=known)
            offered = offered_by(goal, types)
            if goal.allocation == DYNAMIC:
                offered = with_allocations(offered, goal, iterations=iterations, log=self.log)
            limits = settings_of(Exploration, self.explore, "explore") if self.explore else None
            possible = only_tried(goal, offered) if limits else offered
            choice = decide(goal, possible, iterations=iterations)
            self._tell_refusal(context, choice, types, iterations)
            decision, dag = choice.required(), self.get_dag()
            if limits:
                decision = with_exploration(
                    decision,
                    limits,
                    goal=goal,
                    offered=offered,
                    runs_per_month=optional_number("runs_per_month", self.runs_per_month),
                    today=datetime.now(getattr(dag, "timezone", UTC)).date(),
                    iterations=iterations,
                    log=self.log,
                )
            warnings = submission_warnings(dag.tasks if dag else (), choose=self.task_id)
            record = record_of(
                replace(decision, warnings=(*decision.warnings, *warnings)),
                goal=goal,
                types=types,
                iterations=iterations,
                job=optional_text(self.job.get("name")),
                origin=origin_of(context),
                input_amount=optional_number("input_amount", self.input_amount),
            )
            self.add_lineage(record)
            outputs = decided_outputs(
                record,
                goal=goal,
                types=types,
                cores=cores,
                conf={str(name): str(value) for name, value in sizes.items()},
                stated={str(name) for name in self.conf},
                context=context,
                log=self.log,
            )
            if self.may_leave_size and not record.model_id:
                outputs = {**outputs_of_own_executors(record.decision, sizes), **outputs}
        self._log_decision(record.decision)
        for key, value in outputs.items():
            context["ti"].xcom_push(key=key, value=value)
        if record.job:
            from airflow_provider_ernest.operators.recording import keep

            # Production waits for the decision, not for its record.
            keep(record, what="The decision", log=self.log)
        else:
            self.log.warning(
                "The decision is not recorded: neither a model nor the parameter job names its job."
            )
        return record.decision.to_dict()

    def _tell_refusal(self, context: Context, choice: Choice, types: Types, iterations: int | None) -> None:
        """Push what was considered where nothing keeps to the goal."""
        from airflow_provider_ernest.decision.trainings import refusal_of
        from airflow_provider_ernest.views.tables import out_of_reach_table

        refusal = refusal_of(choice, types=types, iterations=iterations)
        if refusal is None:
            return
        context["ti"].xcom_push(key="refusal", value=refusal.to_dict())
        self._log_table(
            out_of_reach_table(
                refusal.alternatives,
                goal=refusal.goal,
                confidence=refusal.confidence,
                nearest=refusal.nearest,
            )
        )

    def _leave_size(self, context: Context, outputs: Mapping[str, Any]) -> None:
        self.log.warning("%s Production keeps the size that it has.", outputs["fallback_reason"])
        for key, value in outputs.items():
            context["ti"].xcom_push(key=key, value=value)

    def _log_table(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.log.info("%s", line)

    def _log_decision(self, decision: Decision) -> None:
        from airflow_provider_ernest.views.tables import decision_table

        if decision.fallback_reason:
            what = f"FALLBACK to {decision.config}"
            if decision.predicted_seconds is not None:
                what = "MOST PROBABLE configuration instead of one that meets the goal"
            self.log.warning("%s: %s", what, decision.fallback_reason)
        self._log_table(decision_table(decision))
        for warning in decision.warnings:
            self.log.warning("%s", warning)


# Only a plain XComArg survives Airflow's serialization of a mapped task's arguments.
class JobConf(PlainXComArg):
    """The ``conf`` of a task that submits the job, put together when that task runs.

    The decided properties come by XCom; the job's own come from the DAG file, by the task that decides.
    """

    def __init__(self, choose: ChooseConfigOperator, key: str) -> None:
        super().__init__(choose, key)

    def __repr__(self) -> str:
        """Stable between parses and free of the properties, because Airflow stores it."""
        return f"JobConf({self.operator.task_id!r}, {self.key!r})"

    __str__ = __repr__

    def __getitem__(self, item: Any) -> NoReturn:
        """Refuse subscripts, which would name another XCom of the same task."""
        raise InvalidParameterError(
            "job_conf()", item, "cannot be taken from it", remedy="Give conf all of it: conf=job_conf()."
        )

    def resolve(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Merge both, with the job's own properties rendered for the task that asks."""
        from airflow.sdk.log import mask_secret

        decided = super().resolve(context)
        choose = cast("ChooseConfigOperator", self.operator)
        own = rendered_texts(choose, dict(choose.conf), cast("Context", context))
        for name, value in own.items():
            # A switch such as "…credentials.enabled" is no secret, and "true" would be masked everywhere.
            if names_a_secret(name) and str(value).lower() not in ("true", "false"):
                mask_secret(str(value))
            # As text unless it is a whole number: Livy takes neither fractions nor booleans.
            if isinstance(value, bool | float):
                own[name] = str(value).lower()
        return {**own, **decided, TASK_PROPERTY: owner_of(cast("Context", context))}


def submission_warnings(tasks: Iterable[Any], *, choose: str) -> list[str]:
    """Return warnings about tasks that take the conf of task `choose` and keep sizes that override it.

    Only operators that submit like the stock one are checked.
    """
    return [
        f"Task {task.task_id} keeps {' and '.join(kept)}, which spark-submit prefers to what is decided "
        "here: leave it out."
        for task in tasks
        if any(
            of.task_id == choose and key in PROPERTIES
            for of, key in XComArg.iter_xcom_references(getattr(task, "conf", None))
        )
        and (kept := kept_sizes(task))
    ]
