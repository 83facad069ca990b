"""The model that an application is compared with."""

from __future__ import annotations

from airflow_provider_ernest.triggers.jar_hash import newest_model
from tests.unit.triggers.applications import JOB, trained


def test_the_newest_counts_of_any_type_or_of_one(store):
    assert newest_model(store, JOB) is None
    newer = trained(store, b"2", number=2, instance_type="c5.large")
    older = trained(store, b"1", number=1, instance_type="m5.large")

    assert newest_model(store, JOB).id == newer.model_id
    assert newest_model(store, JOB, "m5.large").id == older.model_id
    assert newest_model(store, JOB, "r5.large") is None
    assert newest_model(store, "another") is None


def test_one_that_comes_later_is_seen_by_whoever_has_looked_before(store, tmp_path):
    trained(store, b"1", number=1)
    assert newest_model(store, JOB).artifact_sha256
    newer = trained(type(store)(store.root), b"2", number=2)
    assert newest_model(store, JOB).id == newer.model_id
