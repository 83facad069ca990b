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
    ErnestError,
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
        ("InsufficientHostCapacity", 500, True, False),
        ("SpotMaxPriceTooLow", 400, True, False),
        ("MaxSpotInstanceCountExceeded", 400, True, False),
        ("VcpuLimitExceeded", 400, True, False),
        ("InstanceLimitExceeded", 400, True, False),
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
    ("error", "ours", "retryable"),
    [
        (refusal("RequestLimitExceeded", status=503), ClusterError, True),
        (refusal("InternalError", status=500), ClusterError, True),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1"), ClusterError, True),
        (refusal("AuthFailure", status=401), MissingResourceError, False),
        (refusal("InvalidKeyPair.NotFound"), InvalidParameterError, False),
        (refusal("AuthFailure.SomethingNew", status=403), MissingResourceError, False),
        (refusal("ConcurrentTagAccess"), ClusterError, True),
        (NoCredentialsError(), ClusterError, True),
    ],
)
def test_errors_become_ours_with_what_aws_said(error, ours, retryable):
    with pytest.raises(ours) as caught, explained("launch machines"):
        raise error
    assert caught.value.retryable is retryable
    assert "launch machines" in str(caught.value)
    assert caught.value.remedy


def test_the_encoded_message_is_left_out():
    message = "You may not do that. Encoded authorization failure message: abcdef"
    with pytest.raises(MissingResourceError) as caught, explained("launch machines"):
        raise refusal("UnauthorizedOperation", message, 403)
    assert "You may not do that." in str(caught.value)
    assert "abcdef" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (NoCredentialsError(), True),
        (CredentialRetrievalError(provider="iam-role", error_msg="no answer"), True),
        (refusal("ExpiredTokenException"), True),
        (refusal("IDPCommunicationError"), True),
        (PartialCredentialsError(provider="env", cred_var="aws_secret_access_key"), False),
        (refusal("InvalidClientTokenId", status=403), False),
    ],
)
def test_a_failure_of_the_credentials_is_told_as_one(error, retryable):
    """The metadata service, which gives a role's credentials, fails now and then."""
    with pytest.raises(ErnestError, match=r"credentials failed") as caught, explained("end machines"):
        raise error
    assert caught.value.retryable is retryable
    assert "valid credentials" in caught.value.remedy
    assert "end machines" in caught.value.message
