import re

from packaging.requirements import Requirement

from benchmarks.compatibility import FLOOR, ROOT, WITH_AIRFLOW, Cell, environment, pinned, row
from tests.unit.test_packaging import PROJECT


def test_what_this_machine_has_no_interpreter_for_is_said():
    told = row(Cell(python="3.99"))

    assert told.startswith("Python 3.99     Airflow newest   Spark newest")
    assert told.endswith("skipped: this machine has no Python 3.99")


def test_versions_are_those_of_the_constraints(tmp_path):
    file = tmp_path / "demo.txt"
    file.write_text("a-b==1.2 \\\n    --hash=sha256:00\nc==3.0 \\\n    --hash=sha256:11\n")

    assert pinned(file) == ["a-b==1.2", "c==3.0"]


def test_the_floor_is_the_oldest_airflow_that_pip_allows():
    (airflow,) = (each for each in PROJECT["dependencies"] if Requirement(each).name == "apache-airflow")

    assert f">={FLOOR}," in airflow
    assert f"apache-airflow=={FLOOR}" in pinned(ROOT / "constraints" / "floor.txt")


def test_pyspark_and_its_client_are_of_one_version():
    """They hold the same files."""
    for name in ("demo", "floor"):
        text = "\n".join(pinned(ROOT / "constraints" / f"{name}.txt"))
        assert len(set(re.findall(r"^pyspark(?:-client)?==(.*)", text, re.MULTILINE))) == 1


def test_the_tests_of_what_meets_airflow_are_there():
    assert all((ROOT / each).exists() for each in WITH_AIRFLOW)


def test_a_spark_beside_the_packages_is_found_before_theirs():
    told = environment(Cell(python="3.11", spark="3.5"))

    folder = told["SPARK_HOME"].removesuffix("/pyspark")
    assert told["PATH"].startswith(f"{folder}/bin:")
    assert told["PYTHONPATH"].startswith(f"{folder}:")
    assert folder not in environment(Cell(python="3.11"))["PYTHONPATH"]
