import os
import signal
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from botocore.exceptions import ConnectionClosedError, CredentialRetrievalError, NoCredentialsError

from airflow_provider_ernest.clusters.base import terminate
from airflow_provider_ernest.clusters.ec2 import ending, instances, readiness
from airflow_provider_ernest.clusters.ec2.ending import end_machines, terminate_cluster
from airflow_provider_ernest.clusters.ec2.identity import tag_value
from airflow_provider_ernest.clusters.ec2.instances import Attempt
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    ErnestError,
    InvalidParameterError,
    MissingResourceError,
)
from tests.unit.clusters.ec2.conftest import instance, run_in_thread, wait_for
from tests.unit.ec2_machines import IDENTITY


@pytest.fixture
def name(bed):
    """Of a cluster that has been launched."""
    cluster = bed.launched()
    bed.api.forget_calls()
    return cluster.name


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(ending, "_FIRST_PAUSE_SECONDS", 0.01)


def test_all_pages_are_ended(bed, monkeypatch):
    cluster = bed.launched(bed.spec(machines=12, probe_rounds=0))
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.instances.PAGE_SIZE", 5)
    monkeypatch.setattr(ending, "PAGE_SIZE", 5)
    said = terminate_cluster(bed.client(), cluster.name)
    assert "ended 13 machines" in said
    assert said.count("i-") == 13
    assert not bed.live()
    assert len(bed.api.calls("TerminateInstances")) == 3


def test_stopped_machines_are_ended_too(bed, name):
    for machine in bed.live():
        bed.api.set_state(machine.instance_id, "stopped")
    terminate_cluster(bed.client(), name)
    assert not bed.live()


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ("TerminateInstances", {"code": "RequestLimitExceeded", "status": 503, "times": 3}),
        ("DescribeInstances", {"code": "RequestLimitExceeded", "status": 503, "times": 3}),
        ("TerminateInstances", {"when": "drop", "times": 2}),
    ],
    ids=["throttled", "throttled search", "lost answers"],
)
def test_a_busy_aws_is_endured(bed, name, action, fault):
    bed.api.fail(action, **fault)
    terminate_cluster(bed.client(), name)
    assert not bed.live()


def test_a_failed_start_ends_its_machines_even_when_aws_is_busy(bed):
    def probe(handle):
        for action in ("DescribeInstances", "TerminateInstances"):
            bed.api.fail(action, code="RequestLimitExceeded", status=503, times=3)
        raise KeyboardInterrupt

    with bed.leaves_nothing(KeyboardInterrupt):
        bed.cluster(probe=probe).start()


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
    said = terminate(handle, clusters=Path(), client=client)
    assert "ended 4 machines" in said
    assert not bed.live()


def test_machines_that_aws_must_know_by_now_are_not_waited_for(bed, name, monkeypatch):
    later = datetime.now(UTC) + timedelta(hours=1)
    monkeypatch.setattr(instances, "time_of", lambda answer: later)
    terminate_cluster(bed.client(), name)
    assert len(bed.api.calls("DescribeInstances")) == 2, "before and after"


def test_machines_that_may_not_be_ended_though_unprotected_are_told(bed, name):
    bed.api.fail("TerminateInstances", code="OperationNotPermitted", status=400, times=9)
    with pytest.raises(ErnestError, match=r"OperationNotPermitted"):
        end_machines(bed.client(), bed.live_ids())
    assert len(bed.api.calls("TerminateInstances")) == 2


def test_two_deployments_do_not_share_machines(bed):
    """Though DAG, run and task bear the same names."""
    bed.launched()
    ours = bed.live_ids()
    theirs = bed.launched(identity=replace(bed.identity(try_number=2), deployment="theirs"))
    assert len(bed.live()) == 10
    theirs.terminate()
    assert bed.live_ids() == ours


