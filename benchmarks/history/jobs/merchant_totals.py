"""Totals of merchants, of whom one has a third of all orders: one task has far more to do than others."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments()
spark = SparkSession.builder.getOrCreate()
rows = spark.read.parquet(*input_files(options, "orders"))
rows = paced(rows, "order_id", milliseconds=35, every=1000, seed=options.seed)
fail_if_asked(options)
by_merchant = paced(
    rows.repartition(24, "merchant_id"), "order_id", milliseconds=35, every=1000, seed=options.seed + 1
)
totals = by_merchant.groupBy("merchant_id").agg(
    functions.sum("amount").alias("total"), functions.stddev("amount").alias("spread")
)
totals.write.mode("overwrite").parquet(options.output)
spark.stop()
