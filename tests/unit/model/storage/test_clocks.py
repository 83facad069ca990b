"""Whatever the clocks of those who write to a store: what was saved last is the newest."""

from datetime import UTC, datetime, timedelta

from airflow_provider_ernest.documents import moment_of, new_id
from airflow_provider_ernest.store.store import ModelStore
from tests import examples


def test_a_model_made_by_a_clock_that_is_behind_is_the_newest_all_the_same(root):
    store = ModelStore(root)
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    store.save(examples.model(id=new_id(now)))
    store.save(examples.model(job="sort", id=new_id(now + timedelta(days=1))))

    for minutes in (60, 59):
        model = store.newest_of_its_job(examples.model(id=new_id(now - timedelta(minutes=minutes))))
        store.save(model)
        assert store.latest("pca", "m5.large") == model
        assert moment_of(model.id) - now < timedelta(seconds=1)
        assert store.catalogue.entries()[-2].id == model.id


def test_a_model_made_in_time_keeps_its_name(root):
    store = ModelStore(root)
    model = examples.model(1)
    assert store.newest_of_its_job(model) == model
    store.save(examples.model(0))
    assert store.newest_of_its_job(model) == model
