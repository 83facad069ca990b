import logging

import pytest

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning
from airflow_provider_ernest.clusters.ec2.launching import PlaceRefusedError, WorkerPlacement
from airflow_provider_ernest.clusters.ec2.requests import Place
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    InvalidParameterError,
    MissingResourceError,
)


def tokens(bed):
    return [call.parameters["ClientToken"] for call in bed.api.calls("RunInstances")]


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


def test_a_missing_permission_is_told_without_the_encoded_message(bed):
    bed.api.fail(
        "RunInstances",
        code="UnauthorizedOperation",
        status=403,
        message="You are not authorized to perform: ec2:RunInstances. "
        "Encoded authorization failure message: " + "x" * 2000,
    )
    with bed.leaves_nothing(
        MissingResourceError, match=r"not authorized to perform: ec2:RunInstances"
    ) as caught:
        bed.cluster().start()
    assert "xxx" not in str(caught.value)
    assert "IAM policy" in caught.value.remedy
    assert not caught.value.retryable
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("fault", "error", "told", "remedy"),
    [
        ({"code": "InternalError"}, ClusterError, "InternalError", ""),
        ({"code": "RequestLimitExceeded", "status": 503}, ClusterError, "RequestLimitExceeded", ""),
        ({"code": "VcpuLimitExceeded", "status": 400}, ClusterStartError, "VcpuLimit", "Service Quotas"),
        (
            {"code": "InvalidKeyPair.NotFound", "status": 400, "message": "no key 'mine'"},
            InvalidParameterError,
            "no key 'mine'",
            "",
        ),
    ],
    ids=lambda value: value.get("code") if isinstance(value, dict) else "",
)
def test_workers_that_cannot_be_launched_end_their_master(bed, fault, error, told, remedy):
    bed.api.fail("RunInstances", skip=1, times=99, **fault)
    with bed.leaves_nothing(error, match=told) as caught:
        bed.cluster().start()
    assert caught.value.retryable == issubclass(error, ClusterError)
    assert remedy in caught.value.remedy


def test_a_repetition_after_its_machines_were_ended_has_another_token(bed):
    """Type after type is given up; the same place may be asked again with the same number."""
    bed.api.set_capacity("m5.large", 1, zone="us-east-1a")
    bed.api.set_capacity("m5.large", 1, zone="us-east-1b")
    bed.api.set_capacity("m5.xlarge", 0)
    spec = bed.spec(
        instance_type="m5.large", fallback_instance_types=("m5.xlarge",), master_instance_type="t3.micro"
    )
    with bed.leaves_nothing(ClusterStartError):
        bed.cluster(spec).start()
    assert len(set(tokens(bed))) == len(tokens(bed))
    bed.api.set_capacity("m5.large", None, zone="us-east-1a")
    assert len(bed.cluster(spec).start().machines) == 3, "also where the attempt's number is the same"
    assert all(call.outcome != "IdempotentParameterMismatch" for call in bed.api.calls("RunInstances"))


def test_machines_taken_over_are_not_those_of_a_lost_launch(bed):
    bed.launched()
    for machine in bed.live("worker")[:2]:
        bed.api.set_state(machine.instance_id, "terminated")
    bed.api.fail("RunInstances", code="InternalError", times=99)
    with bed.leaves_nothing(ClusterError, match=r"InternalError"):
        bed.cluster(try_number=2).start()


@pytest.mark.parametrize(
    ("times", "is_lost", "logged"),
    [(1, False, "RequestLimitExceeded"), (99, False, "does not show all machines"), (1, True, "is lost")],
    ids=["once", "without end", "while a lost launch is looked for"],
)
def test_throttling_right_after_a_launch_is_endured(bed, caplog, times, is_lost, logged):
    if is_lost:
        bed.api.fail("RunInstances", when="drop", skip=1)
    # AWS refuses to show machines, but when the start looks for those of earlier attempts.
    bed.api.fail("DescribeInstances", code="RequestLimitExceeded", status=503, skip=1, times=times)
    bed.launched()
    bed.api.forget_faults()
    assert logged in caplog.text
    assert len(bed.api.instances()) == len(bed.live()) == 5


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
    with bed.leaves_nothing(ClusterStartError, match=code) as caught:
        bed.cluster(spec).start()
    assert "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com" in caught.value.remedy


def types(bed):
    return sorted(machine.instance_type for machine in bed.live("worker"))


def test_partial_capacity_is_collected_over_the_subnets(bed):
    bed.api.set_capacity("m5.large", 2, zone="us-east-1a")
    bed.api.set_capacity("m5.large", 2, zone="us-east-1b")
    handle = bed.cluster(bed.spec(master_instance_type="t3.micro")).start()
    assert len(handle.machines) == 3
    assert {machine.zone for machine in bed.live("worker")} == {"us-east-1a", "us-east-1b"}


def test_one_zone_is_preferred_to_two(bed):
    bed.api.set_capacity("m5.large", 2, zone="us-east-1a")
    bed.cluster(bed.spec(master_instance_type="t3.micro")).start()
    assert {machine.zone for machine in bed.live("worker")} == {"us-east-1b"}


