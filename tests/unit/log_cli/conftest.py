from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ernest import command_line

LOGS = Path(__file__).parents[1] / "spark" / "event_logs"

Analyze = Callable[..., tuple[int, str, str]]


@pytest.fixture
def analyze(capsys: pytest.CaptureFixture[str]) -> Analyze:
    """Runs ``ernest analyze``; gives its exit code, what it said and what it warned of."""

    def run(*argv: object) -> tuple[int, str, str]:
        code = command_line.main(["analyze", *map(str, argv)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture(scope="session")
def plain_log() -> bytes:
    """A log of Spark 3.5, of a finished run on two machines."""
    return gzip.decompress((LOGS / "spark-3.5.5.gz").read_bytes())
