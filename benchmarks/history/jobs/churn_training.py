"""A classifier of MLlib: the features are made and cached, then each iteration passes over them."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

options = arguments(iterations=8)
spark = SparkSession.builder.getOrCreate()
rows = paced(
    spark.read.parquet(*input_files(options, "points")), "id", milliseconds=80, every=500, seed=options.seed
)
fail_if_asked(options)
names = [f"x{number}" for number in range(8)]
features = VectorAssembler(inputCols=names, outputCol="features").transform(rows).select("features", "label")
features.persist()
model = LogisticRegression(maxIter=options.iterations, tol=0.0).fit(features)
print(model.intercept)
spark.stop()
