"""The policies in docs/ allow what is done, and nothing else: all that calls AWS is run here."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

import airflow_provider_ernest
from airflow_provider_ernest.clusters.base import terminate
from airflow_provider_ernest.clusters.ec2.cluster import cluster_secret
from airflow_provider_ernest.clusters.ec2.ending import reap
from airflow_provider_ernest.clusters.ec2.prices import PriceBook
from airflow_provider_ernest.clusters.emr.steps import StepRun, look_up
from airflow_provider_ernest.exceptions import (
    ClusterStartError,
    InvalidParameterError,
    SampleRunError,
)
from airflow_provider_ernest.spark.runs import RunLimits, RunRequest
from tests.ec2_testbed import EC2Api
from tests.unit.clusters.ec2.conftest import Bed
from tests.unit.clusters.emr.conftest import BUCKET, REQUEST, FakeClient, specification
from tests.unit.iam_policy import (
    DEPLOYMENT,
    Access,
    Policy,
    accesses_of,
    file_access,
    job_flow_accesses,
    pass_role,
    tags_in,
    used_parts,
)

EC2, EMR = Policy("iam_policy.json"), Policy("iam_policy_emr.json")
IMAGE_NAME = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
PACKAGE = Path(airflow_provider_ernest.__file__).parent
CALL = re.compile(r'(?:(?<=\.)|(?<=get_paginator\("))[a-z0-9_]+(?=["(])')


def prices_of(bed: Bed) -> PriceBook:
    return PriceBook(ec2=bed.client(), pricing=lambda: bed.client("pricing"), region="us-east-1")


def a_start_with_probe_and_prices(bed: Bed) -> None:
    with unrecorded(bed):
        bed.client().create_key_pair(KeyName="ours")
    spec = bed.spec(instance_profile=bed.api.instance_profile, key_name="ours", volume_gigabytes=50)
    handle = bed.cluster(spec, prices=prices_of(bed)).start()
    assert handle.culled
    assert handle.price_per_hour
    terminate(handle, clusters=Path(), client=bed.client)


def spot_and_what_is_short_of_it_on_demand(bed: Bed) -> None:
    bed.api.set_capacity("m5.large", 1, market="spot")
    bed.cluster(bed.spec(spot=True, over_allocation=0), prices=prices_of(bed)).start()
    assert {machine.market for machine in bed.live("worker")} == {"spot", "on-demand"}


def an_image_that_amazon_names(bed: Bed) -> None:
    # moto knows the name, and this account not the image.
    with pytest.raises(InvalidParameterError, match=r": ami-\w+. is not known to AWS"):
        bed.cluster(bed.spec(image=IMAGE_NAME)).start()


def a_launch_template(bed: Bed) -> None:
    data = {"ImageId": bed.api.image_id}
    with unrecorded(bed):
        bed.client().create_launch_template(LaunchTemplateName="mine", LaunchTemplateData=data)
    bed.cluster(bed.spec(image=None, launch_template="mine")).start()


def a_boot_that_fails(bed: Bed) -> None:
    bed.master.boots = lambda machine: False
    cluster = bed.launched()
    with pytest.raises(ClusterStartError, match="was not ready in time"):
        cluster.wait_until_ready(time.monotonic())


def a_second_try_that_takes_over(bed: Bed) -> None:
    bed.launched()
    bed.cluster(try_number=2).start()
    assert {machine.tags["ernest:try"] for machine in bed.live()} == {"2"}


def a_resize_both_ways(bed: Bed) -> None:
    handle = bed.cluster().start()
    for size in (5, 2):
        handle = bed.resize(handle, size).run()
    assert len(bed.live("worker")) == 2


def a_teardown_of_protected_machines(bed: Bed) -> None:
    cluster = bed.launched()
    with unrecorded(bed):
        bed.client().modify_instance_attribute(
            InstanceId=bed.live("worker")[0].instance_id, DisableApiTermination={"Value": True}
        )
    cluster.terminate()
    assert not bed.live()


def a_reaping(bed: Bed) -> None:
    bed.launched()
    bed.api.expire(*bed.live_ids())
    reap(bed.client(), deployment="ours")
    assert not bed.live()


def a_driver_that_needs_the_secret(bed: Bed) -> None:
    cluster = bed.launched()
    assert cluster_secret(bed.client(), cluster.name)


FLOWS: list[Callable[[Bed], None]] = [
    a_start_with_probe_and_prices,
    spot_and_what_is_short_of_it_on_demand,
    an_image_that_amazon_names,
    a_launch_template,
    a_boot_that_fails,
    a_second_try_that_takes_over,
    a_resize_both_ways,
    a_teardown_of_protected_machines,
    a_reaping,
    a_driver_that_needs_the_secret,
]


@contextlib.contextmanager
def unrecorded(bed: Bed) -> Iterator[None]:
    """For the test's own calls at the begin of a flow."""
    before = bed.api.calls()
    yield
    bed.set_aside = before
    bed.api.forget_calls()


