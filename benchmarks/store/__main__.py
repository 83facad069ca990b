"""What a store costs that holds very much: ``python -m benchmarks.store [--documents 100000]``.

Lists, reads and writes beside so many documents, on a local file system. Most of them and their catalogue are
written without waiting for the disk, as the package's writers leave them; what is measured goes the real
way. Times are of this machine; the last column, a multiple of the first row of each block, carries over to
others. "Cold" is the first time in an object, of files that the operating system holds in memory.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow_provider_ernest.store.catalogue import (
    FOLDER,
    MOST_LOOSE,
    MOST_SEGMENTS,
    PRODUCTION_RUN,
    Line,
    MergedLines,
    entry_of,
    line_text,
    read_line,
)
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.store.synthetic import (
    INSTANCE_TYPE,
    a_model,
    a_production_run,
    fill,
    fill_one_folder,
)

DOCUMENTS = 100_000
NEW = 100
"""Documents that others add between two listings."""
REPETITIONS = 5

NOW = datetime.now(UTC)
Step = tuple[str, float]


def main() -> int:
    """Print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=DOCUMENTS, help="how many (default: %(default)s)")
    number = parser.parse_args().documents
    print(__doc__)
    with TemporaryDirectory() as folder:
        root = Path(folder) / "models"
        fill(root, number, now=NOW)
        _print(f"listing {number:,} documents of 200 jobs", _listing(root))
        _print("writing and reading beside them", _single(root))
        _print("without a catalogue", _without_catalogue(root))
    with TemporaryDirectory() as folder:
        root = Path(folder) / "models"
        job = fill_one_folder(root, number, now=NOW)
        _print(f"{number:,} models in one folder", _one_folder(root, job))
    return 0


def _print(title: str, steps: Iterator[Step]) -> None:
    print(f"{title:58s} {'ms':>9s}  {'of first':>8s}")
    first = None
    for name, seconds in steps:
        first = first or seconds
        print(f"  {name:56s} {1000 * seconds:9.1f}  {seconds / first:7.2f}x", flush=True)
    print()


def _listing(root: Path) -> Iterator[Step]:
    yield "catalogue, cold", min(_seconds(ModelStore(root).catalogue.entries) for _ in range(REPETITIONS))
    store, writer = ModelStore(root), ModelStore(root)
    store.catalogue.entries()
    yield "catalogue, again", min(_seconds(store.catalogue.entries) for _ in range(REPETITIONS))
    for index in range(NEW):
        writer.save_production(a_production_run(f"job_{index:05d}", datetime.now(UTC)))
    yield f"catalogue, after {NEW} new documents", _seconds(store.catalogue.entries)
    yield "entries of one job", min(_seconds(lambda: _of_job(store)) for _ in range(REPETITIONS))


def _of_job(store: ModelStore) -> int:
    return sum(entry.job == "job_00042" for entry in store.catalogue.entries())


def _single(root: Path) -> Iterator[Step]:
    def save() -> None:
        ModelStore(root).save_production(a_production_run("job_00042", datetime.now(UTC)))

    times = [_seconds(save) for _ in range(MOST_LOOSE + 1)]
    yield "saving one more, in a process of its own, median", statistics.median(times)
    yield "saving one more, the slowest: it merges 256 others", max(times)
    yield "saving one more, which merges all lines", _seconds(_save_that_merges_all(root))
    yield "the newest model of a job", _least(lambda: ModelStore(root).latest("job_00042", INSTANCE_TYPE))
    yield "20 production runs of a job", _least(_last_runs(root))
    store = ModelStore(root)
    store.catalogue.entries()
    run = a_production_run("job_00042", datetime.now(UTC))
    store.save_production(run)
    yield (
        "removing one",
        _seconds(
            lambda: store.remove(
                PRODUCTION_RUN, job=run.job, instance_type=INSTANCE_TYPE, document_id=run.production_id
            )
        ),
    )


def _save_that_merges_all(root: Path) -> Callable[[], object]:
    entry = entry_of(a_production_run("job_00042", datetime.now(UTC)))
    lines = MergedLines(root / FOLDER, read_line)
    for number in range(MOST_SEGMENTS + 1):
        lines.write_segment([line_text(Line(entry.key, f"{number:03d}", entry))])
    return lambda: ModelStore(root).save_production(a_production_run("job_00042", datetime.now(UTC)))


def _last_runs(root: Path) -> Callable[[], object]:
    return lambda: ModelStore(root).productions("job_00042", INSTANCE_TYPE, limit=20)


def _without_catalogue(root: Path) -> Iterator[Step]:
    yield (
        "reading all documents, one by one",
        _seconds(lambda: sum(1 for _ in ModelStore(root).all_documents())),
    )
    shutil.rmtree(root / FOLDER)
    yield "listing, and making the catalogue, once for a store", _seconds(ModelStore(root).catalogue.entries)


def _one_folder(root: Path, job: str) -> Iterator[Step]:
    yield "the newest model", _least(lambda: ModelStore(root).latest(job, INSTANCE_TYPE))
    yield "the newest 20", _least(lambda: list(ModelStore(root).newest_models(job, INSTANCE_TYPE, limit=20)))
    store = ModelStore(root)
    yield "saving one more", _least(lambda: store.save(a_model(job, datetime.now(UTC))))


def _least(action: Callable[[], object]) -> float:
    """The least of some repetitions: what else the machine does only adds to it."""
    return min(_seconds(action) for _ in range(REPETITIONS))


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
