"""What tasks have in common: their instance, how errors end them, bounded waits, and how they keep a job."""

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
    """Fail the task at once on an error that its input causes, instead of paying for its retries."""
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

    Of an error that is not ours only the kind: what a library says may hold a password, which Airflow masks
    in logs and not in XComs.
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
    """The result of some work, or what it raises: storage that does not answer must not hold a task up.

    Work that takes too long goes on for as long as the process lives, which does not wait for it either.

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
    """The task instance whose context it is, so that each number shown leads back to its log."""
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
    """Whether a task waits in the triggerer: as its `deferrable` says, else as Airflow is configured."""
    if stated is not None:
        return stated
    from airflow.providers.common.compat.sdk import conf

    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


SKIPPED, UPSTREAM_FAILED = "skipped", "upstream_failed"


def end_unless_begun(context: Context, first_tasks: Sequence[str]) -> None:
    """End the task as those did that the training begins with, where none of them was started.

    A task that goes on after failures, for its fallback, would otherwise size production also where what
    prepares its input has failed.

    Raises:
        AirflowSkipException: all of them were skipped.
        AirflowFailException: what they wait for has failed.
    """
    from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

    ti, run_id = context["ti"], context["run_id"]
    found = ti.get_task_states(dag_id=ti.dag_id, task_ids=list(first_tasks), run_ids=[run_id])
    states = {str(state) for state in found.get(run_id, {}).values()}
    if states == {SKIPPED}:
        raise AirflowSkipException("The training was skipped, and with it the decision.")
    if states and states <= {SKIPPED, UPSTREAM_FAILED}:
        raise AirflowFailException(
            "What comes before the training has failed: production is not sized, nor is the fallback taken."
        )


# A `SparkJob` as operators keep it: what of it Airflow renders, keeps and shows, and what not.


class OfJob:
    """Base of operators that are given a job. What of it may be rendered is their template field ``job``.

    Not rendered for all are its arguments, which may name a sample that is not known yet, its properties, of
    which Airflow would keep and show what is rendered, and options of spark-submit that may be templates of
    the sample runs' own. Of the latter ``job`` has py_files and jars, which belong to the job's code.
    """

    job: Any
    application_args: Sequence[str] = ()
    conf: Mapping[str, Any]
    submit_options: Mapping[str, Any]

    def _keep_job(self, job: Any) -> None:
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
        """The job, with what is never rendered only where it is given here."""
        return settings_of(SparkJob, {**self.job, **fields}, "job")


def rendered_texts(operator: BaseOperator, value: Any, context: Context) -> Any:
    """Rendered as the operator does it, but texts stay texts, also in a DAG that renders to Python's objects.

    What Spark is given is text: of "1.10" such a DAG would make 1.1, of JSON what Python prints of it.
    """
    if isinstance(value, Mapping):
        return {key: rendered_texts(operator, each, context) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rendered_texts(operator, each, context) for each in value]
    dag = operator.get_dag()
    if dag is None or not isinstance(value, str):
        return operator.render_template(value, context)
    return dag.get_template_env(force_sandboxed=True).from_string(value).render(context)


class OfJobAndInput(OfJob):
    """Base of operators that are given its input, too."""

    input: Any

    def _keep_input(self, sampled: Any) -> None:
        self.input = as_template(SampledInput, sampled, "input")

    def _rendered_input(self) -> SampledInput:
        return settings_of(SampledInput, self.input, "input")


def as_mappings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an operator's `partial`, with job and input as mappings.

    In mappings, not in dataclasses, Airflow finds the outputs of tasks that a mapped one waits for.
    """
    kinds = {"job": SparkJob, "input": SampledInput}
    return {
        name: as_template(kinds[name], value, name) if name in kinds else value
        for name, value in kwargs.items()
    }