@pytest.mark.parametrize("name", ["ernest-*", "ernest-ours-*", "*", "", "ernest-ours-????????????????????"])
def test_a_handle_that_means_more_than_one_cluster_is_refused(bed, name, cluster_handle):
    """A handle comes through XCom, where others may write; "*" is a wildcard to EC2's filter."""
    bed.launched()
    forged = replace(cluster_handle, kind="ec2", name=name)
    with pytest.raises(InvalidParameterError, match=r"is not a name of a cluster that this package starts"):
        terminate(forged, clusters=Path(), client=bed.client)
    with pytest.raises(InvalidParameterError):
        terminate_cluster(bed.client(), name)
    assert len(bed.live()) == 5


def launches(bed):
    return bed.api.calls("RunInstances")


def test_a_kill_before_the_launch_launches_nothing(bed):
    cluster = bed.cluster()
    cluster.abandon()
    with pytest.raises(ClusterStartError, match=r"abandoned"):
        cluster.start()
    assert not launches(bed)


@pytest.mark.parametrize("skip", [0, 1], ids=["master", "workers"])
def test_a_kill_while_aws_launches_leaves_nothing(bed, skip):
    bed.api.fail("RunInstances", when="hang", seconds=1.5, skip=skip)
    cluster = bed.cluster()
    thread, raised = run_in_thread(cluster.start)
    wait_for(lambda: len(bed.live()) == (4 * skip + 1))  # it took effect, and the answer is on its way
    cluster.abandon()
    thread.join(30)
    assert isinstance(raised[0], ClusterStartError)
    assert len(launches(bed)) == skip + 1, "no launch follows the kill"
    assert not bed.live()


def test_a_kill_while_waiting_for_boots_leaves_nothing(bed):
    bed.master.boots = lambda machine: False
    cluster = bed.cluster(poll_seconds=60)
    thread, raised = run_in_thread(cluster.start)
    wait_for(lambda: bed.master.looks)
    cluster.abandon()
    assert not bed.live(), "they end before the waiting thread notices"
    thread.join(30)
    assert "abandoned" in str(raised[0])


def test_a_kill_during_the_probe_is_no_failure_of_the_probe(bed, caplog):
    def probe(handle):
        cluster.abandon()
        raise ClusterError("the master is gone")

    cluster = bed.cluster(probe=probe)
    with bed.leaves_nothing(ClusterStartError, match=r"abandoned"):
        cluster.start()
    assert "THE BANDWIDTH PROBE FAILED" not in caplog.text


def test_a_kill_during_the_cull_leaves_nothing(bed, monkeypatch):
    def kill_when_culling(web_url, **options):
        state = bed.master(web_url, **options)
        if bed.probed and len(state.machines) == 3:
            cluster.abandon()
        return state

    monkeypatch.setattr(readiness, "read_state", kill_when_culling)
    cluster = bed.cluster()
    with bed.leaves_nothing(ClusterStartError, match=r"abandoned"):
        cluster.start()


class TimeOut(BaseException):
    """As Airflow's execution_timeout raises: anywhere, even while the answer is being awaited."""


@pytest.mark.parametrize("raised", [ClusterStartError, TimeOut], ids=["on_kill", "execution_timeout"])
def test_a_signal_within_the_launch_call_leaves_nothing(bed, raised):
    """Its handler runs in the very thread that waits for AWS."""
    bed.api.fail("RunInstances", when="hang", seconds=1.5, skip=1)
    cluster = bed.cluster()

    def handle(*_):
        if raised is TimeOut:
            raise TimeOut
        cluster.abandon()

    def signal_when_launched():
        wait_for(lambda: len(bed.live()) == 5)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handle)
    thread, _ = run_in_thread(signal_when_launched)
    try:
        with pytest.raises(raised):
            cluster.start()
    finally:
        thread.join(30)
        signal.signal(signal.SIGUSR1, before)
    assert not bed.live()


