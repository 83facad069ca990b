"""Which looks at an application's files find a change, and what is read for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.spark.artifact import (
    MISSING,
    SETTLED,
    SETTLING,
    TROUBLE,
    ArtifactWatch,
    Look,
    combined_sha256,
)
from tests.unit.spark.artifact_server import served_file


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
        return ArtifactWatch([str(path) for path in paths], settle_seconds=5, clock=clock)

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


def settle(watch: ArtifactWatch, clock: Clock) -> Look:
    """Look until the files have settled."""
    watch.look()
    clock.now += 5
    look = watch.look()
    assert look.state == SETTLED
    return look


def test_a_file_is_read_once_it_has_stayed_the_same(watching, jar, clock, opened):
    watch = watching(jar)
    assert watch.look().state == SETTLING
    clock.now += 4.9
    assert watch.look().state == SETTLING
    assert opened == []
    clock.now += 0.2
    look = watch.look()
    assert (look.state, look.sha256, look.is_new) == (SETTLED, sha256(b"first"), True)
    assert look.hashes == {str(jar): sha256(b"first")}

    again = watch.look()
    assert (again.sha256, again.is_new) == (look.sha256, False)
    assert opened == ["job.jar"], "what has not changed is not read again"


def test_a_copy_under_way_is_never_told(watching, jar, clock):
    watch = watching(jar)
    settle(watch, clock)
    with jar.open("wb") as copy:
        for piece in (b"sec", b"ond", b"!"):
            copy.write(piece)
            copy.flush()
            clock.now += 4
            assert watch.look().state == SETTLING
    clock.now += 5
    assert watch.look().sha256 == sha256(b"second!")


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
    assert watch.look().state == SETTLING
    assert settle(watch, clock).sha256 == sha256(b"second")


def test_a_touch_is_read_for_and_is_the_same_hash(watching, jar, clock, opened):
    watch = watching(jar)
    before = settle(watch, clock)
    os.utime(jar)
    after = settle(watch, clock)
    assert (after.sha256, after.is_new) == (before.sha256, True)
    assert len(opened) == 2


def test_only_the_file_that_may_have_changed_is_read(watching, tmp_path, clock, opened):
    paths = [tmp_path / name for name in ("job.py", "a.py", "b.py")]
    for path in paths:
        path.write_text(path.name)
    watch = watching(*paths)
    before = settle(watch, clock)
    assert before.sha256 == combined_sha256([sha256(path.read_bytes()) for path in paths])
    opened.clear()

    (tmp_path / "b.py").write_text("changed")
    after = settle(watch, clock)
    assert after.sha256 == combined_sha256([sha256(path.read_bytes()) for path in paths])
    assert after.sha256 != before.sha256
    assert opened == ["b.py"]


def test_a_file_that_is_gone_is_missing_until_it_settles_again(watching, jar, clock):
    watch = watching(jar)
    settle(watch, clock)
    jar.unlink()
    look = watch.look()
    assert (look.state, look.path, look.sha256) == (MISSING, str(jar), None)
    jar.write_bytes(b"second")
    assert settle(watch, clock).sha256 == sha256(b"second")


def test_a_storage_that_cannot_be_asked_is_trouble_that_passes(watching, tmp_path, clock):
    place = tmp_path / "job.jar"
    place.mkdir()
    watch = watching(place)
    look = watch.look()
    assert look.state == TROUBLE
    assert isinstance(look.problem, IsADirectoryError)
    place.rmdir()
    place.write_bytes(b"first")
    assert settle(watch, clock).sha256 == sha256(b"first")


def test_an_address_that_nothing_reads_is_an_error(watching):
    with pytest.raises(MissingResourceError, match=r"unheard-of"):
        watching("unheard-of://job.jar").look()


def test_of_a_file_of_the_machines_the_address_counts(watching, jar, clock):
    look = settle(watching(jar, "local:/opt/lib-1.jar"), clock)
    assert look.sha256 != settle(watching(jar, "local:/opt/lib-2.jar"), clock).sha256


def test_a_large_file_is_read_in_pieces(clock):
    class Unreadable:
        """A file whose content comes in pieces only."""

        def __init__(self) -> None:
            self.left = 5_000_000

        def read(self, size: int = -1) -> bytes:
            assert 0 < size <= 1 << 20, "never the whole file"
            size = min(size, self.left)
            self.left -= size
            return b"x" * size

        def close(self) -> None:
            pass

    class File:
        def probe(self) -> str:
            return "as ever"

        def open(self) -> Any:
            return closing(Unreadable())

    watch = ArtifactWatch(["s3://code/job.jar"], settle_seconds=5, open_s3=lambda _: File(), clock=clock)
    assert settle(watch, clock).sha256 == sha256(b"x" * 5_000_000)


def test_by_http_a_changed_etag_is_what_is_read_for(watching, clock):
    with served_file(b"first") as served:
        watch = watching(served.url)
        assert settle(watch, clock).sha256 == sha256(b"first")
        read = served.bytes_read
        watch.look()
        assert served.bytes_read == read

        served.status = 404
        assert watch.look().state == MISSING
        served.status = 500
        assert watch.look().state == TROUBLE
        served.status, served.content = 200, b"second"
        assert settle(watch, clock).sha256 == sha256(b"second")


@pytest.mark.parametrize("has_head", [True, False])
def test_by_http_the_content_is_compared_where_the_server_tells_nothing(watching, clock, has_head):
    with served_file(b"first") as served:
        served.has_etag, served.has_head = False, has_head
        watch = watching(served.url)
        assert settle(watch, clock).sha256 == sha256(b"first")
        assert watch.look().sha256 == sha256(b"first")
        served.content = b"other"
        assert watch.look().state == SETTLING
        clock.now += 5
        assert watch.look().sha256 == sha256(b"other")
