"""Applications on S3, read with Airflow's connections."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from airflow_provider_ernest.spark.artifact_file import ArtifactFile, OpenS3


def s3_opener() -> OpenS3:
    """What opens files on S3 by boto3, with the connection that the address names or ``aws_default``.

    Without Airflow's amazon provider it opens none, and they are left to s3fs. Clients are made when they
    are first needed, once for each connection.
    """
    clients: dict[str, Callable[[str], Any]] = {}

    def opened(path: str) -> ArtifactFile | None:
        if not _has_amazon_provider():
            return None
        from airflow_provider_ernest.hooks.aws import DEFAULT_CONNECTION, aws_clients
        from airflow_provider_ernest.spark.artifact_s3 import S3Address, S3File

        address = S3Address.of(path)
        connection = address.connection or DEFAULT_CONNECTION
        client = clients.setdefault(connection, aws_clients(connection, None))
        return S3File(client("s3"), bucket=address.bucket, key=address.key)

    return opened


def _has_amazon_provider() -> bool:
    try:
        return find_spec("airflow.providers.amazon.aws") is not None
    except ModuleNotFoundError:
        return False
