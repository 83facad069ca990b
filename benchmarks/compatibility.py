"""Which versions of Python, Airflow and Spark the package works with: unit tests and a DAG run on each.

    python -m benchmarks.compatibility [--python 3.12] > docs/measured/compatibility.txt

Interpreters are those of this machine (on the PATH, or of pyenv); of one that is not there it is said. Each
cell has an environment of its own below build/matrix. The newest versions are those that constraints/ pins;
the floor is the oldest Airflow that is supported, with the newest of the rest that goes with it, as
constraints/floor.txt has it. `make floor` runs the tests of what meets Airflow there.
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
WITH_AIRFLOW = (
    "tests/unit/test_assets.py",
    "tests/unit/test_light_imports.py",
    "tests/unit/test_privacy.py",
    "tests/unit/test_public_names.py",
    "tests/unit/test_settings.py",
    "tests/unit/test_task_group.py",
    "tests/unit/cli/test_airflow_commands.py",
    "tests/unit/dags",
    "tests/unit/links",
    "tests/unit/operators",
    "tests/unit/triggers",
    "tests/unit/web",
)
"""All unit tests of what calls Airflow, or is called by it; what is left computes alike on each version."""
IN_PARALLEL = ("--numprocesses=auto", "--dist=loadfile")
DAG_RUN = "tests/integration/test_ernest_dag.py::test_the_example_dag_sizes_its_production_run"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What goes together; None is the newest version."""

    python: str
    airflow: str | None = None
    spark: str | None = None

    @property
    def folder(self) -> Path:
        """Where its environment is."""
        return (
            WORK / f"python-{self.python}-airflow-{self.airflow or 'newest'}-spark-{self.spark or 'newest'}"
        )

    @property
    def spark_folder(self) -> Path | None:
        """Where a Spark is that cannot be among the other packages."""
        return self.folder / "spark" if self.spark in BESIDE else None


CELLS = (
    Cell(python="3.11", airflow=FLOOR, spark="4.0"),
    Cell(python="3.11"),
    Cell(python="3.12"),
    Cell(python="3.13"),
    Cell(python="3.11", spark="3.5"),
)
BESIDE = ("3.5",)
"""Versions of Spark in a folder of their own: the provider brings pyspark-client 4, with the same files."""


def interpreter(version: str) -> str | None:
    """The program; None where this machine has none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = pyenv.glob(f"versions/{version}.*/bin/python")
    return next(map(str, found), shutil.which(f"python{version}"))


def install(cell: Cell, python: str) -> None:
    """Make the environment of a cell.

    Raises:
        CalledProcessError: its versions do not go together, or cannot be had.
    """
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or "uv"
    subprocess.run([uv, "--quiet", "venv", "--clear", "--python", python, str(cell.folder)], check=True)
    command = [uv, "--quiet", "pip", "install", "--python", str(cell.folder / "bin" / "python")]
    names = ("demo", "tests") if cell.airflow is None else ("floor",)
    pins = [line for name in names for line in pinned(ROOT / "constraints" / f"{name}.txt")]
    together = cell.spark is not None and cell.spark_folder is None
    if together:
        pins = [line for line in pins if not line.startswith("pyspark")]
    (cell.folder / "constraints.txt").write_text("\n".join(pins))
    command += ["--constraints", str(cell.folder / "constraints.txt")]
    spark = [f"pyspark=={cell.spark}.*", f"pyspark-client=={cell.spark}.*"] if together else []
    commands = [[*command, *spark, "--editable", f"{ROOT}[dev]"]]
    if cell.spark_folder is not None:
        install_only = command[: command.index("--constraints")]
        commands.append([*install_only, "--target", str(cell.spark_folder), f"pyspark=={cell.spark}.*"])
    for each in commands:
        subprocess.run(each, check=True, capture_output=True, text=True)


def environment(cell: Cell) -> dict[str, str]:
    """What its programs run with, as docs/start/install.md says it of a Spark in a folder of its own."""
    path, python_path, spark = [str(cell.folder / "bin"), os.environ["PATH"]], [str(ROOT)], {}
    if cell.spark_folder is not None:
        path.insert(0, str(cell.spark_folder / "bin"))
        python_path.insert(0, str(cell.spark_folder))
        spark = {"SPARK_HOME": str(cell.spark_folder / "pyspark")}
    return os.environ | spark | {"PATH": ":".join(path), "PYTHONPATH": ":".join(python_path)}


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
    told = subprocess.run(asked, env=environment(cell), capture_output=True, text=True, check=True).stdout
    python, airflow, spark = told.split()
    return f"Python {python:8s} Airflow {airflow:8s} Spark {spark:8s}"


def tried(cell: Cell, *tests: str) -> str:
    """The last line that pytest says, without its seconds; `tests` may end with options of its own."""
    done = subprocess.run(
        [str(cell.folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        env=environment(cell),
        capture_output=True,
        text=True,
        check=False,
    )
    (cell.folder / f"{Path(tests[0]).name.partition('.')[0]}.log").write_text(done.stdout + done.stderr)
    lines = done.stdout.strip().splitlines() or [done.stderr.strip().rpartition("\n")[2]]
    return re.sub(r" in [\d.]+s.*", "", lines[-1]).strip("= ")


def row(cell: Cell) -> str:
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
    if cell.spark_folder is not None:  # what it may break; the unit tests expect the messages of Spark 4
        return f"{versions(cell)}  a DAG run: {tried(cell, DAG_RUN)}"
    unit_tests = tried(cell, "tests/unit", *IN_PARALLEL)
    return f"{versions(cell)}  unit tests: {unit_tests}; a DAG run: {tried(cell, DAG_RUN)}"


def main() -> None:
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", metavar="VERSION", help="only this one, such as 3.12")
    parser.add_argument("--print-tests", action="store_true", help="name those of `make floor`, run nothing")
    args = parser.parse_args()
    if args.print_tests:
        print(*WITH_AIRFLOW)
        return
    WORK.mkdir(parents=True, exist_ok=True)
    for cell in CELLS:
        if args.python in (None, cell.python):
            print(row(cell), flush=True)


if __name__ == "__main__":
    main()
