import pytest
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
)

from airflow_provider_ernest.clusters.ec2.aws_errors import (
    ELSEWHERE,
    explained,
    is_unanswered,
    meaning_of,
)
from airflow_provider_ernest.exceptions import (
    ClusterError,
    InvalidParameterError,
    MissingResourceError,
)


def refusal(code, message="No.", status=400):
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, "X"
    )


@pytest.mark.parametrize(
    ("code", "status", "is_tried_elsewhere", "may_have_had_an_effect"),
    [
        ("InsufficientInstanceCapacity", 500, True, False),
        ("VcpuLimitExceeded", 400, True, False),
        ("Unsupported", 400, True, False),
        ("InsufficientFreeAddressesInSubnet", 400, True, False),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", 403, True, False),
        ("UnauthorizedOperation", 403, False, False),
        ("InvalidSubnetID.NotFound", 400, False, False),
        ("RequestLimitExceeded", 503, False, False),
        ("SomethingNew", 500, False, True),
        ("SomethingNew", 400, False, False),
    ],
)
def test_what_a_refused_launch_leads_to(code, status, is_tried_elsewhere, may_have_had_an_effect):
    error = refusal(code, status=status)
    assert (meaning_of(error) in ELSEWHERE) == is_tried_elsewhere
    assert is_unanswered(error) == may_have_had_an_effect


def test_a_connection_that_fails_may_have_had_an_effect():
    assert is_unanswered(EndpointConnectionError(endpoint_url="http://127.0.0.1"))


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (refusal("RequestLimitExceeded", status=503), ClusterError),
        (refusal("InternalError", status=500), ClusterError),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1"), ClusterError),
        (refusal("ConcurrentTagAccess"), ClusterError),
        (refusal("AuthFailure", status=401), MissingResourceError),
        (refusal("InvalidKeyPair.NotFound"), InvalidParameterError),
        (NoCredentialsError(), ClusterError),
        (CredentialRetrievalError(provider="iam-role", error_msg="no"), ClusterError),
        (refusal("ExpiredTokenException"), ClusterError),
        (PartialCredentialsError(provider="env", cred_var="key"), MissingResourceError),
        (refusal("InvalidClientTokenId", status=403), MissingResourceError),
    ],
)
def test_errors_become_ours_with_what_aws_said(error, ours):
    with pytest.raises(ours) as caught, explained("launch machines"):
        raise error
    assert caught.value.retryable is (ours is ClusterError)
    assert "launch machines" in caught.value.message
    assert caught.value.remedy
