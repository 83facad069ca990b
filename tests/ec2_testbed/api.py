"""An EC2 endpoint on loopback for tests that need no machines."""

from __future__ import annotations

import subprocess
import tempfile
from typing import IO, Self

from tests.ec2_testbed.api_client import ApiClient
from tests.ec2_testbed.process_life import start_server


class EC2Api(ApiClient):
    """moto's EC2, made true to AWS where it is not, in a process of its own.

        with EC2Api() as api:
            ec2 = api.client("ec2")
            api.fail("RunInstances", when="drop")

    Args:
        managed: machines stay in "pending" and "shutting-down" until `set_state` moves them on; else they
            run, and are gone, at once.
    """

    def __init__(self, *, managed: bool = False) -> None:
        super().__init__("")
        self._managed = managed
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in stop

    def start(self) -> Self:
        arguments = ["--managed"] if self._managed else []
        self._process, ready = start_server("tests.ec2_testbed.api_server", arguments, self._log)
        self.endpoint_url = f"http://127.0.0.1:{ready['port']}"
        return self

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None
        self._log.close()

    def reset(self) -> None:
        """An account as after the start; its ids are new ones."""
        self.command("reset")
