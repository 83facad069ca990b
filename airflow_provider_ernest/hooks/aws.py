"""boto3's clients through the hooks of Airflow's amazon provider, with its connections and roles."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import S3Clients

if TYPE_CHECKING:
    from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook

DEFAULT_CONNECTION = "aws_default"
"""Where there is no connection of this name, boto3 finds the credentials, as everywhere in Airflow."""

_CLIENT_SETTINGS: dict[str, Any] = {
    # Not more: boto3 repeats a launch, too, for which AWS has not the machines (it calls that an error of the
    # server), and meanwhile no other place is tried. What ends machines is more patient by itself.
    "retries": {"mode": "standard", "max_attempts": 4},
    # The default of a minute is longer than a task that is being killed lives.
    "connect_timeout": 10,
}


def aws_clients(aws_conn_id: str | None, region: str | None) -> Callable[[str], Any]:
    """A function that makes boto3's client of a service such as "ec2", once, and may be called in any thread.

    Without a connection by boto3's own credentials; without a region in that of the connection, or of boto3's
    own configuration.

    Raises:
        MissingResourceError: when called, without the amazon provider or such a connection.
        InvalidParameterError: when called, if the region is unknown.
    """
    made: dict[str, Any] = {}
    # A killed task asks for clients in its signal handler, maybe while it was asking for one.
    lock = RLock()

    def client(service: str) -> Any:
        with lock:
            if service not in made:
                made[service] = _make_client(service, aws_conn_id, region)
            return made[service]

    return client


def _make_client(service: str, aws_conn_id: str | None, region: str | None) -> Any:
    hook = _hook(service, aws_conn_id, region)
    # At level DEBUG botocore logs requests and answers whole, and user-data holds the cluster's secret.
    logger = logging.getLogger("botocore")
    logger.setLevel(max(logger.getEffectiveLevel(), logging.INFO))
    from botocore.config import Config
    from botocore.exceptions import NoRegionError

    if aws_conn_id and aws_conn_id != DEFAULT_CONNECTION:
        _require_connection(hook, aws_conn_id)
    try:
        # The settings of the connection win.
        return hook.get_client_type(hook.region_name, config=Config(**_CLIENT_SETTINGS).merge(hook.config))
    except NoRegionError as error:
        raise InvalidParameterError(
            "region_name",
            region,
            "leaves the AWS region open, and the connection does not name one",
            remedy=f"Set region_name, or region_name in the extra of connection {aws_conn_id!r}.",
        ) from error


def _hook(service: str, aws_conn_id: str | None, region: str | None) -> AwsBaseHook:
    try:
        from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    except ImportError as error:
        raise MissingResourceError(
            f"Airflow's amazon provider cannot be imported ({error}).",
            remedy="Install it: pip install 'airflow-provider-ernest[ec2]'.",
        ) from error
    return AwsBaseHook(client_type=service, aws_conn_id=aws_conn_id, region_name=region)


def _require_connection(hook: AwsBaseHook, aws_conn_id: str) -> None:
    """Refuse to go on with whichever credentials boto3 finds: machines would be paid by the wrong account."""
    from airflow.providers.common.compat.sdk import AirflowNotFoundException

    try:
        hook.get_connection(aws_conn_id)
    except AirflowNotFoundException as error:
        raise MissingResourceError(
            f"There is no Airflow connection {aws_conn_id!r}.",
            remedy="Add it, or set aws_conn_id to None for the credentials that boto3 finds by itself.",
        ) from error


def s3_clients() -> S3Clients:
    """A function that makes boto3's client of S3 for the connection of an address, else for ``aws_default``.

    Without Airflow's amazon provider it returns None, and S3 is left to s3fs.
    """

    @cache
    def client(connection: str) -> Any:
        try:
            if find_spec("airflow.providers.amazon.aws") is None:
                return None
        except ModuleNotFoundError:
            return None
        return aws_clients(connection or DEFAULT_CONNECTION, None)("s3")

    return client
