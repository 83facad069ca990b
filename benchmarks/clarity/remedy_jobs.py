"""Jobs that do the same in two ways: as the advice finds it, and as the advice says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions
from pyspark.sql.types import LongType


def python_rows(spark: SparkSession, followed: bool) -> None:
    """A sum over rows, by a function of Python for each row, or by Spark's own expressions."""
    rows = spark.range(0, 6_000_000, 1, 8)
    if followed:
        made = (functions.col("id") * 7 + 3) % 11
    else:
        made = functions.udf(lambda value: (value * 7 + 3) % 11, LongType(), useArrow=False)("id")
    for _ in range(2):
        rows.select(made.alias("made")).agg(functions.sum("made")).collect()


def long_list(spark: SparkSession, followed: bool) -> None:
    """Rows whose key is in a long list, which each task carries along, or which is broadcast as a table."""
    rows, known = spark.range(0, 400_000, 1, 96), range(0, 400_000, 5)
    if followed:
        found = rows.join(functions.broadcast(spark.range(0, 400_000, 5, 2)), "id")
    else:
        found = rows.where(f"id in ({','.join(map(str, known))})")
    for _ in range(2):
        found.agg(functions.count("id")).collect()


def tiny_tasks(spark: SparkSession, followed: bool) -> None:
    """An aggregation of little data in very many partitions, or in few."""
    partitions = 8 if followed else 3000
    for _ in range(2):
        rows = spark.range(0, 3_000_000, 1, partitions)
        rows.agg(functions.sum(functions.col("id") % 7)).collect()


def driver_sums(spark: SparkSession, followed: bool) -> None:
    """A sum by key, of rows that are collected, or by the executors."""
    rows = spark.range(0, 3_000_000, 1, 8).select((functions.col("id") % 50).alias("key"), "id")
    if followed:
        rows.groupBy("key").agg(functions.sum("id")).collect()
        return
    sums: dict[int, int] = {}
    for row in rows.collect():
        sums[row["key"]] = sums.get(row["key"], 0) + row["id"]


def small_files(spark: SparkSession, followed: bool) -> None:
    """A table that is written as very many files, or as few."""
    rows = _hashed(spark, 400_000, partitions=8 if followed else 1200)
    rows.write.mode("overwrite").parquet(str(Path(sys.argv[3]) / "table"))


def full_heap(spark: SparkSession, followed: bool) -> None:
    """Long lists of texts, each garbage with its row; the advice changes the heap, not the job."""
    texts = "transform(sequence(1, 600000), each -> concat('key-', each + id))"
    rows = spark.range(0, 120, 1, 8)
    rows.selectExpr(f"size(filter({texts}, each -> each like '%77')) as n").agg(functions.sum("n")).collect()


def _hashed(spark: SparkSession, rows: int, *, partitions: int) -> DataFrame:
    made = functions.sha2(functions.col("id").cast("string"), 256)
    return spark.range(0, rows, 1, partitions).select("id", made.alias("hash"))


JOBS: dict[str, Callable[[SparkSession, bool], None]] = {
    job.__name__: job for job in (python_rows, long_list, tiny_tasks, driver_sums, small_files, full_heap)
}


def main() -> None:
    """Run one of `JOBS`: its name, whether the advice is followed, and a folder for what it writes."""
    spark = SparkSession.builder.getOrCreate()
    JOBS[sys.argv[1]](spark, sys.argv[2] == "followed")
    spark.stop()


if __name__ == "__main__":
    main()
