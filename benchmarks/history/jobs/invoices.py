"""Invoices, one region after the other: short queries, and between them the driver writes each by itself."""

import time

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments(regions=4)
spark = SparkSession.builder.getOrCreate()
rows = spark.read.parquet(*input_files(options, "orders"))
fail_if_asked(options)
for region in range(options.regions):
    of_region = paced(
        rows.where(functions.col("customer_id") % options.regions == region),
        "order_id",
        milliseconds=80,
        every=1000,
        seed=options.seed,
    )
    invoices = of_region.groupBy("merchant_id").agg(functions.sum("amount")).collect()
    # What it takes to write them is the driver's alone.
    time.sleep(0.004 * len(invoices) + 0.02 * options.files)
spark.stop()
