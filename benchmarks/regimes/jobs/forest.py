"""A random forest of MLlib: its points lie in memory as objects, which fill the heap that tasks work in."""

from pacing import arguments, input_files, paced
from pyspark.ml.classification import RandomForestClassifier
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import SparkSession, functions

options = arguments(copies=3)
spark = SparkSession.builder.getOrCreate()
points = paced(
    spark.read.parquet(*input_files(options, "points")), "id", milliseconds=60, every=500, seed=options.seed
)
several = points.withColumn(
    "place", functions.explode(functions.sequence(functions.lit(1), functions.lit(options.copies)))
)
names = [f"x{number}" for number in range(8)]
rows = VectorAssembler(inputCols=names, outputCol="features").transform(several).select("features", "label")
model = RandomForestClassifier(numTrees=4, maxDepth=5, maxBins=16, seed=1).fit(rows)
print(model.getNumTrees)
spark.stop()
