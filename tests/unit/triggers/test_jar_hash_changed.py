"""The trigger that a deferred sensor waits with."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from airflow_provider_ernest.triggers.jar_hash_changed import CHANGED, FAILED, JarHashChangedTrigger
from tests.unit.triggers.applications import JOB, deploy, sha256, trained


@pytest.fixture
def trigger(jar, store):
    def trigger(**changes: Any) -> JarHashChangedTrigger:
        arguments = {
            "application": str(jar),
            "job": JOB,
            "store": str(store.root),
            "poll_seconds": 0.01,
            "settle_seconds": 0,
        }
        return JarHashChangedTrigger(**{**arguments, **changes})

    return trigger


async def only_event(trigger: JarHashChangedTrigger) -> dict[str, Any]:
    (event,) = [event async for event in trigger.run()]
    payload: dict[str, Any] = event.payload
    return payload


def test_what_airflow_stores_is_plain_and_makes_the_same_trigger_again(trigger):
    path, arguments = trigger(dependencies=["b", "a"], instance_type="m5.large").serialize()
    assert path == f"{JarHashChangedTrigger.__module__}.{JarHashChangedTrigger.__qualname__}"
    again = JarHashChangedTrigger(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)


def test_it_fires_once_when_the_application_has_changed(trigger, store, jar):
    trained(store, b"first")

    async def wait() -> dict[str, Any]:
        waiting = asyncio.ensure_future(only_event(trigger()))
        while not list(store.root.rglob("looks/*/*.json")):
            await asyncio.sleep(0.01)
        assert not waiting.done()
        deploy(jar, b"second")
        return await asyncio.wait_for(waiting, timeout=30)

    event = asyncio.run(wait())
    assert event["status"] == CHANGED
    assert event["result"]["sha256"] == sha256(b"second")
    assert json.loads(json.dumps(event)) == event


def test_where_waiting_is_vain_it_says_why(trigger):
    event = asyncio.run(only_event(trigger(application="unheard-of://me:hush-1@host/job.jar")))
    assert event["status"] == FAILED
    assert "unheard-of" in event["reason"]
    assert "hush" not in event["reason"]
