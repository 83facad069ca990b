"""What a DAG file pays for importing this package."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "cvxpy", "pandas", "boto3", "botocore", "pyspark", "psutil", "fsspec.core")

# On Airflow 3.1 stock operators load psutil themselves, by the names that they had on Airflow 2.
IMPORTS = """
import airflow.sdk, sys
import airflow.providers.apache.spark.operators.spark_submit
before = set(sys.modules)
from airflow_provider_ernest import *
from airflow_provider_ernest.triggers.jar_hash import JarHashTrigger
application_changed("job", "s3://bucket/job.jar")
print(*sorted(set(sys.modules) - before))
"""


@pytest.fixture(scope="module")
def loaded_by_us() -> set[str]:
    """Modules that everything a DAG file uses adds to those of airflow.sdk and a stock operator."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_dag_file_loads_nothing_heavy(loaded_by_us: set[str]):
    assert not [name for name in loaded_by_us if name.startswith(HEAVY)]


def test_a_dag_file_pays_for_what_it_imports_only():
    program = "import sys; from airflow_provider_ernest import SizingGoal; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith("airflow.")]


def test_the_production_operator_costs_no_more_than_the_stock_one():
    program = (
        "import sys; import airflow.providers.apache.spark.operators.spark_submit; before = set(sys.modules);"
        "import airflow_provider_ernest.operators.spark_submit; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # The second is the base of the links: a few lines of Airflow's own.
    ours = ("airflow_provider_ernest", "airflow.sdk.bases.operatorlink")
    assert not [name for name in done.stdout.split() if not name.startswith(ours)]


def test_the_example_on_ec2_is_parsed_without_aws():
    example = Path(__file__).parents[2] / "dags" / "example_ernest_ec2.py"
    program = f"import runpy, sys; runpy.run_path({str(example)!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith(("boto", "pyspark", "numpy"))]


def test_a_dag_file_loads_the_operators(loaded_by_us: set[str]):
    assert "airflow_provider_ernest.operators.sample_run" in loaded_by_us
    assert "airflow_provider_ernest.triggers.jar_hash" in loaded_by_us
    assert "airflow_provider_ernest.links.spark_history" in loaded_by_us, "and their links"


def test_the_keeper_of_a_local_cluster_loads_no_airflow():
    """In a task's environment it cannot: Airflow there refuses to load without the execution API."""
    program = "import sys; import airflow_provider_ernest.clusters.keeper; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("airflow.", "numpy", "pandas", "boto3", "pyspark")
    assert not [name for name in done.stdout.split() if name.startswith(heavy)]
