import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from airflow_provider_ernest.clusters.ec2.preflight import (
    InstanceType,
    describe_instance_types,
    executor_memory_megabytes,
)
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError, MissingResourceError


@pytest.fixture(scope="module")
def aws():
    with mock_aws():
        yield


@pytest.fixture
def ec2(aws):
    return boto3.client("ec2", region_name="us-east-1")


@pytest.fixture
def requests_made(ec2):
    made = []
    ec2.meta.events.register(
        "before-call.ec2.DescribeInstanceTypes", lambda params, **_: made.append(params["body"])
    )
    return made


def _type(memory_megabytes):
    return InstanceType(name="x.y", cores=2, memory_megabytes=memory_megabytes)


def test_what_aws_says_of_a_type(ec2):
    known = describe_instance_types(ec2, ["m5.large"])["m5.large"]
    assert known == InstanceType(
        name="m5.large",
        cores=2,
        memory_megabytes=8192,
        architectures=("x86_64",),
    )


def test_all_types_are_asked_for_in_one_request(ec2, requests_made):
    known = describe_instance_types(ec2, ["m5.large", "r5.xlarge", "m5.large", "p4d.24xlarge"])
    assert set(known) == {"m5.large", "r5.xlarge", "p4d.24xlarge"}
    assert len(requests_made) == 1


def test_nothing_is_asked_for_nothing(ec2, requests_made):
    assert describe_instance_types(ec2, []) == {}
    assert requests_made == []


def test_all_pages_are_read(ec2):
    facts = [
        {"InstanceType": name, "VCpuInfo": {"DefaultVCpus": 1}, "MemoryInfo": {"SizeInMiB": 1024}}
        for name in ("a.b", "c.d")
    ]
    with Stubber(ec2) as stubber:
        stubber.add_response("describe_instance_types", {"InstanceTypes": facts[:1], "NextToken": "more"})
        stubber.add_response("describe_instance_types", {"InstanceTypes": facts[1:]})
        assert set(describe_instance_types(ec2, ["a.b", "c.d"])) == {"a.b", "c.d"}


def test_an_unknown_type_is_named_among_known_ones(ec2):
    with pytest.raises(InvalidParameterError, match=r"instance_type='m5\.huge' .* us-east-1\. .*offerings"):
        describe_instance_types(ec2, ["m5.large", "m5.huge", "m5.xlarge"])


def test_a_missing_permission_is_named(ec2):
    with Stubber(ec2) as stubber:
        stubber.add_client_error("describe_instance_types", "UnauthorizedOperation")
        with pytest.raises(MissingResourceError, match=r"m5\.large \(ec2:DescribeInstanceTypes\).*IAM"):
            describe_instance_types(ec2, ["m5.large"])


def test_another_attempt_can_help_where_aws_throttles(ec2):
    with Stubber(ec2) as stubber:
        stubber.add_client_error("describe_instance_types", "RequestLimitExceeded", "Request limit exceeded.")
        with pytest.raises(ClusterError, match=r"m5\.large.*Request limit exceeded"):
            describe_instance_types(ec2, ["m5.large"])


def test_another_attempt_can_help_where_aws_is_out_of_reach(ec2):
    def fail(**_):
        raise EndpointConnectionError(endpoint_url="https://ec2.test")

    ec2.meta.events.register("before-call.ec2.DescribeInstanceTypes", fail)
    with pytest.raises(ClusterError, match=r"m5\.large.*ec2\.test"):
        describe_instance_types(ec2, ["m5.large"])


@pytest.mark.parametrize("memory_megabytes", [1024, 2048, 4096, 16384, 131072, 1179648])
def test_heap_and_what_lies_beside_it_fit_on_the_machine(memory_megabytes):
    heap = executor_memory_megabytes(_type(memory_megabytes))
    assert heap >= 450  # the least that Spark accepts
    left = memory_megabytes - 1.1 * heap
    assert left >= min(1024, memory_megabytes / 2)


def test_most_of_a_large_machine_is_offered():
    assert executor_memory_megabytes(_type(65536)) / 65536 == pytest.approx(0.895, abs=0.005)


def test_a_machine_too_small_for_an_executor_is_refused():
    with pytest.raises(InvalidParameterError, match=r"instance_type='x\.y' has 512 MB .*Spark needs 450"):
        executor_memory_megabytes(_type(512))
