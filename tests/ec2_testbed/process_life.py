"""Processes that end when the one that started them does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

REPOSITORY = Path(__file__).parents[2]
_POLL_SECONDS = 0.2


def wait_for_end_of(parent: int) -> None:
    """Return when the process's parent is no longer this one."""
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)


def start_server(
    module: str, arguments: Sequence[str], log: IO[str]
) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """Start a module of ours as a process that ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, "--parent", str(os.getpid()), *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,
        # An AWS set-up of the developer must not be looked at.
        env={key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "MOTO_"))},
    )
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        process.wait()
        log.seek(0)
        raise RuntimeError(f"{module} did not start: {log.read()[-3000:]}")
    return process, json.loads(line)
