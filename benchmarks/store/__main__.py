"""What the store of a large deployment costs: ``python -m benchmarks.store [--jobs 100]``.

It holds 100 models, decisions and production runs of each of 100 jobs: 30,000 documents. They are written
without waiting for the disk; what is measured goes the real way. "Cold" is the first time in a process, of
files that the operating system holds in memory. The second column is the processor's time alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.store.pruning import KEEP_MODELS, Prune
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.models import list_models
from benchmarks.store.synthetic import DAYS, INSTANCE_TYPE, a_production_run, fill, job_name

JOBS, OF_EACH = 100, 100
REPETITIONS = 5
JOB = job_name(7)

NOW = datetime.now(UTC)
Took = tuple[float, float]
"""Seconds by the clock, and of the processor."""
Step = tuple[str, Took]


def main() -> int:
    """Print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many (default: %(default)s)")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        root = Path(folder) / "models"
        fill(root, jobs=options.jobs, of_each=OF_EACH, now=NOW)
        title = f"{options.jobs} jobs, {OF_EACH} models each"
        print(f"{title:58s} {'ms':>9s} {'processor':>9s}")
        for steps in (_listing, _single, _pruning):
            for name, (seconds, of_processor) in steps(root):
                print(f"  {name:56s} {1000 * seconds:9.1f} {1000 * of_processor:9.1f}", flush=True)
    return 0


def _listing(root: Path) -> Iterator[Step]:
    yield "all entries, where no summary is written yet", _seconds(ModelStore(root).catalogue.entries)
    yield "all entries, cold", _least(lambda: ModelStore(root).catalogue.entries())
    store = ModelStore(root)
    yield "the page of all models, cold", _least(lambda: _page(ModelStore(root)))
    _page(store)
    yield "the page of all models, again", _least(lambda: _page(store))
    yield "entries of one job, cold", _least(lambda: ModelStore(root).catalogue.entries(JOB))


def _page(store: ModelStore) -> object:
    return list_models(store.catalogue.entries(), readable=lambda dag_id: True, now=NOW)


def _single(root: Path) -> Iterator[Step]:
    yield (
        "the newest model of a job",
        _least(lambda: ModelStore(root).newest(Model, JOB, INSTANCE_TYPE, limit=1)[0]),
    )
    yield (
        "20 production runs of a job",
        _least(lambda: ModelStore(root).newest(ProductionRun, JOB, INSTANCE_TYPE, limit=20)),
    )
    runs = [a_production_run(JOB, datetime.now(UTC)) for _ in range(REPETITIONS)]
    times = [_seconds(partial(ModelStore(root).save, run)) for run in runs]
    yield "saving one more, in a process of its own, median", sorted(times)[REPETITIONS // 2]


def _pruning(root: Path) -> Iterator[Step]:
    plans: list[Prune] = []

    def plan() -> None:
        store = ModelStore(root)
        plans.append(Prune(store=store, now=NOW, older_than_days=DAYS / 2, keep_models=KEEP_MODELS))

    yield "planning to prune what is older than half of it", _seconds(plan)
    yield f"pruning these {len(plans[0].items):,} documents", _seconds(plans[0].carry_out)
    yield "the page of all models, after that, cold", _seconds(lambda: _page(ModelStore(root)))


def _least(action: Callable[[], object]) -> Took:
    """The least of some repetitions: what else the machine does only adds to it."""
    return min(_seconds(action) for _ in range(REPETITIONS))


def _seconds(action: Callable[[], object]) -> Took:
    began, busy = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - began, time.process_time() - busy


if __name__ == "__main__":
    sys.exit(main())
