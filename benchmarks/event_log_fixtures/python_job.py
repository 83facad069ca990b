"""A job with Python workers: two functions in one query, over rows and over batches, and one over an RDD."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def main() -> None:
    """Run it."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import udf

    spark = SparkSession.builder.getOrCreate()

    def slow(value: int) -> int:
        return sum(range(value % 100 + 5000))

    def batches(parts: Iterator[Any]) -> Iterator[Any]:
        yield from parts

    values = spark.range(0, 4000, 1, 4).select(udf(slow, "long")("id").alias("value"))
    values.mapInArrow(batches, "value long").groupBy().sum().collect()
    spark.sparkContext.parallelize(range(100), 2).map(lambda value: value + 1).count()
    spark.stop()


if __name__ == "__main__":
    main()
