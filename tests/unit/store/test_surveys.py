"""Surveys in a store: kept for good, found without a job, moved with the rest."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store import catalogue
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import survey


def test_what_was_saved_is_found_newest_first_and_is_no_job(root):
    store = ModelStore(root)
    assert store.survey_ids() == []
    old, new = survey(days=3), survey(days=1)
    for each in (new, old, new):
        store.save(each)
    assert store.survey_ids() == [new.id, old.id]
    assert store.load_survey(old.id) == old
    assert store.newest_survey() == new
    assert (list(store.all_documents()), store.catalogue.entries()) == ([], [])
    with pytest.raises(StoreError, match="cannot be written"):
        store.save(replace(old, logs=7))
    assert store.load_survey(old.id) == old


def test_one_that_is_not_there(root):
    with pytest.raises(StoreError) as caught:
        ModelStore(root).load_survey("../../etc/passwd")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_damaged_one_is_passed_over_and_stays(root, caplog):
    store, whole = ModelStore(root), survey(days=3)
    path = store.save(survey())
    store.save(whole)
    path.write_text(path.read_text()[:100])
    assert store.newest_survey() == whole
    assert (path.exists(), str(path) in caplog.text) == (True, True)


def test_the_newest_is_read_once(root, monkeypatch):
    store, read = ModelStore(root), []
    monkeypatch.setattr(
        catalogue, "read", lambda *what, read_it=catalogue.read: read.append(what) or read_it(*what)
    )
    for days in (3, 1):
        store.save(survey(days=days))
        assert [store.newest_survey().id for _ in range(3)] == [store.survey_ids()[0]] * 3
    assert len(read) == 2
    store.remove_survey(store.survey_ids()[0])
    assert store.newest_survey().id == store.survey_ids()[0]
