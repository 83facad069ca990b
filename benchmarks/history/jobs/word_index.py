"""An index of words, on RDDs: Python workers that compute, and a shuffle of what they found."""

import hashlib

from pacing import arguments, fail_if_asked
from pyspark.sql import SparkSession

options = arguments(rounds=6)
spark = SparkSession.builder.getOrCreate()
rounds = options.rounds


def words(line: str) -> list[tuple[str, int]]:
    """The line's words, each with a place in the index that takes some computing to find."""
    found = []
    for word in line.split():
        digest = word.encode()
        for _ in range(rounds):
            digest = hashlib.sha256(digest).digest()
        found.append((digest.hex()[:8], 1))
    return found


paths = ",".join(
    f"{options.input}/texts/part-{number % 96:05}.txt"
    for number in range(options.seed, options.seed + options.files)
)
lines = spark.sparkContext.textFile(paths, minPartitions=1)
fail_if_asked(options)
counts = lines.flatMap(words).reduceByKey(lambda one, other: one + other, 8)
print(counts.sortBy(lambda pair: -pair[1], numPartitions=4).take(5))
spark.stop()
