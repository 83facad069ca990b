"""What the store of a large deployment costs: ``python -m benchmarks.store [--jobs 100] [--s3]``.

It holds 100 models, decisions and production runs of each of 100 jobs: 30,000 documents. They are written
without waiting for the disk; what is measured goes the real way. "Cold" is the first time in a process, of
files that the operating system holds in memory. The second column is the processor's time alone. On S3 what
counts is the third, the requests: `READERS` of them go out at a time, and moto takes its own time for each.
Pruning is not measured there: it reads each document and removes it as the rows above do, one by one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.store.catalogue import PRODUCTION_RUN
from airflow_provider_ernest.store.pruning import KEEP_MODELS, Prune
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.models import list_models
from benchmarks.store.s3 import NEEDS, REQUESTS, s3_root
from benchmarks.store.synthetic import DAYS, INSTANCE_TYPE, a_production_run, fill, job_name

JOBS, OF_EACH = 100, 100
REPETITIONS = 5
JOB = job_name(7)

NOW = datetime.now(UTC)
Took = tuple[float, float, int]
"""Seconds by the clock, and of the processor; requests to S3."""
Step = tuple[str, Took]


def main() -> int:
    """Print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many (default: %(default)s)")
    parser.add_argument(
        "--of-each", type=int, default=OF_EACH, help="documents of each kind and job (default: %(default)s)"
    )
    parser.add_argument("--s3", action="store_true", help=NEEDS)
    options = parser.parse_args()
    with s3_root() if options.s3 else _folder() as root:
        fill(root, jobs=options.jobs, of_each=options.of_each, now=NOW)
        title = f"{options.jobs} jobs, {options.of_each} models each{', on S3' if options.s3 else ''}"
        print(f"{title:58s} {'ms':>9s} {'processor':>9s}", "requests" if options.s3 else "")
        for steps in (_listing, _single) if options.s3 else (_listing, _single, _pruning):
            for name, (seconds, of_processor, requests) in steps(root):
                asked = f"{requests:8,d}" if options.s3 else ""
                print(f"  {name:56s} {1000 * seconds:9.1f} {1000 * of_processor:9.1f}", asked, flush=True)
    return 0


@contextmanager
def _folder() -> Iterator[Any]:
    with TemporaryDirectory() as folder:
        yield Path(folder) / "models"


def _listing(root: Any) -> Iterator[Step]:
    yield "all entries, where no summary is written yet", _seconds(ModelStore(root).catalogue.entries)
    yield "all entries, cold", _least(lambda: ModelStore(root).catalogue.entries())
    store = ModelStore(root)
    yield "the page of all models, cold", _least(lambda: _page(ModelStore(root)))
    _page(store)
    yield "the page of all models, again", _least(lambda: _page(store))
    yield "entries of one job, cold", _least(lambda: ModelStore(root).catalogue.entries(JOB))


def _page(store: ModelStore) -> object:
    return list_models(store.catalogue.entries(), readable=lambda dag_id: True, now=NOW)


def _single(root: Any) -> Iterator[Step]:
    yield "the newest model of a job", _least(lambda: ModelStore(root).latest(JOB, INSTANCE_TYPE))
    yield (
        "20 production runs of a job",
        _least(lambda: ModelStore(root).newest(ProductionRun, JOB, INSTANCE_TYPE, limit=20)),
    )
    runs = [a_production_run(JOB, datetime.now(UTC)) for _ in range(REPETITIONS)]
    times = [_seconds(partial(ModelStore(root).save, run)) for run in runs]
    yield "saving one more, in a process of its own, median", sorted(times)[REPETITIONS // 2]
    store = ModelStore(root)
    yield (
        "removing one",
        _seconds(
            lambda: store.remove(PRODUCTION_RUN, job=JOB, instance_type=INSTANCE_TYPE, document_id=runs[0].id)
        ),
    )


def _pruning(root: Any) -> Iterator[Step]:
    plans: list[Prune] = []

    def plan() -> None:
        plans.append(
            Prune(
                store=ModelStore(root),
                now=NOW,
                older_than_days=DAYS / 2,
                keep_models=KEEP_MODELS,
            )
        )

    yield "planning to prune what is older than half of it", _seconds(plan)
    yield f"pruning these {len(plans[0].items):,} documents", _seconds(plans[0].carry_out)
    yield "the page of all models, after that, cold", _seconds(lambda: _page(ModelStore(root)))


def _least(action: Callable[[], object]) -> Took:
    """The least of some repetitions: what else the machine does only adds to it."""
    return min(_seconds(action) for _ in range(REPETITIONS))


def _seconds(action: Callable[[], object]) -> Took:
    began, busy, sent = time.perf_counter(), time.process_time(), REQUESTS.sent
    action()
    return time.perf_counter() - began, time.process_time() - busy, REQUESTS.sent - sent


if __name__ == "__main__":
    sys.exit(main())
