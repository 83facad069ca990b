"""What AWS's refusals mean for a cluster: look for room elsewhere, try again, or ask a human.

Codes: "Error codes for the Amazon EC2 API" in the EC2 API reference.
"""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from airflow_provider_ernest.exceptions import (
    ClusterError,
    ErnestError,
    InvalidParameterError,
    MissingResourceError,
)


class Meaning(enum.Enum):
    """What to do about a refusal."""

    NO_ROOM = "no room"
    """AWS does not have such a machine in that place, now or at all: try another place."""
    TOO_MANY = "too many"
    """A limit of the account or the subnet would be passed: try fewer, or another place."""
    NO_SPOT_ROLE = "no spot role"
    """The account has never used spot instances, and the credentials may not make the role for it."""
    NOT_ALLOWED = "not allowed"
    """The credentials lack a permission."""
    BUSY = "busy"
    """Throttled, or AWS has trouble: the same request may work later."""
    WRONG = "wrong"
    """The request itself cannot work."""


ELSEWHERE = frozenset({Meaning.NO_ROOM, Meaning.TOO_MANY, Meaning.NO_SPOT_ROLE})
"""Refusals after which another place is tried."""

_NOT_EVEN_TRIED = """
    RequestLimitExceeded Throttling ThrottlingException ThrottledException RequestThrottled
    RequestThrottledException TooManyRequestsException EC2ThrottledException SlowDown
    RequestExpired ExpiredToken ExpiredTokenException
"""
_CODES = {
    Meaning.NO_ROOM: """
        InsufficientInstanceCapacity InsufficientHostCapacity InsufficientReservedInstanceCapacity
        UnfulfillableCapacity InsufficientCapacity InsufficientCapacityOnHost
        InsufficientCapacityOnOutpost SpotMaxPriceTooLow ReservationCapacityExceeded
        Unsupported UnsupportedOperation UnsupportedHibernationConfiguration UnsupportedTenancy
        InsufficientVolumeCapacity
    """,
    Meaning.TOO_MANY: """
        MaxSpotInstanceCountExceeded VcpuLimitExceeded InstanceLimitExceeded
        InsufficientFreeAddressesInSubnet InsufficientAddressCapacity VolumeLimitExceeded
        MaxIOPSLimitExceeded NetworkInterfaceLimitExceeded AttachmentLimitExceeded
    """,
    Meaning.NO_SPOT_ROLE: "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
    Meaning.NOT_ALLOWED: """
        UnauthorizedOperation AccessDenied AccessDeniedException AuthFailure Blocked OptInRequired
        PendingVerification InvalidClientTokenId SignatureDoesNotMatch UnrecognizedClientException
    """,
    Meaning.BUSY: f"""
        ServiceUnavailable Unavailable InternalError InternalFailure InternalServerError
        IDPCommunicationError ConcurrentTagAccess {_NOT_EVEN_TRIED}
    """,
}
_MEANING_OF_CODE = {code: meaning for meaning, codes in _CODES.items() for code in codes.split()}

# Exceptions of botocore that no retry can help. Those about missing credentials are not among them: the
# metadata service that gives a role's fails now and then.
_MEANING_OF_CLASS = {
    "PartialCredentialsError": Meaning.NOT_ALLOWED,
    "NoRegionError": Meaning.WRONG,
    "ParamValidationError": Meaning.WRONG,
}

REMEDIES = {
    Meaning.NO_ROOM: "Name more subnets, in zones that have the instance type, or fallback_instance_types.",
    Meaning.TOO_MANY: (
        "Have the limit raised (Service Quotas, Amazon EC2; for addresses: a larger subnet), end machines "
        "that are not needed, or ask for fewer or smaller ones."
    ),
    Meaning.NO_SPOT_ROLE: (
        "Let an administrator run once: "
        "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"
    ),
    Meaning.NOT_ALLOWED: (
        "Give the AWS connection valid credentials, whose IAM policy allows it; docs/iam_policy.json has one."
    ),
    Meaning.BUSY: "Try again later; if it lasts, look whether the AWS connection's credentials are valid.",
    Meaning.WRONG: "Correct the parameter that AWS names.",
}
"""What the user can do about a refusal, as a sentence."""
# What follows is thousands of characters of base64 that only sts:DecodeAuthorizationMessage can read.
_ENCODED = re.compile(r"\s*Encoded authorization failure message:.*", re.DOTALL)


def code_of(error: BaseException) -> str:
    """AWS's error code; "" if AWS did not answer."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def meaning_of(error: BaseException) -> Meaning:
    """What an exception of botocore means; without an answer, the same request may work later."""
    code = code_of(error)
    if code in _MEANING_OF_CODE:
        return _MEANING_OF_CODE[code]
    if not code:
        return _MEANING_OF_CLASS.get(type(error).__name__, Meaning.BUSY)
    if code.startswith("InvalidInstanceID"):  # it ended meanwhile, or is not shown yet
        return Meaning.BUSY
    if code.startswith("AuthFailure."):
        return Meaning.NOT_ALLOWED
    response = getattr(error, "response", {})
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
    return Meaning.BUSY if status >= 500 else Meaning.WRONG


def is_unanswered(error: BaseException) -> bool:
    """Whether the request may have taken effect, since the answer is lost or blames AWS itself."""
    return meaning_of(error) is Meaning.BUSY and code_of(error) not in _NOT_EVEN_TRIED.split()


def said(error: BaseException) -> str:
    """Code and message of AWS's answer, readable."""
    code = code_of(error)
    if not code:
        return f"{type(error).__name__}: {error}"
    message = str(getattr(error, "response", {})["Error"].get("Message", ""))
    return f"{code}: {_ENCODED.sub('', message)}".rstrip(": ")


def as_ours(error: BaseException, doing: str) -> ErnestError:
    """Our own error for this one; `doing` completes "AWS refused to ...".

    A ClusterError where a retry may work, a MissingResourceError where a permission is missing, and an
    InvalidParameterError where the request cannot work.
    """
    meaning, code = meaning_of(error), code_of(error)
    message, remedy = f"AWS refused to {doing}: {said(error)}.", REMEDIES[meaning]
    if meaning is Meaning.BUSY and not code:
        message = f"AWS did not answer when asked to {doing}: {said(error)}."
    if meaning is Meaning.NOT_ALLOWED:
        return MissingResourceError(message, remedy=remedy)
    if meaning is Meaning.WRONG:
        return InvalidParameterError("request", doing, f"was refused by AWS, {said(error)}", remedy=remedy)
    return ClusterError(message, remedy=remedy)


@contextlib.contextmanager
def explained(
    doing: str, codes: tuple[str, ...] = (), instead: Callable[[BaseException], ErnestError] | None = None
) -> Iterator[None]:
    """Turn botocore's errors into our own, as `as_ours` does; those that begin with `codes` by `instead`."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        # Without the cause: its text may hold the encoded authorisation message.
        if instead is not None and code_of(error).startswith(codes):
            raise instead(error) from None
        raise as_ours(error, doing) from None


def time_of(answer: Mapping[str, Any]) -> datetime:
    """When AWS gave an answer, by its own clock (header Date, to the second); with time zone.

    A wrong local clock must neither end living machines nor spare overdue ones. It is used only without that
    header, which AWS never leaves out.
    """
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, ValueError):
        return datetime.now(UTC)
