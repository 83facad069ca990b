"""What tasks share: how errors end them, bounded waits, how they keep a job, and where they keep things.

Models, event logs, staged samples and the state of local clusters lie below AIRFLOW_HOME/ernest, unless
``[ernest]`` of Airflow's configuration names another ``store``, ``event_logs``, ``staging`` or ``clusters``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, conf
from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError
from airflow_provider_ernest.hooks.aws import aws_clients, s3_clients
from airflow_provider_ernest.hooks.store_location import configured, store_root
from airflow_provider_ernest.settings.job import SampledInput, SparkJob
from airflow_provider_ernest.settings.values import as_template, is_template, optional_document, settings_of
from airflow_provider_ernest.spark.artifact import artifact_paths, dependency_options, hash_where_readable
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.documents.base import Origin
    from airflow_provider_ernest.documents.runs import RunConditions


@contextmanager
def no_vain_retries() -> Iterator[None]:
    """Fail the task without retries on an error that its input causes."""
    try:
        yield
    except ErnestError as error:
        if error.retryable:
            raise

        raise AirflowFailException(f"{type(error).__name__}: {error}") from error


@contextmanager
def failure_pushed(context: Context) -> Iterator[None]:
    """Push why the task fails as XCom ``failure``, for the tasks that go on without it.

    Of foreign errors only the kind: a library's message may hold a password, which XComs do not mask.
    """
    try:
        yield
    except Exception as error:
        ti = context["ti"]
        unexpected = f"{type(error).__name__} (see the log of the task {ti.task_id})."
        ti.xcom_push(key="failure", value=str(error) if isinstance(error, ErnestError) else unexpected)
        raise


Result = TypeVar("Result")


def in_time(work: Callable[[], Result], *, most_seconds: float) -> Result:
    """Return the result of some work, or raise its error, within a time limit.

    Work that takes too long goes on while the process lives.

    Raises:
        TimeoutError: it is not done in time.
    """
    results: list[Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failures.append(error)

    # A daemon, so that the process can end before it does.
    thread = Thread(target=copy_context().run, args=(run,), name="ernest-in-time", daemon=True)
    thread.start()
    thread.join(most_seconds)
    if failures:
        raise failures[0]
    if not results:
        raise TimeoutError(f"no answer for {duration(most_seconds)}")
    return results[0]


def origin_of(context: Context) -> Origin:
    """The context's task instance, so that each number shown leads back to its log."""
    from airflow_provider_ernest.documents.base import Origin

    instance = context["ti"]
    map_index = getattr(instance, "map_index", None)
    return Origin(
        dag_id=instance.dag_id,
        run_id=instance.run_id,
        task_id=instance.task_id,
        map_index=-1 if map_index is None else map_index,
        try_number=instance.try_number,
    )


def is_deferrable(stated: bool | None) -> bool:
    """Whether a task waits in the triggerer; None for Airflow's configuration."""
    if stated is not None:
        return stated

    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


def end_unless_begun(context: Context, first_tasks: Sequence[str]) -> None:
    """If none of the training's first tasks was started, end this task as they ended.

    Otherwise a task that runs after failures, for its fallback, would size production although what prepares
    its input has failed.
    """
    ti, run_id = context["ti"], context["run_id"]
    found = ti.get_task_states(dag_id=ti.dag_id, task_ids=list(first_tasks), run_ids=[run_id])
    states = {str(state) for state in found.get(run_id, {}).values()}
    if states == {"skipped"}:
        raise AirflowSkipException("The training was skipped, and so is the decision.")
    if states and states <= {"skipped", "upstream_failed"}:
        raise AirflowFailException(
            "A task before the training failed: production is not sized, and the fallback is not taken."
        )


class OfJob:
    """Base of operators that are given a job. The part that may be rendered is the template field ``job``.

    Not rendered: arguments, which may name a sample that is not known yet; properties, whose rendered values
    Airflow would store and show; and options of spark-submit, except py_files and jars, the job's code.
    """

    job: Any
    input: Any = None
    application_args: Sequence[str] = ()
    conf: Mapping[str, Any]
    submit_options: Mapping[str, Any]

    def _keep_job(self, job: Any, *sampled: Any) -> None:
        """Keep the job, and its input if the operator takes one."""
        for given in sampled:
            self.input = as_template(SampledInput, given, "input")
        if is_template(job):
            raise InvalidParameterError(
                "job", job, "is a template", remedy="Write job=SparkJob(...): its fields may be templates."
            )
        fields = dict(as_template(SparkJob, job, "job"))
        self.application_args = fields.pop("application_args", ())
        self.conf = fields.pop("conf", {})
        self.submit_options = fields.pop("submit_options", {})
        self.job = {**fields, "submit_options": dependency_options(self.submit_options)}

    def _rendered_job(self, **fields: Any) -> SparkJob:
        """The job; fields that are never rendered are set only if given here."""
        return settings_of(SparkJob, {**self.job, **fields}, "job")

    def _rendered_input(self) -> SampledInput:
        return settings_of(SampledInput, self.input, "input")


