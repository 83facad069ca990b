"""Alternating least squares of MLlib: it caches the ratings' blocks and the factors of each iteration."""

from pacing import arguments, input_files, paced
from pyspark.ml.recommendation import ALS
from pyspark.sql import SparkSession, functions

options = arguments(iterations=4, copies=8)
spark = SparkSession.builder.getOrCreate()
orders = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=60,
    every=1000,
    seed=options.seed,
)
# Each order tells of several products, as a basket does.
ratings = orders.select(
    functions.col("customer_id").cast("int").alias("user"),
    functions.explode(functions.sequence(functions.lit(1), functions.lit(options.copies))).alias("place"),
    "product_id",
    (functions.col("amount") / 100_000).cast("float").alias("rating"),
).withColumn("item", functions.pmod(functions.hash("product_id", "place", "rating"), functions.lit(2000)))
model = ALS(
    rank=6,
    maxIter=options.iterations,
    userCol="user",
    itemCol="item",
    numUserBlocks=12,
    numItemBlocks=12,
    seed=1,
).fit(ratings)
print(model.rank)
spark.stop()
