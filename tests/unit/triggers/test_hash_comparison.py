"""When an application counts as another than the newest model was trained with, and what is said of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.triggers.jar_hash import Found, HashComparison, newest_model, watched_paths
from tests.unit.triggers.applications import JOB, deploy, sha256, trained

LOG = logging.getLogger("task")
ADDRESS = "memory://me:hush-1@host/job.jar?sig=hush-2"


@pytest.fixture
def comparing(jar, store, caplog):
    caplog.set_level(logging.INFO)

    def comparing(**changes: Any) -> HashComparison:
        arguments = {
            "application": str(jar),
            "dependencies": (),
            "job": JOB,
            "store": str(store.root),
            "settle_seconds": 0.0,
            "log": LOG,
        }
        return HashComparison(**{**arguments, **changes})

    return comparing


def settled(comparison: HashComparison, known_sha256: str | None = None) -> Found:
    while (found := comparison.compare(known_sha256)).is_settling:
        pass
    return found


def test_it_waits_while_the_application_is_that_of_the_newest_model(comparing, store, jar):
    model = trained(store, b"first")
    comparison = comparing()
    assert not settled(comparison).is_other
    deploy(jar, b"second")
    result = settled(comparison).result()
    assert (result["sha256"], result["known_sha256"]) == (sha256(b"second"), sha256(b"first"))
    assert result["changed"] == [str(jar)]
    assert result["model_id"] == model.id
    assert sha256(b"second")[:12] in result["reason"]
    assert model.id in result["reason"]

    trained(store, b"second", number=1)
    assert not settled(comparison).is_other, "one trained meanwhile is what counts"


def test_the_newest_of_any_type_counts_or_that_of_the_given_one(comparing, store):
    assert newest_model(store, JOB) is None
    older = trained(store, b"first", number=0, instance_type="c5.large")
    newer = trained(type(store)(store.root), b"older", number=1, instance_type="m5.large")

    assert newest_model(store, JOB).id == newer.id
    assert newest_model(store, JOB, "c5.large").id == older.id
    assert newest_model(store, "another") is None
    assert settled(comparing()).is_other
    assert not settled(comparing(instance_type="c5.large")).is_other
    assert settled(comparing(instance_type="m5.large")).is_other


def test_without_a_model_there_is_nothing_to_wait_for(comparing, store):
    result = settled(comparing(instance_type="r5.large")).result()
    assert (result["known_sha256"], result["model_id"], result["changed"]) == (None, None, None)
    assert "no model of 'nightly' on r5.large" in result["reason"]

    model = trained(store, None)
    result = settled(comparing()).result()
    assert result["model_id"] == model.id
    assert "does not know" in result["reason"]


def test_a_given_hash_counts_instead_of_a_model(comparing, store, jar):
    trained(store, b"something else")
    comparison = comparing(job=None)
    assert not settled(comparison, sha256(b"first")).is_other
    deploy(jar, b"second")
    result = settled(comparison, sha256(b"first")).result()
    assert result["model_id"] is None
    assert "was given" in result["reason"]


def test_a_file_that_is_not_there_yet_is_waited_for_and_each_state_is_said_once(comparing, jar, caplog):
    absent = jar.with_name("absent.jar")
    comparison = comparing(application=str(absent))
    assert settled(comparison) == settled(comparison) == Found()
    (record,) = caplog.records
    assert record.getMessage() == f"There is no {absent} yet, or not at the moment: waiting for it."

    caplog.clear()
    absent.write_bytes(b"there")
    assert settled(comparison).is_other
    settled(comparison)
    (record,) = caplog.records
    assert "settle" in record.getMessage()


def test_trouble_is_a_warning_and_its_end_is_said(comparing, jar, caplog):
    jar.unlink()
    jar.mkdir()
    comparison = comparing()
    comparison.compare()
    comparison.compare()
    (record,) = caplog.records
    assert (record.levelname, "IsADirectoryError" in record.getMessage()) == ("WARNING", True)
    jar.rmdir()
    jar.write_bytes(b"first")
    settled(comparison)
    settled(comparison)
    assert [each.levelname for each in caplog.records] == ["WARNING", "INFO"]


def test_a_store_that_cannot_be_read_is_asked_again(comparing, store, caplog):
    store.root.write_text("in the way")
    comparison = comparing()
    assert not settled(comparison).is_other
    assert not settled(comparison).is_other
    assert caplog.text.count("compared with the model later") == 1
    store.root.unlink()
    assert settled(comparison).is_other


def test_addresses_are_shown_without_credentials(comparing, caplog, monkeypatch):
    import fsspec

    comparing(application=ADDRESS).compare()
    assert "memory://host/job.jar" in caplog.text

    memory = fsspec.filesystem("memory")
    monkeypatch.setattr("airflow_provider_ernest.places.filesystem_of", lambda _: (memory, "/job.jar"))
    memory.pipe("/job.jar", b"first")
    assert settled(comparing(application=ADDRESS), "another").changed == ["memory://host/job.jar"]

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError(f"no answer from {ADDRESS}")

    monkeypatch.setattr(artifact, "file_at", fail)
    comparing(application=ADDRESS).compare()
    assert "no answer from" in caplog.text
    assert "hush" not in caplog.text


def test_an_address_that_nothing_reads_is_named_without_credentials(comparing):
    with pytest.raises(MissingResourceError, match=r"unheard-of://host/job\.jar") as error:
        comparing(application="unheard-of://me:hush-1@host/job.jar").compare()
    assert "hush" not in str(error.value)


def test_the_files_are_named_in_a_list_or_a_text():
    assert watched_paths("job.py", "a.py, b.py") == watched_paths("job.py", ["a.py", "b.py", "a.py"])
    assert watched_paths("job.py", None) == ("job.py",)
    with pytest.raises(InvalidParameterError, match=r"cluster's machines"):
        watched_paths("local:/opt/job.jar", None)
    with pytest.raises(InvalidParameterError, match=r"names no file"):
        watched_paths("", None)
