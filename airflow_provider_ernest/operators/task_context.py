"""What tasks have in common: which instance they are, how errors end them, and waits that are bounded."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from airflow.sdk import Context

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
