"""Features that several queries read: what finds no room in memory is read and made again for each."""

from pacing import arguments, input_files, paced
from pyspark import StorageLevel
from pyspark.sql import SparkSession, functions

options = arguments(width=2)
spark = SparkSession.builder.getOrCreate()
orders = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=60,
    every=1000,
    seed=options.seed,
)
texts = [
    functions.sha2(functions.concat("note", functions.lit(str(number))), 512)
    for number in range(options.width)
]
features = orders.select("customer_id", "amount", functions.concat(*texts).alias("text"))
features.persist(StorageLevel.MEMORY_ONLY)
for what in (
    functions.count("*"),
    functions.avg("amount"),
    functions.max("text"),
    functions.max(functions.length("text") + functions.col("amount")),
    functions.min("customer_id"),
):
    print(features.agg(what).collect()[0][0])
spark.stop()
