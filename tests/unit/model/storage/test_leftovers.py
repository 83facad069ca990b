"""What killed writers leave is found when it is old, and never read."""

import os
from datetime import timedelta

import pytest

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.catalogue import FOLDER
from airflow_provider_ernest.store.pruning import leftovers
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.model.store_samples import KINDS, LISTED, MADE, age, all_of


def test_a_store_that_is_well_has_none(root):
    assert leftovers(root) == []
    for kind in KINDS:
        ModelStore(root).save(MADE[kind]())

    assert leftovers(root, older_than=timedelta(0)) == []


def test_temporary_files_are_never_read_and_are_found_when_they_are_old(tmp_path, caplog):
    store, expected = ModelStore(tmp_path), []
    for number, kind in enumerate(KINDS):
        path = store.save(MADE[kind]())
        old = path.with_name(f".{path.name}.0123456{number}")
        old.write_bytes(path.read_bytes()[:100])
        age(old)
        path.with_name(f".{path.name}.abcdef0{number}").write_text("at work")
        path.with_name(".DS_Store").write_text("a stranger's")
        expected.append(old)
    (tmp_path / FOLDER).mkdir()
    for name in (".pca.json.01234567", ".sort.json.01234567"):
        expected.append(tmp_path / FOLDER / name)
        expected[-1].write_text("half a li")
        age(expected[-1])

    for kind in KINDS:
        assert all_of(ModelStore(tmp_path), kind) == [MADE[kind]()]
    assert len(ModelStore(tmp_path).catalogue.entries()) == len(LISTED)
    assert len(list(store.all_documents())) == len(KINDS)
    assert caplog.records == []
    assert sorted(leftovers(tmp_path)) == sorted(expected)
    assert leftovers(tmp_path, older_than=timedelta(days=1)) == []


def test_a_root_that_cannot_be_listed_is_a_store_error(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)

    with pytest.raises(StoreError, match=r"cannot be listed.*Permission denied"):
        leftovers(tmp_path)
