from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.clusters.ec2 import readiness
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.triggers import ec2_cluster
from airflow_provider_ernest.triggers.ec2_cluster import EC2ClusterReadyTrigger
from tests.ec2_testbed import EC2Api
from tests.unit.ec2_machines import IDENTITY, launch
from tests.unit.spark_masters import FakeMaster

SPEC = EC2ClusterSpec(machines=3, instance_type="m5.large", launch_template="mine", probe_rounds=0).to_dict()


def trigger(**changes: Any) -> EC2ClusterReadyTrigger:
    fields = {
        "cluster_name": IDENTITY.cluster_name,
        "try_number": 1,
        "spec": SPEC,
        "deadline": time.time() + 30,
        "poll_seconds": 0.05,
        "aws_conn_id": "aws_default",
        "region_name": None,
    }
    return EC2ClusterReadyTrigger(**{**fields, **changes})


def event_of(waiting: EC2ClusterReadyTrigger) -> dict[str, Any]:
    async def first() -> Any:
        return await anext(aiter(waiting.run()))

    return asyncio.run(first()).payload


@pytest.fixture
def master(monkeypatch: pytest.MonkeyPatch):
    """Stands in for the master whose machine does not exist here; more register at each look."""

    def set_up(api: EC2Api, *, at_each_look: int) -> FakeMaster:
        made = FakeMaster(api)
        hosts = [machine.private_address for machine in api.live_instances(role="worker")]
        made.boots = lambda machine: machine.private_address in hosts[: made.looks * at_each_look]
        monkeypatch.setattr(readiness, "read_state", made)
        return made

    return set_up


def test_what_the_triggerer_stores_is_plain_and_makes_the_same_trigger_again():
    path, arguments = trigger().serialize()
    module, _, name = path.rpartition(".")

    assert (module, name) == (EC2ClusterReadyTrigger.__module__, EC2ClusterReadyTrigger.__qualname__)
    again = EC2ClusterReadyTrigger(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)


def test_fires_when_all_workers_have_registered(api, master):
    launch(api, workers=3)
    spark = master(api, at_each_look=1)

    assert event_of(trigger()) == {
        "reason": "",
        "cluster_name": IDENTITY.cluster_name,
        "spec": SPEC,
    }
    assert spark.looks == 3


def test_at_the_deadline_enough_machines_will_do(api, master):
    launch(api, workers=3)
    master(api, at_each_look=0)
    late = event_of(trigger(deadline=time.time() - 1))
    assert "not ready in time: 3 of 3 workers launched, 3 running, 0 alive" in late["reason"]

    master(api, at_each_look=2)
    enough = trigger(deadline=time.time() - 1, spec={**SPEC, "smallest_acceptable": 2})
    assert event_of(enough)["reason"] == ""


def test_a_terminated_cluster_is_a_failure_and_no_wait(api, master):
    launch(api, workers=3)
    spark = master(api, at_each_look=0)
    ended = [m.instance_id for m in api.live_instances()]
    api.client("ec2").terminate_instances(InstanceIds=ended)

    event = event_of(trigger(deadline=time.time() + 3600))
    assert "master's machine" in event["reason"]
    assert spark.looks == 0


def test_what_another_try_cannot_mend_ends_the_wait(api, monkeypatch):
    event = event_of(trigger(aws_conn_id="no_such", deadline=time.time() + 3600))
    assert "no Airflow connection 'no_such'" in event["reason"]


def test_a_busy_api_is_asked_again(api, master, monkeypatch):
    launch(api, workers=3)
    master(api, at_each_look=3)
    real, calls = readiness.look, []

    def unlucky(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise ClusterLostError("AWS is busy.")
        return real(*args, **kwargs)

    monkeypatch.setattr(readiness, "look", unlucky)
    assert event_of(trigger())["reason"] == ""
    assert len(calls) == 3


def test_a_look_that_hangs_does_not_pass_the_deadline(api, monkeypatch):
    release = threading.Event()
    monkeypatch.setattr(ec2_cluster, "LAST_LOOK_SECONDS", 0.1)
    monkeypatch.setattr(readiness, "look", lambda *args, **kwargs: release.wait(60))

    async def first() -> Any:
        try:
            return await anext(aiter(trigger(deadline=time.time() + 0.2).run()))
        finally:
            release.set()

    event = asyncio.run(first()).payload
    assert "AWS does not answer" in event["reason"]


def test_looking_leaves_the_event_loop_free(api, monkeypatch):
    """A trigger that blocks would stop all the others of its triggerer."""
    looked, ticked = threading.Event(), threading.Event()

    def look(*args: Any, **kwargs: Any) -> Any:
        looked.set()
        assert ticked.wait(20), "the event loop stands still while AWS is asked"
        raise ClusterLostError("enough")

    monkeypatch.setattr(readiness, "look", look)

    async def beside() -> Any:
        waiting = asyncio.ensure_future(anext(aiter(trigger(deadline=time.time() - 1).run())))
        while not looked.is_set():
            await asyncio.sleep(0.01)
        ticked.set()
        return await waiting

    assert "enough" in asyncio.run(beside()).payload["reason"]


def test_a_user_who_ends_the_task_ends_the_machines_of_this_attempt_only(api):
    launch(api, workers=2)
    launch(api, workers=1, identity=replace(IDENTITY, try_number=2))

    asyncio.run(trigger().on_kill())

    assert {m.tags["ernest:try"] for m in api.live_instances()} == {"2"}
    assert len(api.live_instances()) == 2


def test_a_restart_of_the_triggerer_ends_nothing(api):
    launch(api, workers=2)
    asyncio.run(trigger().cleanup())
    assert len(api.live_instances()) == 3


def test_whoever_ends_it_in_the_middle_of_a_look_is_recognised(monkeypatch):
    # Airflow cancels a trigger with a message if a user has ended the task, and calls its on_kill then.
    looking, go_on = threading.Event(), threading.Event()

    def look(*_arguments: Any, **_options: Any) -> None:
        looking.set()
        go_on.wait(20)

    monkeypatch.setattr(EC2ClusterReadyTrigger, "_look", look)

    async def cancelled_with() -> tuple[Any, ...]:
        waiting = asyncio.ensure_future(anext(aiter(trigger().run())))
        while not looking.is_set():
            await asyncio.sleep(0.01)
        waiting.cancel("ended by a user")
        try:
            await waiting
        except asyncio.CancelledError as error:
            return error.args
        finally:
            go_on.set()
        return ()

    assert asyncio.run(cancelled_with()) == ("ended by a user",)
