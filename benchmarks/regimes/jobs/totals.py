"""Totals of very many keys: a hash table that finds no room becomes sorted parts on disk."""

from pacing import arguments, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments(copies=6)
spark = SparkSession.builder.getOrCreate()
orders = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=30,
    every=1000,
    seed=options.seed,
)
items = orders.select(
    "order_id",
    "amount",
    functions.explode(functions.sequence(functions.lit(1), functions.lit(options.copies))).alias("place"),
)
totals = items.groupBy("order_id", "place").agg(
    functions.sum("amount"), functions.max("amount"), functions.count("*"), functions.avg("amount")
)
totals.write.format("noop").mode("overwrite").save()
spark.stop()
