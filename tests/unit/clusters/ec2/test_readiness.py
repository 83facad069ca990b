import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.clusters.ec2.readiness import CONSOLE_LINES, judge
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError
from tests.unit.clusters.ec2.conftest import instance
from tests.unit.spark_masters import master_state

MASTER = instance(0, "master")


def registered(*numbers, alive=True):
    hosts = [f"10.0.0.{number}" for number in numbers]
    return master_state(hosts, lost=() if alive else hosts)


@pytest.mark.parametrize(
    ("machines", "alive", "wanted", "smallest", "counts", "ready"),
    [
        ([instance(1), instance(2)], registered(1, 2), 2, 2, (2, 2, 2), True),
        ([instance(1), instance(2)], registered(1), 2, 1, (2, 2, 1), False),
        ([instance(1)], registered(1), 2, 1, (1, 1, 1), True),
        ([instance(1)], registered(1, alive=False), 1, 1, (1, 1, 0), False),
        ([instance(1)], registered(7), 1, 1, (1, 1, 0), False),
        ([instance(1, state="pending")], registered(1), 1, 1, (1, 0, 0), False),
    ],
    ids=["all", "one is to come", "as many as needed", "dead", "unknown", "pending"],
)
def test_workers_are_counted_and_those_to_come_waited_for(machines, alive, wanted, smallest, counts, ready):
    readiness = judge([MASTER, *machines], alive, wanted=wanted, smallest=smallest)
    assert readiness.ready == ready
    assert len(readiness.waited_for) == len(machines) - counts[2]
    assert readiness.message == "{} of {} workers launched, {} running, {} alive".format(
        counts[0], wanted, *counts[1:]
    )


