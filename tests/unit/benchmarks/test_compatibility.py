import re

from packaging.requirements import Requirement

from benchmarks.compatibility import FLOOR, ROOT, pinned
from tests.unit.test_packaging import PROJECT


def test_the_floor_is_the_oldest_airflow_that_pip_allows():
    (airflow,) = (each for each in PROJECT["dependencies"] if Requirement(each).name == "apache-airflow")

    assert f">={FLOOR}," in airflow
    assert f"apache-airflow=={FLOOR}" in pinned(ROOT / "constraints" / "floor.txt")


def test_pyspark_and_its_client_are_of_one_version():
    """They hold the same files."""
    for name in ("demo", "floor"):
        text = "\n".join(pinned(ROOT / "constraints" / f"{name}.txt"))
        assert len(set(re.findall(r"^pyspark(?:-client)?==(.*)", text, re.MULTILINE))) == 1
