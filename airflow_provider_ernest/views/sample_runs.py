"""Sample runs as the pages show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from airflow_provider_ernest.documents import Observation, Origin
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.store.catalogue import MODEL, CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import MOST_MODELS_KEPT, Readable, load_model, newest_of, read_each
from airflow_provider_ernest.views.view import view_of

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


@dataclass(frozen=True, kw_only=True)
class SampleRun:
    """An observation.

    Attributes:
        seconds: without start-up.
        cost: in dollars; null where no price is known.
        history_url: its page in Spark's history server.
        origin: the task instance that observed it.
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


def sample_run(
    run: Observation, *, price_per_hour: float | None, link: ApplicationLink = lambda application_id: None
) -> SampleRun:
    """A run with what it cost and where its log is.

    Args:
        run: the observation.
        price_per_hour: dollars for one of its machines and hour, None where not known.
        link: see `application_link`.
    """
    return view_of(SampleRun, run, cost=cost_of(run, price_per_hour), history_url=link(run.application_id))


def cost_of(run: Observation, price_per_hour: float | None) -> float | None:
    """Dollars for its machines from submission to end; what it waited for them is other runs' cost."""
    if price_per_hour is None:
        return None
    return run.machines * price_per_hour * (run.seconds + run.startup_seconds) / 3600.0


# ---------------------------------------------------------------------------
# Sample runs that were observed and that no model was fitted to: their training failed, or goes on.


MOST_RUNS = 100
"""So many are looked at, the newest: each is a file of the store."""

Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, kw_only=True)
class UntrainedRuns:
    """Sample runs that no model was fitted to.

    Attributes:
        looked_at: the newest, at most 100.
        newest_at: when the last of them was observed.
    """

    count: int = 0
    looked_at: int = 0
    newest_at: str | None = None


def untrained_runs(
    store: ModelStore,
    *,
    job: str,
    instance_type: str,
    entries: Iterable[CatalogueEntry],
    readable: Readable,
) -> UntrainedRuns:
    """How many of the newest sample runs are in no model, and when the last of them was observed.

    Args:
        store: where they lie.
        job: the job's name.
        instance_type: the type of machine.
        entries: what the store holds of the job.
        readable: whether a DAG may be read: the runs of others are not counted.

    Raises:
        StoreError: the store cannot be read.
    """
    records = store.observations(job, instance_type, limit=MOST_RUNS)
    if not records:
        return UntrainedRuns()
    # A model is made after its runs, and ids sort by time.
    since = min(record.id for record in records)
    models = (
        each
        for each in entries
        if each.kind == MODEL and each.instance_type == instance_type and each.id > since
    )
    newest = newest_of(models, MODEL, MOST_MODELS_KEPT)
    known = {_key(run) for model in read_each(load_model, store, newest) for run in model.observations}
    visible = [
        record
        for record in records
        if readable(record.observation.origin.dag_id if record.observation.origin else None)
    ]
    left = [record for record in visible if _key(record.observation) not in known]
    newest_at = max((record.at for record in left), default=None)
    return UntrainedRuns(looked_at=len(visible), count=len(left), newest_at=newest_at)


def _key(run: Observation) -> Key:
    """What tells a run from all others: models keep runs without the ids of their records."""
    return run.index, run.machines, run.scale, run.seconds, run.startup_seconds, run.application_id
