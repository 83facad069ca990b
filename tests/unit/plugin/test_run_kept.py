"""What the store holds of a run."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_ernest.model.documents import Origin
from airflow_provider_ernest.model.records import ProductionRun
from airflow_provider_ernest.model.store import ModelStore
from airflow_provider_ernest.plugin.run_kept import StoredOfRun, made_by, stored_of
from tests.unit.plugin.run_examples import (
    DAG_ID,
    JOB,
    NOON,
    RUN_ID,
    TYPE,
    example_run,
    model,
    origin,
    record,
    row,
)

LATER_ID = "20261120T122930.000000Z-0badcafe"


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """What the run made, and the same of another run and of another DAG."""
    store = ModelStore(tmp_path)
    store.save(model())
    store.save_decision(record())
    store.save_production(
        ProductionRun(
            production_id="20261120T124100.000000Z-0badcafe",
            recorded_at="2026-11-20T12:41:00+00:00",
            job=JOB,
            instance_type=TYPE,
            machines=8,
            scale=1.0,
            seconds=590.0,
            origin=Origin(dag_id=DAG_ID, run_id=RUN_ID, task_id="production"),
        )
    )
    others = (
        replace(origin("fit_model"), run_id="another"),
        replace(origin("fit_model"), dag_id="another"),
        None,
    )
    for number, other in enumerate(others):
        store.save(replace(model(), model_id=f"20261120T12300{number}.000000Z-0badcafe", origin=other))
    return store


def test_only_what_the_run_made(store: ModelStore):
    stored = stored_of(store, example_run())
    assert [each.model_id for each in stored.models] == [model().model_id]
    assert [each.decision_id for each in stored.decisions] == [record().decision_id]
    assert [each.machines for each in stored.production_runs] == [8]


def test_the_newest_comes_first(store: ModelStore):
    store.save(replace(model(), model_id=LATER_ID, created_at="2026-11-20T12:29:30+00:00"))
    assert [each.model_id for each in stored_of(store, example_run()).models] == [LATER_ID, model().model_id]


def test_while_the_run_goes_on(store: ModelStore):
    assert len(stored_of(store, example_run(state="running", ended_at=None)).models) == 1


def test_a_run_at_another_time_is_not_looked_through(store: ModelStore):
    later = example_run(started_at=NOON + timedelta(days=1), ended_at=NOON + timedelta(days=2))
    assert stored_of(store, later) == StoredOfRun()


def test_a_store_that_cannot_be_read_is_nothing(tmp_path: Path):
    root = tmp_path / "store"
    root.write_text("a file where a folder should be")
    assert stored_of(ModelStore(root), example_run()) == StoredOfRun()


def test_who_made_it():
    fit = row("ernest.fit_model", "FitModelOperator", 27, 29)
    assert made_by([model()], [fit]) == model()
    assert made_by([model()], [replace(fit, task_id="other.fit_model")]) is None
    assert made_by([replace(model(), origin=None)], [fit]) is None
