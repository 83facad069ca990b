"""What tasks share: their instance, how errors end them, bounded waits, and how they keep a job."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError
from airflow_provider_ernest.settings.job import SampledInput, SparkJob
from airflow_provider_ernest.settings.templates import as_template, settings_of
from airflow_provider_ernest.settings.values import is_template
from airflow_provider_ernest.spark.artifact import dependency_options
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from airflow.sdk import BaseOperator, Context

    from airflow_provider_ernest.documents.base import Origin


@contextmanager
def no_vain_retries() -> Iterator[None]:
    """Fail the task without retries on an error that its input causes."""
    try:
        yield
    except ErnestError as error:
        if error.retryable:
            raise
        from airflow.providers.common.compat.sdk import AirflowFailException

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
    from airflow.providers.common.compat.sdk import conf

    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


def end_unless_begun(context: Context, first_tasks: Sequence[str]) -> None:
    """If none of the training's first tasks was started, end this task as they ended.

    Otherwise a task that runs after failures, for its fallback, would size production although what prepares
    its input has failed.
    """
    from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

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
    input: Any
    application_args: Sequence[str] = ()
    conf: Mapping[str, Any]
    submit_options: Mapping[str, Any]

    def _keep_job(self, job: Any, *sampled: Any) -> None:
        """Keep the job, and its input if the operator takes one."""
        for given in sampled:  # None, too, is refused
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
