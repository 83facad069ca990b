"""A bucket of S3 on this machine: moto answers, in a process of its own, on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

NEEDS = (
    "keep the store on S3, where moto answers, and count the requests; in an environment of its own, since "
    "s3fs holds boto3 back: pip install -e '.[ec2,s3]' 'moto[s3,server]'"
)

BUCKET = "ernest"
MOST_SECONDS_TO_START = 60.0


class Requests:
    """Counts what is sent to S3."""

    sent = 0

    def note(self, **_: Any) -> None:
        """One more, on whatever thread sends it."""
        self.sent += 1


REQUESTS = Requests()


@contextmanager
def s3_root() -> Iterator[Any]:
    """The root of a store in a new bucket, through Airflow's connection to AWS; counts its `REQUESTS`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    connection = {
        "conn_type": "aws",
        "login": "testing",
        "password": "testing",
        "extra": {"endpoint_url": f"http://127.0.0.1:{port}", "region_name": "us-east-1"},
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        with patch.dict(os.environ, AIRFLOW_CONN_AWS_DEFAULT=json.dumps(connection)):
            from airflow.sdk.io import ObjectStoragePath

            root = ObjectStoragePath(f"s3://aws_default@{BUCKET}/models")
            root.fs.mkdir(BUCKET)
            root.fs.s3.meta.events.register("before-send.s3", REQUESTS.note)
            yield root
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until the server listens."""
    deadline = time.monotonic() + MOST_SECONDS_TO_START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
