"""Large stores and large records, and what lies beside records: no more is read than is asked for."""

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import BLOCKING, ProfileRecord
from airflow_provider_ernest.store import catalogue
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model, profile_record, run_profile, stage_profile

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
    assert full.latest("pca", "m5.large") == model(MANY - 1)
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


UNEVEN = 1234.5678


def a_large_profile():
    """As large as they come: all numbers have the digits that a profile tells, and none is 0."""
    stages = tuple(
        stage_profile(
            number,
            began_seconds=round(UNEVEN + number, 4),
            ended_seconds=round(UNEVEN * 2 + number, 4),
            quantiles_seconds=tuple(round(UNEVEN + 0.0001 * step, 4) for step in range(21)),
            blocked_seconds=dict.fromkeys(BLOCKING, UNEVEN),
            seconds_without=dict.fromkeys(BLOCKING, UNEVEN),
        )
        for number in range(100)
    )
    return profile_record(profile=run_profile(stages=stages, scale=1 / 3))


def test_a_profile_of_many_stages_is_a_small_file(tmp_path):
    store = ModelStore(tmp_path)
    path = store.save(a_large_profile())
    assert path.stat().st_size < 120_000
    assert store.newest(ProfileRecord, "pca", "m5.large") == [a_large_profile()]
