"""Airflow as these tests need it: a DAG run task by task, and the pages below its API server.

A run is made without a scheduler: its templates are rendered, its operators executed, and what they push is
there for those behind them. What needs machines is not executed, but put in as it would have been.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from airflow import settings
from airflow.api_fastapi.app import init_auth_manager, purge_cached_app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.models import import_all_models
from airflow.models.base import Base
from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagbundle import DagBundleModel
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.providers.common.compat.sdk import AirflowException, DownstreamTasksSkipped
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import LazyDeserializedDAG
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from tests.golden.names import entry_point

RETURNED = "return_value"
BEGIN = datetime(2001, 1, 1, tzinfo=UTC)
"""Of the first run: so long ago that no time of today looks like it."""


class Run:
    """A DAG run.

    Args:
        dag: the DAG.
        night: counted from 0; each is a day after the one before.

    Attributes:
        xcoms: by task, map index and key.
        states: of the tasks that have ended; of a mapped one by its map index, too.
        durations: seconds that a task took; half a minute where it is not in there.
        executed: ids of the tasks that were executed here.
    """

    def __init__(self, dag: DAG, *, night: int = 0) -> None:
        self.dag = dag
        self.begin = BEGIN + timedelta(days=night)
        self.run_id = f"scheduled__{self.begin.isoformat()}"
        self.xcoms: dict[tuple[str, int, str], Any] = {}
        self.states: dict[tuple[str, int], str] = {}
        self.durations: dict[str, float] = {}
        self.executed: set[str] = set()

    def put(self, task_id: str, value: Any, *, map_index: int = -1, **others: Any) -> None:
        """A task has ended well, without having been executed here."""
        for key, each in {RETURNED: value, **others}.items():
            self.push(task_id, key, each, map_index=map_index)
        self.states[task_id, map_index] = "success"

    def push(self, task_id: str, key: str, value: Any, *, map_index: int = -1) -> None:
        # As in the database: what is no JSON does not come out as it went in.
        self.xcoms[task_id, map_index, key] = json.loads(json.dumps(value))

    def fail(self, *task_ids: str, state: str = "failed") -> None:
        """Tasks have ended otherwise."""
        self.states |= {(task_id, -1): state for task_id in task_ids}

    def execute_each(self, task_id: str, parameter: str, values: list[Any]) -> None:
        """Execute a mapped task for each value of the parameter that it is expanded by."""
        self.executed.add(task_id)
        for map_index, value in enumerate(values):
            task: Any = self.dag.get_task(task_id).unmap({parameter: value})
            context = self._context(task, map_index=map_index)
            task.render_template_fields(context)
            self.put(task_id, task.execute(context), map_index=map_index)

    def execute(self, task_id: str) -> Any:
        """Render a task's templates and execute it; returns what it returns.

        Raises:
            AirflowException: it fails.
        """
        self.executed.add(task_id)
        task = self.dag.get_task(task_id)
        context = self._context(task)
        task.render_template_fields(context)
        try:
            self.put(task_id, task.execute(context))
        except DownstreamTasksSkipped as skipping:
            self.states[task_id, -1] = "success"
            self.fail(*(str(each) for each in skipping.tasks), state="skipped")
        except AirflowException:
            self.fail(task_id)
            raise
        return self.xcoms.get((task_id, -1, RETURNED))

    def pushed(self, task_id: str) -> dict[str, Any]:
        """What a task has pushed, by key; a mapped one the first time."""
        return {
            key: value for (task, index, key), value in self.xcoms.items() if task == task_id and index < 1
        }

    def _context(self, task: Any, *, map_index: int = -1) -> dict[str, Any]:
        ti = _TaskInstance(task, self, map_index)
        return {
            "ti": ti,
            "task_instance": ti,
            "task": task,
            "dag": self.dag,
            "params": self.dag.params.dump(),
            "run_id": self.run_id,
            "var": {"value": {}},
        }


class _TaskInstance:
    """What an operator sees of its task instance."""

    try_number = 1
    stats_tags: ClassVar[dict[str, str]] = {}

    def __init__(self, task: Any, run: Run, map_index: int) -> None:
        self.task = task
        self.dag_id = task.dag.dag_id
        self.task_id = task.task_id
        self.run_id = run.run_id
        self.map_index = map_index
        self._run = run

    def xcom_pull(
        self, *, task_ids: str | list[str], key: str = RETURNED, default: Any = None, **_: Any
    ) -> Any:
        if isinstance(task_ids, str):
            return self._run.xcoms.get((task_ids, -1, key), default)
        found = self._run.xcoms.items()
        return [value for (task, _, name), value in found if task in task_ids and name == key]

    def xcom_push(self, key: str, value: Any) -> None:
        self._run.push(self.task_id, key, value, map_index=self.map_index)

    def get_task_states(self, *, task_ids: list[str], run_ids: list[str], **_: Any) -> dict[str, Any]:
        own = {task: state for (task, _), state in self._run.states.items() if task in task_ids}
        # One run comes after the other: those before have ended.
        return {
            each: own if each == self._run.run_id else dict.fromkeys(task_ids, "success") for each in run_ids
        }

    def get_task_breadcrumbs(self, dag_id: str, run_id: str) -> Iterator[dict[str, Any]]:
        for task_id, seconds in self._run.durations.items():
            yield {
                "task_id": task_id,
                "map_index": -1,
                "state": self._run.states[task_id, -1],
                "operator": "EmptyOperator",
                "duration": seconds,
            }


@contextmanager
def api_server(dags: list[list[Run]], monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The pages, asked by an administrator, where Airflow's database knows these runs of DAGs."""
    monkeypatch.setenv("AIRFLOW__API_AUTH__JWT_SECRET", "for these tests only " * 4)
    # Else it makes up a password, and prints it.
    monkeypatch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
    import_all_models()
    Base.metadata.create_all(settings.engine)
    try:
        with Session(settings.engine) as session:
            session.add(DagBundleModel(name="dags"))
            session.flush()
            for runs in dags:
                _write(session, runs)
            session.commit()
        token = init_auth_manager().generate_jwt(SimpleAuthManagerUser(username="admin", role="ADMIN"))
        (app,) = entry_point("entry-points", "airflow.plugins", "ernest").fastapi_apps
        yield TestClient(app["app"], headers={"Authorization": f"Bearer {token}"}, follow_redirects=False)
    finally:
        Base.metadata.drop_all(settings.engine)
        purge_cached_app()


