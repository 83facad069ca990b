"""What goes to S3 and comes from there: the application, and Spark's event log."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.spark.artifact import sha256_of
from airflow_provider_ernest.spark.log_reading.log_names import IN_PROGRESS_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EVENT_LOG_BYTES = 2 * 1024**3
"""Event logs above are not fetched: a sample run that writes so much is none."""

_CHUNK_BYTES = 1 << 20
_FOLDER_MARKERS = ("/", "_$folder$")


def make_folder(s3: Any, uri: str) -> None:
    """Make a folder on S3: Spark refuses to log into one that does not exist."""
    bucket, key = _split(uri)
    s3.put_object(Bucket=bucket, Key=f"{key}/", Body=b"")


def upload_application(s3: Any, path: str, staging_uri: str) -> str:
    """Put an application's file on S3, under its hash: equal files are uploaded once.

    Returns:
        Its s3:// address.
    """
    file = Path(path.removeprefix("file://"))
    address = f"{staging_uri.rstrip('/')}/{sha256_of(str(file))}/{file.name}"
    bucket, key = _split(address)
    if not any(one["Key"] == key for one in _objects(s3, bucket, key)):
        s3.upload_file(str(file), bucket, key)
    return address


def fetch_event_log(s3: Any, uri: str, directory: Path, *, max_bytes: int = MAX_EVENT_LOG_BYTES) -> Path:
    """Bring the event log of a run that has ended from its folder on S3.

    Args:
        s3: a boto3 client of S3.
        uri: the folder that only this run wrote its event log to.
        directory: the local folder that it is put into.
        max_bytes: above which it is not fetched.

    Raises:
        SampleRunError: there is none, or a larger one.
    """
    bucket, key = _split(uri)
    logs = [one for one in _objects(s3, bucket, f"{key}/") if not one["Key"].endswith(_FOLDER_MARKERS)]
    if not logs:
        raise SampleRunError(
            f"The application wrote no event log into {uri}.",
            remedy="It must be a Spark application and must not set spark.eventLog.* itself, and the "
            "instance profile of the machines must be allowed to write there.",
        )
    # A log that Spark has renamed at its end is the one that counts.
    chosen = max(logs, key=lambda one: (not one["Key"].endswith(IN_PROGRESS_SUFFIX), one["Key"]))
    if chosen["Size"] > max_bytes:
        raise SampleRunError(
            f"The event log s3://{bucket}/{chosen['Key']} has {chosen['Size']} bytes; at most {max_bytes} "
            "are fetched.",
            remedy="Run on a smaller sample.",
        )
    return _download(s3, bucket, chosen["Key"], directory)


def _download(s3: Any, bucket: str, key: str, directory: Path) -> Path:
    target = directory / PurePosixPath(key).name
    # Whoever looks for event logs passes over hidden files, such as a half of one.
    partial = directory / f".{target.name}.part"
    body = s3.get_object(Bucket=bucket, Key=key)["Body"]
    with partial.open("wb") as file:
        for chunk in body.iter_chunks(_CHUNK_BYTES):
            file.write(chunk)
    return partial.replace(target)


def _objects(s3: Any, bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        yield from page.get("Contents", ())


def _split(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").rstrip("/").partition("/")
    return bucket, key
