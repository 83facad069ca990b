"""k-means of MLlib over features that are derived and persisted: each iteration passes over them."""

from pacing import arguments, input_files, paced
from pyspark import StorageLevel
from pyspark.ml import Pipeline
from pyspark.ml.clustering import KMeans
from pyspark.ml.feature import PolynomialExpansion, VectorAssembler
from pyspark.sql import SparkSession

options = arguments(iterations=2, level="MEMORY_ONLY")
spark = SparkSession.builder.getOrCreate()
points = paced(
    spark.read.parquet(*input_files(options, "points")), "id", milliseconds=40, every=500, seed=options.seed
)
derived = Pipeline(
    stages=[
        VectorAssembler(inputCols=[f"x{number}" for number in range(6)], outputCol="point"),
        PolynomialExpansion(degree=2, inputCol="point", outputCol="features"),
    ]
)
features = derived.fit(points).transform(points).select("features")
features.persist(getattr(StorageLevel, options.level))
model = KMeans(k=6, maxIter=options.iterations, tol=0.0, initMode="random", seed=1).fit(features)
print(len(model.clusterCenters()))
spark.stop()
