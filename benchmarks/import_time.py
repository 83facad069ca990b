"""What a DAG file pays for importing this package, over what airflow.sdk costs anyway.

Each figure is CPU time of a fresh interpreter. Milliseconds are this machine's; the ratio to the stock
operator, imported in the same run, is any machine's. The limit that the project sets itself is a fifth of it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

LIMIT = 0.2
MEASURE = """
import time, sys
import airflow.sdk
start = time.process_time()
exec(sys.argv[1])
print(1000 * (time.process_time() - start))
"""
STOCK = "airflow.providers.apache.spark.operators.spark_submit"
MODULES = {
    "airflow_provider_ernest.settings": "what the user states",
    "from airflow_provider_ernest import ErnestTaskGroup": "the same by its public name",
    "airflow_provider_ernest.operators.sample_run": "one operator",
    "airflow_provider_ernest.task_group": "the task group with all operators",
    "airflow_provider_ernest.operators.record_run": "the record behind a stock operator",
    "airflow_provider_ernest.sensors.jar_hash": "waiting for new code",
    "airflow_provider_ernest.assets": "runs that new code starts",
    STOCK: "for comparison: the stock operator",
}


def cpu_milliseconds(imported: str, repetitions: int) -> list[float]:
    """CPU time of an import after airflow.sdk, in fresh interpreters; the first is a warm-up."""
    statement = imported if " " in imported else f"import {imported}"
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", MEASURE, statement], capture_output=True, text=True, check=True
            ).stdout.split()[-1]
        )
        for _ in range(repetitions + 1)
    ]
    return times[1:]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5, help="counted runs of each import (default 5)")
    repetitions = parser.parse_args().repetitions
    times = {module: cpu_milliseconds(module, repetitions) for module in MODULES}
    stock = statistics.median(times[STOCK])
    print(
        f"CPU milliseconds over airflow.sdk, {repetitions} fresh interpreters each; "
        f"limit for ours: a ratio of {LIMIT}"
    )
    print(f"{'module':56s}  {'min':>6s}  {'median':>6s}  {'max':>6s}  {'ratio':>5s}  what")
    for module, meaning in MODULES.items():
        middle = statistics.median(times[module])
        print(
            f"{module:56s}  {min(times[module]):6.1f}  {middle:6.1f}  {max(times[module]):6.1f}"
            f"  {middle / stock:5.2f}  {meaning}"
        )


if __name__ == "__main__":
    main()
