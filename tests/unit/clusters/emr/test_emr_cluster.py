"""The life of a job flow: started once, adopted, ended for certain, whatever happens; and reaped."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ReadTimeoutError

from airflow_provider_ernest.clusters.base import ClusterHandle, reopen
from airflow_provider_ernest.clusters.emr import cluster as job_flows
from airflow_provider_ernest.clusters.emr.cluster import (
    EmrCluster,
    RunningJobFlow,
    find_job_flows,
    reap_job_flows,
)
from airflow_provider_ernest.clusters.emr.spec import BootstrapAction
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, InvalidParameterError
from airflow_provider_ernest.spark.machines import Machine

from .conftest import identity, job_flow, specification, states, throttled


def cluster(clients, spec=None, **who) -> EmrCluster:
    return EmrCluster(
        spec or specification(), identity(**who), client=clients, aws_conn_id="aws_data", poll_seconds=0.0
    )


def test_a_started_job_flow_is_handed_over(emr, clients):
    before = datetime.now(UTC)
    handle = cluster(clients, specification(price_per_hour=0.24, python="python3.11")).start()

    assert handle.kind == "emr"
    assert emr.describe_cluster(ClusterId=handle.name)["Cluster"]["Status"]["State"] == "WAITING"
    assert len(handle.machines) == 3
    assert len({machine.instance_id for machine in handle.machines}) == 3
    assert all(machine.host for machine in handle.machines)
    assert handle.master is not None
    assert handle.master.instance_id not in {machine.instance_id for machine in handle.machines}
    assert handle.cores_per_machine == 4
    # m5.xlarge has 16 GB, of which EMR's documentation gives YARN 12 GB: heap, a tenth of it, and 1 GB.
    assert 12288 / 2 < handle.machines[0].memory_megabytes * 1.1 <= 12288 - 1024
    assert handle.spark_conf()["spark.executor.memory"] == f"{handle.machines[0].memory_megabytes}m"
    assert handle.spark_conf()["spark.pyspark.python"] == "python3.11"
    assert handle.price_per_hour == pytest.approx(0.24)
    assert (handle.aws_conn_id, handle.region) == ("aws_data", "eu-west-1")
    expires_in = datetime.fromisoformat(handle.expires_at) - before
    assert expires_in.total_seconds() == pytest.approx(7200, abs=60)
    assert ClusterHandle.from_dict(handle.to_dict()) == handle


def test_what_is_asked_for_ends_by_itself(emr, clients):
    spec = specification(
        subnet="subnet-1",
        ebs_gigabytes=64,
        tags={"team": "data"},
        idle_timeout_seconds=600,
        master_instance_type="m4.large",
        bootstrap_actions=(BootstrapAction(name="setup", path="s3://b1b/setup.sh", arguments=("-x",)),),
        configurations=({"Classification": "spark", "Properties": {"maximizeResourceAllocation": "false"}},),
        security_configuration="encrypted",
    )
    emr.answers["run_job_flow"] = [ClusterError("as far as this test goes")]
    with pytest.raises(ClusterError, match="as far as"):
        cluster(clients, spec).start()

    (request,) = emr.called("run_job_flow")
    assert request["AutoTerminationPolicy"] == {"IdleTimeout": 600}
    assert request["StepConcurrencyLevel"] == 1
    assert request["Instances"]["KeepJobFlowAliveWhenNoSteps"] is True
    assert request["Instances"]["TerminationProtected"] is False
    assert request["Instances"]["Ec2SubnetId"] == "subnet-1"
    groups = {group["InstanceRole"]: group for group in request["Instances"]["InstanceGroups"]}
    assert (groups["MASTER"]["InstanceType"], groups["MASTER"]["InstanceCount"]) == ("m4.large", 1)
    assert (groups["CORE"]["InstanceType"], groups["CORE"]["InstanceCount"]) == ("m5.xlarge", 3)
    assert groups["CORE"]["EbsConfiguration"]["EbsBlockDeviceConfigs"][0]["VolumeSpecification"] == {
        "VolumeType": "gp3",
        "SizeInGB": 64,
    }
    assert request["BootstrapActions"][0]["ScriptBootstrapAction"]["Args"] == ["-x"]
    assert request["Configurations"][0]["Classification"] == "spark"
    assert request["SecurityConfiguration"] == "encrypted"
    tags = {tag["Key"]: tag["Value"] for tag in request["Tags"]}
    assert tags["team"] == "data"
    assert tags["ernest:cluster"] == request["Name"] == identity().cluster_name
    assert tags["ernest:dag"] == "nightly"
    assert datetime.fromisoformat(tags["ernest:expires-at"]) > datetime.now(UTC)


def test_terminating_may_be_repeated_from_anywhere(emr, clients):
    handle = cluster(clients).start()

    assert reopen(handle, client=clients).terminate() == f"ended {handle.name}"
    assert states(emr) == ["TERMINATED"]
    assert RunningJobFlow(handle, client=clients).terminate().startswith("nothing to do")
    assert "EMR tells no reason" in RunningJobFlow(handle, client=clients).terminate()


def test_a_namesake_ends_with_it(emr, clients):
    """As when the answer to a request was lost, and the request repeated."""
    handle = cluster(clients).start()
    emr.run_job_flow(**emr.called("run_job_flow")[0])

    RunningJobFlow(handle, client=clients).terminate()

    assert states(emr) == ["TERMINATED", "TERMINATED"]


def test_a_retry_takes_over_what_its_earlier_try_has_started(emr, clients):
    first = cluster(clients).start()
    second = cluster(clients, try_number=2).start()

    assert second.name == first.name
    assert second.expires_at == first.expires_at
    assert states(emr) == ["WAITING"]


@pytest.mark.parametrize("wanted", [{"machines": 2}, {}])
def test_a_retry_ends_what_is_no_longer_wanted_or_has_little_time_left(emr, clients, wanted):
    first = cluster(clients).start()
    if not wanted:
        soon = (datetime.now(UTC) + timedelta(minutes=10)).isoformat()
        emr.add_tags(ResourceId=first.name, Tags=[{"Key": "ernest:expires-at", "Value": soon}])
    second = cluster(clients, specification(**wanted), try_number=2).start()

    assert second.name != first.name
    assert len(second.machines) == wanted.get("machines", 3)
    assert states(emr) == ["TERMINATED", "WAITING"]


@pytest.mark.parametrize("other", [{"task_id": "other"}, {"deployment": "theirs"}])
def test_job_flows_of_other_tasks_and_deployments_are_left_alone(emr, clients, other):
    """Though DAG, run and task bear the same names."""
    handle = cluster(clients).start()
    theirs = cluster(clients, try_number=2, **other).start()

    RunningJobFlow(handle, client=clients).terminate()

    assert emr.describe_cluster(ClusterId=theirs.name)["Cluster"]["Status"]["State"] == "WAITING"


def test_a_lost_answer_leaves_nothing_alive(emr, clients):
    def taken_and_lost(**request):
        emr._client.run_job_flow(**request)
        return ReadTimeoutError(endpoint_url="https://emr")

    emr.answers["run_job_flow"] = [taken_and_lost]
    with pytest.raises(ClusterError, match=r"AWS did not answer when asked to start a job flow"):
        cluster(clients).start()
    assert states(emr) == ["TERMINATED"]


def test_a_repeated_request_leaves_one_alive(emr, clients):
    def sent_twice(**request):
        emr._client.run_job_flow(**request)
        return emr._client.run_job_flow(**request)

    emr.answers["run_job_flow"] = [sent_twice]
    handle = cluster(clients).start()

    assert states(emr) == ["TERMINATED", "WAITING"]
    assert emr.describe_cluster(ClusterId=handle.name)["Cluster"]["Status"]["State"] == "WAITING"


@pytest.mark.parametrize("call", ["run_job_flow", "describe_cluster"])
def test_a_kill_while_it_starts_leaves_nothing_alive(emr, clients, call):
    """The task's handler may run when EMR does not list the job flow yet."""
    started = cluster(clients)

    def killed_meanwhile(**request):
        started.abandon()
        return getattr(emr._client, call)(**request)

    emr.answers[call] = [killed_meanwhile]
    with pytest.raises(ClusterStartError, match=r"ended (while it started|before it was ready)"):
        started.start()
    assert states(emr) == ["TERMINATED"]


