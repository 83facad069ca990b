"""What a specification says of the software on the machines, checked before anything is launched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from airflow_provider_ernest.clusters.spec_values import is_line, require_match
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

# What useradd takes on all distributions. A number would be one of a user that may be anybody.
_LINUX_USER = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_SHA512 = re.compile(r"[0-9a-fA-F]{128}")
_URL_CREDENTIALS = re.compile(r"(?:x-amz-(?:signature|credential|security-token)|signature|sig|token)=", re.I)


def check_software(spec: EC2ClusterSpec) -> None:
    """Refuse software that cannot be found, or a user that must not run it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """
    _check_distribution(spec.spark_distribution, spec.spark_distribution_sha512)
    if spec.java_home is not None and not (is_line(spec.java_home) and spec.java_home.startswith("/")):
        raise InvalidParameterError("java_home", spec.java_home, "is no absolute path on the machines")
    python = spec.python
    if not is_line(python) or python.startswith("-") or ("/" in python and not python.startswith("/")):
        raise InvalidParameterError(
            "python", python, "is neither the name of a program nor an absolute path on the machines"
        )
    _check_user(spec.spark_user)
    if not isinstance(spec.setup_script, str) or re.search(r"[\x00\ud800-\udfff]", spec.setup_script):
        raise InvalidParameterError("setup_script", spec.setup_script, "is not the text of a shell script")


def _check_user(user: object) -> None:
    if user == "root":
        problem = "would let jobs call off the time to live of the machines"
        remedy = "Name a user without rights; one that does not exist is created."
        raise InvalidParameterError("spark_user", user, problem, remedy=remedy)
    what = "is no name of a Linux user"
    remedy = 'Use lower-case letters, digits, "-" and "_", at most 31, a letter first.'
    require_match("spark_user", user, _LINUX_USER, what, remedy)


def _check_distribution(distribution: object, sha512: object) -> None:
    field = "spark_distribution"
    if not is_line(distribution):
        raise InvalidParameterError(field, distribution, "is no path or address of one line")
    is_path = distribution.startswith("/")
    if not is_path:
        _check_address(field, distribution)
    if sha512 is None and distribution.startswith("https:"):
        problem = "is missing: whoever answers at that address would run code on the machines"
        remedy = (
            "Give the digest that the project publishes beside the .tgz, or take an s3:// address of yours."
        )
        raise InvalidParameterError("spark_distribution_sha512", None, problem, remedy=remedy)
    if sha512 is None:
        return
    if is_path:
        problem = "belongs to a .tgz, but spark_distribution is a path"
        raise InvalidParameterError("spark_distribution_sha512", sha512, problem, remedy="Leave it out.")
    what = "is no SHA-512 digest of 128 hexadecimal digits"
    require_match("spark_distribution_sha512", sha512, _SHA512, what)


def _check_address(field: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        host = parts.hostname
        _ = parts.port  # raises where it is no number
    except ValueError as error:
        raise InvalidParameterError(field, address, f"is no address: {error}") from error
    if "@" in parts.netloc or _URL_CREDENTIALS.search(parts.query):
        # Not quoted: a specification and its errors are shown to whoever may see the DAG.
        remedy = "Let the machines' instance profile read an s3:// address instead."
        raise InvalidParameterError(field, f"{parts.scheme}://...", "holds credentials", remedy=remedy)
    if parts.scheme not in ("https", "s3") or not host or not parts.path.strip("/") or " " in address:
        problem = "is neither an absolute path nor an https:// or s3:// address of a .tgz"
        raise InvalidParameterError(field, address, problem)
