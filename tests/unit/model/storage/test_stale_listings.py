"""Storage that remembers listings, as that of object stores does, overwrites nothing by them."""

from dataclasses import replace

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from upath import UPath

from airflow_provider_ernest.documents import Model
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model


@pytest.fixture
def remembered(monkeypatch) -> dict:
    """Names by folder: whether a file is there is told from them until they are forgotten."""
    names = {}
    real_exists, real_list = MemoryFileSystem.exists, MemoryFileSystem.ls

    def remember(self, path, detail=True, **options):
        found = real_list(self, path, detail=detail, **options)
        names[path] = {each["name"] if detail else each for each in found}
        return found

    def exists(self, path, **options):
        known = names.get(self._parent(path))
        return real_exists(self, path, **options) if known is None else path in known

    monkeypatch.setattr(MemoryFileSystem, "ls", remember)
    monkeypatch.setattr(MemoryFileSystem, "exists", exists)
    monkeypatch.setattr(MemoryFileSystem, "invalidate_cache", lambda self, path=None: names.clear())
    return names


def test_what_another_process_wrote_since_the_listing_is_not_overwritten(tmp_path, remembered):
    store = ModelStore(UPath(f"memory://bucket-{tmp_path.name}/models"))
    store.save(model(0))
    assert len(store.history("pca", "m5.large")) == 1
    before = dict(remembered)
    ModelStore(store.root).save(model(1))
    # Another process wrote that: this one remembers what it listed before.
    remembered.clear()
    remembered.update(before)
    with pytest.raises(StoreError, match="exists"):
        store.save(replace(model(1), artifact="another.jar"))
    assert store.load(Model, "pca", "m5.large", model(1).id) == model(1)