def test_a_job_flow_that_fails_to_start_says_why_in_the_words_of_emr(emr, clients):
    reason = {"Code": "BOOTSTRAP_FAILURE", "Message": "On the master instance, bootstrap action 1 failed"}
    emr.answers["describe_cluster"] = [
        job_flow("STARTING"),
        throttled("DescribeCluster"),
        job_flow("BOOTSTRAPPING"),
        job_flow("TERMINATED_WITH_ERRORS", reason=reason),
    ]
    with pytest.raises(
        ClusterStartError, match=r"BOOTSTRAP_FAILURE: On the master.*logs below s3://ernest-logs/emr/"
    ):
        cluster(clients).start()
    assert states(emr) == ["TERMINATED"]


@pytest.mark.parametrize("code", ["ThrottlingException", "InvalidRequestException"])
def test_a_failed_start_ends_what_emr_does_not_describe_at_the_moment(emr, clients, code):
    emr.answers["describe_cluster"] = [job_flow("TERMINATING"), throttled("DescribeCluster", code)]
    with pytest.raises(ClusterStartError, match="ended before it was ready"):
        cluster(clients).start()
    assert states(emr) == ["TERMINATED"]


def test_a_failed_start_ends_its_own_before_it_looks_for_others(emr, clients, monkeypatch):
    def refuses_lists(*_):
        raise throttled("ListClusters")

    def failing(**_):
        monkeypatch.setattr(job_flows, "live_job_flows", refuses_lists)
        return job_flow("TERMINATING")

    emr.answers["describe_cluster"] = [failing]
    with pytest.raises(ClusterStartError, match="ended before it was ready"):
        cluster(clients).start()
    assert states(emr) == ["TERMINATED"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (job_flow("TERMINATING"), r"^Job flow j-\w+ ended before it was ready"),
        # Another attempt is to find it, though none could help what failed first.
        (throttled("DescribeCluster", "AccessDenied"), r"^Job flow j-\w+ may live on.*AWS refused to start"),
    ],
)
def test_a_start_whose_end_fails_too_tells_what_failed_first_and_is_retried(emr, clients, answer, told):
    emr.answers["describe_cluster"] = [answer]
    emr.answers["terminate_job_flows"] = [throttled("TerminateJobFlows")]
    with pytest.raises(ClusterError, match=told):
        cluster(clients).start()
    assert states(emr) == ["WAITING"]


