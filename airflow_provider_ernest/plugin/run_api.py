"""The JSON API of DAG runs and task instances."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import BeforeValidator
from starlette.responses import Response

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.links.spark_history import configured_history_server
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin import run_responses
from airflow_provider_ernest.plugin.access import AccessDep
from airflow_provider_ernest.plugin.configured_store import model_store
from airflow_provider_ernest.plugin.json_answer import JsonAnswer
from airflow_provider_ernest.plugin.responses import answers
from airflow_provider_ernest.plugin.run_database import RunReader, run_reader
from airflow_provider_ernest.plugin.run_kept import StoredOfRun, stored_of
from airflow_provider_ernest.plugin.run_page import run_page
from airflow_provider_ernest.plugin.run_record import RunRecord
from airflow_provider_ernest.plugin.run_task import task_page

router = APIRouter(prefix="/api", tags=["DAG runs"])

NO_RUN = "There is no such DAG run. Open this page from a run in Airflow."
NO_TASK = "There is no such task instance in this run. Open this page from a task instance in Airflow."


def _map_index(value: Any) -> Any:
    """Airflow's own page leaves its placeholder where a task is not mapped."""
    return -1 if value in ("", "{MAP_INDEX}") else value


DagId = Annotated[str, Query(min_length=1)]
RunId = Annotated[str, Query(min_length=1)]
TaskId = Annotated[str, Query(min_length=1)]
MapIndex = Annotated[int, BeforeValidator(_map_index), Query(ge=-1, description="-1 where it is not mapped.")]


def allowed_run(dag_id: DagId, run_id: RunId, access: AccessDep) -> tuple[str, str]:
    """The run that is asked for, once it is clear that the user may read it.

    Raises:
        HTTPException: 403 where he may not read the DAG's runs, whether there are any or not.
    """
    access.require_run(dag_id)
    return dag_id, run_id


def found_run(
    allowed: Annotated[tuple[str, str], Depends(allowed_run)],
    read: Annotated[RunReader, Depends(run_reader)],
) -> RunRecord:
    """The run.

    Raises:
        HTTPException: 404 where there is none.
    """
    run = read(*allowed)
    if run is None:
        raise HTTPException(404, NO_RUN)
    return run


RunDep = Annotated[RunRecord, Depends(found_run)]


def stored_of_run(
    run: RunDep, store: Annotated[ModelStore | StoreError, Depends(model_store)]
) -> StoredOfRun:
    """What the model store holds of the run; nothing where there is no store to read."""
    return stored_of(store, run)


StoredDep = Annotated[StoredOfRun, Depends(stored_of_run)]


@router.get("/run", summary="From design to decision in a DAG run", **answers(run_responses.Run))
def of_run(run: RunDep, stored: StoredDep) -> Response:
    """The steps of each task group of Ernest in a run, with times, costs, decision and production."""
    return JsonAnswer(
        run_page(run, stored=stored, now=datetime.now(UTC), history_server=configured_history_server())
    )


@router.get("/task", summary="What came of a task instance", **answers(run_responses.Task))
def of_task(run: RunDep, stored: StoredDep, task_id: TaskId, map_index: MapIndex = -1) -> Response:
    """What a task instance of Ernest did, and which model it belongs to."""
    page = task_page(
        run, stored=stored, task_id=task_id, map_index=map_index, history_server=configured_history_server()
    )
    if page is None:
        raise HTTPException(404, NO_TASK)
    return JsonAnswer(page)
