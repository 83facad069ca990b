"""A ledger is sorted as a whole, in memory that does not hold it: sorted parts are spilled and merged."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments()
spark = SparkSession.builder.getOrCreate()
rows = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=40,
    every=1000,
    seed=options.seed,
)
fail_if_asked(options)
entries = rows.withColumn("entry", functions.concat("note", functions.sha2("note", 256)))
ordered = entries.repartitionByRange(8, "at").sortWithinPartitions("at", "order_id")
paced(ordered, "order_id", milliseconds=40, every=1000, seed=options.seed).write.format("noop").mode(
    "overwrite"
).save()
spark.stop()