def test_waiting_has_an_end(emr, clients):
    emr.answers["describe_cluster"] = [job_flow("STARTING")] * 5000
    spec = specification(start_timeout_seconds=1)
    starting = EmrCluster(spec, identity(), client=clients, poll_seconds=0.3)

    def forget_answers(**arguments):
        emr.answers["describe_cluster"].clear()
        return emr._client.terminate_job_flows(**arguments)

    emr.answers["terminate_job_flows"] = [forget_answers]
    with pytest.raises(ClusterStartError, match=r"not ready after 1 s \(last: STARTING\).*start_timeout"):
        starting.start()
    assert states(emr) == ["TERMINATED"]


def test_fewer_machines_than_asked_for_are_no_start(emr, clients):
    def one_less(**request):
        request["Instances"]["InstanceGroups"][1]["InstanceCount"] = 2
        return emr._client.run_job_flow(**request)

    emr.answers["run_job_flow"] = [one_less]
    with pytest.raises(ClusterStartError, match="has 2 core instances; asked for were 3"):
        cluster(clients).start()
    assert states(emr) == ["TERMINATED"]


def test_a_type_that_the_release_does_not_have_is_named_before_anything_is_launched(emr, clients):
    with pytest.raises(InvalidParameterError, match=r"instance_type='m5.tiny' is no type that emr-7.5.0"):
        cluster(clients, specification(instance_type="m5.tiny")).start()
    assert states(emr) == []


