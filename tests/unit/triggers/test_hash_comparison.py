"""When an application counts as another than the newest model was trained with."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.triggers.jar_hash import Found, HashComparison, newest_model
from tests.unit.triggers.applications import JOB, deploy, sha256, trained

LOG = logging.getLogger("task")


@pytest.fixture
def comparing(jar, store):
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


def test_it_waits_while_the_application_is_that_of_the_model(comparing, store, jar):
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


def test_a_model_trained_meanwhile_is_what_counts(comparing, store, jar):
    trained(store, b"first")
    comparison = comparing()
    settled(comparison)
    deploy(jar, b"second")
    trained(store, b"second", number=1)
    assert not settled(comparison).is_other


def test_the_newest_of_any_type_counts_or_that_of_the_given_one(comparing, store):
    trained(store, b"first", number=0, instance_type="c5.large")
    trained(store, b"older", number=1, instance_type="m5.large")
    assert settled(comparing()).is_other
    assert not settled(comparing(instance_type="c5.large")).is_other
    assert settled(comparing(instance_type="m5.large")).is_other


def test_without_a_model_there_is_nothing_to_wait_for(comparing):
    result = settled(comparing(instance_type="r5.large")).result()
    assert (result["known_sha256"], result["model_id"], result["changed"]) == (None, None, None)
    assert "no model of 'nightly' on r5.large" in result["reason"]


def test_a_model_that_does_not_know_its_application_is_none_to_wait_for(comparing, store):
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


def test_a_file_that_is_not_there_yet_is_waited_for(comparing, jar, caplog):
    caplog.set_level(logging.INFO)
    absent = jar.with_name("absent.jar")
    comparison = comparing(application=str(absent))
    assert settled(comparison) == settled(comparison) == Found()
    assert caplog.text.count("There is no") == 1
    absent.write_bytes(b"there")
    assert settled(comparison).is_other


def test_a_store_that_cannot_be_read_is_asked_again(comparing, store, caplog):
    store.root.write_text("in the way")
    comparison = comparing()
    assert not settled(comparison).is_other
    assert not settled(comparison).is_other
    assert caplog.text.count("compared with the model later") == 1
    store.root.unlink()
    assert settled(comparison).is_other


def test_an_application_of_the_machines_is_refused(comparing):
    with pytest.raises(InvalidParameterError, match=r"cluster's machines"):
        comparing(application="local:/opt/job.jar")
    with pytest.raises(InvalidParameterError, match=r"names no file"):
        comparing(application="")


def test_the_newest_counts_of_any_type_or_of_one(store):
    assert newest_model(store, JOB) is None
    newer = trained(store, b"2", number=2, instance_type="c5.large")
    older = trained(store, b"1", number=1, instance_type="m5.large")

    assert newest_model(store, JOB).id == newer.id
    assert newest_model(store, JOB, "m5.large").id == older.id
    assert newest_model(store, JOB, "r5.large") is None
    assert newest_model(store, "another") is None


def test_one_that_comes_later_is_seen_by_whoever_has_looked_before(store, tmp_path):
    trained(store, b"1", number=1)
    assert newest_model(store, JOB).artifact_sha256
    newer = trained(type(store)(store.root), b"2", number=2)
    assert newest_model(store, JOB).id == newer.id
