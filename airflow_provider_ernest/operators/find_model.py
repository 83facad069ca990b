"""The first step: look for a stored model that holds for this run, so that no sample runs are needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast

from airflow.providers.common.compat.sdk import SkipMixin
from airflow.sdk import BaseOperator, Context
from jinja2 import TemplateError

from airflow_provider_ernest.clusters.emr.spec import EMR
from airflow_provider_ernest.exceptions import InvalidParameterError, StoreError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.lineage import EmitsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import (
    OfJob,
    artifact_hash,
    failure_pushed,
    in_time,
    no_vain_retries,
    origin_of,
    rendered_texts,
)
from airflow_provider_ernest.privacy import names_a_secret
from airflow_provider_ernest.settings import (
    DesignBounds,
    ModelSettings,
    Reuse,
    SampledInput,
    SizingGoal,
    SparkJob,
)
from airflow_provider_ernest.settings.goal import WARN
from airflow_provider_ernest.settings.values import Number, as_template, settings_of
from airflow_provider_ernest.spark.artifact import listed_paths, require_dependencies
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.runs import RunConditions
    from airflow_provider_ernest.learning.reuse import Found
    from airflow_provider_ernest.store.exclusive import TrainingLease, TrainingLeases

RETRAIN = "ernest_retrain"
"""Key in a run's configuration that asks for a training: ``{"ernest_retrain": true}``."""

MOST_SECONDS = 120.0
"""Limit for the store's answer; after it, a training is made."""

INSTALLED = "installed"
"""Stands for the version of this worker's PySpark."""


