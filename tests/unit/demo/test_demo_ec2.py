"""What the demonstration on EC2 tells of machines and of money."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine
from airflow_provider_ernest.spark.machines import Bandwidth, Machine
from benchmarks.demo_ec2.machines import LaunchedMachine, launched_machines, machine_lines, paid_before

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def after(seconds):
    return START + timedelta(seconds=seconds)


# What was paid.


def test_what_was_paid_until_a_moment_and_in_all():
    """One machine all the time, one until a minute, one from a hundred seconds on."""
    machines = [
        LaunchedMachine(
            number=number,
            instance_id=f"i-{number}",
            role="worker",
            launched_at=after(at),
            ended_at=None if until is None else after(until),
            known=replace(machine(number), price_per_hour=0.36),
        )
        for number, at, until in ((1, 0, 200), (2, 0, 60), (3, 100, None))
    ]

    assert paid_before(machines, after(120)) == (120 + 60 + 20, pytest.approx(200 * 0.36 / 3600))
    assert paid_before(machines, after(200))[0] == 200 + 60 + 100
    unknown = replace(machines[1], known=None)
    assert paid_before([*machines, unknown], after(200)) == (420, None)


# Which machines were culled.


def instance(number, *, role="worker", launched=0, ended=None):
    """As DescribeInstances tells of it."""
    stamp = "" if ended is None else after(ended).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {
        "InstanceId": f"i-{number}",
        "LaunchTime": after(launched),
        "State": {"Name": "running" if ended is None else "terminated"},
        "StateTransitionReason": f"User initiated ({stamp})" if stamp else "",
        "Tags": [{"Key": "ernest:role", "Value": role}],
    }


def machine(number, score=1.0):
    bandwidth = Bandwidth(
        memory_gigabytes_per_second=10.0, network_gigabytes_per_second=0.05 * score, score=score
    )
    return Machine(
        worker_id=f"worker-{number}",
        host=f"10.0.0.{number}",
        cores=1,
        memory_megabytes=512,
        instance_id=f"i-{number}",
        price_per_hour=0.05 if number == 1 else 0.096,
        bandwidth=bandwidth,
    )


INSTANCES = [instance(1, role="master"), instance(2), instance(3), instance(4, launched=5, ended=65)]
HANDLE = ClusterHandle(
    kind="ec2",
    name="ernest-1",
    master_url="spark://10.0.0.1:7077",
    machines=(machine(2), machine(3)),
    master=machine(1),
    culled=(CulledMachine(machine=machine(4, 0.3), reason="network 0.30 of the median"),),
)


def lines(slow):
    return machine_lines(launched_machines(INSTANCES, [HANDLE], slow=slow), now=after(100))


def test_each_machine_has_its_line_and_whether_the_slow_one_was_culled_is_told():
    master, second, _, fourth = lines({})[1:5]
    assert master.split()[:3] == ["1", "i-1", "master"]
    assert "0.0500" in master
    assert second.split()[-2:] == ["1.00", "kept"]
    assert fourth.split()[3:7] == ["5", "s", "60", "s"]
    assert fourth.split()[-2:] == ["0.30", "culled"]
    as_it_was, otherwise = (" ".join(lines({number: "100 Mbit/s"})) for number in (4, 3))
    assert "#4 i-4 was culled: network 0.30 of the median." in as_it_was
    assert "#4 (100 Mbit/s); exactly those were culled" in as_it_was
    assert "NOT culled: #3; culled without having been made slow: #4" in otherwise
