"""Each merchant's orders in order, where one has a third of all: its task alone runs out of memory."""

from pacing import arguments, input_files, paced
from pyspark.sql import SparkSession, Window, functions

options = arguments(width=4)
spark = SparkSession.builder.getOrCreate()
orders = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=30,
    every=1000,
    seed=options.seed,
)
texts = [
    functions.sha2(functions.concat("note", functions.lit(str(number))), 512)
    for number in range(options.width)
]
wide = orders.withColumn("text", functions.concat(*texts))
by_merchant = Window.partitionBy("merchant_id").orderBy("at")
gaps = wide.withColumn("gap", functions.col("at") - functions.lag("at").over(by_merchant))
gaps.groupBy("merchant_id").agg(functions.avg("gap"), functions.max("text")).write.format("noop").mode(
    "overwrite"
).save()
spark.stop()
