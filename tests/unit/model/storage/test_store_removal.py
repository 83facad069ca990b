"""What is removed is gone for everyone, and stays gone; what comes back is listed again."""

import json
from pathlib import Path

import pytest

from airflow_provider_ernest.documents import Configuration, Model
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.store.catalogue import Catalogue
from airflow_provider_ernest.store.records import place, with_digest
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.model.store_samples import KINDS, LISTED, MADE, all_of, remove


def ids(root):
    return [entry.id for entry in Catalogue(root).entries()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_removed_and_no_other(root, kind):
    store = ModelStore(root)
    for each in KINDS:
        for number in range(2):
            store.save(MADE[each](number))

    assert remove(store, kind, MADE[kind](1))

    for each in KINDS:
        assert all_of(store, each) == [MADE[each](number) for number in range(1 if each == kind else 2)]
    assert len(ids(root)) == 2 * len(LISTED) - (kind in LISTED)
    assert not remove(store, kind, MADE[kind](1))


@pytest.mark.parametrize(
    "name", ["..", "../../escape", "/etc/passwd", "a/b", "a\0b", ".catalogue", "x" * 5000]
)
def test_hostile_names_remove_nothing_outside(tmp_path, name):
    root = tmp_path / "models"
    outside = tmp_path / "escape.json"
    outside.write_text("mine")
    store, model = ModelStore(root), examples.model(job=name, instance_type=name, id=name)
    store.save(model)
    store.save(examples.model())

    assert remove(store, "model", model)

    assert outside.read_text() == "mine"
    assert ids(root) == [examples.model().id]
    assert not remove(store, "model", model)


def test_a_kind_that_is_none_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"kind='song' .* production, observation, mark"):
        ModelStore(tmp_path).remove("song", job="pca", instance_type="m5.large", document_id="1")
    with pytest.raises(InvalidParameterError, match="id="):
        ModelStore(tmp_path).remove("model", job="pca", instance_type="m5.large", document_id="")


def test_readers_that_go_on_see_it_go(root):
    store, reader = ModelStore(root), ModelStore(root)
    for number in range(3):
        store.save(examples.model(number))
    assert len(reader.catalogue.entries()) == 3

    remove(ModelStore(root), "model", examples.model(1))

    assert [entry.id for entry in reader.catalogue.entries()] == [examples.model(0).id, examples.model(2).id]


def test_what_may_not_be_deleted_is_an_error_and_stays_listed(tmp_path, monkeypatch):
    store = ModelStore(tmp_path)
    store.save(examples.model())

    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(StoreError, match=r"cannot be deleted.*Permission denied"):
            remove(store, "model", examples.model())

    assert ids(tmp_path) == [examples.model().id]


def test_all_documents_come_job_by_job(root, caplog):
    store = ModelStore(root)
    assert list(store.all_documents()) == []
    documents = [
        MADE[kind](number, job=job) for job in ("join", "pca") for kind in KINDS for number in (0, 1)
    ]
    for document in reversed(documents):
        store.save(document)
    misplaced = place(Model, "pca", "m5.large", "misplaced").path(root)
    misplaced.write_text(json.dumps(with_digest(examples.model(9, job="join"))))
    (root / "notes.txt").write_text("no job")

    found = list(store.all_documents())

    assert sorted(map(repr, found)) == sorted(map(repr, documents))
    assert [document.job for document in found] == [
        job for job in ("join", "pca") for _ in range(2 * len(KINDS))
    ]
    assert "misplaced.json" in caplog.text
    assert {document.job for document in store.all_documents()} == {"join", "pca"}


def test_what_no_store_keeps_is_refused(tmp_path):
    with pytest.raises(InvalidDocumentError, match="keeps no Configuration"):
        ModelStore(tmp_path).save(Configuration(machines=1))
