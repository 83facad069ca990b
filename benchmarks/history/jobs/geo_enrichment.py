"""Addresses are looked up at a service, some at once: Python workers that wait, with a long tail."""

import random
import time
from collections.abc import Iterable

from pacing import arguments, fail_if_asked, input_files
from pyspark.sql import Row, SparkSession

options = arguments()
spark = SparkSession.builder.getOrCreate()
seed = options.seed


def looked_up(number: int, rows: Iterable[Row]) -> Iterable[tuple[int, int]]:
    """Each row's place; 400 are asked for in one request, whose latency is lognormal."""
    latency = random.Random(f"{seed} {number}")  # noqa: S311 - no secret
    for place, row in enumerate(rows):
        if place % 400 == 0:
            time.sleep(0.025 * latency.lognormvariate(0.0, 0.5))
        yield row.customer_id % 50, row.amount


fail_if_asked(options)
rows = spark.read.parquet(*input_files(options, "orders")).select("customer_id", "amount")
places = rows.rdd.mapPartitionsWithIndex(looked_up).reduceByKey(lambda one, other: one + other, 4)
print(len(places.collect()))
spark.stop()
