import os
import signal
import threading
import time

import pytest

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, MissingResourceError


def run_in_thread(cluster):
    """Start a cluster in a thread; what it raises is in the list."""
    raised = []

    def start():
        try:
            cluster.start()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    return thread, raised


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
    thread, raised = run_in_thread(cluster)
    wait_for(lambda: len(bed.live()) == (4 * skip + 1))  # it took effect, and the answer is on its way
    cluster.abandon()
    thread.join(30)
    assert isinstance(raised[0], ClusterStartError)
    assert len(launches(bed)) == skip + 1, "no launch follows the kill"
    assert not bed.live()


def test_a_kill_while_waiting_for_boots_leaves_nothing(bed):
    bed.master.boots = lambda machine: False
    cluster = bed.cluster(poll_seconds=60)
    thread, raised = run_in_thread(cluster)
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
    with pytest.raises(ClusterStartError, match=r"abandoned"):
        cluster.start()
    assert not bed.live()
    assert "THE BANDWIDTH PROBE FAILED" not in caplog.text


def test_a_kill_during_the_cull_leaves_nothing(bed):
    def kill_when_culling(web_url, **options):
        state = bed.master(web_url, **options)
        if bed.probed and len(state.workers) == 3:
            cluster.abandon()
        return state

    cluster = bed.cluster(read_master=kill_when_culling)
    with pytest.raises(ClusterStartError, match=r"abandoned"):
        cluster.start()
    assert not bed.live()


def test_a_kill_from_a_signal_handler_leaves_nothing(bed):
    """As Airflow calls on_kill: in the very thread that waits for AWS."""
    bed.api.fail("RunInstances", when="hang", seconds=1.5, skip=1)
    cluster = bed.cluster()
    before = signal.signal(signal.SIGUSR1, lambda *_: cluster.abandon())

    def signal_when_launched():
        wait_for(lambda: len(bed.live()) == 5)
        os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=signal_when_launched)
    thread.start()
    try:
        with pytest.raises(ClusterStartError, match=r"abandoned"):
            cluster.start()
    finally:
        thread.join(30)
        signal.signal(signal.SIGUSR1, before)
    assert not bed.live()


def test_an_interrupt_within_the_launch_call_leaves_nothing(bed):
    """As Airflow's execution_timeout raises: anywhere, even while the answer is being awaited."""

    class TimeOut(BaseException):
        pass

    bed.api.fail("RunInstances", when="hang", seconds=1.5, skip=1)

    def raise_time_out(*_):
        raise TimeOut

    before = signal.signal(signal.SIGUSR1, raise_time_out)

    def signal_when_launched():
        wait_for(lambda: len(bed.live()) == 5)
        os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=signal_when_launched)
    thread.start()
    try:
        with pytest.raises(TimeOut):
            bed.cluster().start()
    finally:
        thread.join(30)
        signal.signal(signal.SIGUSR1, before)
    assert not bed.live()


def test_a_kill_is_quick_even_when_aws_is_silent(bed, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.ending._ABANDON_SECONDS", 0.2)
    cluster = bed.cluster()
    cluster.launch()
    bed.api.fail("DescribeInstances", when="hang", seconds=3)
    began = time.monotonic()
    cluster.abandon()
    assert time.monotonic() - began < 2
    wait_for(lambda: not bed.live())


def test_a_kill_while_aws_does_not_know_its_machines_yet_leaves_nothing(bed):
    late, client = bed.late_aws(10**9)
    cluster = bed.cluster(client=client, read_master=bed.master)
    thread, raised = run_in_thread(cluster)
    wait_for(lambda: len(bed.live()) == 5)
    cluster.abandon()
    assert len(bed.live()) == 5, "nobody can end them yet"
    late.questions = 6
    thread.join(30)
    assert "abandoned" in str(raised[0])
    assert not bed.live()


def test_a_start_that_fails_while_aws_does_not_know_its_machines_yet_leaves_nothing(bed):
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, skip=1)
    _, client = bed.late_aws(9)
    with pytest.raises(MissingResourceError):
        bed.cluster(client=client).start()
    assert len(bed.api.instances()) == 1
    assert not bed.live()


def test_machines_that_aws_shows_before_it_lets_them_end_are_ended(bed):
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, skip=1)
    late, client = bed.late_aws(2, unknown_ends=1)
    with pytest.raises(MissingResourceError):
        bed.cluster(client=client).start()
    assert late.unknown_ends < 0, "it was asked again"
    assert not bed.live()


def test_a_busy_aws_is_asked_again_for_machines_that_it_did_not_show(bed):
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, skip=1)
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, skip=2)
    _, client = bed.late_aws(2)
    with pytest.raises(MissingResourceError):
        bed.cluster(client=client).start()
    assert not bed.live()


def test_machines_that_aws_does_not_come_to_know_may_live_on(bed, monkeypatch):
    monkeypatch.setattr(ending, "PATIENCE_SECONDS", 0.3)
    bed.api.fail("RunInstances", code="UnauthorizedOperation", status=403, skip=1)
    _, client = bed.late_aws(10**9)
    with pytest.raises(ClusterError, match=r"may live on") as caught:
        bed.cluster(client=client).start()
    assert bed.live()[0].instance_id in str(caught.value)


def test_a_retry_waits_for_the_machines_that_aws_does_not_show_yet(bed):
    bed.cluster().launch()
    _, client = bed.late_aws(2)
    bed.cluster(try_number=2, client=client).launch()
    assert len(bed.api.instances()) == 5


def test_a_lost_answer_is_asked_for_again_where_aws_shows_nothing_yet(bed):
    """By the token of the request, which launches nothing anew."""
    bed.api.fail("RunInstances", when="drop", skip=1)
    _, client = bed.late_aws(12)
    bed.cluster(client=client).launch()
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
