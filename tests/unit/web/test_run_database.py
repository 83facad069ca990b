"""A DAG run as it is read from Airflow's metadata database."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from airflow.models import import_all_models
from airflow.models.base import Base
from airflow.models.dag import DagModel
from airflow.models.dag_version import DagVersion
from airflow.models.dagbag import DBDagBag
from airflow.models.dagbundle import DagBundleModel
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import LazyDeserializedDAG
from sqlalchemy import Engine, StaticPool, create_engine
from sqlalchemy.orm import Session

from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.web import runs
from airflow_provider_ernest.web.runs import read_run, run_reader
from tests.unit.views.dag_runs import DAG_ID, NOON, RUN_ID, example_run

LATER = NOON + timedelta(minutes=3)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """A database with Airflow's tables."""
    import_all_models()
    engine = create_engine("sqlite://", poolclass=StaticPool)
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    """Nothing in them; what a test writes is undone."""
    with Session(engine) as session:
        yield session
        session.rollback()


OF_THE_RUN = {"dag_id": DAG_ID, "run_id": RUN_ID}
SUCCEEDED = {"state": "success", "start_date": NOON, "end_date": LATER}


def add(session: Session, form: Any, **fields: Any) -> None:
    session.execute(form.__table__.insert().values(**{**OF_THE_RUN, **fields}))


def add_run(session: Session, **facts: Any) -> None:
    add(session, DagRun, **{"id": 1, "run_type": "manual", "run_after": NOON, **SUCCEEDED, **facts})


def add_task(session: Session, task_id: str, operator: str, **facts: Any) -> None:
    known = {"pool": "default_pool", "pool_slots": 1, **SUCCEEDED}
    add(session, TaskInstance, **{**known, "task_id": task_id, "operator": operator, **facts})


def add_value(session: Session, task_id: str, value: Any, **facts: Any) -> None:
    known = {"dag_run_id": 1, "task_id": task_id, "value": value}
    add(session, XComModel, **{**known, **facts})


def test_a_run_that_is_not_there(session: Session):
    assert read_run(session, DAG_ID, RUN_ID) is None


def test_the_run_and_its_tasks(session: Session):
    add_run(session)
    add_task(session, "ernest.design", "ExperimentDesignOperator")
    add_task(
        session, "ernest.sample_run", "SampleRunOperator", map_index=3, rendered_map_index="4 machines, 10 %"
    )
    add_task(session, "ernest.fit_model", "FitModelOperator", state=None, start_date=None, end_date=None)
    run = read_run(session, DAG_ID, RUN_ID)
    assert run.state == "success"
    tasks = {task.task_id: task for task in run.tasks}
    assert tasks["ernest.design"].seconds == 180.0
    assert (tasks["ernest.sample_run"].map_index, tasks["ernest.sample_run"].name) == (3, "4 machines, 10 %")
    assert tasks["ernest.fit_model"].state is None
    assert tasks["ernest.fit_model"].seconds is None


RECORD = example_run().values["ernest.choose_config", -1, "record"]
ELSEWHERE = "file:///etc/passwd"
AN_OBJECT = {"__classname__": "subprocess.Popen", "__version__": 1, "__data__": ["/bin/true"]}


@pytest.mark.parametrize(
    ("kept", "told"),
    [(RECORD, RECORD), (json.dumps(RECORD), RECORD), (ELSEWHERE, ELSEWHERE), (AN_OBJECT, AN_OBJECT)],
    ids=["JSON", "JSON in JSON", "kept elsewhere by a custom backend", "a serialised object"],
)
def test_what_tasks_pushed_is_read_and_neither_fetched_nor_made(session: Session, kept: Any, told: Any):
    add_run(session)
    add_task(session, "ernest.choose_config", "ChooseConfigOperator")
    add_value(session, "ernest.choose_config", kept, key="record")
    run = read_run(session, DAG_ID, RUN_ID)
    assert run.value(run.tasks[0], "record") == told


def test_values_of_other_tasks_runs_and_dags_are_not_read(session: Session):
    add_run(session)
    add_task(session, "others", "PythonOperator")
    add_value(session, "others", "a" * 10_000, key="record")
    add_task(session, "ernest.design", "ExperimentDesignOperator")
    add_value(session, "ernest.design", 1, dag_run_id=2, run_id="another", key="record")
    add_value(session, "ernest.design", 2, dag_run_id=3, dag_id="another", key="record")
    add_value(session, "ernest.design", 3, key="spark_conf")
    assert read_run(session, DAG_ID, RUN_ID).values == {}


def test_the_record_of_a_production_run_by_whatever_operator(session: Session):
    add_run(session)
    add_task(session, "production", "ErnestSparkSubmitOperator")
    add_value(session, "production", {"seconds": 1}, key="production_run")
    run = read_run(session, DAG_ID, RUN_ID)
    assert run.value(run.tasks[0], "production_run") == {"seconds": 1}


def test_what_follows_on_what_in_the_version_that_ran(session: Session):
    with DAG(DAG_ID, schedule=None) as dag:
        choose = ChooseConfigOperator(
            task_id="choose", model=None, goal=SizingGoal(max_executors=4, deadline_seconds=60)
        )
        choose >> [BashOperator(task_id="production", bash_command="true"), EmptyOperator(task_id="tell")]
    session.add(DagBundleModel(name="dags"))
    session.flush()
    session.add(DagModel(dag_id=DAG_ID, bundle_name="dags", fileloc="/dags/sizing.py"))
    session.flush()
    SerializedDagModel.write_dag(LazyDeserializedDAG.from_dag(dag), bundle_name="dags", session=session)
    version = DagVersion.get_latest_version(DAG_ID, session=session)
    add_run(session, created_dag_version_id=version.id)
    add_task(session, "choose", "ChooseConfigOperator")
    run = read_run(session, DAG_ID, RUN_ID)
    assert run.downstream["choose"] == {"production", "tell"}


@pytest.mark.parametrize("is_broken", [True, False], ids=["of another version of Airflow", "gone"])
def test_a_dag_that_cannot_be_read_any_more_does_not_hide_the_run(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_broken: bool
):
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("a field of another version of Airflow")

    if is_broken:
        monkeypatch.setattr(DBDagBag, "get_dag_for_run", broken)
    add_run(session)
    add_task(session, "choose", "ChooseConfigOperator")
    assert read_run(session, DAG_ID, RUN_ID).downstream == {}
    assert (DAG_ID in caplog.text) == is_broken


def test_the_session_is_closed_before_the_run_is_handed_over(
    session: Session, monkeypatch: pytest.MonkeyPatch
):
    """For the model store is read next, and a connection must not wait for that."""
    add_run(session)
    closed = []

    @contextmanager
    def created(**_: Any) -> Iterator[Session]:
        yield session
        closed.append(True)

    monkeypatch.setattr(runs, "create_session", created)
    read = run_reader()
    assert read(DAG_ID, RUN_ID).run_id == RUN_ID
    assert closed == [True]
