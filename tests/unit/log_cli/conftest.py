from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ernest import command_line
from airflow_provider_ernest.eventlog.files import open_lines

LOG = Path(__file__).parent / "event_logs" / "shuffle.zstd"
"""Of a run whose hosts had slow links, made by ``python -m benchmarks.clarity --keep`` and scrubbed by
`benchmarks.event_log_fixtures.scrubbed`."""

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
    """The same log, not compressed."""
    return b"".join(line + b"\n" for line in open_lines(LOG))


@pytest.fixture
def other_log(plain_log: bytes, tmp_path: Path) -> Path:
    """A second log of the same run."""
    file = tmp_path / "app-2"
    file.write_bytes(plain_log)
    return file