def _write(session: Session, runs: list[Run]) -> None:
    dag = runs[0].dag
    session.add(DagModel(dag_id=dag.dag_id, bundle_name="dags", fileloc="/dags/sizing.py"))
    session.flush()
    SerializedDagModel.write_dag(LazyDeserializedDAG.from_dag(dag), bundle_name="dags", session=session)
    version = DagVersion.get_latest_version(dag.dag_id, session=session)
    assert version is not None
    for run in runs:
        _write_run(session, run, version=version.id)


def _write_run(session: Session, run: Run, *, version: Any) -> None:
    """A run whose tasks began in their order, a minute after each other, and took half of one."""
    names = {"dag_id": run.dag.dag_id, "run_id": run.run_id}
    order = [task.task_id for task in run.dag.topological_sort()]
    ended = run.begin + timedelta(minutes=len(order))
    (number,) = session.execute(
        DagRun.__table__.insert().values(
            **names,
            run_type="scheduled",
            run_after=run.begin,
            state="failed" if "failed" in run.states.values() else "success",
            start_date=run.begin,
            end_date=ended,
            created_dag_version_id=version,
        )
    ).inserted_primary_key
    for (task_id, map_index), state in run.states.items():
        began = run.begin + timedelta(minutes=order.index(task_id), seconds=max(0, map_index))
        seconds = run.durations.get(task_id, 30.0)
        session.execute(
            TaskInstance.__table__.insert().values(
                **names,
                id=uuid.uuid4(),
                task_id=task_id,
                map_index=map_index,
                operator=run.dag.get_task(task_id).task_type,
                pool="default_pool",
                pool_slots=1,
                try_number=1,
                state=state,
                start_date=began,
                end_date=began + timedelta(seconds=seconds),
                rendered_map_index=f"experiment {map_index}" if map_index >= 0 else None,
            )
        )
    for (task_id, map_index, key), value in run.xcoms.items():
        session.execute(
            XComModel.__table__.insert().values(
                **names, dag_run_id=number, task_id=task_id, map_index=map_index, key=key, value=value
            )
        )
