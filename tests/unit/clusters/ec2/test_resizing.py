from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.base import terminate
from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    InvalidParameterError,
)
from tests.unit.clusters.ec2.conftest import bandwidth, run_in_thread, wait_for


@pytest.fixture
def handle(bed):
    return bed.cluster().start()


def ids(handle):
    return {machine.instance_id for machine in handle.machines}


def test_growing_adds_machines_to_the_same_cluster(bed, handle):
    secret = cluster_secret(bed.client(), handle.name)
    grown = bed.resize(handle, 6).run()
    assert len(grown.machines) == 6
    assert ids(grown) == bed.live_ids("worker")
    assert (grown.name, grown.master_url) == (handle.name, handle.master_url)
    assert grown.master.instance_id == handle.master.instance_id
    assert {machine.instance_type for machine in bed.live()} == {"m5.large"}
    assert grown.expires_at == handle.expires_at, "the earliest counts"
    assert all(machine.bandwidth for machine in grown.machines)
    assert len(grown.culled) == 2, "one of each launch"
    assert cluster_secret(bed.client(), handle.name) == secret
    terminate(grown, clusters=Path(), client=bed.client)
    assert not bed.live()


def test_growing_keeps_the_type_that_the_cluster_has(bed):
    bed.api.set_capacity("m5.large", 0)
    spec = bed.spec(fallback_instance_types=("m5.xlarge",))
    handle = bed.cluster(spec).start()
    bed.api.set_capacity("m5.large", None)
    grown = bed.resize(handle, 4, spec=spec).run()
    assert grown.instance_type == "m5.xlarge"
    assert {machine.instance_type for machine in bed.live("worker")} == {"m5.xlarge"}


def test_shrinking_ends_the_slowest_by_their_stored_scores(bed, handle):
    slow = handle.machines[1]
    machines = tuple(
        replace(machine, bandwidth=bandwidth(0.9 if machine is slow else 1.0)) for machine in handle.machines
    )
    bed.probed.clear()
    smaller = bed.resize(replace(handle, machines=machines), 2).run()
    assert not bed.probed
    assert ids(smaller) == ids(handle) - {slow.instance_id} == bed.live_ids("worker")
    assert smaller.culled[-1].machine.instance_id == slow.instance_id


def test_the_same_size_changes_nothing(bed, handle):
    bed.api.forget_calls()
    assert ids(bed.resize(handle, 3).run()) == ids(handle)
    assert not bed.api.calls("RunInstances")


def test_a_lost_machine_is_replaced(bed, handle):
    bed.api.set_state(handle.machines[0].instance_id, "terminated")
    again = bed.resize(handle, 3).run()
    assert ids(again) == bed.live_ids("worker")
    assert len(again.machines) == 3


def test_a_size_must_be_positive(bed, handle):
    with pytest.raises(InvalidParameterError, match=r"size=0"):
        bed.resize(handle, 0).run()


def test_only_a_cluster_on_ec2_can_be_resized(bed, handle):
    with pytest.raises(ClusterError, match=r"of kind 'emr' is not on EC2"):
        bed.resize(replace(handle, kind="emr"), 2)


def test_growing_that_fails_at_boot_leaves_the_old_machines(bed, handle):
    bed.master.boots = lambda machine: machine.instance_id in ids(handle)
    with pytest.raises(ClusterStartError, match=r"was not ready in time"):
        bed.resize(handle, 5, spec=bed.spec(start_timeout_seconds=1)).run()
    assert bed.live_ids("worker") == ids(handle)


def test_a_kill_while_growing_leaves_the_old_machines(bed, handle):
    bed.master.boots = lambda machine: machine.instance_id in ids(handle)
    growing = bed.resize(handle, 5)
    thread, raised = run_in_thread(growing.run)
    wait_for(lambda: len(bed.live("worker")) == 6)
    growing.abandon()
    thread.join(30)
    assert "abandoned" in str(raised[0])
    assert bed.live_ids("worker") == ids(handle)


def test_a_second_try_counts_what_the_first_has_launched(bed, handle):
    first = bed.resize(handle, 5)
    first._guard._end_all = lambda error: None  # as if its process had been killed
    bed.master.deaf = True
    first.spec = replace(first.spec, start_timeout_seconds=1)
    with pytest.raises(ClusterStartError):
        first.run()
    left = bed.live_ids("worker")
    assert len(left) == 6
    bed.master.deaf = False
    second = bed.resize(handle, 5, try_number=2).run()
    assert len(second.machines) == 5
    assert ids(second) == bed.live_ids("worker")
    assert ids(second) <= left


def test_a_kill_of_the_start_spares_what_the_resize_has_launched(bed):
    cluster = bed.cluster()
    handle = cluster.start()
    grown = bed.resize(handle, 5).run()
    cluster.abandon()
    assert bed.live_ids("worker") == ids(grown) - ids(handle)


def test_a_cluster_that_has_ended_cannot_be_resized(bed, handle):
    terminate(handle, clusters=Path(), client=bed.client)
    with bed.leaves_nothing(ClusterLostError, match=r"no master"):
        bed.resize(handle, 5).run()
