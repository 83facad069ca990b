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
    Meaning,
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
    ("code", "status"),
    [
        ("InsufficientInstanceCapacity", 500),
        ("InsufficientHostCapacity", 500),
        ("SpotMaxPriceTooLow", 400),
        ("MaxSpotInstanceCountExceeded", 400),
        ("VcpuLimitExceeded", 400),
        ("InstanceLimitExceeded", 400),
        ("Unsupported", 400),
        ("InsufficientFreeAddressesInSubnet", 400),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", 403),
    ],
)
def test_after_these_another_place_is_tried(code, status):
    error = refusal(code, status=status)
    assert meaning_of(error) in ELSEWHERE
    assert not is_unanswered(error)


@pytest.mark.parametrize(
    "code", ["UnauthorizedOperation", "InvalidSubnetID.NotFound", "RequestLimitExceeded"]
)
def test_after_these_no_other_place_is_tried(code):
    assert meaning_of(refusal(code)) not in ELSEWHERE


def test_an_unknown_error_of_the_server_may_have_had_an_effect():
    assert is_unanswered(refusal("SomethingNew", status=500))
    assert is_unanswered(EndpointConnectionError(endpoint_url="http://127.0.0.1"))
    assert not is_unanswered(refusal("RequestLimitExceeded", status=503))
    assert not is_unanswered(refusal("SomethingNew", status=400))


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


def test_other_errors_pass():
    with pytest.raises(KeyError), explained("launch machines"):
        raise KeyError("x")
    assert Meaning.WRONG not in ELSEWHERE


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
