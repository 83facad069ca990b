"""The job whose runs are predicted: rounds of a shuffle whose rows, computing and waiting are given.

All of its work is done by Spark's own expressions, so that no Python worker stands between. A row's computing
is that of a hash over so many kilobytes; its waiting is that for a service, and takes no CPU.
"""

from __future__ import annotations

import argparse

from pyspark.sql import Column, DataFrame, SparkSession, functions


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="one job after the other")
    parser.add_argument("--rows", type=int, default=1000, help="of each round")
    parser.add_argument("--row-bytes", type=int, default=100, help="that a row is sent as")
    parser.add_argument("--maps", type=int, default=8, help="tasks that make the rows")
    parser.add_argument("--reduces", type=int, default=8, help="tasks that get them")
    for side in ("map", "reduce"):
        parser.add_argument(f"--{side}-hash-kilobytes", type=int, default=0, help="computing of each row")
        parser.add_argument(f"--{side}-wait-milliseconds", type=int, default=0, help="waiting of each row")
    return parser.parse_args()


def _work(rows: DataFrame, *, name: str, hash_kilobytes: int, wait_milliseconds: int) -> DataFrame:
    """Rows with a column that takes so much computing and waiting to make."""
    done: Column = functions.lit(0)
    if hash_kilobytes:
        text = functions.repeat(
            functions.lpad(functions.col("id").cast("string"), 16, "0"), 64 * hash_kilobytes
        )
        done = done + functions.length(functions.sha2(text, 256))
    if wait_milliseconds:
        sleep = functions.java_method(
            functions.lit("java.lang.Thread"),
            functions.lit("sleep"),
            functions.lit(wait_milliseconds).cast("bigint"),
        )
        done = done + functions.length(sleep)
    return rows.withColumn(name, done)


def main() -> None:
    """Run the rounds."""
    options = _arguments()
    spark = SparkSession.builder.getOrCreate()
    filler = "x" * max(0, options.row_bytes - 48)
    for _ in range(options.rounds):
        rows = _work(
            spark.range(0, options.rows, 1, options.maps),
            name="made",
            hash_kilobytes=options.map_hash_kilobytes,
            wait_milliseconds=options.map_wait_milliseconds,
        )
        payload = functions.concat(
            functions.lpad(functions.col("id").cast("string"), 16, "0"), functions.lit(filler)
        )
        sent = rows.withColumn("payload", payload).repartition(options.reduces, "id")
        got = _work(
            sent,
            name="got",
            hash_kilobytes=options.reduce_hash_kilobytes,
            wait_milliseconds=options.reduce_wait_milliseconds,
        )
        got.agg(
            functions.sum("made"), functions.sum("got"), functions.sum(functions.length("payload"))
        ).collect()
    spark.stop()


if __name__ == "__main__":
    main()
