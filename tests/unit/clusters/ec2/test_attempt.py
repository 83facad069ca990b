from datetime import UTC, datetime

import pytest

from airflow_provider_ernest.clusters.ec2.identity import Attempt, ClusterIdentity, specification_digest
from airflow_provider_ernest.clusters.ec2.instances import Instance

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def identity(try_number, task_id="create_cluster"):
    return ClusterIdentity(
        deployment="ours", dag_id="sizing", run_id="manual", task_id=task_id, try_number=try_number
    )


def machine(attempt):
    """A machine as the attempt would launch it."""
    return Instance(
        id="i-1",
        state="running",
        role="worker",
        private_address="10.0.0.1",
        instance_type="m5.large",
        market="spot",
        zone="us-east-1a",
        launched_at=NOW,
        told_at=NOW,
        tags=attempt.tags(role="worker", expires_at=NOW, specification="abc"),
    )


def start(try_number):
    return Attempt.of_start(identity(try_number))


def resize(try_number, task_id="resize"):
    return Attempt.of_resize(identity(try_number, task_id), identity(1).cluster_name)


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


def test_a_tag_that_somebody_changed_belongs_to_nobody():
    changed = machine(start(1))
    object.__setattr__(changed, "tags", {**changed.tags, "ernest:try": "mine"})
    assert not start(2).owns(changed)


def test_the_digest_tells_specifications_apart(bed):
    assert specification_digest(bed.spec()) == specification_digest(bed.spec())
    assert specification_digest(bed.spec()) != specification_digest(bed.spec(spot=True))
