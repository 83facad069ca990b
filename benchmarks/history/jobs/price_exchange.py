"""Prices are sent from all to all twice, by product and by customer: what the network carries is the job."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments(kilobytes=1)
spark = SparkSession.builder.getOrCreate()
rows = spark.read.parquet(*input_files(options, "orders")).where("order_id % 6 = 0")
rows = paced(rows, "order_id", milliseconds=60, every=400, seed=options.seed)
fail_if_asked(options)
filler = functions.lit("x" * 1024 * options.kilobytes)
prices = rows.withColumn("payload", functions.concat(functions.col("note"), filler))
by_product = prices.repartition(12, "product_id").withColumn("size", functions.length("payload"))
by_customer = by_product.where("size > 0").repartition(12, "customer_id")
print(by_customer.agg(functions.sum(functions.length("payload"))).collect()[0][0])
spark.stop()
