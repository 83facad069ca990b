"""What one process knows of files is known to the next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from airflow_provider_ernest.spark.artifact import SETTLED, ArtifactWatch, Look
from airflow_provider_ernest.triggers.jar_hash import FOLDER, KEPT, KnownHashes
from tests.unit.triggers.applications import deploy, sha256


@pytest.fixture(params=["local", "memory"])
def root(request, tmp_path: Path) -> Any:
    return tmp_path / "store" if request.param == "local" else UPath(f"memory://hashes{tmp_path}")


def looked(watch: ArtifactWatch) -> Look:
    watch.look()
    look = watch.look()
    assert look.state == SETTLED
    return look


def watching(*paths: Path) -> ArtifactWatch:
    return ArtifactWatch([str(path) for path in paths], settle_seconds=0)


def test_a_new_process_need_not_read_the_files_again(root, jar):
    known = KnownHashes(root, [str(jar)])
    first = watching(jar)
    known.recall(first)
    known.keep(first, looked(first))

    again = watching(jar)
    KnownHashes(root, [str(jar)]).recall(again)
    assert again.look().sha256 == sha256(b"first"), "at the first look"


def test_which_files_changed_since_is_told_of_hashes_that_were_seen(root, jar):
    library = jar.with_name("library.jar")
    library.write_bytes(b"1")
    known = KnownHashes(root, [str(jar), str(library)])
    watch = watching(jar, library)
    before = looked(watch)
    known.keep(watch, before)
    deploy(library, b"2")
    after = looked(watch)

    assert known.changed(before.sha256, after.hashes) == [str(library)]
    assert known.changed(sha256(b"never seen"), after.hashes) is None
    assert known.changed(None, after.hashes) is None
    assert KnownHashes(root, [str(jar)]).changed("any", {str(jar): "x"}) == [str(jar)], "there is but one"


def kept_in(root: Any) -> Any:
    (kept,) = (path for path in (root / FOLDER).rglob("*") if path.is_file())
    return kept


def test_only_the_last_looks_are_kept(root, jar):
    known = KnownHashes(root, [str(jar)])
    watch = watching(jar)
    for number in range(KEPT + 3):
        deploy(jar, b"%d" % number)
        known.keep(watch, looked(watch))
    assert len(json.loads(kept_in(root).read_text())) == KEPT
    again = watching(jar)
    known.recall(again)
    assert again.look().state == SETTLED


@pytest.mark.parametrize("text", ["{", "{}", '[1, {"probes": 1}]', "\xff"])
def test_what_cannot_be_read_is_left_out_and_replaced(tmp_path, jar, text):
    known = KnownHashes(tmp_path, [str(jar)])
    watch = watching(jar)
    look = looked(watch)
    known.keep(watch, look)
    kept_in(tmp_path).write_text(text, encoding="latin-1")
    known.recall(watching(jar))
    assert known.changed("unknown", {"a": "1", "b": "2"}) is None

    known.keep(watch, look)
    again = watching(jar)
    known.recall(again)
    assert again.look().state == SETTLED


def test_a_store_that_cannot_be_written_is_said_once(tmp_path, jar, caplog):
    root = tmp_path / "file"
    root.write_text("in the way")
    known = KnownHashes(root, [str(jar)])
    watch = watching(jar)
    look = looked(watch)
    known.keep(watch, look)
    known.keep(watch, look)
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "read more often" in warning.getMessage()
