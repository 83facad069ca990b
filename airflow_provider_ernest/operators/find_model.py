"""The first step: whether a stored model speaks for this run, so that no sample runs need to be made."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import SkipMixin
from airflow.sdk import BaseOperator

from airflow_provider_ernest.lineage import TellsLineage
from airflow_provider_ernest.links.spark_history import ModelFitLink
from airflow_provider_ernest.operators.task_context import no_vain_retries, origin_of
from airflow_provider_ernest.settings import Reuse
from airflow_provider_ernest.spark.artifact import dependency_options
from airflow_provider_ernest.stated import as_template, optional_number, optional_text, settings_of
from airflow_provider_ernest.store_location import store_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.documents import ModelMark, RunConditions
    from airflow_provider_ernest.learning.reuse import ReusePolicy
    from airflow_provider_ernest.operators.stored_models import Found
    from airflow_provider_ernest.settings import Number

RETRAIN = "ernest_retrain"
"""The key in a run's configuration that asks for a training: ``{"ernest_retrain": true}``."""


class FindModelOperator(TellsLineage, BaseOperator, SkipMixin):
    """Look for a stored model that speaks for this run; where there is one, skip the tasks of the training.

    A model is reused where the application has the same content, Spark and the job's settings are the same,
    the input has the same shape, and neither production nor anything else has spoken against it since. More
    data of the same shape makes no difference: the decision is for a larger scale. What is not known of the
    input or of Spark is not compared. A run that is triggered with the configuration
    ``{"ernest_retrain": true}`` trains in any case.

    A model that no longer speaks for the job is marked in the store, with the reason. What hinders the
    search is a warning, and a training.

    Returns what was found for each type of machine: ``{"is_reused", "reason", "model_id", "growth"}``, and
    pushes ``models`` (the `Model` documents that are reused), ``reasons``, ``growth`` (of the input since
    then) and ``conditions`` (`RunConditions` documents), all by type, and ``artifact_sha256``.

    Args:
        job: the job's name in the store.
        types: for each type of machine a mapping: ``instance_type``; ``spark``, Spark's version there, None
            where it is not known, or "installed" for that of this worker's PySpark; ``cores_per_machine``;
            ``settings`` of the machines by name, which must be the same;
            ``training_tasks``, ids of the tasks that a reused model makes needless; ``cluster_tasks``, those
            that check, start and end the cluster, needless likewise unless production runs on it: where a
            task outside the training comes before ``teardown``, or where ``keeps_cluster``.
        shared_tasks: ids of tasks that are needless only where all types have a model.
        application: path of the JAR or .py file.
        application_args: its arguments, as they are stated: templates in them are not rendered.
        conf: Spark properties, likewise.
        submit_options: further arguments of `SparkSubmitHook`, likewise; py_files and jars, which may be
            templates, count by content.
        training_settings: what else sample runs and model depend on, by name, likewise.
        input_path: the production input.
        partitions: of it; None for its number of files.
        header: its files begin with a header line.
        reuse: a `Reuse` or a mapping of its fields; None to train always.
        max_error_percent: the median leave-one-out error above which a model is not reused; None for any.
        settings: all that the user of a task group states, `setting_checks.Settings.as_fields`: checked here
            once more, with its templates rendered; None for nothing to check.
        store: root of the model store; None for ``[ernest] store``.
        on_stale: callables or Airflow notifiers, called where a model is marked.

    Raises:
        InvalidParameterError: a value cannot be.
        MissingResourceError: there is no such application.
    """

    template_fields: Sequence[str] = (
        "job",
        "application",
        "dependencies",
        "input_path",
        "partitions",
        "reuse",
        "max_error_percent",
        "settings",
        "store",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#dfe6d0"

    def __init__(
        self,
        *,
        job: str,
        types: Sequence[Mapping[str, Any]],
        application: str,
        input_path: str,
        shared_tasks: Sequence[str] = (),
        application_args: Sequence[str] = (),
        conf: Mapping[str, str] | None = None,
        submit_options: Mapping[str, Any] | None = None,
        training_settings: Mapping[str, Any] | None = None,
        partitions: Number | None = None,
        header: bool = False,
        reuse: Reuse | Mapping[str, Any] | None = None,
        max_error_percent: Number | None = None,
        settings: Mapping[str, Any] | None = None,
        store: str | None = None,
        on_stale: Any = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.types = types
        self.application = application
        self.input_path = input_path
        self.shared_tasks = shared_tasks
        self.application_args = application_args
        self.conf = conf
        self.submit_options = submit_options
        # A field of their own: they are rendered, and the other options are compared as they are stated.
        self.dependencies = dependency_options(submit_options or {})
        self.training_settings = training_settings
        self.partitions = partitions
        self.header = header
        self.reuse: Any = None if reuse is None else as_template(Reuse, reuse, "reuse")
        self.max_error_percent = max_error_percent
        self.settings = settings
        self.store = store
        self.on_stale = on_stale

    def execute(self, context: Context) -> dict[str, Any]:
        """Look, say why, and skip what is needless."""
        with no_vain_retries():
            if self.settings is not None:
                self._check(self.settings)
            policy = self._policy(context)
            artifact_sha256 = artifact_hash(self.application, self.dependencies, log=self.log)
            conditions = run_conditions(self, log=self.log)
            found = self._found(policy, artifact_sha256, conditions, context)
        reused = {name: each.model for name, each in found.items() if each.model is not None}
        told = {
            name: {
                "is_reused": name in reused,
                "reason": each.verdict.reason,
                "model_id": reused[name].id if name in reused else None,
                "growth": each.verdict.growth,
            }
            for name, each in found.items()
        }
        for name, each in found.items():
            self.log.info("%s: %s", name, each.verdict.reason)
        pushed = {
            "models": {name: model.to_dict() for name, model in reused.items()},
            "reasons": {name: each.verdict.reason for name, each in found.items()},
            "growth": {name: each.verdict.growth for name, each in found.items()},
            "conditions": {name: each.to_dict() for name, each in conditions.items()},
            "artifact_sha256": artifact_sha256,
            # Skipping ends the task by an exception, so that a returned value would not be pushed.
            "return_value": told,
        }
        for key, value in pushed.items():
            context["ti"].xcom_push(key=key, value=value)
        marks = [each.mark for each in found.values() if each.mark is not None]
        self._keep_marks(marks, context)
        self.tells_lineage(*marks, inputs=[self.input_path], found=[*reused.values()])
        self._skip({*reused}, context)
        return told

    def _check(self, settings: Mapping[str, Any]) -> None:
        """Refuse, before anything is started, what only a task can see of the settings."""
        from airflow_provider_ernest.decision.goals import load_objective
        from airflow_provider_ernest.setting_checks import Settings
        from airflow_provider_ernest.spark.artifact import require_dependencies

        checked = Settings.rendered(
            settings,
            name=self.job,
            application=self.application,
            application_args=self.application_args,
            conf=self.conf or {},
            submit_options=self.submit_options or {},
        )
        objective = optional_text(checked.goal.objective)
        if objective is not None:
            load_objective(objective)
        if not all(cluster.is_emr for cluster in checked.clusters):
            from airflow_provider_ernest.spark.submit import check_options

            check_options(checked.job.submit_options)
        require_dependencies(self.dependencies)

    def _policy(self, context: Context) -> ReusePolicy | None:
        """How long models are good for; None where a training is wanted in any case."""
        from airflow_provider_ernest.learning.reuse import ReusePolicy

        dag_run = context.get("dag_run")
        if self.reuse is None or str((getattr(dag_run, "conf", None) or {}).get(RETRAIN)).lower() == "true":
            return None
        return ReusePolicy(
            max_error_percent=optional_number("max_error_percent", self.max_error_percent),
            **vars(settings_of(Reuse, self.reuse, "reuse")),
        )

    def _found(
        self,
        policy: ReusePolicy | None,
        artifact_sha256: str | None,
        conditions: Mapping[str, RunConditions],
        context: Context,
    ) -> dict[str, Found]:
        from airflow_provider_ernest.operators.stored_models import Run, find_stored, not_asked
        from airflow_provider_ernest.store.store import ModelStore

        if policy is None:
            return not_asked(conditions, is_forced=self.reuse is not None)
        return find_stored(
            ModelStore(store_root(optional_text(self.store))),
            Run(job=self.job, artifact_sha256=artifact_sha256, policy=policy, origin=origin_of(context)),
            conditions=conditions,
            log=self.log,
        )

    def _keep_marks(self, marks: Sequence[ModelMark], context: Context) -> None:
        from airflow_provider_ernest.operators.marking import keep_marks

        keep_marks(
            marks,
            store=optional_text(self.store),
            callbacks=self.on_stale,
            context=context,
            log=self.log,
        )

    def _skip(self, reused: set[str], context: Context) -> None:
        """Skip the tasks that reused models make needless, as Airflow's own branching does."""
        needless = [
            task_id
            for each in self.types
            if each["instance_type"] in reused
            for task_id in (*each["training_tasks"], *(() if self._keeps(each) else each["cluster_tasks"]))
        ]
        if len(reused) == len(self.types):
            needless += self.shared_tasks
        if needless:
            self.skip(context["ti"], [self.dag.get_task(task_id) for task_id in needless])

    def _keeps(self, each: Mapping[str, Any]) -> bool:
        """Whether production needs the training's cluster, too: it comes before the cluster's end."""
        if each.get("keeps_cluster"):
            return True
        before_the_end: Iterable[str] = self.dag.get_task(each["teardown"]).upstream_task_ids
        return not {*before_the_end} <= {*each["training_tasks"], *each["cluster_tasks"]}


# ---------------------------------------------------------------------------
# What a run is a run of: its application's content, and the conditions that it runs under.


INSTALLED = "installed"
"""Stands for the version of Spark that comes with this worker's PySpark."""


def artifact_hash(application: str, submit_options: Mapping[str, Any], *, log: Any) -> str | None:
    """The hash of an application and what it is submitted with; None, with a warning, where there is none.

    Raises:
        MissingResourceError: the application's path is local, and cannot be read.
    """
    from airflow_provider_ernest.hooks.aws import s3_opener
    from airflow_provider_ernest.spark.artifact import artifact_paths, hash_where_readable

    own, *dependencies = artifact_paths(application, submit_options)
    return hash_where_readable(own, dependencies=dependencies, log=log, open_s3=s3_opener())


def hash_of_training(
    before: str | None, application: str, submit_options: Mapping[str, Any], *, log: Any
) -> tuple[str | None, tuple[str, ...]]:
    """The hash of the application that sample runs were made with, and warnings.

    Args:
        before: as it was before them; None where nobody took it.
        application: path of the JAR or .py file.
        submit_options: what it is submitted with.
        log: the logger that tells why the hash cannot be taken.

    Raises:
        MissingResourceError: the application's path is local, and cannot be read.
    """
    after = artifact_hash(application, submit_options, log=log)
    if before is None or after is None or before == after:
        return before or after, ()
    return before, ("The application was replaced during the sample runs: they may be of two versions.",)


def run_conditions(asker: FindModelOperator, *, log: Any) -> dict[str, RunConditions]:
    """The conditions of a run by type of machine.

    Args:
        asker: the task that asks, with its templates rendered.
        log: the logger that tells what cannot be found out.
    """
    from airflow_provider_ernest.documents import RunConditions
    from airflow_provider_ernest.learning.conditions import settings_digests
    from airflow_provider_ernest.spark.input_fingerprint import input_fingerprint
    from airflow_provider_ernest.stated import optional_whole_number

    settings = settings_digests(
        conf=asker.conf or {},
        arguments=asker.application_args or (),
        options=asker.submit_options or {},
        further=asker.training_settings,
    )
    shape = input_fingerprint(
        asker.input_path,
        partitions=optional_whole_number("partitions", asker.partitions),
        header=asker.header,
        log=log,
    )
    return {
        each["instance_type"]: RunConditions(
            spark=spark_release(each.get("spark")),
            settings={**settings, **_of_machines(each)},
            input=shape,
            cores_per_machine=each.get("cores_per_machine"),
        )
        for each in asker.types
    }


def _of_machines(each: Mapping[str, Any]) -> dict[str, str]:
    from airflow_provider_ernest.learning.conditions import settings_digests

    return settings_digests(conf=None, arguments=None, options=None, further=each.get("settings"))


def told_conditions(value: Any, instance_type: str) -> RunConditions | None:
    """The conditions that a `FindModelOperator` has pushed for a type of machine; None where it has not.

    Args:
        value: its XCom ``conditions``, also as JSON text.
        instance_type: the type.

    Raises:
        InvalidParameterError, InvalidDocumentError: it is something else.
    """
    from airflow_provider_ernest.documents import RunConditions
    from airflow_provider_ernest.stated import optional_document

    told = (optional_document("conditions", value) or {}).get(instance_type)
    return RunConditions.from_dict(told) if told else None


def spark_release(stated: str | None) -> str | None:
    """Spark's version, that of this worker's PySpark where so stated; None where it is not known."""
    if stated != INSTALLED:
        return stated
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None
