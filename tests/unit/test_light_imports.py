"""What a DAG file pays for importing this package."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "cvxpy", "pandas", "boto3", "botocore", "pyspark", "psutil", "fsspec.core")

# On Airflow 3.1 stock operators load psutil themselves, by the names that they had on Airflow 2.
STOCK = "import airflow.sdk, airflow.providers.apache.spark.operators.spark_submit"
IMPORTS = f"""
{STOCK}
from airflow_provider_ernest import *
from airflow_provider_ernest.triggers.jar_hash import JarHashTrigger
application_changed("job", "s3://bucket/job.jar")
"""
EXAMPLE = str(Path(__file__).parents[2] / "dags" / "example_ernest_ec2.py")


def loaded(program: str) -> list[str]:
    """The modules that a program loads."""
    program = f"import sys\n{program}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_dag_file_loads_all_operators_and_nothing_heavy():
    ours = {*loaded(IMPORTS)} - {*loaded(STOCK)}
    assert not [name for name in ours if name.startswith(HEAVY)]
    for module in ("operators.sample_run", "triggers.jar_hash", "links.spark_history"):
        assert f"airflow_provider_ernest.{module}" in ours


def test_the_production_operator_costs_no_more_than_the_stock_one():
    ours = {*loaded("import airflow_provider_ernest.operators.spark_submit")} - {*loaded(STOCK)}
    # The second is the base of the links: a few lines of Airflow's own.
    known = ("airflow_provider_ernest", "airflow.sdk.bases.operatorlink")
    assert not [name for name in ours if not name.startswith(known)]


@pytest.mark.parametrize(
    ("program", "heavy"),
    [
        ("from airflow_provider_ernest import SizingGoal", ("airflow.",)),
        (f"import runpy; runpy.run_path({EXAMPLE!r})", ("boto", "pyspark", "numpy")),
        # In a task's environment it cannot: Airflow there refuses to load without the execution API.
        (
            "import airflow_provider_ernest.clusters.keeper",
            ("airflow.", "numpy", "pandas", "boto3", "pyspark"),
        ),
    ],
    ids=["settings", "the example on EC2", "the keeper of a local cluster"],
)
def test_what_one_thing_needs_is_loaded_and_no_more(program: str, heavy: tuple[str, ...]):
    assert not [name for name in loaded(program) if name.startswith(heavy)]