def test_what_will_not_end_is_named(emr, clients):
    handle = cluster(clients).start()
    emr.answers["terminate_job_flows"] = [{}]
    with pytest.raises(ClusterError, match=rf"asked to end {handle.name}, and has not begun after 0 s"):
        job_flows.end(emr, [handle.name], wait_seconds=0)


def test_a_job_flow_of_another_region_is_no_success(clients):
    machine = Machine(cores=1, memory_megabytes=512)
    handle = ClusterHandle(kind="emr", name="j-ELSEWHERE", master_url="yarn", machines=(machine,))
    with pytest.raises(ClusterError, match=r"eu-west-1 knows no job flow j-ELSEWHERE.*region"):
        RunningJobFlow(handle, client=clients).terminate()


@pytest.mark.parametrize(
    ("forged", "error", "named"),
    [
        ({"kind": "local"}, ClusterError, "'local' is no job flow of EMR"),
        ({"name": "j-1/../x"}, InvalidParameterError, r"^cluster='.*is no id of a job flow.*unchanged"),
        ({"name": ""}, InvalidParameterError, r"^cluster='.*is no id of a job flow.*unchanged"),
        ({"name": "ernest-ours-0123456789abcdef0123"}, InvalidParameterError, "is no id of a job flow"),
    ],
)
def test_a_handle_of_no_job_flow_is_refused(cluster_handle, clients, forged, error, named):
    with pytest.raises(error, match=named):
        RunningJobFlow(replace(cluster_handle, **{"kind": "emr", "name": "j-1", **forged}), client=clients)


def test_a_foreign_job_flow_that_a_handle_names_is_left_alone(emr, clients):
    """A handle comes through XCom, where others may write."""
    handle = cluster(clients).start()
    request = emr.called("run_job_flow")[0]
    theirs = emr.run_job_flow(**{**request, "Tags": [], "Name": "nightly reports"})["JobFlowId"]
    copied = emr.run_job_flow(**{**request, "Name": "a copy with our tags"})["JobFlowId"]
    for foreign in (theirs, copied):
        with pytest.raises(InvalidParameterError, match=f"{foreign}.*is no job flow that this package"):
            reopen(replace(handle, name=foreign), client=clients).terminate()
    assert states(emr) == ["WAITING"] * 3


