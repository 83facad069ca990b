"""Which versions of Python, Airflow and Spark the package works with: unit tests and a DAG run on each.

    python -m benchmarks.compatibility [--python 3.12] [--quick] > docs/measured/compatibility.txt

Interpreters are those of this machine (on the PATH, or of pyenv); of one that is not there it is said. Each
cell has an environment of its own below build/matrix. The newest versions are those that constraints/ pins;
the floor is the oldest Airflow that is supported, with whatever of the rest goes with it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "matrix"
FLOOR = "3.1.1"
WITH_THE_FLOOR = "structlog<25.5"
"""What the floor imports of it is gone since; the constraints that Airflow publishes hold it back, too."""
QUICK = (
    "tests/unit/test_light_imports.py",
    "tests/unit/test_public_names.py",
    "tests/unit/test_provider_info.py",
    "tests/unit/test_task_group.py",
    "tests/unit/dags",
)
"""Imports, parsing of DAGs, and all examples by `dag.test()`."""
DAG_RUN = "tests/integration/test_ernest_dag.py::test_the_example_dag_sizes_its_production_run"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What goes together.

    Attributes:
        python: version, such as "3.12".
        airflow: version; None for the newest.
        spark: of the client, such as "3.5"; None for the newest.
    """

    python: str
    airflow: str | None = None
    spark: str | None = None

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return (
            WORK / f"python-{self.python}-airflow-{self.airflow or 'newest'}-spark-{self.spark or 'newest'}"
        )


CELLS = (
    Cell(python="3.11", airflow=FLOOR, spark="4.0"),
    Cell(python="3.11"),
    Cell(python="3.12"),
    Cell(python="3.13"),
    # The spark provider brings pyspark-client 4, whose files are those of pyspark.
    Cell(python="3.11", spark="3.5"),
)


def interpreter(version: str) -> str | None:
    """The program; None where this machine has none."""
    of_pyenv = (
        Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}.*/bin/python")
    )
    return next((str(path) for path in of_pyenv), shutil.which(f"python{version}"))


def install(cell: Cell, python: str) -> None:
    """Make the environment of a cell.

    Raises:
        CalledProcessError: its versions do not go together, or cannot be had.
    """
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or "uv"
    subprocess.run([uv, "--quiet", "venv", "--clear", "--python", python, str(cell.folder)], check=True)
    command = [uv, "--quiet", "pip", "install", "--python", str(cell.folder / "bin" / "python")]
    if cell.airflow is None:
        pins = [line for name in ("demo", "tests") for line in pinned(ROOT / "constraints" / f"{name}.txt")]
        (cell.folder / "constraints.txt").write_text("\n".join(pins))
        command += ["--constraints", str(cell.folder / "constraints.txt")]
    else:
        command += [f"apache-airflow=={cell.airflow}", WITH_THE_FLOOR]
    if cell.spark is not None:
        command += [f"pyspark=={cell.spark}.*", f"pyspark-client=={cell.spark}.*"]
    subprocess.run([*command, "--editable", f"{ROOT}[dev]"], check=True, capture_output=True, text=True)


def pinned(file: Path) -> list[str]:
    """What a file of constraints pins, without digests."""
    return re.findall(r"^[\w.-]+==[^ ]+", file.read_text(encoding="utf-8"), re.MULTILINE)


def versions(cell: Cell) -> str:
    """What is installed."""
    names = ("apache-airflow", "pyspark")
    program = (
        f"import platform, importlib.metadata as m;"
        f" print(platform.python_version(), *map(m.version, {names}))"
    )
    asked = [str(cell.folder / "bin" / "python"), "-c", program]
    python, airflow, spark = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    return f"Python {python:8s} Airflow {airflow:8s} Spark {spark:8s}"


def tried(cell: Cell, *tests: str) -> str:
    """The last line that pytest says, without its seconds."""
    environment = os.environ | {
        "PATH": f"{cell.folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [str(cell.folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    (cell.folder / f"{Path(tests[0]).name.partition('.')[0]}.log").write_text(done.stdout + done.stderr)
    lines = done.stdout.strip().splitlines() or [done.stderr.strip().rpartition("\n")[2]]
    return re.sub(r" in [\d.]+s.*", "", lines[-1]).strip("= ")


def row(cell: Cell, *, quick: bool) -> str:
    """A line about a cell."""
    python = interpreter(cell.python)
    wanted = (
        f"Python {cell.python:8s} Airflow {cell.airflow or 'newest':8s} Spark {cell.spark or 'newest':8s}"
    )
    if python is None:
        return f"{wanted}  skipped: this machine has no Python {cell.python}"
    try:
        install(cell, python)
    except subprocess.CalledProcessError as error:
        return f"{wanted}  not installed: {(error.stderr or '').strip().rpartition(chr(10))[2]}"
    if quick:
        return f"{versions(cell)}  imports, parsing and example DAGs: {tried(cell, *QUICK)}"
    return f"{versions(cell)}  unit tests: {tried(cell, 'tests/unit')}; a DAG run: {tried(cell, DAG_RUN)}"


def main() -> None:
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", metavar="VERSION", help="only this one, such as 3.12")
    parser.add_argument("--airflow", metavar="VERSION", help=f"only this one: {FLOOR} or newest")
    parser.add_argument("--quick", action="store_true", help="imports, parsing of DAGs and the examples only")
    args = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        is_asked = args.python in (None, cell.python) and args.airflow in (None, cell.airflow or "newest")
        if is_asked:
            print(row(cell, quick=args.quick), flush=True)


if __name__ == "__main__":
    main()
