from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from airflow_provider_ernest import command_line
from airflow_provider_ernest.eventlog.files import open_lines


class Said(NamedTuple):
    out: str
    err: str


Ernest = Callable[..., Said]


@pytest.fixture
def ernest(capsys: pytest.CaptureFixture[str]) -> Ernest:
    """Runs a command line, which has to end with that code; gives what it says."""

    def run(*argv: object, code: int = 0) -> Said:
        capsys.readouterr()
        assert command_line.main([str(each) for each in argv]) == code
        return Said(*capsys.readouterr())

    return run


@pytest.fixture
def misunderstood(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command line that cannot be understood; gives what is said to that."""

    def run(*argv: object) -> str:
        with pytest.raises(SystemExit) as ended:
            command_line.main([str(each) for each in argv])
        assert ended.value.code == 2
        return capsys.readouterr().err

    return run


RUNS = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]


def seconds_of(executors: int, scale: float, *, speed: float = 1.0) -> float:
    """A job of fixed work, work that spreads, and a tree of aggregations."""
    return 12.0 + 900.0 / speed * scale / executors + 2.0 * math.log(executors)


def csv_of_runs(*, heading: str = "#machines,fraction,seconds", speed: float = 1.0) -> str:
    lines = [
        f"{executors},{scale},{seconds_of(executors, scale, speed=speed):.6f}" for executors, scale in RUNS
    ]
    return "\n".join([*([heading] if heading else []), *lines, ""])


@pytest.fixture
def runs_csv(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    path.write_text(csv_of_runs())
    return path


@pytest.fixture
def model_json(tmp_path: Path, runs_csv: Path, ernest: Ernest) -> Path:
    path = tmp_path / "model.json"
    ernest("fit", runs_csv, "--job", "grep", "--output", path)
    return path


@pytest.fixture
def two_models(tmp_path: Path, ernest: Ernest) -> list[Path]:
    """Of the same job on m5.large, and on c5.large, which does the work on data in half the time."""
    paths = []
    for instance_type, speed in (("m5.large", 1.0), ("c5.large", 2.0)):
        runs, path = tmp_path / f"{instance_type}.csv", tmp_path / f"{instance_type}.json"
        runs.write_text(csv_of_runs(speed=speed))
        model = ["--method", "relative", "--terms", "1", "scale/executors", "log(executors)"]
        ernest("fit", runs, *model, "--instance-type", instance_type, "--output", path)
        paths.append(path)
    return paths


LOG = Path(__file__).parent / "event_logs" / "shuffle.zstd"
"""Of a run whose hosts had slow links, made by ``python -m benchmarks.clarity --keep`` and scrubbed by
`benchmarks.event_log_fixtures.scrubbed`."""


@pytest.fixture(scope="session")
def plain_log() -> bytes:
    """The same log, not compressed."""
    return b"".join(line + b"\n" for line in open_lines(LOG))
