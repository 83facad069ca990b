import math
from pathlib import Path

import pytest

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
