"""A model's runs as the pages and reports show them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.views.loaded import Readable
from airflow_provider_ernest.views.view import view_of

ApplicationLink: TypeAlias = Callable[[str | None], str | None]
"""The address of an application in Spark's history server; None if there is none."""


def no_link(_application_id: str | None) -> None:
    """For pages without a history server."""


@dataclass(frozen=True, kw_only=True)
class ModelledRun:
    """An observation, and what the model says of it by all the others.

    Attributes:
        seconds: without start-up.
        cost: in dollars; null where no price is known.
        history_url: its page in Spark's history server.
        origin: the task instance that observed it.
        from_history: a past run that nobody made for the model: it cost nothing.
        is_production: a production run that the model has learned from.
    """

    index: int
    machines: int
    scale: float
    seconds: float
    startup_seconds: float
    waited_seconds: float
    cost: float | None
    iterations: int | None
    application_id: str | None
    event_log: str | None
    hosts: tuple[str, ...]
    history_url: str | None
    origin: Origin | None
    from_history: bool
    is_production: bool
    predicted_seconds: float | None
    error_percent: float | None


def cost_of(run: Observation, price_per_hour: float | None) -> float | None:
    """Dollars for its machines from submission to end, without the wait for them; 0 for past runs."""
    if run.from_history:
        return 0.0
    if price_per_hour is None:
        return None
    return run.machines * price_per_hour * (run.seconds + run.startup_seconds) / 3600.0


def modelled_runs(
    model: Model, *, price_per_hour: float | None, link: ApplicationLink, readable: Readable
) -> tuple[ModelledRun, ...]:
    """The runs of a model, each with what the others predict of it.

    A model may have learned from production runs of other DAGs. Only those who may read the DAG see which
    runs they were.
    """
    may_read = cache(readable)
    # By all that is known of a run, for runs of several designs may share an index.
    folds = {(fold.index, fold.machines, fold.scale, fold.seconds): fold for fold in model.validation.folds}
    samples = len(model.observations) - len(model.learned_from)
    modelled = []
    for place, run in enumerate(model.observations):
        fold = folds.get((run.index, run.machines, run.scale, run.seconds))
        shown = run
        if run.origin is not None and not may_read(run.origin.dag_id):
            shown = replace(run, origin=None, application_id=None, event_log=None, hosts=())
        modelled.append(
            view_of(
                ModelledRun,
                shown,
                cost=cost_of(run, price_per_hour),
                history_url=link(shown.application_id),
                # The production runs that a model has learned from come after its sample runs.
                is_production=place >= samples,
                predicted_seconds=fold.predicted_seconds if fold else None,
                error_percent=fold.error_percent if fold else None,
            )
        )
    return tuple(modelled)
