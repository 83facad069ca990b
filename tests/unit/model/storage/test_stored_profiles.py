"""Profiles of runs in a store: how large they are, and what of them is kept."""

import json

import pytest

from airflow_provider_ernest.documents import ProfileRecord
from airflow_provider_ernest.run_profile import BLOCKING
from airflow_provider_ernest.store.records import sealed
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import profile_record, run_profile, stage_profile

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


@pytest.fixture
def store(tmp_path) -> ModelStore:
    return ModelStore(tmp_path)


def test_a_profile_of_many_stages_is_a_small_file(store):
    path = store.save(a_large_profile())
    assert path.stat().st_size < 120_000


def test_a_profile_comes_back_as_it_was(store):
    store.save(a_large_profile())
    assert store.newest(ProfileRecord, "pca", "m5.large") == [a_large_profile()]


def test_a_profile_of_a_later_version_is_left_where_it_is(store, caplog):
    path = store.save(profile_record())
    path.write_text(json.dumps(sealed({**profile_record().to_dict(), "schema": 99})))
    assert store.newest(ProfileRecord, "pca", "m5.large") == []
    assert path.exists()
    assert "schema 99" in caplog.text


def test_only_the_newest_are_read_where_no_more_are_asked_for(store):
    for number in range(4):
        store.save(profile_record(number))
    newest = store.newest(ProfileRecord, "pca", "m5.large", limit=2)
    assert store.ids(ProfileRecord, "pca", "m5.large", limit=2) == [each.id for each in reversed(newest)]
    assert [record.id for record in newest] == [profile_record(2).id, profile_record(3).id]
