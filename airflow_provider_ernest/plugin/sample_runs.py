"""Sample runs as the pages show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import Observation

ApplicationLink: TypeAlias = Callable[[str | None], str | None]
"""The address of an application's page in Spark's history server, None where there is none."""


def application_link(history_server: str | None) -> ApplicationLink:
    """Links into a history server; none at all where its address is missing or cannot be one."""
    from airflow_provider_ernest.links.spark_history import history_url

    try:
        history_url(history_server or "", "application")
    except InvalidParameterError:
        # Whoever configured it reads of it in the tasks' logs; the page is of use without.
        return lambda application_id: None
    return lambda application_id: history_url(history_server or "", application_id)


def sample_run(
    run: Observation, *, price_per_hour: float | None, link: ApplicationLink = lambda application_id: None
) -> dict[str, Any]:
    """A run with what it cost and where its log is, not yet JSON-ready.

    Args:
        run: the observation.
        price_per_hour: dollars for one of its machines and hour, None where not known.
        link: see `application_link`.
    """
    return {
        "index": run.index,
        "machines": run.machines,
        "scale": run.scale,
        "seconds": run.seconds,
        "startup_seconds": run.startup_seconds,
        "waited_seconds": run.waited_seconds,
        "cost": cost_of(run, price_per_hour),
        "iterations": run.iterations,
        "application_id": run.application_id,
        "event_log": run.event_log,
        "hosts": run.hosts,
        "history_url": link(run.application_id),
        "origin": run.origin,
    }


def cost_of(run: Observation, price_per_hour: float | None) -> float | None:
    """Dollars for its machines from submission to end; what it waited for them is other runs' cost."""
    if price_per_hour is None:
        return None
    return run.machines * price_per_hour * (run.seconds + run.startup_seconds) / 3600.0
