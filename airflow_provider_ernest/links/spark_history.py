"""Links from a task to its Ernest tab and to its application in Spark's history server."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import BaseOperator, BaseOperatorLink

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey


URL_ROUTE = "ernest-task"
"""The tab's name in addresses, as the plugin registers it."""


def task_tab(ti_key: TaskInstanceKey) -> str:
    """The address of a task instance's tab.

    If ``[api] base_url`` is not configured, it is relative to the root of the UI, whose pages name that root
    as their base.
    """
    dag, run, task = (quote(name, safe="") for name in (ti_key.dag_id, ti_key.run_id, ti_key.task_id))
    is_mapped = ti_key.map_index is not None and ti_key.map_index >= 0
    mapped = f"/mapped/{ti_key.map_index}" if is_mapped else ""
    path = f"dags/{dag}/runs/{run}/tasks/{task}{mapped}/plugin/{URL_ROUTE}"
    base_url = str(conf.get("api", "base_url", fallback="") or "")
    return f"{base_url.rstrip('/')}/{path}" if base_url else path


log = logging.getLogger(__name__)


class SparkHistoryLink(BaseOperatorLink):
    """From a run to its application in the history server that ``[ernest] history_server`` names.

    Without one, or if the operator's attribute ``application_id`` is unknown, to the Ernest tab of the task
    instance.
    """

    name = "Spark history"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The address. Airflow asks for it at the end of the task, in its process."""
        try:
            url = history_url(configured_history_server(), getattr(operator, "application_id", None))
        except InvalidParameterError as error:
            log.warning("There is no link to Spark's history server: %s", error)
            url = None
        return url or task_tab(ti_key)


def configured_history_server() -> str:
    """The address of Spark's history server; empty if there is none."""
    return str(conf.get("ernest", "history_server", fallback="") or "").strip()


def configured_link() -> Callable[[str | None], str | None]:
    """Links into the configured history server by the ids of applications; none if its address is invalid."""
    server = configured_history_server()
    try:
        history_url(server, "application")
    except InvalidParameterError:
        # The tasks' logs say so; a page is of use without.
        server = ""
    return partial(history_url, server)


def history_url(history_server: str, application_id: str | None) -> str | None:
    """The page of an application in Spark's history server; None if the server or the application is unknown.

    Raises:
        InvalidParameterError: the address is not a plain http or https address.
    """
    if not history_server or not application_id:
        return None
    server = _checked(history_server)
    path = f"{server.path.rstrip('/')}/history/{quote(application_id, safe='')}/jobs/"
    return urlunsplit((server.scheme, server.netloc, path, "", ""))


def _checked(history_server: str) -> SplitResult:
    def refused(value: str, problem: str) -> InvalidParameterError:
        return InvalidParameterError(
            "[ernest] history_server",
            value,
            problem,
            remedy="Example: https://spark-history.example.com:18080.",
        )

    try:
        parts = urlsplit(history_server)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise refused(history_server, f"is not a valid address: {error}") from None
    if "@" in parts.netloc:
        # Not quoted: whoever may read the log would read the password.
        raise refused("...", "holds a name or a password, which everybody would see in the link")
    if parts.scheme not in ("http", "https") or not host:
        raise refused(history_server, "is not a valid http or https address")
    return parts


class ModelFitLink(BaseOperatorLink):
    """From a sample run, a fit or a decision to the Ernest tab of its task instance, with the model."""

    name = "Model fit"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The tab's address."""
        return task_tab(ti_key)