def test_another_type_is_taken_where_the_first_is_short_and_never_both(bed, caplog):
    bed.api.set_capacity("m5.large", 2)
    spec = bed.spec(master_instance_type="t3.micro", fallback_instance_types=("m5.xlarge",))
    handle = bed.cluster(spec).start()
    assert types(bed) == ["m5.xlarge"] * 3
    assert handle.instance_type == "m5.xlarge"
    assert "InsufficientInstanceCapacity" in caplog.text


def test_a_smaller_cluster_is_taken_where_it_is_acceptable(bed, caplog):
    bed.api.set_capacity("m5.large", 2)
    spec = bed.spec(master_instance_type="t3.micro", smallest_acceptable=2)
    handle = bed.cluster(spec).start()
    assert len(handle.machines) == 2
    assert "Going on with 2 workers of 3" in caplog.text


def test_spot_that_is_refused_is_made_up_for_on_demand_and_the_reason_is_logged(bed, caplog):
    caplog.set_level(logging.INFO)
    bed.api.set_capacity("m5.large", 1, market="spot")
    handle = bed.cluster(bed.spec(spot=True, over_allocation=0)).start()
    assert sorted(machine.market for machine in bed.live("worker")) == ["on-demand", "on-demand", "spot"]
    assert sorted(machine.market for machine in handle.machines) == ["on-demand", "on-demand", "spot"]
    assert "There is no Spot capacity available" in caplog.text
    assert bed.live("master")[0].market == "on-demand"


def test_when_all_is_exhausted_nothing_lives_and_each_place_is_told(bed):
    for instance_type in ("m5.large", "m5.xlarge"):
        bed.api.set_capacity(instance_type, 1, zone="us-east-1a")
        bed.api.set_capacity(instance_type, 1, zone="us-east-1b")
    spec = bed.spec(master_instance_type="t3.micro", fallback_instance_types=("m5.xlarge",))
    with bed.leaves_nothing(ClusterStartError) as caught:
        bed.cluster(spec).start()
    message = str(caught.value)
    for subnet in bed.api.subnet_ids:
        for instance_type in ("m5.large", "m5.xlarge"):
            assert f"{instance_type}, on-demand in {subnet}: InsufficientInstanceCapacity" in message
    assert "more subnets" in message


def test_a_master_that_aws_does_not_have_in_one_subnet_is_launched_in_the_other(bed):
    bed.api.set_capacity("m5.large", 0, zone="us-east-1a")
    bed.cluster().start()
    assert bed.live("master")[0].zone == "us-east-1b"


@pytest.fixture
def short(bed):
    """Of a cluster of whose first type AWS has some machines, but too few."""
    bed.api.set_capacity("m5.large", 2)
    return bed.spec(master_instance_type="t3.micro", fallback_instance_types=("m5.xlarge",))


def of_type(bed, instance_type):
    return [machine for machine in bed.api.instances() if machine.instance_type == instance_type]


def test_workers_of_a_type_that_is_given_up_do_not_count_as_failed(bed, short):
    cluster = bed.launched(short)
    assert {machine.state for machine in of_type(bed, "m5.large")} <= {"shutting-down", "terminated"}
    readiness = bed.look(cluster.name, short)
    assert readiness.ended == ()
    assert "ended by themselves" not in readiness.message


def test_workers_of_a_type_that_cannot_be_ended_are_ended_with_the_attempt(bed, short):
    bed.api.fail("TerminateInstances", code="UnauthorizedOperation", status=403)
    with bed.leaves_nothing(MissingResourceError, match=r"UnauthorizedOperation"):
        bed.cluster(short).start()


def test_a_start_does_not_fail_for_want_of_a_tag(bed, short, caplog):
    bed.api.fail("CreateTags", code="RequestLimitExceeded", status=503)
    assert len(bed.cluster(short).start().machines) == 3
    assert "ended on purpose" in caplog.text


PLACES = [Place(instance_type="m5.large", subnet=f"subnet-{n}", market="on-demand") for n in (1, 2)]


class Cloud:
    """Launches within limits; a limit refuses whatever is larger as a whole, as AWS's quotas do."""

    def __init__(self, *, limit, meaning=Meaning.TOO_MANY):
        self.limit = limit
        self.meaning = meaning
        self.asked = []

    def __call__(self, place, minimum, maximum):
        self.asked.append((place.subnet, minimum, maximum))
        if maximum > self.limit:
            raise PlaceRefusedError(place, self.meaning, "VcpuLimitExceeded: no")
        self.limit -= maximum
        return [object()] * maximum


def test_a_quota_for_exactly_the_wanted_machines_suffices():
    cloud = Cloud(limit=10)
    placement = WorkerPlacement(cloud, wanted=10, total=11)
    placement.collect([PLACES])
    assert len(placement.launched) == 10
    assert len(cloud.asked) == 2, "without the additional one it fits"


@pytest.mark.parametrize("wanted", [1, 8])
def test_no_place_is_asked_for_the_same_twice(wanted):
    cloud = Cloud(limit=0, meaning=Meaning.NO_ROOM)
    WorkerPlacement(cloud, wanted=wanted, total=9).collect([PLACES])
    assert len(cloud.asked) == len(set(cloud.asked)) >= 2
