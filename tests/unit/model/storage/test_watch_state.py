"""What triggers remember of the applications that they watch lies in the store's root, and is no document."""

import io

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.store.archive import export_documents
from airflow_provider_ernest.store.pruning import Prune
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.triggers.jar_hash import FOLDER
from tests.examples import NOW, decision_record, model
from tests.unit.model.store_samples import save_all


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def store(tmp_path) -> ModelStore:
    store = save_all(ModelStore(tmp_path / "store"), model(0, days=300), decision_record(0, days=300))
    for name in (
        "looks/ab.json",
        "looks/torn.json",
        "watches/m5.large/decisions/cd.json",
        "watches/x/.y.0123abcd",
    ):
        path = store.root / FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if "torn" in name else "{}")
    return store


def test_it_is_neither_listed_nor_exported(store, capsys, caplog):
    assert len(store.catalogue.entries()) == 2
    header = export_documents(store.all_documents(), io.BytesIO(), is_compressed=False)
    assert sum(header.documents.values()) == 2
    assert main(["store", "list", "--store", str(store.root)]) == 0
    assert FOLDER not in capsys.readouterr().out
    assert not caplog.records


def test_pruning_leaves_it(store):
    before = contents(store.root / FOLDER)
    prune = Prune(store=store, now=NOW, older_than_days=0, keep_models=1, is_for_set_aside=True)
    prune.carry_out()
    assert prune.summary()["removed"] == {"decision": 1}
    assert contents(store.root / FOLDER) == before


def test_models_of_all_jobs_are_asked_for_beside_it(store):
    assert [each.job for each in store.latest_of_jobs("m5.large", limit=5)] == ["pca"]
