"""What a sample run hands on, with a spark-submit that starts no Spark; tests/integration runs real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_provider_ernest.documents import Experiment, Observation, Origin
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.operators.sample_run import SampleRunOperator
from tests.unit.operators.submissions import events


@pytest.fixture
def operator(tmp_path: Path, submissions, context, monkeypatch: pytest.MonkeyPatch) -> SampleRunOperator:
    """One run on two machines of a cluster that is known by a connection."""
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "spark://lake:7077"}')
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(4):
        (folder / f"part-{number}").write_text("a\n")
    job = tmp_path / "job.py"
    job.touch()
    with DAG("nightly", schedule=None):
        return SampleRunOperator(
            task_id="sample_run",
            experiment=Experiment(index=2, machines=2, scale=0.5, partitions=2).to_dict(),
            application=str(job),
            application_args=["{{ sample.input }}"],
            input_path=str(folder),
            spark_conn_id="lake",
            cores_per_machine=1,
        )


def test_an_observation_names_the_task_instance_that_made_it(operator, submissions, context, ti):
    ti.map_index, ti.try_number = 2, 3
    submissions.writes_log("app-7", events("app-7", machines=2))

    observed: dict[str, Any] = operator.execute(context)

    observation = Observation.from_dict(observed)
    assert observation.origin == Origin(
        dag_id=ti.dag_id, run_id=ti.run_id, task_id=ti.task_id, map_index=2, try_number=3
    )
    assert observation.seconds == pytest.approx(100.0)
    assert observation.application_id == operator.application_id == "app-7"


def test_a_run_that_failed_names_its_application_too(operator, submissions, context):
    submissions.writes_log("app-7.inprogress", events("app-7", machines=2, end_seconds=None))
    submissions.fails_with(1)

    with pytest.raises(SampleRunError, match="exit code 1"):
        operator.execute(context)

    assert operator.application_id == "app-7"


def test_a_run_that_never_began_names_none(operator, submissions, context):
    submissions.fails_with(1)

    with pytest.raises(SampleRunError):
        operator.execute(context)

    assert operator.application_id is None


def test_the_cores_of_machines_behind_a_connection_are_told_and_not_guessed(operator, submissions, context):
    operator.cores_per_machine = None

    with pytest.raises(AirflowFailException, match=r"cores_per_machine=None .*spark_conn_id='lake' offers"):
        operator.execute(context)

    assert submissions.last is None
