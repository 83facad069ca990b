"""The JSON API of DAG runs, which it reads from Airflow's database."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from airflow.models.dagbag import DBDagBag
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import BeforeValidator
from sqlalchemy import and_, or_, select
from starlette.responses import Response

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.links.spark_history import configured_link
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run import (
    KEYS,
    OPERATORS,
    PRODUCTION_RUN_KEY,
    RunRecord,
    TaskRow,
    run_page,
)
from airflow_provider_ernest.web.access import AccessDep
from airflow_provider_ernest.web.answers import JsonAnswer, answers
from airflow_provider_ernest.web.models import model_store

log = logging.getLogger(__name__)

RunReader = Callable[[str, str], RunRecord | None]


def run_reader() -> RunReader:
    """Reads a run by the ids of its DAG and its own; None if there is none."""

    def read(dag_id: str, run_id: str) -> RunRecord | None:
        # Not the request's session, which would stay open while the model store is read.
        with create_session(scoped=False) as session:
            return read_run(session, dag_id, run_id)

    return read


def read_run(session: Any, dag_id: str, run_id: str) -> RunRecord | None:
    """A run in the session's database; None if there is none."""
    run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
    if run is None:
        return None
    tasks = _tasks(session, dag_id, run_id)
    # Of other tasks only the record of a production run is read.
    ours = {task.task_id for task in tasks if task.operator in OPERATORS}
    return RunRecord(
        dag_id=dag_id,
        run_id=run_id,
        state=_text(run.state),
        tasks=tasks,
        values=_values(session, dag_id, run_id, ours),
        downstream=_downstream(session, run) if ours else {},
    )


def _tasks(session: Any, dag_id: str, run_id: str) -> tuple[TaskRow, ...]:
    # Columns, since objects would load their trigger, DAG version and more.
    table = TaskInstance.__table__
    names = ("task_id", "map_index", "operator", "state", "start_date", "end_date")
    columns = [table.c[name] for name in (*names, "rendered_map_index", "task_display_name")]
    rows = session.execute(select(*columns).where(table.c.dag_id == dag_id, table.c.run_id == run_id))
    return tuple(
        TaskRow(
            task_id=row.task_id,
            map_index=row.map_index,
            operator=row.operator or "",
            state=_text(row.state),
            started_at=row.start_date,
            ended_at=row.end_date,
            name=row.rendered_map_index or row.task_display_name or "",
        )
        for row in rows
    )


def _values(
    session: Any, dag_id: str, run_id: str, task_ids: Iterable[str]
) -> dict[tuple[str, int, str], Any]:
    """The XComs as they are in the database, as Airflow's own pages show them.

    Nothing is deserialized into classes, and no XCom backend is asked, which would open whatever a task has
    named: what a backend keeps elsewhere is seen as the reference to it.
    """
    columns: tuple[Any, ...] = (XComModel.task_id, XComModel.map_index, XComModel.key, XComModel.value)
    rows = session.execute(
        select(*columns).where(
            XComModel.dag_id == dag_id,
            XComModel.run_id == run_id,
            or_(
                and_(XComModel.task_id.in_(task_ids), XComModel.key.in_(KEYS)),
                XComModel.key == PRODUCTION_RUN_KEY,
            ),
        )
    )
    return {(row.task_id, row.map_index, row.key): _parsed(row.value) for row in rows}


def _parsed(value: Any) -> Any:
    """Airflow keeps some values as JSON in JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _downstream(session: Any, run: DagRun) -> dict[str, frozenset[str]]:
    """The tasks directly after each task, in the version of the DAG that ran; nothing if it is gone."""
    try:
        dag = DBDagBag(load_op_links=False).get_dag_for_run(run, session=session)
        tasks = [] if dag is None else dag.tasks
        return {task.task_id: frozenset(task.downstream_task_ids) for task in tasks}
    except Exception:  # a DAG of another version of Airflow may be unreadable in many ways
        log.warning("DAG %s of run %s cannot be read any more", run.dag_id, run.run_id, exc_info=True)
        return {}


def _text(state: Any) -> str | None:
    return None if state is None else str(getattr(state, "value", state))


router = APIRouter(prefix="/api", tags=["DAG runs"])

NO_RUN = "There is no such DAG run. Open this page from a run in Airflow."
NO_TASK = "There is no such task instance in this run. Open this page from a task instance in Airflow."


def _map_index(value: Any) -> Any:
    """Airflow's own page leaves its placeholder if a task is not mapped."""
    return -1 if value in ("", "{MAP_INDEX}") else value


Name = Annotated[str, Query(min_length=1)]
MapIndex = Annotated[int, BeforeValidator(_map_index), Query(ge=-1, description="-1 where it is not mapped.")]


def allowed_run(dag_id: Name, run_id: Name, access: AccessDep) -> tuple[str, str]:
    """The run that the address names, if the user may read the DAG's runs; else HTTPException 403."""
    access.require_run(dag_id)
    return dag_id, run_id


@router.get("/run", summary="What was decided in a DAG run, and what came of it", **answers("Run"))
def of_run(
    allowed: Annotated[tuple[str, str], Depends(allowed_run)],
    read: Annotated[RunReader, Depends(run_reader)],
    store: Annotated[ModelStore | StoreError, Depends(model_store)],
    access: AccessDep,
    task_id: Annotated[
        str | None, Query(min_length=1, description="Only the task group of this task.")
    ] = None,
    map_index: MapIndex = -1,
) -> Response:
    """For each task group of Ernest the decision, the production run, the training's cost and what failed."""
    run = read(*allowed)
    if run is None:
        raise HTTPException(404, NO_RUN)
    may_read = access.readable({run.dag_id})
    page = run_page(
        run, store, readable=may_read, link=configured_link(), task_id=task_id, map_index=map_index
    )
    if page is None:
        raise HTTPException(404, NO_TASK)
    return JsonAnswer(page)
