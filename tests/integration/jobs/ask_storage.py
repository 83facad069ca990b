"""A job whose tasks wait, as for storage, and compute a little: executors help it even on two cores.

Arguments: how many tasks the first stage has, two at least; how many seconds each task waits; and, where the
driver is to pause and then go on with a smaller job, for how many seconds.
"""

import sys
import time

from pyspark.sql import SparkSession


def main() -> None:
    tasks, seconds, *pauses = int(sys.argv[1]), *map(float, sys.argv[2:])

    def read(part, numbers):
        time.sleep(seconds)
        total = 0
        for number in numbers:
            total = (total * 31 + number) % 1_000_003
        return [(key, total + key) for key in range(40)]

    def look_up(pairs):
        time.sleep(seconds)
        return [(key % 7, sum(values)) for key, values in pairs]

    with SparkSession.builder.appName("ask_storage").getOrCreate() as spark:
        context = spark.sparkContext
        parts = context.parallelize(range(tasks * 20_000), tasks).mapPartitionsWithIndex(read)
        looked_up = parts.groupByKey(tasks // 2).mapPartitions(look_up)
        looked_up.reduceByKey(lambda one, other: one + other, 4).collect()
        for pause in pauses:
            time.sleep(pause)
            context.parallelize(range(100), 2).sum()


if __name__ == "__main__":
    main()
