import logging

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from airflow_provider_ernest.clusters.ec2.preflight import resolve_image
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError, MissingResourceError

AMAZON_LINUX = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
FACTS = {
    "ImageId": "ami-0123456789abcdef0",
    "State": "available",
    "RootDeviceName": "/dev/xvda",
    "Architecture": "arm64",
}


@pytest.fixture(scope="module")
def aws():
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "true")
        yield


@pytest.fixture
def ec2(aws):
    return boto3.client("ec2", region_name="us-east-1")


@pytest.fixture
def ssm(aws):
    return boto3.client("ssm", region_name="us-east-1")


@pytest.fixture
def image_id(ec2):
    """An image of Amazon's in the simulated region."""
    images = ec2.describe_images(Filters=[{"Name": "name", "Values": ["amzn2-ami-hvm-2.0*"]}])["Images"]
    return images[0]["ImageId"]


def _no_client():
    pytest.fail("no client of SSM is needed for an AMI id")


def _resolve_stubbed(ec2, **facts):
    with Stubber(ec2) as stubber:
        # Deprecated and disabled images are hidden from those who do not ask for them.
        asked = {"ImageIds": [FACTS["ImageId"]], "IncludeDeprecated": True, "IncludeDisabled": True}
        stubber.add_response("describe_images", {"Images": [FACTS | facts]}, asked)
        return resolve_image(FACTS["ImageId"], ec2=ec2, ssm=_no_client)


def test_an_image_by_its_id(ec2, image_id):
    image = resolve_image(image_id, ec2=ec2, ssm=_no_client)
    assert (image.id, image.root_device, image.architecture) == (image_id, "/dev/xvda", "x86_64")


def test_an_image_that_a_parameter_names(ec2, ssm, image_id):
    ssm.put_parameter(Name="/team/spark", Type="String", Overwrite=True, Value=image_id)
    assert resolve_image("/team/spark", ec2=ec2, ssm=lambda: ssm).id == image_id


def test_a_parameter_of_amazon(ec2, ssm):
    named = ssm.get_parameter(Name=AMAZON_LINUX)["Parameter"]["Value"]
    with Stubber(ec2) as stubber:
        stubber.add_response("describe_images", {"Images": [FACTS | {"ImageId": named}]})
        assert resolve_image(AMAZON_LINUX, ec2=ec2, ssm=lambda: ssm).id == named


def test_an_unknown_image_is_named_with_its_region(ec2):
    with pytest.raises(MissingResourceError, match=r"ami-0000000000000dead .*us-east-1.*Each region"):
        resolve_image("ami-0000000000000dead", ec2=ec2, ssm=_no_client)


def test_an_image_that_aws_leaves_out_of_its_answer_is_unknown(ec2):
    with Stubber(ec2) as stubber:
        stubber.add_response("describe_images", {"Images": []})
        with pytest.raises(MissingResourceError, match=r"does not exist"):
            resolve_image(FACTS["ImageId"], ec2=ec2, ssm=_no_client)


def test_an_unknown_image_that_a_parameter_names_is_told_with_the_parameter(ec2, ssm):
    ssm.put_parameter(Name="/team/spark", Type="String", Overwrite=True, Value="ami-0000000000000dead")
    with pytest.raises(MissingResourceError, match=r"ami-0000000000000dead, which .* /team/spark names"):
        resolve_image("/team/spark", ec2=ec2, ssm=lambda: ssm)


def test_an_unknown_parameter_is_named(ec2, ssm):
    with pytest.raises(MissingResourceError, match=r"no SSM parameter /team/nothing .*ami-"):
        resolve_image("/team/nothing", ec2=ec2, ssm=lambda: ssm)


def test_a_parameter_that_holds_something_else_is_not_shown(ec2, ssm):
    ssm.put_parameter(Name="/team/password", Type="String", Overwrite=True, Value="swordfish")
    with pytest.raises(MissingResourceError, match=r"/team/password holds no AMI id") as caught:
        resolve_image("/team/password", ec2=ec2, ssm=lambda: ssm)
    assert "swordfish" not in str(caught.value)


def test_a_missing_permission_to_read_the_parameter_is_told_as_such(ec2, ssm):
    with Stubber(ssm) as stubber:
        stubber.add_client_error("get_parameter", "AccessDeniedException")
        with pytest.raises(MissingResourceError, match=r"/team/spark \(ssm:GetParameter\).*IAM policy"):
            resolve_image("/team/spark", ec2=ec2, ssm=lambda: ssm)


def test_a_missing_permission_to_describe_images_is_told_as_such(ec2):
    with Stubber(ec2) as stubber:
        stubber.add_client_error("describe_images", "UnauthorizedOperation")
        with pytest.raises(MissingResourceError, match=r"ami-0123456789abcdef0 \(ec2:DescribeImages\).*IAM"):
            resolve_image(FACTS["ImageId"], ec2=ec2, ssm=_no_client)


def test_another_attempt_can_help_where_aws_throttles(ec2, ssm):
    with Stubber(ec2) as stubber:
        stubber.add_client_error("describe_images", "RequestLimitExceeded", "Request limit exceeded.")
        with pytest.raises(ClusterError, match=r"Request limit exceeded"):
            resolve_image(FACTS["ImageId"], ec2=ec2, ssm=_no_client)
    with Stubber(ssm) as stubber:
        stubber.add_client_error("get_parameter", "ThrottlingException", "Rate exceeded")
        with pytest.raises(ClusterError, match=r"/team/spark.*Rate exceeded"):
            resolve_image("/team/spark", ec2=ec2, ssm=lambda: ssm)


@pytest.mark.parametrize("state", ["pending", "failed", "disabled", "deregistered"])
def test_an_image_that_is_not_available_is_refused_with_the_reason(ec2, state):
    with pytest.raises(MissingResourceError, match=rf"ami-0123456789abcdef0 is {state}, .*: no snapshot"):
        _resolve_stubbed(ec2, State=state, StateReason={"Message": "no snapshot"})


def test_a_deprecated_image_is_taken_with_a_warning(ec2, caplog):
    with caplog.at_level(logging.WARNING):
        image = _resolve_stubbed(ec2, DeprecationTime="2024-01-01T00:00:00.000Z")
    assert (image.id, image.architecture) == (FACTS["ImageId"], "arm64")
    assert "ami-0123456789abcdef0 is deprecated since 2024-01-01" in caplog.text


def test_an_image_to_be_deprecated_some_day_is_taken_silently(ec2, caplog):
    with caplog.at_level(logging.WARNING):
        _resolve_stubbed(ec2, DeprecationTime="2999-01-01T00:00:00.000Z")
    assert caplog.text == ""


def test_further_volumes_are_those_of_ebs(ec2):
    mappings = [
        {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8}},
        {"DeviceName": "/dev/sdb", "Ebs": {"VolumeSize": 100, "DeleteOnTermination": False}},
        {"DeviceName": "/dev/sdc", "VirtualName": "ephemeral0"},
    ]
    assert _resolve_stubbed(ec2, BlockDeviceMappings=mappings).volumes == ("/dev/sdb",)


def test_windows_is_refused(ec2):
    with pytest.raises(InvalidParameterError, match=r"image='ami-0123456789abcdef0' .*Windows.*Linux"):
        _resolve_stubbed(ec2, Platform="windows")
