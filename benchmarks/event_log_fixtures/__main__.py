"""Makes the event logs that the unit tests read, by a real Spark: tests/unit/eventlog/event_logs/README.md.

``python -m benchmarks.event_log_fixtures --python .../bin/python --codecs zstd,lzf`` runs the small jobs
beside this file on the pyspark of that Python, with two executors of their own, and writes what they logged,
without what it tells of this machine, by the codecs of that Spark.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

from benchmarks.event_log_fixtures.installed_spark import HERE, InstalledSpark

INTO = HERE.parent.parent / "tests" / "unit" / "eventlog" / "event_logs"
ROLLED_FILES = 3


def main() -> int:
    """Make them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="of the environment that has pyspark")
    parser.add_argument("--codecs", default="zstd", help="of Spark, and gzip, separated by commas")
    parser.add_argument("--rolled", action="store_true", help="write a log that is rolled over, too")
    parser.add_argument("--python-job", action="store_true", help="run the job with Python workers, too")
    arguments = parser.parse_args()
    spark = InstalledSpark(arguments.python)
    INTO.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        plain = spark.log_of(work / "jvm", HERE / "job.scala")
        targets = _targets(plain, arguments.codecs.split(","), spark.version)
        if arguments.rolled:
            targets += _rolled(plain)
        if arguments.python_job:
            plain = spark.log_of(work / "python", HERE / "python_job.py")
            targets.append((plain, INTO / f"spark-{spark.version}-python.zstd", "zstd"))
        spark.compress(targets)
    return 0


def _targets(plain: Path, codecs: list[str], version: str) -> list[tuple[Path, Path, str]]:
    if "gzip" in codecs:
        codecs.remove("gzip")
        (INTO / f"spark-{version}.gz").write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    return [(plain, INTO / f"spark-{version}.{codec}", codec) for codec in codecs if codec]


def _rolled(plain: Path) -> list[tuple[Path, Path, str]]:
    """The log in several files, named as Spark does it; it rolls over above 10 MB at the least."""
    application = plain.name
    folder = INTO / f"eventlog_v2_{application}"
    folder.mkdir(exist_ok=True)
    (folder / f"appstatus_{application}").touch()
    lines = plain.read_text().splitlines(keepends=True)
    targets = []
    for number in range(ROLLED_FILES):
        part = plain.with_name(f"part-{number}")
        begin, end = (len(lines) * place // ROLLED_FILES for place in (number, number + 1))
        part.write_text("".join(lines[begin:end]))
        targets.append((part, folder / f"events_{number + 1}_{application}.zstd", "zstd"))
    return targets


if __name__ == "__main__":
    sys.exit(main())
