"""Keep the classes of Spark in an archive that Java maps when it starts again: a third less CPU.

Run as ``python -m tests.integration.spark_classes ARCHIVE``. Of all Java processes of a test only those share
it whose class path is the installation's: drivers, and the daemons and executors of local clusters.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import SparkContext
from pyspark.sql import SparkSession

from airflow_provider_ernest.spark.installation import find_spark_home

ONE_EXECUTOR = "local-cluster[1,1,1024]"
"""A master and a worker run in the driver's process, an executor in one of its own."""
ALL_IN_ONE = "local[2]"
"""The tasks run in the driver's process, too."""


def read_classes(master: str, archive: str, folder: Path) -> None:
    """Do what the tests' applications do, in the one Java process that keeps what it has read at its end."""
    with (
        SparkSession.builder.master(master)
        .config("spark.driver.extraJavaOptions", f"-XX:ArchiveClassesAtExit={archive}")
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", folder.as_uri())
        .getOrCreate() as spark
    ):
        table = folder / "table"
        spark.range(100).selectExpr("id", "id % 3 AS third").write.mode("overwrite").csv(
            str(table), header=True
        )
        rows = spark.read.csv(str(table), header=True)
        rows.join(rows.groupBy("third").count(), "third").write.mode("overwrite").parquet(
            str(folder / "joined")
        )
        lines = spark.sparkContext.textFile(str(table))
        lines.map(lambda line: (len(line), 1)).reduceByKey(lambda one, other: one + other).count()


def main() -> None:
    """Write the archive."""
    (archive,) = sys.argv[1:]
    core = next(find_spark_home().glob("jars/spark-core_*.jar"))  # such as spark-core_2.13-4.0.0.jar
    os.environ["SPARK_SCALA_VERSION"] = core.name.removeprefix("spark-core_").partition("-")[0]
    with TemporaryDirectory() as folder:
        for master in (ONE_EXECUTOR, ALL_IN_ONE):
            read_classes(master, archive, Path(folder))
        gateway = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    main()
