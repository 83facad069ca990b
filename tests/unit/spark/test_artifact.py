"""Which application's code can be told to have changed."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import fsspec
import pytest

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.artifact import hash_where_readable, require_application

LOG = logging.getLogger("task")


def test_what_the_worker_can_read_is_hashed(tmp_path, caplog):
    (tmp_path / "job.py").write_bytes(b"abc")
    fsspec.filesystem("memory").pipe("/code/job.py", b"abc")
    expected = hashlib.sha256(b"abc").hexdigest()

    for application in (f"{tmp_path}/job.py", f"file://{tmp_path}/job.py", "memory://code/job.py"):
        assert hash_where_readable(application, log=LOG) == expected
    assert caplog.records == []


@pytest.mark.usefixtures("without_s3fs")
@pytest.mark.parametrize(
    ("application", "reason"),
    [
        ("local:///opt/job.py", "only the cluster's machines"),
        ("local:/opt/job.py", "only the cluster's machines"),
        ("s3://bucket/job.py", r"airflow-provider-ernest[s3]"),
        ("s3a://bucket/job.py", r"airflow-provider-ernest[s3]"),
        ("memory://code/absent.py", "absent.py"),
        ("unheard-of://job.py", "unheard-of"),
    ],
)
def test_what_only_the_machines_can_read_has_no_hash_and_that_is_said(application, reason, caplog):
    assert hash_where_readable(application, log=LOG) is None

    (warning,) = caplog.records
    assert warning.levelname == "WARNING"
    assert application in warning.getMessage()
    assert "will not be noticed" in warning.getMessage()
    assert reason in warning.getMessage()


def test_a_file_of_the_machines_is_not_taken_for_the_one_that_the_worker_has(tmp_path):
    (tmp_path / "job.py").write_text("of the worker")
    assert hash_where_readable(f"local://{tmp_path}/job.py", log=LOG) is None


def test_that_a_library_behind_a_scheme_fails_in_its_own_way_costs_no_run(monkeypatch):
    class LibraryError(Exception):
        pass

    def fail(*_: object) -> None:
        raise LibraryError("no credentials")

    monkeypatch.setattr(fsspec, "url_to_fs", fail)
    assert hash_where_readable("gs://bucket/job.py", log=LOG) is None


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_file_that_does_not_exist_is_an_error(scheme, tmp_path: Path):
    with pytest.raises(MissingResourceError, match=r"Cannot read the application.*absent\.py"):
        hash_where_readable(f"{scheme}{tmp_path}/absent.py", log=LOG)
    with pytest.raises(MissingResourceError, match=r"no application.*absent\.py"):
        require_application(f"{scheme}{tmp_path}/absent.py")


@pytest.mark.parametrize("application", ["local:///opt/absent.py", "local:/opt/absent.py", "s3://b/job.py"])
def test_what_spark_fetches_itself_is_not_looked_for_here(application):
    require_application(application)