def rendered_texts(operator: BaseOperator, value: Any, context: Context) -> Any:
    """Render as the operator does, but keep texts as texts, also in a DAG with native rendering.

    Spark takes text: such a DAG would make 1.1 of "1.10", and Python's repr of JSON.
    """
    if isinstance(value, Mapping):
        return {key: rendered_texts(operator, each, context) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rendered_texts(operator, each, context) for each in value]
    dag = operator.get_dag()
    if dag is None or not isinstance(value, str):
        return operator.render_template(value, context)
    return dag.get_template_env(force_sandboxed=True).from_string(value).render(context)


def as_mappings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a mapped operator, with job and input as mappings: Airflow finds XComs in these only."""
    kinds = {"job": SparkJob, "input": SampledInput}
    return {
        name: as_template(kinds[name], value, name) if name in kinds else value
        for name, value in kwargs.items()
    }


def artifact_hash(application: str | None, submit_options: Mapping[str, Any], *, log: Any) -> str | None:
    """Return the hash of an application and its dependencies; None if it is not named or cannot be read.

    Raises:
        MissingResourceError: the application's path is local, and cannot be read.
    """
    if application is None:
        return None
    own, *dependencies = artifact_paths(application, submit_options)
    return hash_where_readable(own, dependencies=dependencies, log=log, s3_clients=s3_clients())


def pushed_conditions(value: Any, instance_type: str) -> RunConditions | None:
    """Return a type's conditions from the XCom ``conditions`` of a `FindModelOperator`; None if not there."""
    from airflow_provider_ernest.documents.runs import RunConditions

    of_type = (optional_document("conditions", value) or {}).get(instance_type)
    return RunConditions.from_dict(of_type) if of_type else None


def folder(kind: str) -> Path:
    """The local folder for a kind of things."""
    return Path(configured(kind)).expanduser().absolute()


def event_logs(context: Context) -> Path:
    """Create the folder for the event logs of this try of this task."""
    path = task_path(context)
    # Unique for the try, and safe in file systems and Hadoop paths.
    logs = folder("event_logs") / path.with_name(f"{path.name}-try{context['ti'].try_number}")
    logs.mkdir(parents=True, exist_ok=True)
    return logs


def staging(context: Context) -> Path:
    """The folder for samples of this task, the same for all of its tries; not created."""
    return folder("staging") / task_path(context)


def task_path(context: Context) -> Path:
    """The same for all tries of this task instance, so that each finds what the one before left."""
    task = origin_of(context)
    mapped = f"-{task.map_index}" if task.map_index >= 0 else ""
    return Path(path_name(task.dag_id)) / path_name(task.run_id) / f"{path_name(task.task_id)}{mapped}"


def owner_of(context: Context, *, task_id: str | None = None) -> str:
    """Names what this task instance starts elsewhere, so that each of its tries finds it again.

    With `task_id`, what another task of the DAG run started, one that is not mapped.
    """
    path = task_path(context)
    if task_id:
        path = path.with_name(path_name(task_id))
    return hashlib.sha256(path.as_posix().encode()).hexdigest()[:12]


def path_name(text: str) -> str:
    """A readable file name for any text, distinct for distinct texts. Hadoop paths bear no colon."""
    safe = re.sub(r"[^A-Za-z0-9_.-]", "-", text).lstrip(".")[:100]
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def cluster_secret(handle: ClusterHandle) -> str | None:
    """Return the secret that a cluster's processes share, None if they share none. Airflow masks it in logs.

    Raises:
        ClusterLostError: the cluster is no longer there.
    """
    from airflow.sdk.log import mask_secret

    from airflow_provider_ernest.clusters.local_spec import LOCAL

    if handle.kind == LOCAL:
        from airflow_provider_ernest.clusters.local import LocalCluster

        secret = LocalCluster.from_handle(handle, below=folder("clusters")).secret()
    elif handle.authenticates:
        from airflow_provider_ernest.clusters.ec2 import cluster

        secret = cluster.cluster_secret(aws_clients(handle.aws_conn_id, handle.region)("ec2"), handle.name)
    else:
        return None
    mask_secret(secret)
    return secret


def configured_deployment() -> str:
    """Return this Airflow's id: ``[ernest] deployment``, else one made once in the model store.

    Raises:
        StoreError: none is configured, and the store cannot be read or written.
    """
    from airflow_provider_ernest.store.exclusive import deployment_of_store

    configured = str(conf.get("ernest", "deployment", fallback="") or "").strip()
    return configured or deployment_of_store(store_root())


def cluster_identity(context: Context, *, deployment: str | None = None) -> ClusterIdentity:
    """Return the task instance as owner of the machines that it launches.

    `deployment` is the one in whose name an earlier part of the task launched; None for the configured one.
    """
    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity

    return ClusterIdentity(deployment=deployment or configured_deployment(), **vars(origin_of(context)))
