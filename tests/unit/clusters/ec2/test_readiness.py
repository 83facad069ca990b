from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_ernest.clusters.ec2.instances import Instance
from airflow_provider_ernest.clusters.ec2.readiness import judge, look
from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.spark.master import MasterState, RegisteredWorker


def instance(number, role="worker", state="running", attempt="1", **changes):
    made = Instance(
        id=f"i-{number}",
        state=state,
        role=role,
        private_address=f"10.0.0.{number}",
        instance_type="m5.large",
        market="on-demand",
        zone="us-east-1a",
        launched_at=datetime(2026, 1, 1, tzinfo=UTC),
        told_at=datetime(2026, 1, 1, 1, tzinfo=UTC),
        tags={"ernest:try": attempt},
    )
    return replace(made, **changes)


MASTER = instance(0, "master")


def registered(*numbers, alive=True):
    workers = [
        RegisteredWorker(id=f"w{n}", host=f"10.0.0.{n}", port=1, cores=1, memory_megabytes=1, alive=alive)
        for n in numbers
    ]
    return MasterState(master_url="spark://10.0.0.0:7077", workers=tuple(workers), applications=())


def test_all_alive_is_ready():
    readiness = judge([MASTER, instance(1), instance(2)], registered(1, 2), wanted=2, smallest=2)
    assert readiness.ready
    assert readiness.waited_for == ()
    assert readiness.message == "2 of 2 workers launched, 2 running, 2 alive"


def test_an_additional_machine_is_waited_for():
    readiness = judge([MASTER, instance(1), instance(2)], registered(1), wanted=2, smallest=1)
    assert not readiness.ready
    assert readiness.waited_for == ("i-2",)


def test_fewer_launched_than_wanted_are_ready_if_they_are_enough():
    assert judge([MASTER, instance(1)], registered(1), wanted=2, smallest=1).ready


def test_a_dead_or_unknown_worker_is_not_alive():
    assert judge([MASTER, instance(1)], registered(1, alive=False), wanted=1, smallest=1).alive == 0
    assert judge([MASTER, instance(1)], registered(7), wanted=1, smallest=1).alive == 0


def test_a_machine_that_is_pending_is_launched_and_neither_running_nor_alive():
    readiness = judge([MASTER, instance(1, state="pending")], registered(1), wanted=1, smallest=1)
    assert (readiness.launched, readiness.running, readiness.alive) == (1, 0, 0)
    assert not readiness.ready


def test_a_silent_master_is_waited_for_and_told():
    readiness = judge([MASTER, instance(1)], None, wanted=1, smallest=1, master_problem="refused")
    assert not readiness.ready
    assert readiness.failed is None
    assert readiness.waited_for[0] == "i-0"
    assert "refused" in readiness.message


def test_an_ended_master_is_a_failure():
    ended = replace(MASTER, state="terminated", ended_because="Server.InternalError")
    readiness = judge([ended, instance(1)], None, wanted=1, smallest=1)
    assert "Server.InternalError" in readiness.failed


def test_the_ended_master_of_an_earlier_attempt_is_none():
    old = instance(9, "master", "terminated", attempt="1")
    master = instance(0, "master", attempt="2")
    readiness = judge([old, master, instance(1, attempt="2")], registered(1), wanted=1, smallest=1)
    assert readiness.ready
    assert readiness.ended == ()


def test_machines_that_ended_by_themselves_are_told():
    ended = instance(2, state="shutting-down", ended_because="Server.SpotInstanceTermination")
    readiness = judge([MASTER, instance(1), ended], registered(1), wanted=2, smallest=1)
    assert readiness.ready
    assert "i-2 (Server.SpotInstanceTermination)" in readiness.message


def test_where_all_have_ended_those_of_the_last_attempt_are_told():
    earlier = datetime(2025, 12, 31, tzinfo=UTC)
    gone = [instance(0, "master", "terminated", "2"), instance(1, state="terminated", attempt="2")]
    old = instance(7, state="terminated", launched_at=earlier)
    readiness = judge([old, *gone], None, wanted=1, smallest=1)
    assert [entry.split()[0] for entry in readiness.ended] == ["i-0", "i-1"]


def test_workers_that_were_given_up_did_not_end_by_themselves():
    later = datetime(2026, 1, 2, tzinfo=UTC)
    given_up = instance(2, state="terminated", attempt="given up", launched_at=later)
    failed = instance(1, state="terminated")
    readiness = judge([MASTER, failed, given_up], registered(), wanted=2, smallest=1)
    assert [entry.split()[0] for entry in readiness.ended] == ["i-1"]
    gone = replace(MASTER, state="terminated")
    assert len(judge([gone, failed, given_up], None, wanted=2, smallest=1).ended) == 2


def test_fewer_than_the_smallest_number_is_a_failure_once_some_have_ended():
    ended = instance(2, state="terminated", ended_because="gave up")
    readiness = judge([MASTER, instance(1), ended], registered(1), wanted=2, smallest=2)
    assert "i-2 (gave up)" in readiness.failed
    assert judge([MASTER, instance(1)], registered(1), wanted=2, smallest=2).failed is None, "not shown yet"


def test_nothing_shown_yet_is_no_failure():
    readiness = judge([], None, wanted=2, smallest=2)
    assert (readiness.ready, readiness.failed) == (False, None)


def test_a_trigger_can_look_without_the_cluster(bed):
    cluster = bed.cluster()
    cluster.launch()
    bed.api.forget_calls()
    readiness = look(bed.client(), cluster.name, bed.spec(), read_master=bed.master)
    assert readiness == cluster.look()
    assert readiness.ready
    assert [call.action for call in bed.api.calls()] == ["DescribeInstances"] * 2


def test_an_ended_cluster_is_a_failure_and_no_wait(bed):
    cluster = bed.cluster()
    cluster.launch()
    cluster.terminate()
    assert "master" in cluster.look().failed


def test_an_error_of_aws_is_one_of_ours(bed):
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503)
    with pytest.raises(ClusterError, match=r"RequestLimitExceeded"):
        bed.cluster().look()
