from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_ernest.clusters.ec2.identity import tag_value
from airflow_provider_ernest.clusters.ec2.instances import Attempt
from tests.unit.clusters.ec2.conftest import instance
from tests.unit.ec2_machines import IDENTITY


def machine(attempt, **tags):
    """A machine as the attempt would launch it."""
    expires_at = datetime(2026, 1, 1, tzinfo=UTC)
    return instance(1, tags=attempt.tags(role="worker", expires_at=expires_at, specification="abc") | tags)


def start(try_number):
    return Attempt.of_start(replace(IDENTITY, try_number=try_number))


def resize(try_number, task_id="resize"):
    identity = replace(IDENTITY, try_number=try_number, task_id=task_id)
    return Attempt.of_resize(identity, IDENTITY.cluster_name)


@pytest.mark.parametrize("make", [start, resize])
def test_an_attempt_owns_its_own_and_earlier_machines_but_no_later_ones(make):
    assert make(10).owns(machine(make(10)))
    assert make(10).owns(machine(make(9)))
    assert not make(9).owns(machine(make(10)))
    assert make(9).made(machine(make(9)))
    assert not make(10).made(machine(make(9)))


def test_tasks_that_launch_into_one_cluster_own_their_own_machines():
    assert machine(resize(1)).cluster_name == machine(start(1)).cluster_name
    assert not start(2).owns(machine(resize(1)))
    assert not resize(2).owns(machine(start(1)))
    assert not resize(2).owns(machine(resize(1, task_id="another")))


def test_what_tags_cannot_hold_is_replaced_and_cut():
    assert tag_value("été: {run}; a=b" + "x" * 300) == "été: _run__ a=b" + "x" * 241


def test_a_tag_that_somebody_changed_belongs_to_nobody():
    assert not start(2).owns(machine(start(1), **{"ernest:try": "mine"}))
