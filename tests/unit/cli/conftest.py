from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_ernest import command_line
from airflow_provider_ernest.eventlog.files import open_lines

RUNS = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]


def seconds_of(machines: int, scale: float, *, speed: float = 1.0) -> float:
    """A job of fixed work, work that spreads, and a tree of aggregations."""
    return 12.0 + 900.0 / speed * scale / machines + 2.0 * math.log(machines)


def csv_of_runs(*, heading: str = "#machines,fraction,seconds", speed: float = 1.0) -> str:
    lines = [f"{machines},{scale},{seconds_of(machines, scale, speed=speed):.6f}" for machines, scale in RUNS]
    return "\n".join([*([heading] if heading else []), *lines, ""])


@pytest.fixture
def runs_csv(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(csv_of_runs())
    return path


@pytest.fixture
def model_json(tmp_path: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    from airflow_provider_ernest.cli.main import main

    path = tmp_path / "model.json"
    assert main(["fit", str(runs_csv), "--job", "grep", "--output", str(path)]) == 0
    capsys.readouterr()
    return path


@pytest.fixture
def two_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Of the same job on m5.large, and on c5.large, which does the work on data in half the time."""
    from airflow_provider_ernest.cli.main import main

    paths = []
    for instance_type, speed in (("m5.large", 1.0), ("c5.large", 2.0)):
        runs, path = tmp_path / f"{instance_type}.csv", tmp_path / f"{instance_type}.json"
        runs.write_text(csv_of_runs(speed=speed))
        argv = ["fit", str(runs), "--method", "relative", "--terms", "1", "scale/machines", "log(machines)"]
        assert main([*argv, "--instance-type", instance_type, "--output", str(path)]) == 0
        paths.append(str(path))
    capsys.readouterr()
    return paths


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
