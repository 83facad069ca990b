"""Sessions of users: their clicks are sorted by time, and a session ends where half an hour passes."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.sql import SparkSession, Window, functions

options = arguments()
spark = SparkSession.builder.getOrCreate()
clicks = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=70,
    every=1000,
    seed=options.seed,
)
fail_if_asked(options)
by_user = Window.partitionBy("customer_id").orderBy("at")
gap = functions.col("at") - functions.lag("at").over(by_user)
sessions = (
    clicks.withColumn("begins", (functions.coalesce(gap, functions.lit(1 << 30)) > 1800).cast("int"))
    .withColumn("session", functions.sum("begins").over(by_user))
    .groupBy("customer_id", "session")
    .agg(
        functions.count("*").alias("clicks"),
        functions.min("at").alias("began"),
        functions.max("note").alias("note"),
    )
)
sessions = paced(sessions, "began", milliseconds=30, every=2000, seed=options.seed)
ordered = sessions.orderBy("began").write.mode("overwrite")
if options.output:
    ordered.parquet(options.output)
else:
    ordered.format("noop").save()
spark.stop()
