"""What a store lists of its documents, and which of them hide no other."""

import json
import os
from pathlib import Path

import pytest
from upath import UPath

from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BilledCost
from airflow_provider_ernest.store.catalogue import (
    FOLDER,
    MOST_UNWRITTEN,
    Catalogue,
    entry_of,
    key_of,
    place_of,
)
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.examples import decision_record, model, production_run
from tests.unit.store.store_samples import KINDS, LISTED, MADE, all_of, save_all, save_elsewhere


def listed(root):
    """What someone sees who looks for the first time."""
    return Catalogue(root).entries()


def test_what_is_saved_is_listed_oldest_first(root):
    store = ModelStore(root)
    documents = [examples.model(), examples.model(1, job="sort"), decision_record(), production_run()]
    save_all(store, *reversed(documents[:2]), *documents[2:])

    expected = [entry_of(document) for document in documents]
    assert store.catalogue.entries() == listed(root) == expected
    assert store.catalogue is store.catalogue


def test_a_document_that_cannot_be_read_now_hides_no_other_and_is_listed_later(tmp_path, monkeypatch, caplog):
    path = ModelStore(tmp_path).save(examples.model())
    ModelStore(tmp_path).save(examples.model(1))
    reader = Catalogue(tmp_path)
    real = Path.read_text

    def refuse(self, **options):
        if self == path:
            raise OSError(5, "Input/output error", str(self))
        return real(self, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", refuse)
        assert reader.entries() == [entry_of(examples.model(1))]
        assert ModelStore(tmp_path).newest(Model, "pca", "m5.large") == [examples.model(1)]
        assert str(path) in caplog.text

    assert reader.entries() == listed(tmp_path) == [entry_of(examples.model()), entry_of(examples.model(1))]


def test_a_folder_that_cannot_be_listed_now_hides_no_other_and_is_listed_later(tmp_path, monkeypatch, caplog):
    ModelStore(tmp_path).save(examples.model())
    ModelStore(tmp_path).save(examples.model(1, job="sort"))
    real = os.scandir

    def refuse(path):
        if Path(path).parent.name == "pca":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        assert listed(tmp_path) == [entry_of(examples.model(1, job="sort"))]
        assert "pca" in caplog.text

    assert len(listed(tmp_path)) == 2


WHOLE = json.dumps(model(1).to_dict(), indent=2).encode()
UNREADABLE = {
    "empty": b"",
    "zeros": b"\0" * 64,
    "not UTF-8": b'{"job": "\xff\xfe"}',
    "two documents": b'{"schema": 1}{"schema": 1}',
    "nested": b"[" * 100_000 + b"]" * 100_000,
    "of a newer version": json.dumps({**model(1).to_dict(), "schema": 999}).encode(),
    "of another job": json.dumps(model(1, job="sort").to_dict()).encode(),
    "without a job": json.dumps({**model(1).to_dict(), "job": ""}).encode(),
    "beyond all numbers": WHOLE.replace(b'"executors": 2', b'"executors": 1' + 400 * b"0"),
    **{f"cut off at {length}": WHOLE[:length] for length in range(1, len(WHOLE) - 1, 400)},
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_holds_no_document_stays_is_named_and_hides_no_other(root, content, caplog):
    store = save_all(ModelStore(root), model())
    path = store.save(model(1))
    path.write_bytes(content)
    (root / "notes.txt").write_text("not a job")
    (root / "pca" / "notes.txt").write_text("not a type")

    assert store.newest(Model, "pca", "m5.large", limit=1)[0] == model()
    assert list(store.all_documents()) == [model()]
    caplog.clear()
    for _ in range(2):
        assert [entry.id for entry in store.catalogue.entries()] == [model().id]
    assert [str(path) in record.getMessage() for record in caplog.records] == [True], (
        "the catalogue warns once"
    )
    assert [place.path(root) for place in store.catalogue.unreadable] == [path]
    with pytest.raises(StoreError, match="cannot be written"):
        store.save(model(1))
    assert path.read_bytes() == content


def test_a_file_that_was_still_growing_is_listed_when_it_is_whole(tmp_path):
    """A program that copies a store writes under the final names, and not whole."""
    store = ModelStore(tmp_path)
    path = store.save(model())
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    assert (store.catalogue.entries(), store.newest(Model, "pca", "m5.large")) == ([], [])
    path.write_bytes(whole)
    assert [entry.id for entry in store.catalogue.entries()] == [model().id]


def test_temporary_files_of_killed_writers_and_folders_of_earlier_versions_are_never_read(tmp_path, caplog):
    store = ModelStore(tmp_path)
    for number, kind in enumerate(KINDS):
        path = store.save(MADE[kind]())
        path.with_name(f".{path.name}.0123456{number}").write_bytes(path.read_bytes()[:100])
        path.with_name(".DS_Store").write_text("a stranger's")
    for earlier in (".artifacts", ".set-aside"):
        (tmp_path / earlier / "m5.large" / "decisions").mkdir(parents=True)
        (tmp_path / earlier / "m5.large" / "decisions" / "1.json").write_text("{}")

    for kind in KINDS:
        assert all_of(ModelStore(tmp_path), kind) == [MADE[kind]()]
    assert len(listed(tmp_path)) == len(LISTED)
    assert len(list(store.all_documents())) == len(KINDS)
    assert caplog.records == []


@pytest.mark.parametrize("name", [".catalogue", "decisions", "production", "segment-1.jsonl", "..", "a/b"])
def test_no_job_lies_where_the_catalogue_or_the_records_lie(root, name):
    store = ModelStore(root)
    model = examples.model(job=name, instance_type=name, id=name)
    decision = examples.decision_record(job=name, instance_type=name, id=name)
    run = examples.production_run(job=name, instance_type=name, id=name)

    store.save(model)
    store.save(decision)
    store.save(run)

    assert store.newest(Model, name, name) == [model]
    assert store.newest(DecisionRecord, name, name) == [decision]
    assert store.newest(ProductionRun, name, name) == [run]
    assert len(listed(root)) == 3


@pytest.mark.parametrize("paths", ["of fsspec", "of Airflow"])
def test_a_file_system_that_remembers_listings_shows_what_others_write(tmp_path, remembered, paths):
    new_path = UPath if paths == "of fsspec" else pytest.importorskip("airflow.sdk").ObjectStoragePath
    try:
        new_path("memory://bucket").exists()
    except ValueError:
        pytest.skip("needs an Airflow whose paths know memory://, as those of 3.1 do not")
    root = new_path(f"memory://bucket-{tmp_path.name}/models")
    reader = ModelStore(root)

    for number in range(3):
        save_elsewhere(root, examples.model(number), remembered)
        assert len(reader.catalogue.entries()) == number + 1
        assert len(reader.newest(Model, "pca", "m5.large")) == number + 1


def test_a_folder_that_another_process_makes_at_that_moment_is_listed(tmp_path, monkeypatch):
    """Paths of URLs look whether it is a folder, and say later that it is none."""
    ModelStore(tmp_path).save(examples.model())
    real, asked = Path.iterdir, []

    def not_yet(self):
        asked.append(self)
        if len(asked) == 1:
            raise NotADirectoryError(str(self))
        return real(self)

    monkeypatch.setattr(Path, "iterdir", not_yet)

    assert len(listed(tmp_path)) == 1


MANY = MOST_UNWRITTEN + 1


def many(root, store=None):
    for number in range(MANY):
        (store or ModelStore(root)).save(examples.model(number))
    return [entry_of(examples.model(number)) for number in range(MANY)]


def test_what_was_removed_since_leaves_the_summary_too(root):
    entries = many(root)
    assert listed(root) == entries
    (summary,) = (root / FOLDER).iterdir()
    assert examples.model(3).id in summary.read_text()

    place_of(examples.model(3)).path(root).unlink()

    assert listed(root) == [entry for entry in entries if entry.id != examples.model(3).id]
    assert examples.model(3).id not in summary.read_text()


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", '{"schema": 999, "entries": {}}', '{"entries": {"a": 1}}', "[" * 100_000]
)
def test_a_summary_that_is_none_is_made_again(root, content):
    entries = many(root)
    listed(root)
    (summary,) = (root / FOLDER).iterdir()
    summary.write_text(content)

    assert listed(root) == entries
    assert summary.read_text() != content


def test_a_summary_whose_entries_tell_less_is_made_again(root):
    """One of an older version: what it does not tell is no reason to say that nobody knows."""
    many(root)
    ModelStore(root).save(production_run(cost=0.7))
    listed(root)
    (path,) = (root / FOLDER).iterdir()
    summary = json.loads(path.read_text())
    summary["told"].remove("cost")
    for entry in summary["entries"].values():
        del entry["cost"]
    path.write_text(json.dumps(summary))

    assert [entry.cost for entry in listed(root) if entry.kind == ProductionRun.kind] == [0.7]


def test_a_store_that_may_only_be_read_is_listed_and_says_once_that_it_is_slow(tmp_path, monkeypatch, caplog):
    entries = many(tmp_path)

    def refuse(self, *arguments, **options):
        raise OSError(30, "Read-only file system", str(self))

    reader = Catalogue(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refuse)
        for _ in range(3):
            assert reader.entries() == entries

    assert ["Read-only file system" in record.getMessage() for record in caplog.records] == [True]


def test_a_decision_in_a_few_words():
    """Its cost is what the run's is compared with: the sample runs were paid for before."""
    made = examples.decision(
        billing=Billing(price_per_hour=0.2, boot_seconds=15.0),
        predicted_cost=0.5,
        cost_parts=BilledCost(executors=0.4, training=0.1),
        probability=0.9,
        fallback_reason="nothing is fast enough",
    )
    decision = examples.decision_record(decision=made)

    entry = entry_of(decision)
    assert key_of(entry) == (decision.id, "decision", "pca", "m5.large")
    assert (entry.dag_id, entry.model_id, entry.executors) == ("nightly", decision.model_id, 8)
    assert (entry.predicted_seconds, entry.predicted_cost, entry.latest_seconds) == (50.0, 0.4, 45.0)
    assert (entry.probability, entry.warnings, entry.is_fallback) == (0.9, 1, True)
