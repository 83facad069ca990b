"""Which changes a watch tells, over restarts, with and without models, and beside another one."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.triggers.jar_hash import Change, ChangeWatch
from tests.unit.triggers.applications import JOB, deploy, sha256, trained

LOG = logging.getLogger("trigger")


@pytest.fixture
def watching(jar: Path, store: ModelStore):
    """Makes a watch, as a triggerer that starts does."""

    def watching(**changes: Any) -> ChangeWatch:
        arguments = {
            "application": str(jar),
            "dependencies": (),
            "job": JOB,
            "store": ModelStore(store.root),
            "name": "asset",
            "poll_seconds": 60.0,
            "settle_seconds": 0.0,
            "log": LOG,
        }
        return ChangeWatch(**{**arguments, **changes})

    return watching


def next_change(watch: ChangeWatch) -> Change | None:
    """The next change that it tells; None where it would wait for the next look."""
    while True:
        step = watch.step()
        if step.tell is not None or step.wait_seconds >= 60:
            return step.tell


def told(watch: ChangeWatch) -> list[str]:
    """The hashes that it tells, each confirmed, until it would wait for the next look."""
    hashes = []
    while change := next_change(watch):
        watch.confirm(change)
        hashes.append(change.sha256)
    return hashes


def test_without_a_model_the_watch_begins_with_the_application_as_it_is(watching, jar):
    watch = watching()
    assert told(watch) == []
    deploy(jar, b"second")
    assert told(watch) == [sha256(b"second")]
    assert told(watch) == []


def test_a_change_since_the_newest_model_was_trained_is_told_at_once(watching, store):
    trained(store, b"older", number=0)
    trained(store, b"before", number=1, instance_type="c5.large")
    change = next_change(watching())
    assert (change.sha256, change.previous_sha256) == (sha256(b"first"), sha256(b"before"))


@pytest.mark.parametrize("content", [b"first", None])
def test_a_model_of_this_application_or_of_an_unknown_one_is_no_change(watching, store, content):
    trained(store, content)
    assert told(watching()) == []


def test_a_way_back_is_a_change_and_a_touch_is_none(watching, jar):
    watch = watching()
    told(watch)
    for content in (b"second", b"first"):
        deploy(jar, content)
        assert told(watch) == [sha256(content)]
        os.utime(jar)
        deploy(jar, content)
        assert told(watch) == []


def test_what_changed_while_no_triggerer_ran_is_told_once(watching, jar):
    told(watching())
    deploy(jar, b"second")
    assert told(watching()) == [sha256(b"second")]
    assert told(watching()) == []


def test_what_was_seen_and_not_told_is_told_although_it_is_gone(watching, jar):
    watch = watching()
    told(watch)
    deploy(jar, b"second")
    while watch.step().wait_seconds != 0.1:  # it has noted the change
        pass
    deploy(jar, b"third")
    assert told(watching()) == [sha256(b"second"), sha256(b"third")]


def test_a_triggerer_that_died_between_telling_and_confirming_is_taken_for_one_that_did_not(watching, jar):
    watch = watching()
    told(watch)
    deploy(jar, b"second")
    first = next_change(watch)

    assert told(watching()) == [], "it may be at work"
    again = next_change(watching(lease_seconds=0.0))
    assert again == first, "with the same number, by which whoever listens can know it"


def test_one_that_confirmed_is_not_repeated(watching, jar):
    watch = watching()
    told(watch)
    deploy(jar, b"second")
    watch.confirm(next_change(watch))
    assert told(watching(lease_seconds=0.0)) == []


def test_of_two_triggerers_one_tells(watching, jar):
    one, other = watching(), watching()
    assert (told(one), told(other)) == ([], [])
    for content in (b"second", b"first", b"third"):
        deploy(jar, content)
        assert told(other) + told(one) == [sha256(content)]


def test_one_that_slept_through_changes_does_not_repeat_them(watching, jar):
    asleep, awake = watching(), watching()
    told(asleep)
    for content in (b"second", b"first"):
        deploy(jar, content)
        told(awake)
    assert told(asleep) == []
    deploy(jar, b"third")
    assert told(asleep) == [sha256(b"third")]
    assert told(awake) == []


def test_watches_of_other_names_tell_for_themselves(watching, jar):
    watches = [watching(), watching(name="other")]
    for watch in watches:
        told(watch)
    deploy(jar, b"second")
    assert [told(watch) for watch in watches] == [[sha256(b"second")]] * 2


def test_a_change_of_a_dependency_is_one(watching, tmp_path):
    library = tmp_path / "library.jar"
    library.write_bytes(b"1")
    watch = watching(dependencies=[str(library)])
    told(watch)
    library.write_bytes(b"2")
    (changed,) = told(watch)
    library.write_bytes(b"1")
    assert told(watch) != [changed]


def test_a_file_that_comes_and_goes_tells_nothing_until_it_is_another(watching, jar):
    watch = watching()
    told(watch)
    jar.unlink()
    assert told(watch) == []
    jar.write_bytes(b"first")
    assert told(watch) == []
    jar.unlink()
    assert told(watch) == []
    jar.write_bytes(b"second")
    assert told(watch) == [sha256(b"second")]


def test_a_store_that_is_away_is_waited_for_and_logged_once(watching, store, jar, caplog):
    caplog.set_level(logging.INFO)
    told(watching())
    away = store.root.rename(store.root.with_name("away"))
    store.root.write_text("in the way")
    deploy(jar, b"second")

    watch = watching()
    caplog.clear()
    assert told(watch) == []
    assert "model store can be read again" in caplog.text
    caplog.clear()
    assert told(watch) == []
    assert caplog.records == [], "it is said once"
    store.root.unlink()
    away.rename(store.root)
    assert told(watch) == [sha256(b"second")]
    assert "can be read again" in caplog.text


def test_what_the_machines_have_cannot_be_watched(watching):
    with pytest.raises(InvalidParameterError, match=r"cluster's machines"):
        watching(application="local:///opt/job.jar")


def test_nothing_but_hashes_is_kept(watching, store, tmp_path):
    secret = tmp_path / "hush-hush.jar"
    secret.write_bytes(b"first")
    watch = watching(application=str(secret))
    told(watch)
    deploy(secret, b"second")
    told(watch)
    kept = [path for path in store.root.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if "hush" in path.read_text() or "hush" in path.name]
