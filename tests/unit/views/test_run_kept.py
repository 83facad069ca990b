"""What the store holds of a run."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.base import Record
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run_documents import MOST_LOOKED_AT, made_by, stored_of
from tests.unit.views.dag_runs import (
    MODEL_ID,
    NOON,
    example_run,
    model,
    origin,
    production_run,
    record,
    row,
)

LATER_ID = "20261120T122930.000000Z-0badcafe"


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """What the run made, and the same of another run and of another DAG."""
    store = ModelStore(tmp_path)
    for each in (model(), record(), production_run()):
        store.save(each)
    others = (
        replace(origin("fit_model"), run_id="another"),
        replace(origin("fit_model"), dag_id="another"),
        None,
    )
    for number, other in enumerate(others):
        store.save(model(id=f"20261120T12300{number}.000000Z-0badcafe", origin=other))
    return store


def test_only_what_the_run_made(store: ModelStore):
    stored = stored_of(store, example_run())
    assert [each.id for each in stored.models] == [model().id]
    assert [each.id for each in stored.decisions] == [record().id]
    assert [each.machines for each in stored.production_runs] == [8]


def test_the_newest_comes_first(store: ModelStore):
    store.save(model(id=LATER_ID, at="2026-11-20T12:29:30+00:00"))
    assert [each.id for each in stored_of(store, example_run()).models] == [LATER_ID, model().id]


def test_while_the_run_goes_on(store: ModelStore):
    assert len(stored_of(store, example_run(state="running", ended_at=None)).models) == 1


def test_a_run_at_another_time_is_not_looked_through(store: ModelStore):
    later = example_run(started_at=NOON + timedelta(days=2), ended_at=NOON + timedelta(days=3), tasks=())
    assert stored_of(store, later).models == ()


def test_who_made_it():
    fit = row("ernest.fit_model", "FitModelOperator", 27, 29)
    assert made_by([model()], fit) == model()
    assert made_by([model()], replace(fit, task_id="other.fit_model")) is None
    assert made_by([model(origin=None)], fit) is None


def test_each_instance_of_a_mapped_task_made_its_own():
    fit = row("ernest.fit_model", "FitModelOperator", 27, 29, map_index=1)
    first, second = (model(id=str(index), origin=origin("fit_model", index)) for index in (0, 1))
    assert made_by([first, second], fit) == second


def at(minutes: float) -> str:
    """An id of so many minutes after noon."""
    return f"{NOON + timedelta(minutes=minutes):%Y%m%dT%H%M%S}.000000Z-00000000"


def test_the_records_of_an_older_run_are_found_among_many_newer_ones(store: ModelStore):
    for number in range(MOST_LOOKED_AT):
        minutes = 60 + 20 * number
        moment = (NOON + timedelta(minutes=minutes)).isoformat()
        later = replace(origin("choose_config"), run_id=f"later {number}")
        store.save(record(id=at(minutes), at=moment, origin=later))
    stored = stored_of(store, example_run())
    assert [each.id for each in stored.decisions] == [record().id]
    assert [each.machines for each in stored.production_runs] == [8]


def test_the_run_is_looked_for_nearest_to_its_time(store: ModelStore):
    for number in range(MOST_LOOKED_AT + 1):
        moment = (NOON + timedelta(minutes=42)).isoformat()
        other = replace(origin("fit_model"), run_id="the next one")
        name = f"{at(42)}-{number}"
        store.save(model(id=name, at=moment, origin=other))
    assert [each.id for each in stored_of(store, example_run()).models] == [MODEL_ID]


@pytest.mark.parametrize("damage", ["gone", "damaged", "a folder"])
def test_a_document_that_cannot_be_read_hides_no_other(
    store: ModelStore, caplog: pytest.LogCaptureFixture, damage: str
):
    path = store.save(model(id=LATER_ID, at="2026-11-20T12:29:30+00:00"))
    path.unlink()
    if damage == "damaged":
        path.write_text("{")
    elif damage == "a folder":
        path.mkdir()
    assert [each.id for each in stored_of(store, example_run()).models] == [MODEL_ID]
    # What is gone is not listed.
    assert (LATER_ID in caplog.text) == (damage == "damaged")


def test_a_store_that_breaks_is_nothing_and_told_in_the_log(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    load = store.load

    def broken(form: type[Record], *names: str) -> Any:
        if form is DecisionRecord:
            raise StoreError("the network is down") from OSError("unreachable")
        return load(form, *names)

    monkeypatch.setattr(store, "load", broken)
    stored = stored_of(store, example_run())
    assert stored.decisions == ()
    assert len(stored.models) == 1
    assert "the network is down" in caplog.text


def test_a_run_that_was_cleared_begins_anew_and_keeps_what_it_made(store: ModelStore):
    again = NOON + timedelta(days=7)
    cleared = example_run(started_at=again, ended_at=again + timedelta(minutes=10))
    assert [each.id for each in stored_of(store, cleared).decisions] == [record().id]


def test_a_time_that_nobody_can_read_hides_nothing(tmp_path: Path):
    store = ModelStore(tmp_path)
    store.save(record(at="yesterday, about noon"))
    assert len(stored_of(store, example_run()).decisions) == 1


def test_nothing_is_read_before_it_is_asked_for(store: ModelStore, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    load = store.load
    monkeypatch.setattr(store, "load", lambda form, *names: asked.append(form.kind) or load(form, *names))
    stored = stored_of(store, example_run())
    assert asked == []
    assert len(stored.decisions) == len(stored.decisions) == 1
    assert asked == ["decision"]