ENDED = {"state": "terminated"}
EARLIER, LATER = datetime(2025, 12, 31, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
BY_SPOT = instance(2, state="shutting-down", ended_because="Server.SpotInstanceTermination")
GIVEN_UP = instance(2, attempt="given up", launched_at=LATER, **ENDED)


@pytest.mark.parametrize(
    ("machines", "alive", "ready", "ended", "told"),
    [
        ([MASTER, instance(1)], None, False, [], "refused"),
        (
            [
                instance(9, "master", "terminated"),
                instance(0, "master", attempt="2"),
                instance(1, attempt="2"),
            ],
            registered(1),
            True,
            [],
            "",
        ),
        (
            [MASTER, instance(1), BY_SPOT],
            registered(1),
            True,
            ["i-2"],
            "i-2 (Server.SpotInstanceTermination)",
        ),
        (
            [
                instance(7, launched_at=EARLIER, **ENDED),
                instance(0, "master", attempt="2", **ENDED),
                instance(1, attempt="2", **ENDED),
            ],
            None,
            False,
            ["i-0", "i-1"],
            "",
        ),
        ([MASTER, instance(1, **ENDED), GIVEN_UP], registered(), False, ["i-1"], ""),
        ([replace(MASTER, **ENDED), instance(1, **ENDED), GIVEN_UP], None, False, ["i-0", "i-1"], ""),
        ([], None, False, [], ""),
    ],
    ids=[
        "a silent master is waited for",
        "the ended master of an earlier attempt is none",
        "what ended by itself is told",
        "where all have ended those of the last attempt are told",
        "workers that were given up did not end by themselves",
        "nor do they hide what did",
        "nothing shown yet",
    ],
)
def test_what_ended_by_itself_is_told_apart(machines, alive, ready, ended, told):
    readiness = judge(machines, alive, wanted=2, smallest=1, master_problem="refused")
    assert readiness.ready is ready
    assert [entry.split()[0] for entry in readiness.ended] == ended
    assert told in readiness.message
    if not ended:
        assert readiness.failed is None


def test_fewer_than_the_smallest_number_is_a_failure_once_some_have_ended():
    ended = instance(2, state="terminated", ended_because="gave up")
    readiness = judge([MASTER, instance(1), ended], registered(1), wanted=2, smallest=2)
    assert "i-2 (gave up)" in readiness.failed
    assert judge([MASTER, instance(1)], registered(1), wanted=2, smallest=2).failed is None, "not shown yet"


def test_a_trigger_can_look_without_the_cluster(bed):
    cluster = bed.launched()
    bed.api.forget_calls()
    assert bed.look(cluster.name).ready
    assert [call.action for call in bed.api.calls()] == ["DescribeInstances"]


def first_fails(bed):
    """The first machine that is asked for does not boot; its id will be in the list."""
    bad = []

    def boots(machine):
        bad[:] = bad or [machine.instance_id]
        return machine.instance_id != bad[0]

    bed.master.boots = boots
    return bad


def test_the_console_of_a_machine_that_did_not_boot_is_shown(bed, caplog):
    bad = first_fails(bed)
    cluster = bed.launched(bed.spec(over_allocation=0))
    bed.look(cluster.name)
    secret = cluster_secret(bed.client(), cluster.name)
    console = "".join(f"line {n}\n" for n in range(200)) + f"secret={secret}\nernest: no Java here\n"
    bed.api.set_console(bad[0], console)
    with bed.leaves_nothing(ClusterStartError, match=r"was not ready in time: 3 of 3 .* 2 alive") as caught:
        cluster.wait_until_ready(time.monotonic())
    assert f"{bad[0]} said last" in str(caught.value)
    assert "no Java here" in str(caught.value)
    assert f"line {200 - CONSOLE_LINES + 2}\n" in caplog.text
    assert "line 1\n" not in caplog.text
    assert secret not in caplog.text
    assert secret not in str(caught.value)


def test_enough_machines_go_on_without_the_others_when_the_time_is_up(bed, caplog):
    bad = first_fails(bed)
    handle = bed.cluster(bed.spec(start_timeout_seconds=1)).start()
    assert len(handle.machines) == 3
    assert bad[0] not in bed.live_ids()
    assert "going on with 3 workers, and ending 1 that did not come" in caplog.text


@pytest.mark.parametrize("poll_seconds", [0.05, 6000])
def test_machines_that_come_later_are_noticed_at_the_next_look(bed, monkeypatch, poll_seconds):
    cluster = bed.launched(poll_seconds=poll_seconds)
    slept = []
    bed.master.boots = lambda machine: slept
    monkeypatch.setattr(ending.AttemptGuard, "sleep", lambda _guard, seconds: slept.append(seconds))
    cluster.wait_until_ready(time.monotonic() + 600)
    (seconds,) = slept
    assert 0 < seconds <= 600, "no longer than there is time"
    assert seconds == poll_seconds or poll_seconds > 600, "as often as the means say"


def test_a_master_that_ends_fails_the_start_at_once(bed):
    cluster = bed.launched()
    master = bed.live("master")[0].instance_id
    bed.api.set_console(master, "ernest: this machine gives up\n")
    bed.api.set_state(master, "terminated", reason="Client.InstanceInitiatedShutdown")
    with bed.leaves_nothing(
        ClusterStartError, match=r"master's machine .*InstanceInitiatedShutdown"
    ) as caught:
        cluster.wait_until_ready(time.monotonic() + 60)
    assert "gives up" in str(caught.value)


def test_too_few_machines_fail_the_start_at_once(bed):
    cluster = bed.launched()
    bed.master.boots = lambda machine: False
    for machine in bed.live("worker"):
        bed.api.set_console(machine.instance_id, "ernest: so far\n")
    gone = [machine.instance_id for machine in bed.live("worker")[:2]]
    for instance_id in gone:
        bed.api.set_state(instance_id, "terminated", reason="Server.SpotInstanceTermination")
    with bed.leaves_nothing(
        ClusterStartError, match=r"2 workers are left, and at least 3 are needed.*SpotInstanceTermination"
    ) as caught:
        cluster.wait_until_ready(time.monotonic() + 60)
    assert any(f"{one} said last" in str(caught.value) for one in gone), "not one that might still come"


def test_a_master_that_cannot_be_reached_points_at_the_security_group(bed):
    bed.master.deaf = True
    cluster = bed.launched()
    with bed.leaves_nothing(ClusterStartError, match=r"does not answer") as caught:
        cluster.wait_until_ready(time.monotonic())
    assert "security groups" in caught.value.remedy
    assert "8080" in caught.value.remedy


def test_a_console_that_cannot_be_had_does_not_hide_the_failure(bed, caplog):
    bed.master.boots = lambda machine: False
    bed.api.fail("GetConsoleOutput", code="UnauthorizedOperation", status=403, times=99)
    cluster = bed.launched()
    with bed.leaves_nothing(ClusterStartError, match=r"0 alive"):
        cluster.wait_until_ready(time.monotonic())
    assert "AWS does not give its console output: UnauthorizedOperation" in caplog.text


def test_throttling_without_end_is_a_retryable_error(bed, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.cluster._BUSY_SECONDS", 0.0)
    cluster = bed.launched()
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503)
    with bed.leaves_nothing(ClusterError, match=r"RequestLimitExceeded") as caught:
        cluster.wait_until_ready(time.monotonic() + 60)
    assert caught.value.retryable


@pytest.mark.parametrize("skip", [0, 3])
@pytest.mark.parametrize("what", ["wait", "assemble"])
def test_throttling_is_endured(bed, what, skip):
    cluster = bed.launched()
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, skip=skip)
    if what == "wait":
        cluster.wait_until_ready(time.monotonic() + 60)
    else:
        cluster.assemble()
    assert not bed.api.calls("TerminateInstances") or what == "assemble", "but for the cull"
    assert len(bed.live("worker")) == (3 if what == "assemble" else 4)
