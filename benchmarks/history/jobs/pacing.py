"""Waiting in tasks: for storage that gives so many rows a second, or a service; it takes no CPU.

On a machine of few cores only what waits can scale: two dozen executors that compute would share them.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pyspark.sql import functions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def arguments(**further: int | str) -> argparse.Namespace:
    """What every job is told: where its input lies, how many of its files to read, and the run's seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True)
    parser.add_argument("--files", type=int, required=True)
    parser.add_argument("--output", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fail", action="store_true", help="as a job does whose input is broken")
    for name, value in further.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    return parser.parse_args()


def input_files(options: argparse.Namespace, table: str) -> list[str]:
    """The files of a table that this run reads: those of the last days, and so others in each run."""
    return [
        f"{options.input}/{table}/part-{number % 96:05}.parquet"
        for number in range(options.seed, options.seed + options.files)
    ]


def paced(rows: DataFrame, key: str, *, milliseconds: int, every: int, seed: int) -> DataFrame:
    """The same rows, of which on average each so-many-th waits half to one and a half times so long."""
    drawn = functions.pmod(functions.hash(key, functions.lit(seed)), functions.lit(every))
    share = functions.pmod(functions.xxhash64(key, functions.lit(seed)), functions.lit(1000)) / 1000
    sleep = functions.java_method(
        functions.lit("java.lang.Thread"),
        functions.lit("sleep"),
        (milliseconds * (0.5 + share)).cast("bigint"),
    )
    waits = functions.when(drawn == 0, functions.length(sleep)).otherwise(functions.lit(0))
    return rows.where(functions.coalesce(waits, functions.lit(0)) >= 0)


def fail_if_asked(options: argparse.Namespace) -> None:
    """End as a job does whose input is broken."""
    if options.fail:
        raise ValueError("the input of this day is broken")
