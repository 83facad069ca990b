"""Which application's code can be told to have changed, and which looks at its files find a change."""

from __future__ import annotations

import hashlib
import io
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.spark.artifact import (
    ArtifactWatch,
    artifact_paths,
    combined_sha256,
    hash_where_readable,
    require_application,
    require_dependencies,
)
from tests.unit.spark.artifact_server import served_file

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
        ("s3://bucket/job.py", r"airflow-provider-ernest[s3]"),
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


def test_a_local_file_that_does_not_exist_is_an_error_and_what_spark_fetches_is_not_looked_for(tmp_path):
    for absent in (f"{scheme}{tmp_path}/absent.py" for scheme in ("", "file:", "file://")):
        with pytest.raises(MissingResourceError, match=r"Cannot read the application.*absent\.py"):
            hash_where_readable(absent, log=LOG)
        with pytest.raises(MissingResourceError, match=r"no application.*absent\.py"):
            require_application(absent)
    for address in ("local:///opt/absent.py", "local:/opt/absent.py", "s3://b/job.py", "hdfs:/lib/job.py"):
        require_application(address)
        require_dependencies({"jars": f"{address},{address}.jar", "py_files": [address]})


def test_the_files_of_an_application_are_those_it_is_submitted_with():
    options = {"py_files": "a.py, b.zip,", "jars": ["c.jar", "a.py"], "java_class": "Main", "files": "d.csv"}
    assert artifact_paths("job.py", options) == ("job.py", "a.py", "b.zip", "c.jar")
    assert artifact_paths("job.jar", {}) == ("job.jar",)
    assert artifact_paths("job.jar", {"jars": None, "py_files": ""}) == ("job.jar",)
    for value in (7, {"a.jar": 1}, [1]):
        with pytest.raises(InvalidParameterError, match=r"jars=.*is not a list of files"):
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


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "job.jar"
    path.write_bytes(b"first")
    return path


@pytest.fixture
def watching(clock: Clock) -> Callable[..., ArtifactWatch]:
    def watching(*paths: Any) -> ArtifactWatch:
        return ArtifactWatch([str(path) for path in paths], clock=clock)

    return watching


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read, in order."""
    read: list[str] = []
    hashed = artifact._sha256

    def sha256(file: Any) -> str:
        read.append(str(getattr(file, "_path", file)).rpartition("/")[2])
        return hashed(file)

    monkeypatch.setattr(artifact, "_sha256", sha256)
    return read


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def settle(watch: ArtifactWatch, clock: Clock) -> str:
    """Look until the files have settled."""
    watch.look()
    clock.now += 5
    found = watch.look()
    assert found is not None
    return found


def test_a_file_is_read_once_it_has_stayed_the_same(watching, jar, clock, opened):
    watch = watching(jar)
    assert watch.look() is None
    clock.now += 4.9
    assert watch.look() is None
    assert opened == []
    clock.now += 0.2
    assert watch.look() == watch.look() == sha256(b"first")
    assert opened == ["job.jar"], "what has not changed is not read again"


def test_a_copy_under_way_is_never_told(watching, jar, clock):
    watch = watching(jar)
    settle(watch, clock)
    with jar.open("wb") as copy:
        for piece in (b"sec", b"ond", b"!"):
            copy.write(piece)
            copy.flush()
            clock.now += 4
            assert watch.look() is None
    clock.now += 5
    assert watch.look() == sha256(b"second!")


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(watching, jar, clock, monkeypatch):
    watch = watching(jar)
    watch.look()
    clock.now += 5
    hashed = artifact._sha256

    def replaced_meanwhile(file: Any) -> str:
        monkeypatch.setattr(artifact, "_sha256", hashed)
        found = hashed(file)
        jar.with_name("new").write_bytes(b"second")
        jar.with_name("new").replace(jar)
        return found

    monkeypatch.setattr(artifact, "_sha256", replaced_meanwhile)
    assert watch.look() is None
    assert settle(watch, clock) == sha256(b"second")


def test_only_the_file_that_may_have_changed_is_read(watching, tmp_path, clock, opened):
    paths = [tmp_path / name for name in ("job.py", "a.py", "b.py")]
    for path in paths:
        path.write_text(path.name)
    watch = watching(*paths)
    before = settle(watch, clock)
    assert before == combined_sha256([sha256(path.read_bytes()) for path in paths])
    opened.clear()

    (tmp_path / "b.py").write_text("changed")
    after = settle(watch, clock)
    assert after == combined_sha256([sha256(path.read_bytes()) for path in paths])
    assert after != before
    assert opened == ["b.py"]


def test_a_large_file_is_read_in_pieces(watching, clock, monkeypatch):
    class InPieces(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert 0 < (size or 0) <= 1 << 20, "never the whole file"
            return super().read(size)

    content = b"x" * 5_000_000
    entry = SimpleNamespace(is_file=True, version="as ever")
    large = SimpleNamespace(entry=lambda: entry, open=lambda: InPieces(content))
    monkeypatch.setattr(artifact, "place_of", lambda *_, **__: large)
    assert settle(watching("s3://code/job.jar"), clock) == sha256(content)


def test_by_http_a_changed_etag_is_what_is_read_for(watching, clock):
    with served_file(b"first") as served:
        watch = watching(served.url)
        assert settle(watch, clock) == sha256(b"first")
        read = served.bytes_read
        watch.look()
        assert served.bytes_read == read

        for served.status in (404, 500):
            with pytest.raises(FileNotFoundError):
                watch.look()
        served.status, served.content = 200, b"second"
        assert settle(watch, clock) == sha256(b"second")


@pytest.mark.parametrize("has_head", [True, False])
def test_by_http_the_content_is_compared_where_the_server_tells_nothing(watching, clock, has_head):
    with served_file(b"first") as served:
        served.has_etag, served.has_head = False, has_head
        watch = watching(served.url)
        assert settle(watch, clock) == sha256(b"first")
        assert watch.look() == sha256(b"first")
        served.content = b"other"
        assert watch.look() is None
        clock.now += 5
        assert watch.look() == sha256(b"other")