def test_a_kill_is_quick_even_when_aws_is_silent(emr, clients, monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.ending._ABANDON_SECONDS", 0.1)
    answered = threading.Event()
    started = cluster(clients)

    def late(**request):
        answered.wait(30)
        return emr._client.terminate_job_flows(**request)

    def killed_meanwhile(**_):
        emr.answers["terminate_job_flows"] = [late]
        started.abandon()  # comes back though EMR has not answered
        answered.set()
        return job_flow("STARTING")

    emr.answers["describe_cluster"] = [killed_meanwhile]
    with pytest.raises(ClusterStartError, match="was ended while it started"):
        started.start()
    assert states(emr) == ["TERMINATED"]


@pytest.fixture
def handles(emr, clients):
    """Two job flows: one whose time is over, and one that lives for three hours."""
    found = [
        cluster(
            clients, specification(time_to_live_seconds=hours * 3600), task_id=f"lives for {hours}"
        ).start()
        for hours in (1, 3)
    ]
    expire(emr, found[0])
    return found


def expire(emr, handle) -> None:
    """Put the expiry that the request named an hour into the past, for its repetitions, too."""
    over = {"Key": "ernest:expires-at", "Value": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
    emr.add_tags(ResourceId=handle.name, Tags=[over])
    for request in emr.called("run_job_flow"):
        if request["Name"] == emr.describe_cluster(ClusterId=handle.name)["Cluster"]["Name"]:
            request["Tags"] = [over if tag["Key"] == over["Key"] else tag for tag in request["Tags"]]


def test_what_is_alive_is_found_with_its_owner(emr, handles):
    found = find_job_flows(emr, deployment="ours")

    assert {one.id: one.is_expired for one in found} == {handles[0].name: True, handles[1].name: False}
    assert {one.tags["ernest:task"] for one in found} == {"lives for 1", "lives for 3"}
    assert found[0].state == "WAITING"


def test_only_what_has_expired_is_ended(emr, handles):
    assert [one.id for one in reap_job_flows(emr, deployment="ours", dry_run=True)] == [handles[0].name]
    assert states(emr) == ["WAITING", "WAITING"]

    assert [one.id for one in reap_job_flows(emr, deployment="ours", dry_run=False)] == [handles[0].name]
    assert states(emr) == ["TERMINATED", "WAITING"]
    assert reap_job_flows(emr, deployment="ours", dry_run=False) == ()


def test_a_foreign_job_flow_is_never_touched(emr, handles):
    """Not even one that has a name like ours, or a tag that is no time."""
    request = emr.called("run_job_flow")[0]
    emr.run_job_flow(**{**request, "Name": "ernest-of-someone-else", "Tags": []})
    timeless = [{"Key": "ernest:cluster", "Value": "x"}, {"Key": "ernest:expires-at", "Value": "soon"}]
    emr.run_job_flow(**{**request, "Name": "ernest-x", "Tags": timeless})

    expire(emr, handles[1])
    reaped = reap_job_flows(emr, deployment="ours", dry_run=False)

    assert {one.id for one in reaped} == {handle.name for handle in handles}
    assert states(emr) == ["TERMINATED", "TERMINATED", "WAITING", "WAITING"]


def test_many_are_found_over_all_pages_and_ended_ten_at_a_time(emr, handles):
    request = emr.called("run_job_flow")[0]
    for _ in range(58):
        emr.run_job_flow(**request)

    assert len(reap_job_flows(emr, deployment="ours", dry_run=False)) == 59
    assert [len(call["JobFlowIds"]) for call in emr.called("terminate_job_flows")] == [10] * 5 + [9]
    assert states(emr) == ["TERMINATED"] * 59 + ["WAITING"]


def test_a_silent_aws_is_an_error_of_ours(emr, handles):
    emr.answers["describe_cluster"] = [throttled("DescribeCluster")]
    with pytest.raises(ClusterError, match=r"look for job flows of EMR.*ThrottlingException"):
        find_job_flows(emr, deployment="ours")


def test_the_job_flows_of_other_deployments_are_left_alone(emr, clients, handles):
    theirs = cluster(clients, task_id="lives for 1", deployment="ours-too").start()
    expire(emr, theirs)
    assert [one.id for one in reap_job_flows(emr, deployment="ours", dry_run=False)] == [handles[0].name]
    assert {one.id for one in reap_job_flows(emr, deployment=None, dry_run=False)} == {theirs.name}


@pytest.mark.parametrize("hours", [-3, 3])
def test_it_is_the_clock_of_aws_that_counts(emr, clients, monkeypatch, hours):
    class Wrong(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=hours)

    monkeypatch.setattr("airflow_provider_ernest.clusters.emr.cluster.datetime", Wrong)
    handle = cluster(clients).start()
    life = datetime.fromisoformat(handle.expires_at) - datetime.now(UTC)
    assert abs(life - timedelta(seconds=7200)) < timedelta(seconds=60)
    assert reap_job_flows(emr, deployment="ours", dry_run=False) == ()
