"""The triggers as Airflow runs them, and when an application counts as changed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.triggers.jar_hash import (
    Found,
    HashComparison,
    JarHashTrigger,
    newest_model,
    watched_paths,
)
from tests.unit.triggers.applications import JOB, deploy, sha256, trained


@pytest.fixture
def arguments(jar: Path, store: ModelStore) -> dict[str, Any]:
    return {"application": str(jar), "job": JOB, "poll_seconds": 0.01}


@pytest.fixture
def trigger(arguments: dict[str, Any]) -> Callable[..., JarHashTrigger]:
    """An asset's."""
    return lambda **changes: JarHashTrigger(**{**arguments, **changes})


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The thread of each comparison."""
    threads: list[int] = []
    compare = HashComparison.compare

    def counted(self: HashComparison, known_sha256: str | None = None) -> Any:
        found = compare(self, known_sha256)
        threads.append(threading.get_ident())
        return found

    monkeypatch.setattr(HashComparison, "compare", counted)
    return threads


async def next_payload(events: AsyncIterator[Any]) -> dict[str, Any]:
    return (await asyncio.wait_for(anext(events), timeout=30)).payload


def first_payload(trigger: JarHashTrigger) -> dict[str, Any]:
    return asyncio.run(next_payload(aiter(trigger.run())))


async def next_looks(looks: list[int], number: int = 3) -> None:
    """So many, enough for a change to settle and to be told."""
    wanted = len(looks) + number
    async with asyncio.timeout(30):
        while len(looks) < wanted:
            await asyncio.sleep(0.01)


async def told_of(
    trigger: JarHashTrigger, jar: Path, looks: list[int], *changes: bytes | Callable[[], object]
) -> list[str]:
    """The hashes that it tells, of the application as it is and after each change, new content or a call."""
    told: list[str] = []

    async def listen() -> None:
        async for event in trigger.run():
            told.append(event.payload["sha256"])

    listening = asyncio.ensure_future(listen())
    await next_looks(looks)
    for change in changes:
        deploy(jar, change) if isinstance(change, bytes) else change()
        await next_looks(looks, 5)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    return told


def test_what_airflow_stores_is_plain_and_makes_the_same_trigger_again(trigger):
    path, arguments = trigger(dependencies=("b.jar", "a.jar")).serialize()
    assert path == f"{JarHashTrigger.__module__}.{JarHashTrigger.__qualname__}"
    again = JarHashTrigger(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)


def test_each_change_is_an_event(trigger, jar, store):
    trained(store, b"before")

    async def watch() -> list[dict[str, Any]]:
        events = aiter(trigger().run())
        payloads = [await next_payload(events)]
        for content in (b"second", b"first"):
            deploy(jar, content)
            payloads.append(await next_payload(events))
        await events.aclose()
        return payloads

    payloads = asyncio.run(watch())
    hashes = [sha256(content) for content in (b"before", b"first", b"second", b"first")]
    assert [payload["previous_sha256"] for payload in payloads] == hashes[:-1]
    assert [payload["sha256"] for payload in payloads] == hashes[1:]
    assert {payload["job"] for payload in payloads} == {JOB}
    assert {payload["application"] for payload in payloads} == {str(jar)}
    assert json.loads(json.dumps(payloads)) == payloads


@pytest.mark.parametrize("model_of", [b"first", None, "no model"])
def test_without_a_change_since_the_newest_model_only_later_ones_are_events(
    trigger, jar, store, looks, model_of
):
    if model_of != "no model":
        trained(store, model_of)
    assert asyncio.run(told_of(trigger(), jar, looks)) == []
    assert asyncio.run(told_of(trigger(), jar, looks, b"second", b"first")) == [
        sha256(b"second"),
        sha256(b"first"),
    ]


def test_a_touch_is_no_change_nor_is_a_file_that_comes_and_goes(trigger, jar, store, looks):
    trained(store, b"first")
    harmless = (lambda: os.utime(jar), jar.unlink, lambda: jar.write_bytes(b"first"))
    assert asyncio.run(told_of(trigger(), jar, looks, *harmless, b"second")) == [sha256(b"second")]


def test_a_triggerer_that_starts_anew_repeats_a_change_until_there_is_a_model_of_it(
    trigger, jar, store, looks
):
    trained(store, b"before")
    for _ in range(2):
        assert asyncio.run(told_of(trigger(), jar, looks)) == [sha256(b"first")]
    trained(store, b"first", number=1)
    assert asyncio.run(told_of(trigger(), jar, looks)) == []


def test_trouble_is_said_once_and_passes(trigger, store, monkeypatch, capsys):
    compare = HashComparison.compare
    attempts = []

    def tried(self: HashComparison, known_sha256: str | None = None) -> Found:
        attempts.append(1)
        if len(attempts) < 4:
            raise RuntimeError("no answer from s3://me:hush-1@bucket/job.jar")
        return compare(self, known_sha256)

    monkeypatch.setattr(HashComparison, "compare", tried)
    trained(store, b"before")
    assert first_payload(trigger())["sha256"] == sha256(b"first")
    said = capsys.readouterr().out
    assert said.count("cannot be watched now") == 1
    assert "hush" not in said


def test_events_hold_addresses_without_credentials(trigger, monkeypatch, store):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/job.jar?sig=hush-2", b"first")
    monkeypatch.setattr(
        "airflow_provider_ernest.places.filesystem_of", lambda _: (memory, "/job.jar?sig=hush-2")
    )
    trained(store, b"before")
    watching = trigger(application="https://me:hush-1@host/job.jar?sig=hush-2")
    assert first_payload(watching)["application"] == "https://host/job.jar"


def test_the_event_loop_is_not_held_up(trigger, store, looks):
    trained(store, b"before")
    first_payload(trigger())
    assert looks
    assert threading.get_ident() not in looks


LOG = logging.getLogger("task")
ADDRESS = "memory://me:hush-1@host/job.jar?sig=hush-2"


@pytest.fixture
def comparing(jar, store, caplog):
    caplog.set_level(logging.INFO)

    def comparing(**changes: Any) -> HashComparison:
        arguments = {"application": str(jar), "dependencies": (), "job": JOB, "log": LOG}
        return HashComparison(**{**arguments, **changes})

    return comparing


def settled(comparison: HashComparison) -> Found:
    while (found := comparison.compare()).is_settling:
        pass
    return found


def test_it_waits_while_the_application_is_that_of_the_newest_model(comparing, store, jar):
    model = trained(store, b"first")
    comparison = comparing()
    assert not settled(comparison).has_changed
    deploy(jar, b"second")
    result = settled(comparison).result()
    assert (result["sha256"], result["known_sha256"]) == (sha256(b"second"), sha256(b"first"))
    assert result["model_id"] == model.id
    assert sha256(b"second")[:12] in result["reason"]
    assert model.id in result["reason"]

    trained(store, b"second", number=1)
    assert not settled(comparison).has_changed, "one trained meanwhile is what counts"


def test_the_newest_model_counts_on_any_type_of_machine(comparing, store):
    assert newest_model(store, JOB) is None
    trained(store, b"first", number=0, instance_type="c5.large")
    newer = trained(type(store)(store.root), b"older", number=1, instance_type="m5.large")

    assert newest_model(store, JOB).id == newer.id
    assert newest_model(store, "another") is None
    assert settled(comparing()).has_changed


def test_without_a_model_there_is_nothing_to_wait_for(comparing, store):
    result = settled(comparing()).result()
    assert (result["known_sha256"], result["model_id"]) == (None, None)
    assert "no model of 'nightly'" in result["reason"]

    model = trained(store, None)
    result = settled(comparing()).result()
    assert result["model_id"] == model.id
    assert "does not know" in result["reason"]


def test_a_file_that_is_not_there_yet_is_waited_for_and_that_is_said_once(comparing, jar, caplog):
    absent = jar.with_name("absent.jar")
    comparison = comparing(application=str(absent))
    assert settled(comparison) == settled(comparison) == Found()
    (record,) = caplog.records
    assert record.getMessage() == f"There is no {absent} now: waiting for it."

    caplog.clear()
    absent.write_bytes(b"there")
    assert settled(comparison).has_changed
    assert not caplog.records


def test_trouble_is_a_warning_once_and_passes(comparing, jar, caplog):
    jar.unlink()
    jar.mkdir()
    comparison = comparing()
    comparison.compare()
    comparison.compare()
    (record,) = caplog.records
    assert (record.levelname, "IsADirectoryError" in record.getMessage()) == ("WARNING", True)
    jar.rmdir()
    jar.write_bytes(b"first")
    assert settled(comparison).has_changed
    assert len(caplog.records) == 1


def test_a_store_that_cannot_be_read_is_asked_again(comparing, store, caplog):
    store.root.write_text("in the way")
    comparison = comparing()
    assert not settled(comparison).has_changed
    assert not settled(comparison).has_changed
    assert caplog.text.count("compared with the model later") == 1
    store.root.unlink()
    assert settled(comparison).has_changed


def test_addresses_are_shown_without_credentials(comparing, caplog, monkeypatch):
    comparing(application=ADDRESS).compare()
    assert "There is no memory://host/job.jar" in caplog.text

    def fail(*_: object, **__: object) -> None:
        raise ConnectionError(f"no answer from {ADDRESS}")

    monkeypatch.setattr(artifact, "place_of", fail)
    comparing(application=ADDRESS).compare()
    assert "no answer from" in caplog.text
    assert "hush" not in caplog.text


def test_the_files_are_named_in_a_list_or_a_text():
    assert watched_paths("job.py", "a.py, b.py") == watched_paths("job.py", ["a.py", "b.py", "a.py"])
    assert watched_paths("job.py", None) == ("job.py",)
    with pytest.raises(InvalidParameterError, match=r"cluster's machines"):
        watched_paths("local:/opt/job.jar", None)
    with pytest.raises(InvalidParameterError, match=r"names no file"):
        watched_paths("", None)