def test_a_kill_is_quick_even_when_aws_is_silent(bed, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.ending._ABANDON_SECONDS", 0.2)
    cluster = bed.launched()
    bed.api.fail("DescribeInstances", when="hang", seconds=3)
    began = time.monotonic()
    cluster.abandon()
    assert time.monotonic() - began < 2
    wait_for(lambda: not bed.live())


def test_a_kill_while_aws_does_not_know_its_machines_yet_leaves_nothing(bed):
    late, client = bed.late_aws(10**9)
    cluster = bed.cluster(client=client)
    thread, raised = run_in_thread(cluster.start)
    wait_for(lambda: len(bed.live()) == 5)
    cluster.abandon()
    assert len(bed.live()) == 5, "nobody can end them yet"
    late.questions = 6
    thread.join(30)
    assert "abandoned" in str(raised[0])
    assert not bed.live()


@pytest.mark.parametrize(
    ("questions", "unknown_ends", "is_busy"),
    [(9, 0, False), (2, 1, False), (2, 0, True)],
    ids=["not shown", "shown before they can be ended", "not shown by a busy AWS"],
)
def test_a_start_that_fails_ends_machines_that_aws_comes_to_know_later(bed, questions, unknown_ends, is_busy):
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, skip=1)
    if is_busy:
        bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, skip=2)
    late, client = bed.late_aws(questions, unknown_ends=unknown_ends)
    with bed.leaves_nothing(MissingResourceError):
        bed.cluster(client=client).start()
    assert late.unknown_ends < 0, "it was asked again"
    assert len(bed.api.instances()) == 1


def test_machines_that_aws_does_not_come_to_know_may_live_on(bed, monkeypatch):
    monkeypatch.setattr(ending, "PATIENCE_SECONDS", 0.3)
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, skip=1)
    _, client = bed.late_aws(10**9)
    with pytest.raises(ClusterError, match=r"may live on") as caught:
        bed.cluster(client=client).start()
    assert bed.live()[0].instance_id in str(caught.value)


def test_a_retry_waits_for_the_machines_that_aws_does_not_show_yet(bed):
    bed.launched()
    _, client = bed.late_aws(2)
    bed.launched(try_number=2, client=client)
    assert len(bed.api.instances()) == 5


def test_a_lost_answer_is_asked_for_again_where_aws_shows_nothing_yet(bed):
    """By the token of the request, which launches nothing anew."""
    bed.api.fail("RunInstances", when="drop", skip=1)
    _, client = bed.late_aws(12)
    bed.launched(client=client)
    assert len(bed.api.instances()) == 5


@pytest.fixture
def _never_ended(bed, monkeypatch):
    monkeypatch.setattr(ending, "PATIENCE_SECONDS", 0.1)
    bed.api.fail("TerminateInstances", code="UnauthorizedOperation", status=403, times=99)


@pytest.mark.usefixtures("_never_ended")
def test_machines_that_may_live_on_are_worth_another_attempt(bed, caplog):
    """Without one nobody ends them: after a setup that failed there is no teardown."""
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, message="not so many", skip=1)
    with pytest.raises(ClusterError, match=r"may live on.*not so many") as caught:
        bed.cluster().start()
    (left,) = bed.live_ids()
    assert left in str(caught.value)
    assert caught.value.retryable
    assert isinstance(caught.value.__cause__, MissingResourceError)
    assert "IAM policy" in caught.value.remedy
    assert "the task's teardown" not in caplog.text

    bed.api.forget_faults()
    handle = bed.cluster(try_number=2).start()
    assert handle.master.instance_id == left
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")


@pytest.mark.usefixtures("_never_ended")
def test_an_error_worth_another_attempt_stays_itself_where_machines_may_live_on(bed):
    bed.api.fail("RunInstances", code="VcpuLimitExceeded", status=400, skip=1, times=99)
    with pytest.raises(ClusterStartError, match=r"VcpuLimitExceeded"):
        bed.cluster().start()
    assert len(bed.live()) == 1


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
