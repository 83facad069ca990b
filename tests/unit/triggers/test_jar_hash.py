"""The trigger as Airflow runs it: events, their payload, and no end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.triggers.base import BaseEventTrigger

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.triggers import jar_hash
from airflow_provider_ernest.triggers import jar_hash as change_watch
from airflow_provider_ernest.triggers.jar_hash import JarHashTrigger
from tests.unit.triggers.applications import JOB, deploy, sha256, trained


@pytest.fixture
def trigger(jar: Path, store: ModelStore) -> Callable[..., JarHashTrigger]:
    def trigger(**changes: Any) -> JarHashTrigger:
        arguments = {
            "application": str(jar),
            "job": JOB,
            "store": str(store.root),
            "poll_seconds": 0.01,
            "settle_seconds": 0,
        }
        return JarHashTrigger(**{**arguments, **changes})

    return trigger


@pytest.fixture(autouse=True)
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Airflow stores each event at once; tells that the trigger has waited for it."""
    calls: list[str] = []

    async def at_once() -> None:
        calls.append("stored")

    monkeypatch.setattr(jar_hash, "handed_over", at_once)
    return calls


async def next_payload(events: AsyncIterator[Any]) -> dict[str, Any]:
    event = await asyncio.wait_for(anext(events), timeout=30)
    payload: dict[str, Any] = event.payload
    return payload


def confirmed(store: ModelStore) -> int:
    return len(list(store.root.rglob("*.confirmed")))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def test_what_airflow_stores_is_plain_and_makes_the_same_trigger_again(trigger):
    path, arguments = trigger(dependencies=("b.jar", "a.jar")).serialize()
    module, _, name = path.rpartition(".")
    assert (module, name) == (JarHashTrigger.__module__, JarHashTrigger.__qualname__)

    again = JarHashTrigger(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)
    same = trigger(dependencies="a.jar, b.jar", poll_seconds=0.010).serialize()
    assert BaseEventTrigger.hash(*same) == BaseEventTrigger.hash(path, arguments)


def test_each_change_is_an_event(trigger, jar, store, handed_over):
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
    assert [payload["sequence"] for payload in payloads] == [1, 2, 3]
    assert {payload["job"] for payload in payloads} == {JOB}
    assert {payload["application"] for payload in payloads} == {str(jar)}
    assert json.loads(json.dumps(payloads)) == payloads
    assert handed_over == ["stored"] * 2, "the last was not yet waited for"


def test_an_event_is_confirmed_when_airflow_has_it_and_not_before(trigger, store, monkeypatch):
    trained(store, b"before")
    stored = threading.Event()

    async def handed_over() -> None:
        await until(stored.is_set)

    monkeypatch.setattr(jar_hash, "handed_over", handed_over)

    async def watch() -> None:
        events = aiter(trigger().run())
        await next_payload(events)
        resumed = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        assert confirmed(store) == 0
        stored.set()
        await until(lambda: confirmed(store) == 1)
        resumed.cancel()

    asyncio.run(watch())


def test_a_trigger_that_ends_before_the_event_is_stored_leaves_it_to_the_next(trigger, store, monkeypatch):
    trained(store, b"before")
    monkeypatch.setattr(change_watch, "LEASE_SECONDS", 0.0)

    async def first() -> dict[str, Any]:
        events = aiter(trigger().run())
        payload = await next_payload(events)
        await events.aclose()  # never resumed, as after a kill
        return payload

    assert asyncio.run(first()) == asyncio.run(first())


def test_two_triggerers_tell_a_change_once(trigger, jar, store):
    told: list[dict[str, Any]] = []

    async def listen(watching: JarHashTrigger) -> None:
        async for event in watching.run():
            told.append(event.payload)

    async def watch() -> None:
        tasks = [asyncio.ensure_future(listen(trigger())) for _ in range(2)]
        await until(lambda: bool(list(store.root.rglob("*.change.json"))))
        for count, content in enumerate((b"second", b"third", b"second"), start=1):
            deploy(jar, content)
            await until(lambda wanted=count: confirmed(store) == wanted)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(watch())
    assert [payload["sha256"] for payload in told] == [
        sha256(content) for content in (b"second", b"third", b"second")
    ]


def test_trouble_is_said_once_and_passes(trigger, store, monkeypatch, capsys):
    made = JarHashTrigger._make_watch
    attempts = []

    def make(self: JarHashTrigger) -> Any:
        attempts.append(1)
        if len(attempts) < 4:
            raise RuntimeError("no answer from s3://me:hush-1@bucket/job.jar")
        return made(self)

    monkeypatch.setattr(JarHashTrigger, "_make_watch", make)
    trained(store, b"before")

    async def watch() -> dict[str, Any]:
        return await next_payload(aiter(trigger().run()))

    assert asyncio.run(watch())["sha256"] == sha256(b"first")
    said = capsys.readouterr().out
    assert said.count("cannot be watched now") == 1
    assert "hush" not in said


def test_addresses_are_told_without_credentials(trigger):
    change = change_watch.Change(sequence=1, sha256="a", previous_sha256="b", seen_at="")
    payload = trigger(application="https://me:hush-1@host/job.jar?sig=hush-2")._payload(change)
    assert payload["application"] == "https://host/job.jar"


def test_the_event_loop_is_not_held_up(trigger, store, monkeypatch):
    trained(store, b"before")
    threads = set()
    look = change_watch.ChangeWatch.step

    def step(self: change_watch.ChangeWatch) -> Any:
        threads.add(threading.get_ident())
        return look(self)

    monkeypatch.setattr(change_watch.ChangeWatch, "step", step)

    async def watch() -> None:
        await next_payload(aiter(trigger().run()))

    asyncio.run(watch())
    assert threading.get_ident() not in threads
