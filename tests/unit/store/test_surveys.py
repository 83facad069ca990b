"""Surveys in a store: kept for good, found without a job, moved and pruned with the rest."""

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store import files
from airflow_provider_ernest.store.pruning import KEEP_SURVEYS, Prune
from airflow_provider_ernest.store.records import list_set_aside
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import NOW, model, survey


def test_what_was_saved_is_found_newest_first_and_is_no_job(root):
    store = ModelStore(root)
    assert store.surveys.ids() == []
    old, new = survey(days=3), survey(days=1)
    for each in (new, old, new):
        store.save(each)
    assert store.surveys.ids() == [new.id, old.id]
    assert store.surveys.load(old.id) == old
    assert list(store.surveys.newest_first()) == [new, old]
    assert (list(store.all_documents()), store.catalogue.entries()) == ([], [])
    with pytest.raises(StoreError, match="cannot be written"):
        store.save(replace(old, logs=7))
    assert store.surveys.load(old.id) == old


def test_one_that_is_not_there(root):
    with pytest.raises(StoreError) as caught:
        ModelStore(root).surveys.load("../../etc/passwd")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_damaged_one_is_set_aside_and_can_be_stored_anew(root, monkeypatch):
    monkeypatch.setattr(files, "UNTOUCHED", timedelta(seconds=-60))
    store, whole = ModelStore(root), survey(days=3)
    path = store.save(survey())
    store.save(whole)
    path.write_text(path.read_text().replace("120", "121"))
    assert list(store.surveys.newest_first()) == [whole]
    (aside,) = list_set_aside(root)
    assert str(aside.original) == str(path)
    assert "does not agree with its digest" in aside.problem or "do not agree" in aside.problem
    assert store.surveys.ids() == [whole.id]
    store.save(survey())
    assert store.surveys.load(survey().id) == survey()


def test_a_copy_of_the_folder_is_the_same_store(tmp_path):
    store = ModelStore(tmp_path / "store")
    for each in (model(), survey()):
        store.save(each)
    entries = store.catalogue.entries()
    shutil.copytree(store.root, tmp_path / "new", ignore=shutil.ignore_patterns(".catalogue"))
    into = ModelStore(tmp_path / "new")
    assert into.surveys.load(survey().id) == survey()
    assert list(into.all_documents()) == [model()]
    assert into.catalogue.entries() == entries


def test_the_newest_stay_however_old_and_young_ones_too(tmp_path):
    store = ModelStore(tmp_path)
    old = [survey(days=days) for days in range(100, 100 + KEEP_SURVEYS + 2)]
    for each in (survey(days=1), *old):
        store.save(each)

    def prune(days: float) -> Prune:
        return Prune(store=store, now=NOW, older_than_days=days, keep_models=1)

    assert not prune(200).has_work
    planned = prune(90)
    assert planned.has_work
    assert f"Would remove survey {old[-1].id}" in planned.lines()
    assert len(store.surveys.ids()) == KEEP_SURVEYS + 3
    planned.carry_out()
    assert planned.summary()["surveys"] == sorted(each.id for each in old[KEEP_SURVEYS - 1 :])
    assert store.surveys.ids() == [each.id for each in (survey(days=1), *old[: KEEP_SURVEYS - 1])]
