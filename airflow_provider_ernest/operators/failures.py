"""How our errors end a task: those that another attempt cannot mend are not retried, and some are told."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import ErnestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from airflow.sdk import Context


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
def failure_told(context: Context) -> Iterator[None]:
    """Push why the task fails as XCom ``failure``, for the tasks that go on without it to tell.

    Of an error that is not ours only the kind: what a library says may hold a password, which Airflow masks
    in logs and not in XComs.
    """
    try:
        yield
    except Exception as error:
        ti = context["ti"]
        unexpected = f"{type(error).__name__} (see the log of the task {ti.task_id})."
        told = error.message if isinstance(error, ErnestError) else unexpected
        ti.xcom_push(key="failure", value=told)
        raise
