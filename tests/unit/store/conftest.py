"""What tests of the model store share."""

import pytest
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
