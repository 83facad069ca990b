from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine, Machine
from airflow_provider_ernest.spark.bandwidth import Bandwidth
from benchmarks.demo_ec2.machines import launched_machines, machine_lines

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def instance(number, *, role="worker", launched=0, ended=None):
    """As DescribeInstances tells of it."""
    state = {"Name": "running" if ended is None else "terminated"}
    stamp = "" if ended is None else (START + timedelta(seconds=ended)).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {
        "InstanceId": f"i-{number}",
        "LaunchTime": START + timedelta(seconds=launched),
        "State": state,
        "StateTransitionReason": f"User initiated ({stamp})" if stamp else "",
        "Tags": [{"Key": "ernest:role", "Value": role}],
    }


def machine(number, score=1.0):
    return Machine(
        worker_id=f"worker-{number}",
        host=f"10.0.0.{number}",
        cores=1,
        memory_megabytes=512,
        instance_id=f"i-{number}",
        price_per_hour=0.096,
        bandwidth=Bandwidth(
            memory_gigabytes_per_second=10.0, network_gigabytes_per_second=0.05 * score, score=score
        ),
    )


def handle(*, kept, culled=()):
    return ClusterHandle(
        kind="ec2",
        name="ernest-1",
        master_url="spark://10.0.0.1:7077",
        machines=tuple(machine(number) for number in kept),
        master=Machine(
            worker_id="",
            host="10.0.0.1",
            cores=0,
            memory_megabytes=0,
            instance_id="i-1",
            price_per_hour=0.05,
        ),
        culled=tuple(
            CulledMachine(machine=machine(number, 0.3), reason="network 0.30 of the median")
            for number in culled
        ),
    )


@pytest.fixture
def instances():
    """A master and three workers, of which the third ended after a minute."""
    return [instance(1, role="master"), instance(2), instance(3), instance(4, launched=5, ended=65)]


def text(instances, handles, slow):
    machines = launched_machines(instances, handles, slow=slow)
    return " ".join(machine_lines(machines, now=START + timedelta(seconds=100)))


def test_each_machine_has_its_line_with_price_score_and_fate(instances):
    machines = launched_machines(instances, [handle(kept=[2, 3], culled=[4])], slow={})

    lines = machine_lines(machines, now=START + timedelta(seconds=100))

    master, second, _, fourth = lines[1:5]
    assert master.split()[:3] == ["1", "i-1", "master"]
    assert "0.0500" in master
    assert not master.endswith("kept")
    assert second.split()[-2:] == ["1.00", "kept"]
    assert fourth.split()[3:7] == ["5", "s", "60", "s"]
    assert fourth.split()[-2:] == ["0.30", "culled"]


def test_the_slow_machine_was_culled(instances):
    shown = text(instances, [handle(kept=[2, 3], culled=[4])], {4: "100 Mbit/s"})

    assert "#4 i-4 was culled: network 0.30 of the median." in shown
    assert "#4 (100 Mbit/s); exactly those were culled" in shown


def test_the_wrong_machine_was_culled(instances):
    shown = text(instances, [handle(kept=[2, 3], culled=[4])], {3: "100 Mbit/s"})

    assert "NOT culled: #3; culled without having been made slow: #4" in shown


def test_a_slow_machine_that_was_never_launched_is_not_missed(instances):
    shown = text(instances, [handle(kept=[2, 3], culled=[4])], {4: "100 Mbit/s", 9: "half a core"})

    assert "exactly those were culled" in shown
    assert "#9" not in shown


def test_a_cluster_that_never_formed_has_machines_all_the_same(instances):
    shown = text(instances, [], {4: "100 Mbit/s"})

    assert "i-3" in shown
    assert "NOT culled: #4" in shown


def test_what_the_resize_culled_counts_too(instances):
    """The first handle has scores of machines that the second knows nothing of."""
    resized = handle(kept=[2], culled=[4])
    machines = launched_machines(instances, [handle(kept=[2, 3, 4]), resized], slow={})

    assert [one.number for one in machines if one.culled_because] == [4]
    assert machines[2].bandwidth is not None
