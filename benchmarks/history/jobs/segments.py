"""Segments of customers: k-means of MLlib on cached features, a pass over them for each iteration."""

from pacing import arguments, fail_if_asked, input_files, paced
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession

options = arguments(iterations=6)
spark = SparkSession.builder.getOrCreate()
rows = paced(
    spark.read.parquet(*input_files(options, "points")), "id", milliseconds=80, every=500, seed=options.seed
)
fail_if_asked(options)
names = [f"x{number}" for number in range(8)]
features = VectorAssembler(inputCols=names, outputCol="features").transform(rows).select("features")
features.persist()
model = KMeans(k=6, maxIter=options.iterations, tol=0.0, initMode="random", seed=1).fit(features)
print(len(model.clusterCenters()))
spark.stop()
