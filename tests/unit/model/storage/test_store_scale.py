"""What is asked of a large store reads no more of it than is asked for."""

import pytest

from airflow_provider_ernest.store import catalogue
from airflow_provider_ernest.store.catalogue import FOLDER
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store.stored_documents import MODELS, Shelf
from tests.unit.model.sample_records import a_model, a_production_run

MANY = 20


@pytest.fixture
def read(monkeypatch):
    """The texts that were decoded as documents."""
    texts, real = [], Shelf.decode
    monkeypatch.setattr(Shelf, "decode", lambda self, text: texts.append(text) or real(self, text))
    return texts


@pytest.fixture
def full(root):
    """A store with many models of one job."""
    for number in range(MANY):
        ModelStore(root).save(a_model(number))
    return ModelStore(root)


def test_the_newest_of_many_models_is_one_file(full, read):
    assert full.latest("pca", "m5.large") == a_model(MANY - 1)
    assert len(read) == 1

    assert len(list(full.newest_models("pca", "m5.large", limit=5))) == 5
    assert len(read) == 1 + 5


def test_the_newest_decisions_of_many_are_read_alone(root, read):
    store = ModelStore(root)
    for number in range(MANY):
        store.save_production(a_production_run(number))
    read.clear()

    assert len(store.productions("pca", "m5.large", limit=3)) == 3
    assert len(read) == 3


def test_saving_reads_back_what_it_writes_and_nothing_else(full, read):
    full.save(a_model(MANY))

    assert len(read) == 1


def test_saving_to_a_store_without_a_catalogue_lists_no_folder_of_many(tmp_path, monkeypatch):
    """Only who writes the first entry looks whether the store holds anything else."""
    for number in range(3):
        MODELS.write(tmp_path, a_model(number))
    ModelStore(tmp_path).save(a_model(4))
    listed, real = [], type(tmp_path).iterdir
    monkeypatch.setattr(type(tmp_path), "iterdir", lambda self: listed.append(self.name) or real(self))

    ModelStore(tmp_path).save(a_model(5))

    assert set(listed) == {FOLDER}


def test_listing_reads_no_documents_and_no_line_twice(full, read, monkeypatch):
    decoded, real = [], catalogue.MergedLines._content

    def count(self, name):
        decoded.append(name)
        return real(self, name)

    monkeypatch.setattr(catalogue.MergedLines, "_content", count)
    assert len(full.catalogue.entries()) == MANY
    decoded.clear()
    assert len(full.catalogue.entries()) == MANY
    assert decoded == []
    ModelStore(full.root).save(a_model(MANY))
    read.clear()
    assert len(full.catalogue.entries()) == MANY + 1

    assert len(decoded) == 1
    assert read == []


def test_the_files_of_the_catalogue_stay_few(root, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_LOOSE", 8)
    monkeypatch.setattr(catalogue, "MOST_SEGMENTS", 4)
    for number in range(MANY):
        ModelStore(root).save(a_model(number))

    assert len(list((root / FOLDER).iterdir())) <= 8 + 1 + 4 + 1 + 1
