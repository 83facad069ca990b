"""What tests of the model store share."""

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from upath import UPath


@pytest.fixture(params=["local path", "file URL", "object store"])
def root(request, tmp_path):
    """The roots that users have: Airflow's ObjectStoragePath has the methods of a UPath."""
    if request.param == "local path":
        yield tmp_path / "models"
    elif request.param == "file URL":
        yield UPath(f"file://{tmp_path}/models")
    else:
        bucket = UPath(f"memory://bucket-{tmp_path.name}")
        yield bucket / "models"
        if bucket.exists():
            bucket.rmdir(recursive=True)


@pytest.fixture
def remembered(monkeypatch) -> dict:
    """Listings that the file system remembers until it is told to forget, as those of object stores do."""
    listings = {}
    real_exists, real_list = MemoryFileSystem.exists, MemoryFileSystem.ls

    def remember(self, path, detail=True, **options):
        if (path, detail) not in listings:
            listings[path, detail] = real_list(self, path, detail=detail, **options)
        return listings[path, detail]

    def exists(self, path, **options):
        known = listings.get((self._parent(path), True))
        if known is None:
            return real_exists(self, path, **options)
        return path in {each["name"] for each in known}

    monkeypatch.setattr(MemoryFileSystem, "ls", remember)
    monkeypatch.setattr(MemoryFileSystem, "exists", exists)
    monkeypatch.setattr(MemoryFileSystem, "invalidate_cache", lambda self, path=None: listings.clear())
    return listings
