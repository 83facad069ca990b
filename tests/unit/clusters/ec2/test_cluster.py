import base64
import itertools
import logging
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    InvalidParameterError,
)


class Prices:
    def per_hour(self, instance_type, market, zone=None):
        return {"on-demand": 0.1, "spot": 0.04}[market]

    def listed_per_hour(self, instance_type, market, zone=None):
        return 0.2


def user_data(bed, instance_id):
    answer = bed.client().describe_instance_attribute(InstanceId=instance_id, Attribute="userData")
    return base64.b64decode(answer["UserData"]["Value"]).decode()


def test_a_fresh_start_gives_the_wanted_machines_and_a_full_handle(bed, caplog):
    caplog.set_level(logging.DEBUG, logger="airflow_provider_ernest")
    caplog.set_level(logging.INFO, logger="task")
    cluster = bed.cluster(bed.spec(network_encryption=True), prices=Prices(), aws_conn_id="aws_default")
    before = datetime.now(UTC)
    handle = cluster.start()

    (master,) = bed.live("master")
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")
    assert len(handle.machines) == 3
    assert handle.master is not None
    assert handle.master.instance_id == master.instance_id
    assert handle.master.price_per_hour == 0.2
    assert handle.master_url == f"spark://{master.private_address}:7077"
    assert handle.web_url == f"http://{master.private_address}:8080"
    assert handle.price_per_hour == pytest.approx(0.1)
    assert (handle.kind, handle.instance_type, handle.cores_per_machine) == ("ec2", "m5.large", 2)
    assert (handle.region, handle.aws_conn_id, handle.authenticates) == ("us-east-1", "aws_default", True)
    assert handle.encrypts
    life = datetime.fromisoformat(handle.expires_at) - before
    assert abs(life - timedelta(seconds=7200)) < timedelta(seconds=60)
    assert len(handle.culled) == 1, "one additional machine was launched and ended again"
    assert all(machine.bandwidth.score == 1.0 for machine in handle.machines)
    assert ClusterHandle.from_dict(handle.to_dict()) == handle

    names = {machine.tags["Name"] for machine in bed.live()}
    assert names == {f"{handle.name} master", f"{handle.name} worker"}, "as EC2's console shows them"

    secret = cluster_secret(bed.client(), handle.name)
    assert secret in user_data(bed, master.instance_id)
    assert all(secret in user_data(bed, m.instance_id) for m in handle.machines)
    assert master.private_address in user_data(bed, handle.machines[0].instance_id)
    assert secret not in str(handle.to_dict())
    assert secret not in caplog.text


def test_a_probe_that_fails_costs_the_scores_and_not_the_cluster(bed, caplog):
    def probe(handle):
        raise ClusterError("no room for the probe")

    handle = bed.cluster(probe=probe).start()
    assert len(handle.machines) == len(bed.live("worker")) == 3
    assert all(machine.bandwidth is None for machine in handle.machines)
    assert "THE BANDWIDTH PROBE FAILED" in caplog.text
    assert "no room for the probe" in caplog.text


def test_too_few_machines_after_the_probe_end_the_cluster(bed):
    def probe(handle):
        for machine in handle.machines[:2]:
            bed.api.set_state(machine.instance_id, "terminated")
        return bed.probe(handle)

    with bed.leaves_nothing(ClusterLostError, match=r"2 workers .* are left, and at least 3"):
        bed.cluster(probe=probe).start()


