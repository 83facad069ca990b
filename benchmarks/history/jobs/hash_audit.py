"""An audit of hashes: nothing but computing, in the JVM."""

from pacing import arguments, fail_if_asked, input_files
from pyspark.sql import SparkSession, functions

options = arguments(kilobytes=24)
spark = SparkSession.builder.getOrCreate()
rows = spark.read.parquet(*input_files(options, "orders")).where("order_id % 6 = 0")
fail_if_asked(options)
long = functions.repeat(functions.col("note"), 1024 * options.kilobytes // 64)
hashes = rows.select(functions.sha2(long, 256).alias("hash"), "merchant_id")
print(hashes.groupBy("merchant_id").agg(functions.max("hash")).count())
spark.stop()