class FindModelOperator(OfJob, EmitsLineage, BaseOperator, SkipMixin):
    """Look for a stored model that holds for this run; if there is one, skip the tasks of the training.

    A model is reused if the application's content, Spark's version and the job's settings are unchanged, the
    input has the same shape, and the model is not marked as stale. More data of the same shape is fine: the
    decision is made for a larger scale. Unknown properties of the input or of Spark are not compared. A run
    with the configuration ``{"ernest_retrain": true}`` always trains.

    If several runs find no model of the application at the same time, one trains; the others are deferred and
    take its model. If its training fails, the next one trains; see `Reuse.wait_for_training_seconds`.

    A model that no longer holds is marked in the store. A search that fails is a warning, and a training is
    made.

    Returns for each type of machine ``{"is_reused", "reason", "model_id", "growth"}``, and pushes, by type,
    ``models`` (reused `Model` documents), ``reasons``, ``growth`` (of the input since then) and
    ``conditions`` (`RunConditions` documents); also ``artifact_sha256``.

    Settings may be objects or mappings of their fields; any value in them may be a template.

    Args:
        job: the application. Arguments, properties and options of spark-submit are compared as stated, with
            templates unrendered; py_files and jars are compared by content.
        types: a mapping for each type of machine: ``instance_type``; ``spark``, Spark's version there
            ("installed" for this worker's PySpark, None if unknown); ``executor_cores``; ``settings`` of
            the machines by name, which must be the same; ``training_tasks``, ids of the tasks that a reused
            model makes needless; ``cluster_tasks``, those that check, start and end the cluster, needless
            unless production runs on it: if a task outside the training comes before ``teardown``, or
            ``keeps_cluster`` is true.
        shared_tasks: ids of tasks that are needless only if all types have a model.
        model: how models are made; one that was made otherwise is not reused.
        goal: tells the error above which a model is not reused.
        reuse: how long a model is good for; None to train always.
        bounds: of the sample runs, as are `clusters` (their specifications) and `run_timeout_seconds`. If
            `clusters` is given, all settings and local files are checked with their templates rendered,
            before anything is started.
        on_stale: callables or Airflow notifiers, called if a model is marked.

    Raises:
        InvalidParameterError: a value is impossible.
        MissingResourceError: there is no such application.
    """

    template_fields: Sequence[str] = (
        "job",
        "input",
        "model",
        "goal",
        "reuse",
        "bounds",
        "run_timeout_seconds",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#dfe6d0"

    def __init__(
        self,
        *,
        job: SparkJob | Mapping[str, Any],
        input: SampledInput | Mapping[str, Any] | str,  # noqa: A002 - the word that fits
        types: Sequence[Mapping[str, Any]],
        goal: SizingGoal | Mapping[str, Any] | str,
        shared_tasks: Sequence[str] = (),
        model: ModelSettings | Mapping[str, Any] | str | None = None,
        reuse: Reuse | Mapping[str, Any] | str | None = None,
        bounds: DesignBounds | Mapping[str, Any] | str | None = None,
        clusters: Sequence[Any] = (),
        run_timeout_seconds: Number | None = None,
        on_stale: Any = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._keep_job(job, input)
        self.types = types
        self.shared_tasks = shared_tasks
        self.model: Any = as_template(ModelSettings, model or ModelSettings(), "model")
        self.goal: Any = as_template(SizingGoal, goal, "goal")
        self.reuse: Any = None if reuse is None else as_template(Reuse, reuse, "reuse")
        self.bounds: Any = None if bounds is None else as_template(DesignBounds, bounds, "bounds")
        self.clusters = clusters
        self.run_timeout_seconds = run_timeout_seconds
        self.on_stale = on_stale

    def execute(self, context: Context) -> dict[str, Any]:
        """Look, say why, and skip what is needless."""
        with no_vain_retries(), failure_pushed(context):
            if self.clusters:
                self._check(context)
        return self.look_again(context)

    def look_again(self, context: Context, event: Any = None) -> dict[str, Any]:
        """Look for models, also after waiting for another run's training."""
        from airflow_provider_ernest.operators.recording import keep_marks

        with no_vain_retries(), failure_pushed(context):
            job = self._rendered_job()
            artifact_sha256 = artifact_hash(job.application, job.submit_options, log=self.log)
            conditions = self._conditions()
            found = self._found(artifact_sha256, conditions, context)
        reused = {name: each.model for name, each in found.items() if each.model is not None}
        for name, each in found.items():
            self.log.info("%s: %s", name, each.verdict.reason)
        summary = {
            name: {
                "is_reused": name in reused,
                "reason": each.verdict.reason,
                "model_id": reused[name].id if name in reused else None,
                "growth": each.verdict.growth,
            }
            for name, each in found.items()
        }
        pushed = {
            "models": {name: model.to_dict() for name, model in reused.items()},
            "reasons": {name: each.verdict.reason for name, each in found.items()},
            "growth": {name: each.verdict.growth for name, each in found.items()},
            "conditions": {name: each.to_dict() for name, each in conditions.items()},
            "artifact_sha256": artifact_sha256,
            # Skipping ends the task by an exception, so that a returned value would not be pushed.
            "return_value": summary,
        }
        for key, value in pushed.items():
            context["ti"].xcom_push(key=key, value=value)
        marks = [each.mark for each in found.values() if each.mark is not None]
        keep_marks(marks, callbacks=self.on_stale, context=context, log=self.log)
        self.add_lineage(*marks, inputs=[self._rendered_input().path], found=[*reused.values()])
        self._skip({*reused}, context)
        return summary

    def _check(self, context: Context) -> None:
        from airflow_provider_ernest.operators.setting_checks import SizingSettings

        # Not `_rendered_job`: what is never rendered may hold templates.
        own = {name: getattr(self, name) for name in ("application_args", "conf", "submit_options")}
        settings = SizingSettings(
            job=SparkJob(**{**self.job, **own}),
            input=self._rendered_input(),
            bounds=settings_of(DesignBounds, self.bounds, "bounds"),
            goal=settings_of(SizingGoal, self.goal, "goal"),
            model=settings_of(ModelSettings, self.model, "model"),
            clusters=self.clusters,
            run_timeout_seconds=self.run_timeout_seconds,
        )
        settings.check()
        if not all(cluster.kind == EMR for cluster in self.clusters):
            from airflow_provider_ernest.spark.submit import check_options

            check_options(self.submit_options)
        _rehearse(self, settings.job, settings.input, context)

    def _conditions(self) -> dict[str, RunConditions]:
        from airflow_provider_ernest.documents.runs import RunConditions
        from airflow_provider_ernest.learning.conditions import settings_digests
        from airflow_provider_ernest.spark.input import input_fingerprint

        sampled, model = self._rendered_input(), settings_of(ModelSettings, self.model, "model")
        settings = settings_digests(
            conf=self.conf,
            arguments=self.application_args,
            options=self.submit_options,
            # Their change would lead to other sample runs or another model.
            further={
                "sampling": sampled.sampling,
                "the input's header": sampled.header,
                "the sample runs' iterations": self._rendered_job().sample_iterations,
                "the model's method": model.method,
                "the model's terms": model.terms and list(model.terms),
                "the model's further terms": list(model.extension_terms) or None,
            },
        )
        shape = input_fingerprint(sampled.path, partitions=sampled.partitions, log=self.log)
        try:
            installed = version("pyspark")
        except PackageNotFoundError:
            installed = None
        return {
            each["instance_type"]: RunConditions(
                spark=installed if each.get("spark") == INSTALLED else each.get("spark"),
                settings={**settings, **settings_digests(further=each.get("settings"))},
                input=shape,
                executor_cores=each.get("executor_cores"),
            )
            for each in self.types
        }

    def _found(
        self, artifact_sha256: str | None, conditions: Mapping[str, RunConditions], context: Context
    ) -> dict[str, Found]:
        """Models that hold for this run; defers the task while another run trains the job."""
        from airflow_provider_ernest.learning.reuse import none_found

        if self.reuse is None:
            return none_found(conditions, "Each run trains: models are not reused.")
        dag_run = context.get("dag_run")
        if str((getattr(dag_run, "conf", None) or {}).get(RETRAIN)).lower() == "true":
            return none_found(conditions, "This run was asked to train.")
        found = self._stored(artifact_sha256, conditions, context)
        if self._waits_or_takes_turn(found, artifact_sha256, context):
            found = self._stored(artifact_sha256, conditions, context)
        return found

    def _stored(
        self, artifact_sha256: str | None, conditions: Mapping[str, RunConditions], context: Context
    ) -> dict[str, Found]:
        from airflow_provider_ernest.learning.reuse import Run, find_stored, none_found

        goal = settings_of(SizingGoal, self.goal, "goal")
        store = model_store()
        run = Run(
            job=self._rendered_job().name,
            artifact_sha256=artifact_sha256,
            reuse=settings_of(Reuse, self.reuse, "reuse"),
            max_error_percent=goal.max_error_percent if goal.on_inadequate != WARN else None,
            origin=origin_of(context),
        )
        try:
            return in_time(lambda: find_stored(store, run, conditions=conditions), most_seconds=MOST_SECONDS)
        except (StoreError, TimeoutError) as error:
            self.log.warning("No stored model is looked at: %s", error)
            return none_found(conditions, f"The model store cannot be read: {error}")

    def _waits_or_takes_turn(
        self, found: Mapping[str, Found], artifact_sha256: str | None, context: Context
    ) -> bool:
        """Defer the task while another run trains; return whether to look again, as one may have trained.

        A run that could not tell whether the other's model holds for it does not wait. A failure to find out
        is a warning, and this run trains.
        """
        from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger

        from airflow_provider_ernest.store.exclusive import TrainingLeases

        training = [each for each in self.types if found[each["instance_type"]].model is None]
        reuse = settings_of(Reuse, self.reuse, "reuse")
        most_seconds = float(reuse.wait_for_training_seconds)
        is_comparable = artifact_sha256 or reuse.accept_unknown_application
        if not (training and most_seconds and is_comparable):
            return False
        job = self._rendered_job().name
        leases = TrainingLeases(model_store().root, job, artifact_sha256)
        tasks = tuple(task_id for each in training for task_id in each["training_tasks"])
        try:
            other = _turn(leases, tasks, most_seconds=most_seconds, context=context)
        except (StoreError, TimeoutError) as error:
            self.log.warning("Other runs of the job may train at the same time: %s", error)
            return False
        if other is not None:
            left_seconds = max(1.0, most_seconds - _age_seconds(other))
            self.log.info(
                "Run %s of DAG %s trains %r: waiting for its model for at most %s more "
                "(Reuse.wait_for_training_seconds).",
                other.origin.run_id,
                other.origin.dag_id,
                job,
                duration(left_seconds),
            )
            pause = timedelta(seconds=min(_LOOKS_SECONDS, left_seconds))
            timeout = pause + timedelta(seconds=_LATE_SECONDS)
            self.defer(trigger=TimeDeltaTrigger(pause), timeout=timeout, method_name="look_again")
        return True

    def _skip(self, reused: set[str], context: Context) -> None:
        """Skip the tasks that reused models make needless, as Airflow's own branching does."""
        needless = [*self.shared_tasks] if len(reused) == len(self.types) else []
        for each in self.types:
            if each["instance_type"] in reused:
                needless += each["training_tasks"]
                needless += () if keeps_cluster(self.dag, each) else each["cluster_tasks"]
        if needless:
            self.skip(context["ti"], [self.dag.get_task(task_id) for task_id in needless])


def keeps_cluster(dag: Any, each: Mapping[str, Any]) -> bool:
    """Whether production, too, runs on the cluster of an entry of `FindModelOperator.types`."""
    if each.get("keeps_cluster"):
        return True
    before_the_end: Iterable[str] = dag.get_task(each["teardown"]).upstream_task_ids
    return not {*before_the_end} <= {*each["training_tasks"], *each["cluster_tasks"]}


_ENDED = {"success", "failed", "skipped", "upstream_failed", "removed"}
"""States in which Airflow does not start a task any more."""


def _turn(
    leases: TrainingLeases, tasks: tuple[str, ...], *, most_seconds: float, context: Context
) -> TrainingLease | None:
    """Of concurrent runs of a job one trains; the others wait for its model.

    `tasks` are the ids of the training's tasks in this DAG run. Returns the training of another run that is
    younger than `most_seconds`; None if this one trains.
    """
    from airflow_provider_ernest.store.exclusive import TrainingLease

    origin = origin_of(context)
    while True:
        number, held = in_time(leases.newest, most_seconds=MOST_SECONDS)
        # Another try of the same task goes on with its own training.
        if held is not None and replace(held.origin, try_number=origin.try_number) == origin:
            return None
        if held is not None and _age_seconds(held) < most_seconds and not _has_ended(held, context):
            return held
        own = TrainingLease(origin=origin, tasks=tasks, taken_at=datetime.now(UTC))
        if in_time(partial(leases.take, number + 1, own), most_seconds=MOST_SECONDS):
            return None


def _age_seconds(lease: TrainingLease) -> float:
    return (datetime.now(UTC) - lease.taken_at).total_seconds()


def _has_ended(lease: TrainingLease, context: Context) -> bool:
    """Whether Airflow says that a training has ended. It does not know those of another Airflow."""
    origin = lease.origin
    found = context["ti"].get_task_states(
        dag_id=origin.dag_id, task_ids=list(lease.tasks), run_ids=[origin.run_id]
    )
    states = {str(state) for state in found.get(origin.run_id, {}).values()}
    return bool(states) and states <= _ENDED


_LOOKS_SECONDS = 60.0
"""Between two looks at who trains."""

_LATE_SECONDS = 600.0
"""How late a triggerer may end a wait; without a triggerer, the task fails then."""


_OF_TASKS = "xcom"
"""A template with this word may ask for the output of a task that has not run yet."""

_COORDINATES = re.compile(r"[^:,\s]+(:[^:,\s]+){2,4}")


def _rehearse(operator: BaseOperator, job: SparkJob, sampled: SampledInput, context: Context) -> None:
    """Render what sample runs will be submitted with, with stand-ins for their samples, and check it.

    Otherwise each sample run, and each of its tries, would find a broken template or a missing file on
    machines that are paid for.
    """
    from airflow_provider_ernest.spark.input import Sample

    iterations = job.sample_iterations
    for scale in (0.1, 1.0):
        sample = Sample(input=sampled.path, scale=scale, executors=1, partitions=1, iterations=iterations)
        names = cast("Context", {**context, "sample": sample})
        _rendered(operator, "application_args", job.application_args, names)
    _rendered(operator, "conf", job.conf, context)
    options = _rendered(operator, "submit_options", job.submit_options, context)
    require_dependencies(options)
    for each in listed_paths("packages", options.get("packages")):
        if not _COORDINATES.fullmatch(each):
            raise InvalidParameterError(
                "packages", each, "is not a Maven package", remedy="Write group:artifact:version."
            )


def _rendered(operator: BaseOperator, name: str, value: Any, context: Context, *, before: Any = "") -> Any:
    """The value with its texts rendered, except texts that need other tasks' outputs.

    The error shows the text unless its name, itself or the argument `before` it suggests a secret.
    """
    if isinstance(value, Mapping):
        return {key: _rendered(operator, f"{name}[{key!r}]", each, context) for key, each in value.items()}
    if isinstance(value, list | tuple):
        follows = enumerate(zip(["", *value], value, strict=False))
        return [
            _rendered(operator, f"{name}[{at}]", each, context, before=other) for at, (other, each) in follows
        ]
    if not isinstance(value, str) or _OF_TASKS in value:
        return value
    try:
        return rendered_texts(operator, value, context)
    # A template may raise anything, and would in each sample run.
    except Exception as error:
        is_secret = any(map(names_a_secret, (name, value, str(before))))
        # A library's message may hold a password.
        why = f": {str(error).rstrip('.')}" if isinstance(error, TemplateError) and not is_secret else ""
        raise InvalidParameterError(
            name,
            "(not shown)" if is_secret else value,
            f"cannot be rendered: {type(error).__name__}{why}",
            remedy="Correct the template. Arguments may name sample.input, .scale, .machines, .partitions "
            "and .iterations; all texts may use Airflow's variables.",
        ) from error
