"""The application that measures the memory and network bandwidth of every machine of a Spark cluster.

spark-submit runs this file, with one executor for each machine and one task slot in each, and ships
`bandwidth_machine` with it. A round is one barrier stage with one task for each machine. Nothing but
PySpark need be installed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

# What a Python error of a task looks like within the stack traces of Spark.
TASK_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception): .*)$", re.MULTILINE)


def main() -> int:
    """Measure, and write what came of it to the output file."""
    parser = argparse.ArgumentParser(description="Measure the bandwidth of every machine of a Spark cluster.")
    parser.add_argument("--machines", type=int, required=True)
    parser.add_argument("--cores", type=int, required=True, help="of each machine")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--interval-seconds", type=float, default=0.0, help="between the rounds")
    parser.add_argument("--output", type=Path, required=True, help="JSON file on the driver's machine")
    options = parser.parse_args()
    try:
        document: dict[str, Any] = {"measurements": run(options)}
    except Exception as error:
        document = {"problem": reason_of(error)}
        tell(f"failed: {document['problem']}")
        sys.stderr.write(f"{error}\n")
    # Never seen half done.
    partial = options.output.with_name(f"{options.output.name}.partial")
    partial.write_text(json.dumps(document))
    partial.replace(options.output)
    return 1 if "problem" in document else 0


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All rounds in one application; the measurements of all machines in all rounds."""
    from pyspark import SparkContext

    tell(f"waiting for {options.machines} machines")
    context = SparkContext()
    try:
        context.setLogLevel("WARN")
        measured: list[dict[str, Any]] = []
        for number in range(1, options.rounds + 1):
            if number > 1:
                time.sleep(options.interval_seconds)
            started_at = time.monotonic()
            measured += run_round(context, options.cores, options.machines)
            tell(f"round {number} of {options.rounds} took {time.monotonic() - started_at:.1f} s")
        return measured
    finally:
        context.stop()


def run_round(context: Any, cores: int, machines: int) -> list[dict[str, Any]]:
    """One barrier stage on all machines."""
    tasks = context.parallelize(range(machines), machines).barrier().mapPartitions(task_of(cores))
    measured = tasks.collect()
    hosts = {machine["host"] for machine in measured}
    if len(hosts) != machines:
        raise RuntimeError(f"{machines} tasks ran on {len(hosts)} hosts: {', '.join(sorted(hosts))}")
    return with_sent(measured)


def task_of(cores: int) -> Callable[[Iterator[int]], Iterator[dict[str, Any]]]:
    """The function of the barrier stage's tasks. It is pickled by value: it lives in ``__main__``."""

    def task(_: Iterator[int]) -> Iterator[dict[str, Any]]:
        import bandwidth_machine  # type: ignore[import-not-found]
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        rank = context.partitionId()
        seen = context.getTaskInfos()[rank].address.rpartition(":")[0]
        host = bandwidth_machine.host_of_executor() or seen
        group = bandwidth_machine.Group(
            rank=rank,
            host=host,
            address=bandwidth_machine.address_of(host, seen),
            all_gather=context.allGather,
        )
        with closing(group):
            yield bandwidth_machine.measure_machine(bandwidth_machine.Plan(cores=cores), group)

    return task


def with_sent(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The measurements with what each machine sent: it is what the machine it sent to has received."""
    from bandwidth_machine import shifts_of

    count = len(measured)
    by_rank = {machine["rank"]: machine for machine in measured}
    return [
        {
            "host": machine["host"],
            "memory_windows": machine["memory_windows"],
            "sent": [
                by_rank[(machine["rank"] + shift) % count]["received"][index]
                for index, shift in enumerate(shifts_of(count))
            ],
            "received": machine["received"],
        }
        for machine in measured
    ]


def reason_of(error: Exception) -> str:
    """What went wrong, without the stack traces that Spark wraps around it."""
    found = TASK_ERROR.findall(str(error))
    return found[0] if found else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def tell(line: str) -> None:
    """Progress, into the log of whoever submitted this."""
    sys.stdout.write(f"bandwidth probe: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
