"""All entries of a ledger in order: a task that cannot hold its part spills sorted runs and merges them."""

from pacing import arguments, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments(parts=12, width=8)
spark = SparkSession.builder.getOrCreate()
orders = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=30,
    every=1000,
    seed=options.seed,
)
# Text that no compression makes much smaller comes with each entry.
texts = [
    functions.sha2(functions.concat("note", functions.lit(str(number))), 512)
    for number in range(options.width)
]
entries = orders.select("at", "order_id", functions.concat(*texts).alias("entry"))
ordered = entries.repartitionByRange(options.parts, "at").sortWithinPartitions("entry", "order_id")
ordered.write.format("noop").mode("overwrite").save()
spark.stop()