@pytest.fixture(scope="module")
def ec2_accesses(served_api: EC2Api) -> dict[str, list[Access]]:
    """What IAM is asked in each flow."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_provider_ernest.clusters.ec2.ending.SETTLE_SECONDS", 0.5)
        patch.setattr("airflow_provider_ernest.clusters.ec2.launching._POLL_SECONDS", 0.1)
        for flow in FLOWS:
            served_api.reset()
            bed = Bed(served_api)
            patch.setattr("airflow_provider_ernest.clusters.ec2.readiness.read_state", bed.master)
            bed.set_aside = []
            flow(bed)
            calls = [*bed.set_aside, *served_api.calls()]
            tags = {machine.instance_id: machine.tags for machine in served_api.instances()}
            found[flow.__name__] = [one for call in calls for one in accesses_of(call, tags.__getitem__)]
    return found


@dataclasses.dataclass
class JobFlows:
    """The account of EMR, and what is called there."""

    emr: FakeClient
    s3: Any
    called: list[tuple[str, str, dict[str, Any]]]

    def clients(self, service: str) -> Any:
        return {"emr": self.emr, "s3": self.s3}[service]


def steps_on_a_job_flow(account: JobFlows, folder: Any) -> None:
    # As Amazon's operators do.
    job_flow_id = account.emr.run_job_flow(**REQUEST)["JobFlowId"]
    handle = look_up(specification(job_flow_id), emr=account.emr)

    def step_run() -> StepRun:
        return StepRun(
            handle,
            RunRequest(
                name="sample",
                owner="5f2a",
                application=f"s3://{BUCKET}/job.py",
                application_args=(),
                executors=2,
                executor_cores=4,
                directory=folder,
                limits=RunLimits(wait_seconds=600),
            ),
            clients=account.clients,
            log=logging.getLogger("test"),
            poll_seconds=0.0,
        )

    def completed(**_: Any) -> dict[str, Any]:
        (call,) = account.emr.called("add_job_flow_steps")
        words = call["Steps"][0]["HadoopJarStep"]["Args"]
        (address,) = [one.partition("=")[2] for one in words if one.startswith("spark.eventLog.dir=")]
        events = len(account.called)
        account.s3.put_object(Bucket=BUCKET, Key=f"{address.removeprefix(f's3://{BUCKET}/')}/log", Body=b"{}")
        del account.called[events:]
        now = datetime.now(UTC)
        timeline = {"CreationDateTime": now, "StartDateTime": now}
        return {"Step": {"Id": "s-1", "Status": {"State": "COMPLETED", "Timeline": timeline}}}

    account.emr.answers["describe_step"] = [completed]
    step_run().run()
    account.emr.answers["describe_step"] = [
        {"Step": {"Id": "s-2", "Status": {"State": "FAILED", "FailureDetails": {"Reason": "no"}}}}
    ]
    with pytest.raises(SampleRunError):
        step_run().run()
    terminate(handle, clusters=Path(), client=None)
    account.emr.terminate_job_flows(JobFlowIds=[job_flow_id])


@pytest.fixture(scope="module")
def emr_accesses(tmp_path_factory: pytest.TempPathFactory) -> list[Access]:
    """What IAM is asked by all that is done on EMR."""
    with mock_aws(), pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        called: list[tuple[str, str, dict[str, Any]]] = []
        emr, s3 = (boto3.client(service, region_name="us-east-1") for service in ("emr", "s3"))
        s3.create_bucket(Bucket=BUCKET)
        for client in (emr, s3):
            client.meta.events.register(
                "provide-client-params.*.*",
                lambda params, model, **_: called.append(
                    (model.service_model.service_name, model.name, dict(params))
                ),
            )
        account = JobFlows(FakeClient(emr), s3, called)
        steps_on_a_job_flow(account, tmp_path_factory.mktemp("emr"))
        # Some of EMR's answers are the test's own: those calls do not reach the client.
        called += [
            ("emr", emr.meta.method_to_api_mapping[name], given)
            for name, given in account.emr.calls
            if name in emr.meta.method_to_api_mapping
        ]

        def tags_of(job_flow_id: str) -> dict[str, str]:
            described = emr.describe_cluster(ClusterId=job_flow_id)["Cluster"]
            return {tag["Key"]: tag["Value"] for tag in described["Tags"]}

        found = []
        for service, operation, given in list(called):
            if service == "s3":
                found.append(file_access(operation, given))
            else:
                found += job_flow_accesses(operation, given, tags_of)
        return found


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.__name__)
def test_all_that_is_done_on_ec2_is_allowed(ec2_accesses, flow):
    accesses = ec2_accesses[flow.__name__]
    assert accesses
    assert [one for one in accesses if not EC2.allowing(one)] == []


def test_nothing_is_allowed_on_ec2_that_is_not_needed(ec2_accesses):
    accesses = [one for flow in ec2_accesses.values() for one in flow]
    assert {one.action for one in accesses} == EC2.actions
    assert used_parts(EC2, accesses) == EC2.parts


def test_all_that_is_done_on_emr_is_allowed(emr_accesses):
    assert [one for one in emr_accesses if not EMR.allowing(one)] == []


def test_nothing_is_allowed_on_emr_that_is_not_needed(emr_accesses):
    assert {one.action for one in emr_accesses} == EMR.actions
    assert used_parts(EMR, emr_accesses) == EMR.parts


@pytest.mark.parametrize(
    ("folder", "service", "prefix"),
    [
        ("ec2", "ec2", "ec2"),
        ("ec2", "ssm", "ssm"),
        ("ec2", "pricing", "pricing"),
        ("emr", "emr", "elasticmapreduce"),
    ],
)
def test_no_call_is_left_out_of_what_is_run_here(ec2_accesses, emr_accesses, folder, service, prefix):
    """The program's text tells what it may call."""
    known = boto3.client(service, region_name="us-east-1").meta.method_to_api_mapping
    text = "".join(path.read_text() for path in (PACKAGE / "clusters" / folder).glob("*.py"))
    written = {f"{prefix}:{known[name]}" for name in CALL.findall(text) if name in known}
    run = {one.action for flow in (*ec2_accesses.values(), emr_accesses) for one in flow}
    assert written
    assert written <= run


