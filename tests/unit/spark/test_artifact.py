"""Which application's code can be told to have changed."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import fsspec
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.spark.artifact import (
    artifact_paths,
    hash_where_readable,
    require_application,
    require_dependencies,
)

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


def test_that_a_library_behind_a_scheme_fails_in_its_own_way_costs_no_run(monkeypatch):
    class LibraryError(Exception):
        pass

    def fail(*_: object) -> None:
        raise LibraryError("no credentials")

    monkeypatch.setattr(fsspec, "url_to_fs", fail)
    assert hash_where_readable("gs://bucket/job.py", log=LOG) is None


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_local_file_that_does_not_exist_is_an_error(scheme, tmp_path: Path):
    with pytest.raises(MissingResourceError, match=r"Cannot read the application.*absent\.py"):
        hash_where_readable(f"{scheme}{tmp_path}/absent.py", log=LOG)
    with pytest.raises(MissingResourceError, match=r"no application.*absent\.py"):
        require_application(f"{scheme}{tmp_path}/absent.py")


@pytest.mark.parametrize(
    "address",
    ["local:///opt/absent.py", "local:/opt/absent.py", "s3://b/job.py", "hdfs:/lib/job.py"],
)
def test_what_spark_fetches_itself_is_not_looked_for_here(address):
    require_application(address)
    require_dependencies({"jars": f"{address},{address}.jar", "py_files": [address]})


def test_the_files_of_an_application_are_those_it_is_submitted_with():
    options = {"py_files": "a.py, b.zip,", "jars": ["c.jar", "a.py"], "java_class": "Main", "files": "d.csv"}
    assert artifact_paths("job.py", options) == ("job.py", "a.py", "b.zip", "c.jar")
    assert artifact_paths("job.jar", {}) == ("job.jar",)
    assert artifact_paths("job.jar", {"jars": None, "py_files": ""}) == ("job.jar",)


@pytest.mark.parametrize("value", [7, {"a.jar": 1}, [1]])
def test_dependencies_that_name_no_files_are_refused(value):
    with pytest.raises(InvalidParameterError, match=r"jars=.*names no files"):
        artifact_paths("job.jar", {"jars": value})


def test_the_hash_of_several_files_is_that_of_each_content_in_any_order_of_dependencies(tmp_path):
    for name in ("job.py", "a.py", "b.py"):
        (tmp_path / name).write_text(name)
    job, a, b = (f"{tmp_path}/{name}" for name in ("job.py", "a.py", "b.py"))

    def hash_of(application: str, *dependencies: str) -> str | None:
        return hash_where_readable(application, log=LOG, dependencies=dependencies)

    together = hash_of(job, a, b)
    assert together == hash_of(job, b, a)
    assert together not in (hash_of(a, job, b), hash_of(job, a), hash_of(job))
    assert hash_of(job) == hashlib.sha256(b"job.py").hexdigest(), "one file: its plain hash"

    (tmp_path / "b.py").write_text("changed")
    assert hash_of(job, a, b) != together


@pytest.mark.parametrize("dependency", ["memory://absent.jar", "/nowhere/absent.jar", "/nowhere/*.jar"])
def test_a_dependency_that_cannot_be_read_leaves_the_hash_open(tmp_path, caplog, dependency):
    """Spark may find it all the same, by the pattern or on a machine of the cluster."""
    (tmp_path / "job.py").write_text("job")
    assert hash_where_readable(f"{tmp_path}/job.py", log=LOG, dependencies=[dependency]) is None
    (warning,) = caplog.records
    assert dependency in warning.getMessage()


def test_of_a_dependency_that_the_machines_have_the_address_counts(tmp_path, caplog):
    (tmp_path / "job.py").write_text("job")

    def taken(*dependencies: str) -> str | None:
        return hash_where_readable(f"{tmp_path}/job.py", log=LOG, dependencies=dependencies)

    assert taken("local:/opt/lib-1.jar") == taken("local:/opt/lib-1.jar") is not None
    assert len({taken(), taken("local:/opt/lib-1.jar"), taken("local:/opt/lib-2.jar")}) == 3
    assert "local:/opt/lib-1.jar" in caplog.text
