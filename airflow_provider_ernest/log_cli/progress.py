"""How long work has taken so far, told while it goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_ernest.cli.output import printable

SECONDS_BETWEEN_REPORTS = 5.0


@contextmanager
def progress(what: str, *, every_seconds: float = SECONDS_BETWEEN_REPORTS) -> Iterator[None]:
    """Tell on standard error, now and then, that something is still being done; nothing where it is short.

    Args:
        what: is done, such as "reading app-1".
        every_seconds: between two reports.
    """
    began_at, ended = time.monotonic(), threading.Event()

    def report() -> None:
        while not ended.wait(every_seconds):
            sys.stderr.write(f"{printable(what)}: {time.monotonic() - began_at:.0f} s so far\n")
            sys.stderr.flush()

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
