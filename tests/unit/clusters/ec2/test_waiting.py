import time

import pytest
from botocore.exceptions import CredentialRetrievalError

from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.clusters.ec2.readiness import CONSOLE_LINES
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError


def test_the_console_of_a_machine_that_did_not_boot_is_shown(bed, caplog):
    bad = []

    def boots(machine):
        bad[:] = bad or [machine.instance_id]
        return machine.instance_id != bad[0]

    bed.master.boots = boots
    cluster = bed.cluster(bed.spec(over_allocation=0))
    cluster.launch()
    cluster.look()
    secret = cluster_secret(bed.client(), cluster.name)
    console = "".join(f"line {n}\n" for n in range(200)) + f"secret={secret}\nernest: no Java here\n"
    bed.api.set_console(bad[0], console)
    with pytest.raises(ClusterStartError, match=r"was not ready in time: 3 of 3 .* 2 alive") as caught:
        cluster.wait_until_ready(time.monotonic())
    assert f"{bad[0]} said last" in str(caught.value)
    assert "no Java here" in str(caught.value)
    assert f"line {200 - CONSOLE_LINES + 2}\n" in caplog.text
    assert "line 1\n" not in caplog.text
    assert secret not in caplog.text
    assert secret not in str(caught.value)
    assert not bed.live()


def test_enough_machines_go_on_without_the_others_when_the_time_is_up(bed, caplog):
    bad = []

    def boots(machine):
        bad[:] = bad or [machine.instance_id]
        return machine.instance_id != bad[0]

    bed.master.boots = boots
    handle = bed.cluster(bed.spec(start_timeout_seconds=1)).start()
    assert len(handle.machines) == 3
    assert bad[0] not in bed.live_ids()
    assert "going on with 3 workers, and ending 1 that did not come" in caplog.text


def test_a_master_that_ends_fails_the_start_at_once(bed):
    cluster = bed.cluster()
    cluster.launch()
    master = bed.live("master")[0].instance_id
    bed.api.set_console(master, "ernest: this machine gives up\n")
    bed.api.set_state(master, "terminated", reason="Client.InstanceInitiatedShutdown")
    with pytest.raises(ClusterStartError, match=r"master's machine .*InstanceInitiatedShutdown") as caught:
        cluster.wait_until_ready()
    assert "gives up" in str(caught.value)
    assert not bed.live()


def test_too_few_machines_fail_the_start_at_once(bed):
    cluster = bed.cluster()
    cluster.launch()
    for machine in bed.live("worker")[:2]:
        bed.api.set_state(machine.instance_id, "terminated", reason="Server.SpotInstanceTermination")
    with pytest.raises(ClusterStartError, match=r"2 workers are left of the 3 .*SpotInstanceTermination"):
        cluster.wait_until_ready()
    assert not bed.live()


def test_a_master_that_cannot_be_reached_points_at_the_security_group(bed):
    bed.master.deaf = True
    cluster = bed.cluster()
    cluster.launch()
    with pytest.raises(ClusterStartError, match=r"does not answer") as caught:
        cluster.wait_until_ready(time.monotonic())
    assert "security groups" in caught.value.remedy
    assert "8080" in caught.value.remedy
    assert not bed.live()


def test_a_console_that_cannot_be_had_does_not_hide_the_failure(bed, caplog):
    bed.master.boots = lambda machine: False
    bed.api.fail("GetConsoleOutput", code="UnauthorizedOperation", status=403, times=99)
    cluster = bed.cluster()
    cluster.launch()
    with pytest.raises(ClusterStartError, match=r"0 alive"):
        cluster.wait_until_ready(time.monotonic())
    assert "AWS does not give its console output: UnauthorizedOperation" in caplog.text
    assert not bed.live()


def test_throttling_while_waiting_is_endured(bed, caplog):
    cluster = bed.cluster()
    cluster.launch()
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, times=2)
    cluster.wait_until_ready()
    assert "RequestLimitExceeded" in caplog.text
    assert len(bed.live()) == 5


def test_throttling_without_end_is_a_retryable_error(bed, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.readiness._BUSY_SECONDS", 0.0)
    cluster = bed.cluster()
    cluster.launch()
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503)
    with pytest.raises(ClusterError, match=r"RequestLimitExceeded") as caught:
        cluster.wait_until_ready()
    assert caught.value.retryable
    assert not bed.live()


@pytest.mark.parametrize("skip", range(4))
def test_throttling_while_assembling_is_endured(bed, skip):
    cluster = bed.cluster()
    cluster.launch()
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, skip=skip)
    handle = cluster.assemble()
    assert {machine.instance_id for machine in handle.machines} == bed.live_ids("worker")
    assert len(handle.machines) == 3


def test_credentials_that_fail_for_a_moment_are_endured(bed, caplog):
    class Hiccups:
        """A client that has no credentials for its first two looks."""

        left = 2

        def __getattr__(self, called):
            if called == "get_paginator" and self.left:
                self.left -= 1
                raise CredentialRetrievalError(provider="iam-role", error_msg="no answer")
            return getattr(client, called)

    client, hiccups = bed.client(), Hiccups()
    bed.cluster().launch()
    bed.cluster(client=lambda service: hiccups).wait_until_ready()
    assert "credentials failed" in caplog.text
    assert len(bed.live()) == 5
