from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_provider_ernest.documents import Model, ProfileRecord
from airflow_provider_ernest.exceptions import MissingResourceError, StoreError
from airflow_provider_ernest.store.pruning import EventLogs, Removed, carry_out, items_of, plan_retention
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import (
    NOW,
    bottleneck_report,
    decision_record,
    mark,
    model,
    observation_record,
    production_run,
    profile_record,
)
from tests.unit.model.store_samples import save_all

OLD = [
    model(0, days=300),
    model(1, days=250, base_model_id=model(0).id),
    decision_record(0, days=200),
    production_run(0, days=200),
    mark(id="k", days=200, cause="data", model_id=model(1).id),
    observation_record(id="o", days=200),
    profile_record(0, days=200),
    profile_record(1, days=200),
    bottleneck_report(0, days=200, profile_ids=(profile_record(0).id, profile_record(1).id)),
]
NEWEST = model(9, days=100)
KEPT = [
    NEWEST,
    bottleneck_report(9, days=100, profile_ids=(profile_record(7).id,)),
    *(profile_record(number, days=100) for number in (7, 8, 9)),
]


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return save_all(ModelStore(tmp_path / "store"), *OLD, *KEPT)


def plan_of(store: ModelStore):
    return plan_retention(items_of(store.all_documents()), now=NOW, older_than_days=90, keep_models=1)


def by_id(document):
    return document.kind, document.id


def needs_met(store: ModelStore) -> bool:
    """Whether all that documents refer to is there, marks apart: they may outlive their model."""
    items = list(items_of(store.all_documents()))
    there = {item.key for item in items}
    return all(need in there for item in items if item.kind != "mark" for need in item.needs)


def test_only_what_stays_is_there_and_listed(store):
    done = carry_out(store, plan_of(store))
    assert len(done.removed) == len(OLD)
    assert sorted(store.all_documents(), key=by_id) == sorted(KEPT, key=by_id)
    assert [entry.id for entry in ModelStore(store.root).catalogue.entries()] == [NEWEST.id]
    assert not plan_of(store).removed, "a second time nothing is left to do"


