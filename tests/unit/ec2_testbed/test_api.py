"""What the endpoint must refuse as AWS does, since the tests of clusters on EC2 take it for AWS."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.ec2_testbed import EC2Api


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"ClientToken": "known", "MaxCount": 2}, r"IdempotentParameterMismatch"),
        ({"ImageId": "ami-0000000000000dead"}, r"InvalidAMIID"),
        ({"InstanceType": "m5.gigantic"}, r"InvalidInstanceType|InvalidParameterValue"),
        ({"SubnetId": "subnet-0dead"}, r"InvalidSubnetID.NotFound"),
        ({"SecurityGroupIds": ["sg-0dead"]}, r"InvalidGroup.NotFound|InvalidSecurityGroup"),
        ({"IamInstanceProfile": {"Name": "unknown"}}, r"NoSuchEntity|InvalidParameterValue"),
        ({"UserData": "#" * 16385}, r"limited to 16384 bytes"),
        ({"DryRun": True}, r"DryRunOperation"),
    ],
)
def test_what_aws_would_refuse_is_refused(api: EC2Api, request_: dict[str, Any], code: str) -> None:
    ec2 = api.client("ec2")
    what = {"ImageId": api.image_id, "InstanceType": "m5.large", "SubnetId": api.subnet_ids[0]}
    what |= {"MinCount": 1, "MaxCount": 1}
    ec2.run_instances(**what, ClientToken="known")
    with pytest.raises(ClientError, match=code):
        ec2.run_instances(**{**what, **request_})
    assert len(api.instances()) == 1
