"""What is said of looks, to whom it may concern, without what is secret."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark import artifact_watch
from airflow_provider_ernest.spark.artifact_watch import SETTLED
from airflow_provider_ernest.triggers.jar_hash import Looking, watched_paths

LOG = logging.getLogger("task")
ADDRESS = "memory://me:hush-1@host/job.jar?sig=hush-2"


@pytest.fixture
def looking(tmp_path, caplog):
    caplog.set_level(logging.INFO)

    def looking(*paths: Any) -> Looking:
        return Looking(tmp_path / "store", [str(path) for path in paths], settle_seconds=0, log=LOG)

    return looking


def test_the_files_are_named_in_a_list_or_a_text():
    assert watched_paths("job.py", "a.py, b.py") == watched_paths("job.py", ["a.py", "b.py", "a.py"])
    assert watched_paths("job.py", None) == ("job.py",)


def test_each_state_is_said_once(looking, jar, caplog):
    jar.unlink()
    files = looking(jar)
    for _ in range(3):
        files.look()
    (record,) = caplog.records
    assert record.getMessage() == f"There is no {jar} yet, or not at the moment: waiting for it."

    jar.write_bytes(b"first")
    caplog.clear()
    files.look()
    assert files.look().state == SETTLED
    files.look()
    assert "settle" in caplog.records[0].getMessage()
    assert len(caplog.records) == 1


def test_trouble_is_a_warning_and_its_end_is_said(looking, jar, caplog):
    content = jar.read_bytes()
    jar.unlink()
    jar.mkdir()
    files = looking(jar)
    files.look()
    files.look()
    (record,) = caplog.records
    assert (record.levelname, "IsADirectoryError" in record.getMessage()) == ("WARNING", True)
    jar.rmdir()
    jar.write_bytes(content)
    while files.look().state != SETTLED:
        pass
    files.look()
    assert [each.levelname for each in caplog.records] == ["WARNING", "INFO"]


def test_addresses_are_shown_without_credentials(looking, caplog, monkeypatch):
    files = looking(ADDRESS)
    files.look()
    assert "memory://host/job.jar" in caplog.text

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError(f"no answer from {ADDRESS}")

    monkeypatch.setattr(artifact_watch, "file_at", fail)
    looking(ADDRESS).look()
    assert "no answer from" in caplog.text
    assert "hush" not in caplog.text

    one_more = looking(ADDRESS)
    while one_more.look().state == SETTLED:
        pass
    assert one_more.changed("another", artifact_watch.Look(state=SETTLED, hashes={ADDRESS: "x"})) == [
        "memory://host/job.jar"
    ]


def test_an_address_that_nothing_reads_is_named_without_credentials(looking):
    with pytest.raises(MissingResourceError, match=r"unheard-of://host/job\.jar") as error:
        looking("unheard-of://me:hush-1@host/job.jar").look()
    assert "hush" not in str(error.value)