@pytest.mark.parametrize("removals", range(len(OLD) + 1))
def test_interrupted_at_any_moment_the_store_is_consistent_and_the_rest_goes_next_time(
    store, removals, monkeypatch
):
    remove, made = store.remove, []

    def interrupted(*args, **kwargs):
        if len(made) == removals:
            raise KeyboardInterrupt
        made.append(args)
        return remove(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(store, "remove", interrupted)
        with suppress(KeyboardInterrupt):
            carry_out(store, plan_of(store))
    assert len(list(store.all_documents())) == len(OLD) + len(KEPT) - removals
    assert needs_met(store)
    carry_out(store, plan_of(store))
    assert sorted(store.all_documents(), key=by_id) == sorted(KEPT, key=by_id)


def test_what_a_task_decided_by_meanwhile_stays(store):
    plan = plan_of(store)
    ModelStore(store.root).save(decision_record(5, days=0, model_id=model(1).id))
    done = carry_out(store, plan)
    assert needs_met(store)
    assert {item.id for item in done.spared} == {model(1).id, model(0).id, "k"}


def test_another_process_may_prune_at_the_same_time(store):
    plan = plan_of(store)
    carry_out(ModelStore(store.root), plan)
    done = carry_out(store, plan)
    assert (done.removed, done.failed) == ([], [])


def test_what_cannot_be_removed_stays_with_all_that_it_needs(store, monkeypatch):
    remove = store.remove

    def refuse(kind, **names):
        if kind == "decision":
            raise StoreError("read only")
        return remove(kind, **names)

    monkeypatch.setattr(store, "remove", refuse)
    done = carry_out(store, plan_of(store))
    assert [(item.kind, problem) for item, problem in done.failed] == [("decision", "read only")]
    assert needs_met(store)
    assert {item.kind for item in done.removed} == {
        "production",
        "model",
        "mark",
        "observation",
        "profile",
        "bottlenecks",
    }
    assert store.load(Model, "pca", "m5.large", model(0).id)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Event logs as runs leave them, and a file that is none of theirs."""
    for name in ("nightly/run-1/sample-try1/app-1", "nightly/run-1/sample-try1/app-2", "outside"):
        path = tmp_path / ("logs" if name != "outside" else "") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    rolling = tmp_path / "logs/nightly/run-2/sample-try1/eventlog_v2_app-3"
    rolling.mkdir(parents=True)
    (rolling / "events_1_app-3").write_text("{}")
    return tmp_path / "logs"


def test_a_log_goes_with_the_folders_that_are_empty_then(logs):
    folder, done = EventLogs(logs), Removed()
    folder.remove(str(logs / "nightly/run-1/sample-try1/app-1"), done)
    assert (logs / "nightly/run-1/sample-try1/app-2").exists()
    folder.remove((logs / "nightly/run-1/sample-try1/app-2").as_uri(), done)
    folder.remove(str(logs / "nightly/run-2/sample-try1/eventlog_v2_app-3"), done)
    assert [path.name for path in done.event_logs] == ["app-1", "app-2", "eventlog_v2_app-3"]
    assert [path.name for path in logs.rglob("*")] == ["nightly"]


@pytest.mark.parametrize(
    "location",
    [
        "{logs}/../outside",
        "{logs}/nightly/../../outside",
        "file://{logs}/%2e%2e/outside",
        "{logs}/way-out/outside",
        "{logs}/link",
        "{logs}",
        "{logs}/nightly",
        "{logs}/nightly/run-1/sample-try1",
        "outside",
        "s3://bucket{logs}/nightly/run-1/sample-try1/app-1",
        "file://elsewhere{logs}/nightly/run-1/sample-try1/app-1",
        "{logs}/nightly/run-1/sample-try1/app-1\0",
        "{logs}/gone",
        "",
    ],
)
def test_nothing_else_is_removed_whatever_a_document_names(logs, tmp_path, monkeypatch, location):
    monkeypatch.chdir(tmp_path)
    (logs / "way-out").symlink_to(tmp_path)
    (logs / "link").symlink_to(tmp_path / "outside")
    before, done = sorted(tmp_path.rglob("*")), Removed()
    EventLogs(logs).remove(location.format(logs=logs), done)
    assert (sorted(tmp_path.rglob("*")), done.event_logs) == (before, [])


def test_logs_are_found_through_a_link_to_their_folder(logs, tmp_path):
    (tmp_path / "alias").symlink_to(logs)
    done = Removed()
    EventLogs(tmp_path / "alias").remove(str(logs / "nightly/run-1/sample-try1/app-1"), done)
    EventLogs(logs).remove(str(tmp_path / "alias/nightly/run-1/sample-try1/app-2"), done)
    assert len(done.event_logs) == 2


def test_a_folder_that_is_none_is_named(tmp_path):
    with pytest.raises(MissingResourceError, match=r"event logs '.*gone' cannot be read"):
        EventLogs(tmp_path / "gone")


def test_tasks_may_write_meanwhile(store):
    """Eight writers record decisions and runs while the store is pruned, again and again."""
    base = [model(20 + number, days=200) for number in range(8)]
    save_all(store, *base)

    def write(number: int) -> None:
        own, by = ModelStore(store.root), NEWEST.id
        for turn in range(5):
            name = 1_000 + 10 * number + turn
            chosen = decision_record(name, days=0, model_id=by)
            own.save(chosen)
            own.save(production_run(name, days=0, model_id=by, decision_id=chosen.id))

    with ThreadPoolExecutor(9) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        while not all(writer.done() for writer in writers):
            pruned = ModelStore(store.root)
            assert not carry_out(pruned, plan_of(pruned)).failed
        for writer in writers:
            writer.result()
    carry_out(store, plan_of(store))
    kinds = Counter(item.kind for item in items_of(store.all_documents()))
    assert kinds == {"decision": 40, "production": 40, **Counter(item.kind for item in items_of(KEPT))}
    assert needs_met(store)
    assert len(ModelStore(store.root).catalogue.entries()) == 81


def test_profiles_that_a_task_has_just_reported_on_stay(store):
    planned = plan_of(store)
    store.save(bottleneck_report(20, days=0, profile_ids=(profile_record(0).id,)))
    done = carry_out(store, planned)
    assert [item.id for item in done.spared] == [profile_record(0).id]
    assert needs_met(store)
    assert store.load(ProfileRecord, "pca", "m5.large", profile_record(0).id)
