"""Features that are kept in memory and read thrice; where they find no room they are made again each time."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark import StorageLevel
from pyspark.sql import SparkSession, functions

options = arguments()
spark = SparkSession.builder.getOrCreate()
rows = paced(
    spark.read.parquet(*input_files(options, "orders")),
    "order_id",
    milliseconds=70,
    every=1000,
    seed=options.seed,
)
fail_if_asked(options)
# Long texts, each another: no columnar compression makes them smaller.
long = functions.repeat(functions.sha2("note", 256), 14)
features = rows.select("customer_id", "amount", long.alias("features"))
features.persist(StorageLevel.MEMORY_ONLY)
for name in ("count", "amount", "features"):
    what = {
        "count": functions.count("*"),
        "amount": functions.avg("amount"),
        "features": functions.max("features"),
    }[name]
    print(features.agg(what).collect()[0][0])
spark.stop()
