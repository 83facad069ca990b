"""Looking through a store is not stopped by what lies in it."""

import json

import pytest

from airflow_provider_ernest.store.records import sealed
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.model.sample_records import a_model, a_production_run
from tests.unit.model.stored_examples import save_all


@pytest.mark.parametrize("field", ["production_id", "job", "instance_type"])
def test_a_document_without_a_name_hides_no_other(tmp_path, field, caplog):
    store = save_all(ModelStore(tmp_path), a_model())
    path = store.save(a_production_run())
    path.write_text(json.dumps(sealed({**a_production_run().to_dict(), field: ""})))
    skipped = []
    assert list(store.all_documents(on_skip=skipped.append)) == [a_model()]
    assert skipped == [path]
    assert [entry.id for entry in ModelStore(tmp_path).catalogue.entries()] == [a_model().id]
    assert str(path) in caplog.text


def test_a_number_beyond_all_numbers_hides_no_other(tmp_path):
    store = save_all(ModelStore(tmp_path), a_model(0), a_model(1))
    path = store.save(a_model(2))
    document = a_model(2).to_dict()
    document["observations"][0]["machines"] = 10**400
    path.write_text(json.dumps(sealed(document)))
    assert store.history("pca", "m5.large") == [a_model(0), a_model(1)]