def test_a_lost_master_during_the_probe_ends_the_cluster(bed, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.cluster._MASTER_SECONDS", 0.2)

    def probe(handle):
        bed.api.set_state(handle.master.instance_id, "terminated")
        raise ClusterError("the master is gone")

    with bed.leaves_nothing(ClusterLostError, match=r"master"):
        bed.cluster(probe=probe).start()


def test_a_second_try_takes_over_what_the_first_has_launched(bed):
    bed.launched()
    first = bed.live_ids()
    secret = cluster_secret(bed.client(), bed.cluster().name)
    handle = bed.cluster(try_number=2).start()
    assert bed.live_ids() <= first
    assert len(handle.machines) == 3
    assert {machine.tags["ernest:try"] for machine in bed.live()} == {"2"}
    assert cluster_secret(bed.client(), handle.name) == secret


def test_a_crash_between_master_and_workers_leaves_one_cluster_after_the_second_try(bed):
    class Crash(BaseException):
        pass

    class Crashing:
        """Dies like a killed process before the second launch: nothing of it can clean up."""

        def __init__(self, inner):
            self._inner = inner
            self._launches = itertools.count()

        def __getattr__(self, name):
            if name == "run_instances" and next(self._launches) == 1:
                raise Crash
            return getattr(self._inner, name)

    crashing = Crashing(bed.client())
    cluster = bed.cluster(client=lambda service: crashing)
    cluster._guard._end_all = lambda error: None
    with pytest.raises(Crash):
        cluster.start()
    (master,) = bed.live()

    handle = bed.cluster(try_number=2).start()
    assert handle.master.instance_id == master.instance_id
    assert len(bed.live("master")) == 1
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")


@pytest.mark.parametrize("how", ["fails at once", "is killed"])
def test_a_second_try_that_comes_to_nothing_ends_what_the_first_has_left(bed, how):
    """Nobody else may come: where a setup fails, its teardown does not run."""
    bed.launched()
    if how == "is killed":
        bed.cluster(try_number=2).abandon()
    else:
        with pytest.raises(InvalidParameterError):
            bed.cluster(bed.spec(instance_type="m9.huge"), try_number=2).start()
    assert not bed.live()


def leave_little_life(bed):
    soon = (datetime.now(UTC) + timedelta(minutes=30)).isoformat()
    tag = {"Key": "ernest:expires-at", "Value": soon}
    bed.client().create_tags(Resources=sorted(bed.live_ids()), Tags=[tag])


def end_the_master(bed):
    bed.api.set_state(bed.live("master")[0].instance_id, "terminated")


@pytest.mark.parametrize(
    ("happens", "machines"),
    [(lambda _: None, 2), (leave_little_life, 3), (end_the_master, 3)],
    ids=["another specification", "little life left", "no master"],
)
def test_what_cannot_be_taken_over_is_ended_and_started_anew(bed, happens, machines):
    bed.launched()
    first = bed.live_ids()
    happens(bed)
    bed.cluster(bed.spec(machines=machines), try_number=2).start()
    assert not bed.live_ids() & first
    assert len(bed.live()) == machines + 1


def test_a_late_kill_of_the_first_try_spares_the_machines_of_the_second(bed):
    first = bed.launched()
    handle = bed.cluster(try_number=2).start()
    first.abandon()
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")
    assert len(bed.live("master")) == 1


def test_what_no_attempt_remembers_is_ended_as_surplus(bed):
    cluster = bed.launched()
    stray = bed.live("worker")[0]
    ec2 = bed.client()
    copy = ec2.run_instances(
        ImageId=bed.api.image_id,
        InstanceType="m5.large",
        MinCount=1,
        MaxCount=1,
        TagSpecifications=[
            {
                "ResourceType": "instance",
                "Tags": [{"Key": k, "Value": v} for k, v in {**stray.tags, "ernest:try": "0"}.items()],
            }
        ],
    )["Instances"][0]["InstanceId"]
    bed.master.boots = lambda machine: machine.instance_id != copy
    handle = cluster.assemble()
    assert copy not in bed.live_ids()
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")


def test_the_number_of_calls_does_not_grow_with_that_of_the_machines(bed):
    def calls(machines):
        bed.api.reset()
        handle = bed.cluster(bed.spec(machines=machines, probe_rounds=0)).start()
        assert (bed.probed, handle.culled, len(bed.api.instances())) == ([], (), machines + 1)
        return [call.action for call in bed.api.calls()]

    assert sorted(calls(2)) == sorted(calls(40))


def test_nothing_is_launched_twice_where_the_task_is_repeated_within_its_try(bed):
    bed.cluster().start()
    live = bed.live_ids()
    bed.cluster().start()
    assert len(bed.live("master")) == 1
    assert len(bed.live("worker")) == 3
    assert len(live & bed.live_ids()) >= 3


def test_a_failed_start_names_what_it_could_not_end(bed, caplog, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.ending.PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(
        "airflow_provider_ernest.clusters.ec2.ending._end_batch",
        lambda *_: (_ for _ in ()).throw(ClusterError("AWS is busy")),
    )

    def probe(handle):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bed.cluster(probe=probe).start()
    assert "MACHINES MAY BE LEFT RUNNING" in caplog.text
    assert all(instance_id in caplog.text for instance_id in bed.live_ids())
