"""Clicks joined with a catalogue that grows: while it is small it is sent to all, then both are sorted."""

from pacing import arguments, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments(width=8)
spark = SparkSession.builder.getOrCreate()
clicks = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=30,
    every=1000,
    seed=options.seed,
)
catalogue = spark.read.parquet(*input_files(options, "points")).select("id", "x0", "x1", "label")
texts = [
    functions.sha2(functions.concat("note", functions.lit(str(number))), 512)
    for number in range(options.width)
]
wide = clicks.select(
    functions.pmod("order_id", functions.lit(4000 * options.files)).alias("id"),
    functions.concat(*texts).alias("text"),
)
joined = wide.join(catalogue, "id")
joined.groupBy("label").agg(functions.max("text"), functions.sum("x0"), functions.count("*")).write.format(
    "noop"
).mode("overwrite").save()
spark.stop()
