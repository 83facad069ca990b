"""Sales by region and product: a join of two tables by sorting them, an aggregation, a sort."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.sql import SparkSession, functions

options = arguments()
spark = SparkSession.builder.getOrCreate()
orders = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=80,
    every=1000,
    seed=options.seed,
)
customers = spark.read.parquet(f"{options.input}/customers")
fail_if_asked(options)
sales = (
    orders.join(customers.hint("merge"), "customer_id")
    .groupBy("region", "product_id")
    .agg(functions.sum("amount").alias("sales"), functions.count("*").alias("orders"))
    .orderBy(functions.desc("sales"))
)
sales.write.mode("overwrite").parquet(options.output)
spark.stop()
