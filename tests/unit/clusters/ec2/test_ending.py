from dataclasses import replace

import pytest
from botocore.exceptions import ConnectionClosedError, CredentialRetrievalError, NoCredentialsError

from airflow_provider_ernest.clusters.base import reopen
from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.ending import end_machines, terminate_cluster
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError, MissingResourceError


@pytest.fixture
def name(bed):
    """Of a cluster that has been launched."""
    cluster = bed.cluster()
    cluster.launch()
    bed.api.forget_calls()
    return cluster.name


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(ending, "_FIRST_PAUSE_SECONDS", 0.01)


def test_all_pages_are_ended(bed, monkeypatch):
    cluster = bed.cluster(bed.spec(machines=12, probe_rounds=0))
    cluster.launch()
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.instances.PAGE_SIZE", 5)
    monkeypatch.setattr(ending, "PAGE_SIZE", 5)
    said = terminate_cluster(bed.client(), cluster.name)
    assert "ended 13 machines" in said
    assert not bed.live()
    assert len(bed.api.calls("TerminateInstances")) == 3


def test_stopped_machines_are_ended_too(bed, name):
    for machine in bed.live():
        bed.api.set_state(machine.instance_id, "stopped")
    terminate_cluster(bed.client(), name)
    assert not bed.live()


def test_other_clusters_are_left_alone(bed, name):
    bed.cluster(identity=bed.identity(task_id="other")).launch()
    terminate_cluster(bed.client(), name)
    assert len(bed.live()) == 5


def test_throttling_is_endured(bed, name):
    bed.api.fail("TerminateInstances", code="RequestLimitExceeded", status=503, times=3)
    terminate_cluster(bed.client(), name)
    assert not bed.live()
    assert len(bed.api.calls("TerminateInstances")) == 4


def test_throttling_of_the_search_is_endured(bed, name):
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, times=3)
    terminate_cluster(bed.client(), name)
    assert not bed.live()


def test_a_failed_start_ends_its_machines_even_when_aws_is_busy(bed):
    def probe(handle):
        for action in ("DescribeInstances", "TerminateInstances"):
            bed.api.fail(action, code="RequestLimitExceeded", status=503, times=3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bed.cluster(probe=probe).start()
    assert not bed.live()


def test_lost_answers_are_endured(bed, name):
    bed.api.fail("TerminateInstances", when="drop", times=2)
    terminate_cluster(bed.client(), name)
    assert not bed.live()


def test_termination_protection_is_taken_away(bed, name):
    protected = bed.live("worker")[0].instance_id
    bed.client().modify_instance_attribute(InstanceId=protected, DisableApiTermination={"Value": True})
    terminate_cluster(bed.client(), name)
    assert not bed.live()
    assert len(bed.api.calls("ModifyInstanceAttribute")) == 2, "the test's own, and one for the protected"


def test_machines_that_have_vanished_are_passed_over(bed, name):
    end_machines(bed.client(), [*bed.live_ids(), "i-0123456789abcdef0"])
    assert not bed.live()


def test_machines_that_will_not_end_are_named_with_their_expiry(bed, name, monkeypatch):
    monkeypatch.setattr(ending, "end_machines", lambda *_, **__: None)
    with pytest.raises(ClusterError, match=r"5 machines .* still live and cost money") as caught:
        terminate_cluster(bed.client(), name, patience_seconds=0.1)
    assert all(instance_id in str(caught.value) for instance_id in bed.live_ids())
    assert "ends itself at 20" in str(caught.value)


def test_a_missing_permission_is_told_at_once(bed, name):
    bed.api.fail("TerminateInstances", code="UnauthorizedOperation", status=403, times=9)
    with pytest.raises(MissingResourceError, match=r"terminate"):
        terminate_cluster(bed.client(), name)
    assert len(bed.api.calls("TerminateInstances")) == 1


def test_the_wait_is_bounded_where_aws_stays_busy(bed, name):
    bed.api.fail("TerminateInstances", code="RequestLimitExceeded", status=503, times=999)
    with pytest.raises(ClusterError, match=r"RequestLimitExceeded"):
        terminate_cluster(bed.client(), name, patience_seconds=0.3)
    bed.api.forget_faults()
    terminate_cluster(bed.client(), name)
    assert not bed.live()


@pytest.mark.parametrize("method", ["terminate_instances", "get_paginator"])
@pytest.mark.parametrize(
    "error",
    [
        NoCredentialsError(),
        CredentialRetrievalError(provider="iam-role", error_msg="no answer"),
        ConnectionClosedError(endpoint_url="http://127.0.0.1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_keeps_aws_from_answering_is_endured(bed, name, method, error):
    class Hiccups:
        """A client whose calls fail twice before AWS is asked."""

        def __init__(self):
            self.left = 2

        def __getattr__(self, called):
            if called == method and self.left:
                self.left -= 1
                raise error
            return getattr(client, called)

    client = bed.client()
    hiccups = Hiccups()
    terminate_cluster(hiccups, name)
    assert not hiccups.left
    assert not bed.live()


def test_machines_that_aws_does_not_show_for_the_moment_are_no_success(bed):
    handle = bed.cluster().start()
    _, client = bed.late_aws(1)
    assert "ended 4 machines" in reopen(handle, client=client).terminate()
    assert not bed.live()


def test_two_deployments_do_not_share_machines(bed):
    """Though DAG, run and task bear the same names."""
    bed.cluster().launch()
    ours = bed.live_ids()
    theirs = bed.cluster(identity=replace(bed.identity(try_number=2), deployment="theirs"))
    theirs.launch()
    assert len(bed.live()) == 10
    theirs.terminate()
    assert bed.live_ids() == ours


@pytest.mark.parametrize("name", ["ernest-*", "ernest-ours-*", "*", "", "ernest-ours-????????????????????"])
def test_a_handle_that_means_more_than_one_cluster_is_refused(bed, name, cluster_handle):
    """A handle comes through XCom, where others may write; "*" is a wildcard to EC2's filter."""
    bed.cluster().launch()
    forged = replace(cluster_handle, kind="ec2", name=name)
    with pytest.raises(InvalidParameterError, match=r"is no name of a cluster that this package starts"):
        reopen(forged, client=bed.client).terminate()
    with pytest.raises(InvalidParameterError):
        terminate_cluster(bed.client(), name)
    assert len(bed.live()) == 5
