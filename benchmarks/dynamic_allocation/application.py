"""The job of the runs: rounds of a wide stage, a shuffle, the driver's own work, and a few long tasks.

All work is waiting, so that executors that share two cores do not slow each other down.
"""

from __future__ import annotations

import argparse
import time

from pyspark.sql import Column, DataFrame, SparkSession, functions


def _wait(low: int, spread: int) -> Column:
    """Milliseconds that differ from row to row, and are the same in each run."""
    return functions.lit(low) + functions.pmod(functions.hash("id"), functions.lit(spread))


def _waiting(rows: DataFrame, milliseconds: Column, name: str) -> DataFrame:
    sleep = functions.java_method(
        functions.lit("java.lang.Thread"), functions.lit("sleep"), milliseconds.cast("bigint")
    )
    return rows.withColumn(name, functions.length(sleep))


def main() -> None:
    """Run the rounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--maps", type=int, default=40, help="tasks of the wide stage, about 2.5 s each")
    parser.add_argument("--reduces", type=int, default=12, help="tasks after the shuffle")
    parser.add_argument("--narrow", type=int, default=2, help="tasks of the narrow job, about 10 s each")
    parser.add_argument("--pause", type=float, default=8.0, help="seconds that the driver works alone")
    options = parser.parse_args()
    spark = SparkSession.builder.getOrCreate()
    for _ in range(options.rounds):
        rows = _waiting(spark.range(0, 10 * options.maps, 1, options.maps), _wait(150, 200), "made")
        got = _waiting(rows.repartition(options.reduces, "id"), _wait(50, 60), "got")
        got.write.format("noop").mode("overwrite").save()
        time.sleep(options.pause)
        few = _waiting(spark.range(0, 40 * options.narrow, 1, options.narrow), _wait(200, 100), "made")
        few.write.format("noop").mode("overwrite").save()
    spark.stop()


if __name__ == "__main__":
    main()
