"""Gradient descent on an RDD of NumPy blocks, as one writes it oneself: parsed, persisted, passed over."""

import numpy as np
from pacing import arguments, input_files, paced
from pyspark import StorageLevel
from pyspark.sql import SparkSession

options = arguments(iterations=5, level="MEMORY_ONLY")
spark = SparkSession.builder.getOrCreate()
points = paced(
    spark.read.parquet(*input_files(options, "points")), "id", milliseconds=50, every=500, seed=options.seed
)


def blocks(rows):  # type: ignore[no-untyped-def]
    """Products of the columns, 216 numbers a row, in blocks of 500 rows, with the labels as last column."""
    table = np.array([tuple(row) for row in rows])
    if len(table):
        x = table[:, 2:8]
        products = np.einsum("na,nb,nc->nabc", x, x, x).reshape(len(x), -1)
        whole = np.column_stack([products, table[:, 1]]).astype(np.float32)
        yield from np.array_split(whole, max(1, len(whole) // 500))


def gradient(block, weights):  # type: ignore[no-untyped-def]
    """Of the logistic loss."""
    x, label = block[:, :-1], block[:, -1]
    return x.T @ (1 / (1 + np.exp(-np.clip(x @ weights, -30, 30))) - label)


data = points.rdd.mapPartitions(blocks).persist(getattr(StorageLevel, options.level))
weights = np.zeros(216)
for _ in range(options.iterations):
    weights = weights - 1e-6 * data.map(lambda block, at=weights: gradient(block, at)).sum()  # type: ignore[no-untyped-call]
print(float(weights @ weights))
spark.stop()
