"""Looking through a store is not stopped by what lies in it."""

import json

import pytest

from airflow_provider_ernest.store.records import sealed
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model, production_run
from tests.unit.model.store_samples import save_all


@pytest.mark.parametrize("field", ["production_id", "job", "instance_type"])
def test_a_document_without_a_name_hides_no_other(tmp_path, field, caplog):
    store = save_all(ModelStore(tmp_path), model())
    path = store.save(production_run())
    path.write_text(json.dumps(sealed({**production_run().to_dict(), field: ""})))
    skipped = []
    assert list(store.all_documents(on_skip=skipped.append)) == [model()]
    assert skipped == [path]
    assert [entry.id for entry in ModelStore(tmp_path).catalogue.entries()] == [model().id]
    assert str(path) in caplog.text


def test_a_number_beyond_all_numbers_hides_no_other(tmp_path):
    store = save_all(ModelStore(tmp_path), model(0), model(1))
    path = store.save(model(2))
    document = model(2).to_dict()
    document["observations"][0]["machines"] = 10**400
    path.write_text(json.dumps(sealed(document)))
    assert store.history("pca", "m5.large") == [model(0), model(1)]
