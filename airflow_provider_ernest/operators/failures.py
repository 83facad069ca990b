"""How our errors end a task: those that another attempt cannot mend are not retried."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_provider_ernest.exceptions import ErnestError

if TYPE_CHECKING:
    from collections.abc import Iterator


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
