"""Large stores: no more is read than is asked for."""

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.store import catalogue
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model

MANY = 20


@pytest.fixture
def read(monkeypatch):
    """The texts that were decoded as documents."""
    texts, real = [], catalogue.decode
    monkeypatch.setattr(catalogue, "decode", lambda form, text: texts.append(text) or real(form, text))
    return texts


@pytest.fixture
def full(root):
    """A store with many models of one job."""
    for number in range(MANY):
        ModelStore(root).save(model(number))
    return ModelStore(root)


def test_the_newest_of_many_models_is_one_file(full, read):
    assert full.newest(Model, "pca", "m5.large", limit=1)[0] == model(MANY - 1)
    assert len(read) == 1

    assert len(list(full.newest_first(Model, "pca", "m5.large", limit=5))) == 5
    assert len(read) == 1 + 5


def test_saving_reads_back_what_it_writes_and_nothing_else(full, read):
    full.save(model(MANY))

    assert len(read) == 1


def test_listing_reads_no_document_twice_in_an_object_nor_in_another_process(full, read):
    read.clear()
    assert len(full.catalogue.entries()) == MANY
    assert len(read) == MANY

    read.clear()
    assert len(full.catalogue.entries()) == MANY
    assert len(ModelStore(full.root).catalogue.entries()) == MANY, "a new process"
    assert read == []

    ModelStore(full.root).save(model(MANY))
    read.clear()
    assert len(full.catalogue.entries()) == MANY + 1
    assert len(read) == 1


def test_what_is_asked_of_one_job_reads_nothing_of_the_others(full, read):
    ModelStore(full.root).save(model(job="sort"))
    read.clear()
    assert [entry.job for entry in full.catalogue.entries("sort")] == ["sort"]
    assert len(read) == 1
