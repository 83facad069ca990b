"""Is a run faster when its advice is followed, by what was promised? Real runs of Spark, in pairs.

Each job of `remedy_jobs` is run as the advice finds it and as the advice says, on two executors of this
machine. What the log of the first run promises stands beside what was won. Takes ten minutes.

    python -m benchmarks.clarity.remedies [JOB ...]
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.spark.installation import find_spark_submit

APPLICATION = Path(__file__).with_name("remedy_jobs.py")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A job before and after following advice on a subject, with the executors' heap before and after."""

    job: str
    subject: str
    megabytes: tuple[int, int] = (1024, 1024)


PAIRS = (
    Pair(job="python_rows", subject="Python"),
    Pair(job="long_list", subject="serialisation"),
    Pair(job="tiny_tasks", subject="partitions"),
    Pair(job="driver_sums", subject="driver"),
    Pair(job="small_files", subject="files"),
    Pair(job="full_heap", subject="garbage collection", megabytes=(560, 3000)),
)

_HEADING = "job          advice about        promised   before    after      won  of the promise"


def run(pair: Pair, folder: Path, *, followed: bool) -> RunProfile:
    """Make a run, and read its event log.

    Raises:
        RuntimeError: the application fails.
    """
    way = "followed" if followed else "not"
    logs = folder / f"{pair.job}-{way}"
    logs.mkdir()
    megabytes = pair.megabytes[followed]
    settings = {
        "spark.ui.enabled": "false",
        "spark.executor.memory": f"{megabytes}m",
        # That which stops all threads, so that a full heap costs what Spark counts as collection.
        "spark.executor.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(logs),
    }
    command = [
        str(find_spark_submit()),
        *("--master", f"local-cluster[2,1,{megabytes}]"),
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        *(str(APPLICATION), pair.job, way, str(folder / "written")),
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{pair.job} failed: {ended.stderr[-2000:]}")
    (log,) = logs.iterdir()
    return profile_run(read_event_log(log))


def lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """The table: seconds without the start-up, and the share of the promise that came."""
    yield _HEADING
    came = 0
    for pair in pairs:
        with TemporaryDirectory(prefix="ernest-remedies-") as folder:
            before = run(pair, Path(folder), followed=False)
            after = run(pair, Path(folder), followed=True)
        promised = sum(each.won_seconds for each in before.advice if each.subject == pair.subject)
        won = before.seconds - after.seconds
        came += promised > 0 and won >= promised / 2
        share = f"{won / promised:.0%}" if promised else "nothing was advised"
        seconds = f"{promised:7.1f} s {before.seconds:6.1f} s {after.seconds:6.1f} s {won:6.1f} s"
        yield f"{pair.job:12} {pair.subject:18} {seconds}  {share}"
    yield f"at least half of what was promised came in {came} of {len(pairs)}"


if __name__ == "__main__":
    chosen = sys.argv[1:]
    for line in lines([pair for pair in PAIRS if not chosen or pair.job in chosen]):
        print(line, flush=True)