OURS = {"ernest:cluster": "ernest-ours-0123456789abcdef0123", "ernest:deployment": DEPLOYMENT}
FOREIGN: list[dict[str, str]] = [
    {},
    {"ernest:deployment": "theirs", "ernest:cluster": OURS["ernest:cluster"]},
    {"ernest:cluster": OURS["ernest:cluster"]},
    {"deployment": DEPLOYMENT},
]
ACCOUNT_ON_EC2 = "arn:aws:ec2:us-east-1:123456789012"
MACHINE = f"{ACCOUNT_ON_EC2}:instance/i-0123456789abcdef0"
JOB_FLOW = "arn:aws:elasticmapreduce:us-east-1:123456789012:cluster/j-1"


@pytest.mark.parametrize(
    ("policy", "action", "resource", "tags_of"),
    [
        (EC2, "ec2:TerminateInstances", MACHINE, "ResourceTag"),
        (EC2, "ec2:ModifyInstanceAttribute", MACHINE, "ResourceTag"),
        (EC2, "ec2:DescribeInstanceAttribute", MACHINE, "ResourceTag"),
        (EC2, "ec2:GetConsoleOutput", MACHINE, "ResourceTag"),
        (EC2, "ec2:RunInstances", f"{ACCOUNT_ON_EC2}:instance/*", "RequestTag"),
        (EC2, "ec2:RunInstances", f"{ACCOUNT_ON_EC2}:volume/*", "RequestTag"),
        (EC2, "ec2:RunInstances", f"{ACCOUNT_ON_EC2}:spot-instances-request/*", "RequestTag"),
        (EMR, "elasticmapreduce:TerminateJobFlows", JOB_FLOW, "ResourceTag"),
        (EMR, "elasticmapreduce:AddJobFlowSteps", JOB_FLOW, "ResourceTag"),
        (EMR, "elasticmapreduce:CancelSteps", JOB_FLOW, "ResourceTag"),
        (EMR, "elasticmapreduce:RunJobFlow", "*", "RequestTag"),
    ],
)
def test_only_what_carries_the_tag_can_be_touched_or_launched(policy, action, resource, tags_of):
    def allowed(tags):
        return policy.allowing(Access(action=action, resource=resource, context=tags_in(tags_of, tags)))

    assert allowed(OURS)
    assert not any(allowed(tags) for tags in FOREIGN)


@pytest.mark.parametrize(
    ("owner", "given"),
    [
        ({}, OURS),
        ({"ernest:deployment": "theirs"}, {"ernest:try": "2"}),
        (OURS, {"ernest:cluster": "ernest-other"}),
        (OURS, {"ernest:deployment": "theirs"}),
    ],
    ids=["a foreign machine", "a foreign cluster", "another owner", "another deployment"],
)
def test_no_machine_can_be_made_another_cluster_s(owner, given):
    context = {**tags_in("ResourceTag", owner), **tags_in("RequestTag", given)}
    assert not EC2.allowing(Access(action="ec2:CreateTags", resource=MACHINE, context=context))


@pytest.mark.parametrize("policy", [EC2, EMR], ids=["EC2", "EMR"])
@pytest.mark.parametrize(
    ("role", "service"),
    [
        ("Administrator", "ec2.amazonaws.com"),
        ("REPLACE-WITH-THE-ROLE-OF-THE-MACHINES", "lambda.amazonaws.com"),
        ("EMR_EC2_DefaultRole", "lambda.amazonaws.com"),
    ],
)
def test_no_other_role_can_be_given_to_machines(policy, role, service):
    assert not policy.allowing(pass_role(role, service))
