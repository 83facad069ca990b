import pytest

from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    InvalidParameterError,
    MissingResourceError,
)


def tokens(bed):
    return [call.parameters["ClientToken"] for call in bed.api.calls("RunInstances")]


def throttle_after_launch(bed, *, times=1):
    """Have AWS refuse to show machines, but when a start looks for those of earlier attempts."""
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, skip=1, times=times)


@pytest.mark.parametrize("skip", [0, 1], ids=["master", "workers"])
@pytest.mark.parametrize(
    "fault", [{"when": "drop"}, {"when": "after"}, {"when": "hang", "seconds": 2}], ids=lambda f: f["when"]
)
def test_a_lost_answer_makes_no_duplicates(bed, fault, skip):
    """botocore repeats the request with the same token, and AWS answers with the same machines."""
    from botocore.config import Config

    def client(service):
        config = Config(read_timeout=1, retries={"mode": "standard", "total_max_attempts": 3})
        return bed.api.client(service, config=config)

    bed.api.fail("RunInstances", skip=skip, **fault)
    handle = bed.cluster(client=client).start()
    assert len(bed.api.instances()) == 5, "one master, three workers and an additional one"
    assert len(set(tokens(bed))) == 2
    assert len(tokens(bed)) >= 3, "of which a busy machine may make more: a second is soon over there"
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")


@pytest.mark.parametrize("when", ["drop", "after"])
@pytest.mark.parametrize("skip", [0, 1], ids=["master", "workers"])
def test_machines_are_found_by_tag_where_all_answers_are_lost(bed, when, skip, caplog):
    bed.api.fail("RunInstances", when=when, skip=skip)
    handle = bed.cluster().start()
    assert len(bed.api.instances()) == 5
    assert len(bed.live("master")) == 1
    assert {m.instance_id for m in handle.machines} == bed.live_ids("worker")
    assert "is lost" in caplog.text


def test_a_launch_that_had_no_effect_is_a_retryable_error(bed):
    bed.api.fail("RunInstances", code="InternalError", times=9)
    with pytest.raises(ClusterError, match=r"InternalError") as caught:
        bed.cluster().start()
    assert caught.value.retryable
    assert not bed.live()


def test_throttling_beyond_all_retries_is_a_retryable_error(bed):
    bed.api.fail("RunInstances", code="RequestLimitExceeded", status=503, skip=1, times=9)
    with pytest.raises(ClusterError, match=r"RequestLimitExceeded") as caught:
        bed.cluster().start()
    assert caught.value.retryable
    assert not bed.live()


def test_a_missing_permission_is_told_without_the_encoded_message(bed):
    bed.api.fail(
        "RunInstances",
        code="UnauthorizedOperation",
        status=403,
        message="You are not authorized to perform: ec2:RunInstances. "
        "Encoded authorization failure message: " + "x" * 2000,
    )
    with pytest.raises(MissingResourceError, match=r"not authorized to perform: ec2:RunInstances") as caught:
        bed.cluster().start()
    assert "xxx" not in str(caught.value)
    assert "IAM policy" in caught.value.remedy
    assert not caught.value.retryable
    assert caught.value.__cause__ is None
    assert not bed.live()


def test_a_request_that_aws_cannot_accept_is_not_retried(bed):
    bed.api.fail("RunInstances", code="InvalidKeyPair.NotFound", status=400, message="no key 'mine'", skip=1)
    with pytest.raises(InvalidParameterError, match=r"no key 'mine'"):
        bed.cluster().start()
    assert not bed.live()


def test_a_quota_is_told_with_its_remedy(bed):
    bed.api.fail("RunInstances", code="VcpuLimitExceeded", status=400, skip=1, times=99)
    with pytest.raises(ClusterStartError, match=r"VcpuLimitExceeded") as caught:
        bed.cluster().start()
    assert "Service Quotas" in caught.value.remedy
    assert not bed.live()


def test_a_repetition_after_its_machines_were_ended_has_another_token(bed):
    """Type after type is given up; the same place may be asked again with the same number."""
    bed.api.set_capacity("m5.large", 1, zone="us-east-1a")
    bed.api.set_capacity("m5.large", 1, zone="us-east-1b")
    bed.api.set_capacity("m5.xlarge", 0)
    spec = bed.spec(
        instance_type="m5.large", fallback_instance_types=("m5.xlarge",), master_instance_type="t3.micro"
    )
    with pytest.raises(ClusterStartError):
        bed.cluster(spec).start()
    assert len(set(tokens(bed))) == len(tokens(bed))
    assert not bed.live()
    bed.api.set_capacity("m5.large", None, zone="us-east-1a")
    assert len(bed.cluster(spec).start().machines) == 3, "also where the attempt's number is the same"
    assert all(call.outcome != "IdempotentParameterMismatch" for call in bed.api.calls("RunInstances"))


def test_machines_taken_over_are_not_those_of_a_lost_launch(bed):
    bed.cluster().launch()
    for machine in bed.live("worker")[:2]:
        bed.api.set_state(machine.instance_id, "terminated")
    bed.api.fail("RunInstances", code="InternalError", times=99)
    with pytest.raises(ClusterError, match=r"InternalError"):
        bed.cluster(try_number=2).start()
    assert not bed.live()


def test_throttling_right_after_a_launch_is_endured(bed, caplog):
    cluster = bed.cluster()
    throttle_after_launch(bed)
    cluster.launch()
    assert "RequestLimitExceeded" in caplog.text
    assert len(bed.live()) == 5


def test_throttling_while_a_lost_launch_is_looked_for_is_endured(bed):
    bed.api.fail("RunInstances", when="drop", skip=1)
    throttle_after_launch(bed)
    bed.cluster().launch()
    assert len(bed.api.instances()) == 5


def test_throttling_without_end_after_a_launch_does_not_end_it(bed, caplog):
    throttle_after_launch(bed, times=99)
    bed.cluster().launch()
    bed.api.forget_faults()
    assert "does not show all machines" in caplog.text
    assert len(bed.live()) == 5


@pytest.mark.parametrize("fallback", [True, False])
def test_an_account_that_never_used_spot_is_told_the_way(bed, fallback, caplog):
    code = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
    bed.api.fail("RunInstances", code=code, status=403, skip=1, times=2 if fallback else 99)
    spec = bed.spec(spot=True, on_demand_fallback=fallback, subnets=bed.api.subnet_ids[:1], over_allocation=0)
    if fallback:
        handle = bed.cluster(spec).start()
        assert {machine.market for machine in handle.machines} == {"on-demand"}
        assert code in caplog.text
        return
    with pytest.raises(ClusterStartError, match=code) as caught:
        bed.cluster(spec).start()
    assert "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com" in caught.value.remedy
    assert not bed.live()
