"""Do runs under dynamic allocation come out as they are told?

In three tables:

* Google Dataproc: time on 2 to 32 executors that came and went, told by the runs on 8 and on 16.
* Event logs, dynamic to fixed: a run under dynamic allocation, replayed on fixed numbers of executors,
  against real runs of the same job on these; and as it was, by Spark's own rules.
* Event logs, fixed to dynamic: a run on a fixed number, replayed under the bounds of each dynamic one.

The logs in a folder are of one job. With --make they are made: four executors of one core on this machine,
forty minutes. With --make-yarn they are made on the YARN of the tests, twenty minutes. Nothing else should
run meanwhile.

    python -m benchmarks.dynamic_allocation DATA [--logs DIR ...] [--make DIR] [--make-yarn DIR]

DATA holds dataproc/ of dos-group/spark-autoscaling-evaluation (Flora, CCGrid 2025).
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.clarity.dynamic_allocation import (
    ExecutorAllocation,
    bounds_in,
    properties_of_allocation,
    rules_of,
)
from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay import Simulation, on_other_executors, warm_up_of
from airflow_provider_ernest.clarity.replay_dynamic import (
    allocation_of,
    executor_startup_seconds,
    replayed_at_fixed_sizes,
)
from airflow_provider_ernest.clarity.replay_plan import plan_of
from airflow_provider_ernest.clarity.replay_scaled import replay_allocations
from airflow_provider_ernest.documents.profiles import ReplayedAllocation
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.run_facts import Sizes, has_dynamic_allocation, why_not_counted
from airflow_provider_ernest.eventlog.tables import EventLog
from benchmarks.dynamic_allocation.counts import told_of

Logs = Mapping[str, EventLog]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamic_allocation", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of measured data")
    parser.add_argument("--logs", type=Path, action="append", default=[], metavar="DIR", help="event logs")
    parser.add_argument("--make", type=Path, metavar="DIR", help="where to make runs, if they are not there")
    parser.add_argument("--make-yarn", type=Path, metavar="DIR", help="where to make runs on YARN")
    parser.add_argument("--repeats", type=int, default=2, help="how often each run is made; default 2")
    options = parser.parse_args()
    folders = list(options.logs)
    if options.make:
        from benchmarks.dynamic_allocation.running import make_runs

        make_runs(options.make, repeats=options.repeats)
        folders.append(options.make)
    if options.make_yarn:
        from benchmarks.dynamic_allocation.running import make_yarn_runs

        make_yarn_runs(options.make_yarn)
        folders.append(options.make_yarn)
    for line in _dataproc(options.data / "dataproc"):
        print(line)
    for folder in folders:
        for line in _of_logs(folder):
            print(line)


def _median(errors: Sequence[float]) -> str:
    return f"median {median(map(abs, errors)):.1%}, worst {max(map(abs, errors)):.1%}, {len(errors)} values"


def _dataproc(folder: Path) -> Iterator[str]:
    yield "Google Dataproc: 2 to 32 executors that came and went, by the runs on 8 and 16"
    yield f"{'job':<16}{'on 8':>8}{'on 16':>8}{'told':>8}{'took':>8}{'error':>8}"
    errors = []
    for each in told_of(folder):
        fixed = "".join(f"{seconds:8.0f}" for seconds in each.fixed_seconds)
        told = f"{each.told_seconds:8.0f}{each.seconds:8.0f}{each.error:+8.1%}"
        yield f"{f'{each.job}, {each.size}':<16}{fixed}{told}"
        errors.append(each.error)
    yield _median(errors)


def _of_logs(folder: Path) -> Iterator[str]:
    logs = dict(_read(folder))
    dynamic = {name: log for name, log in logs.items() if has_dynamic_allocation(log.properties)}
    cores = {log.executors[0].cores for log in dynamic.values()}
    fixed = {
        name: log
        for name, log in logs.items()
        if name not in dynamic and log.executors[0].cores in cores and why_not_counted(log) is None
    }
    if not dynamic or not fixed:
        raise SystemExit(f"{folder} does not hold event logs of both kinds")
    yield f"\n{folder.name}: event logs, dynamic to fixed"
    yield from _to_fixed(dynamic, fixed)
    yield f"\n{folder.name}: event logs, fixed to dynamic"
    yield from _to_dynamic(dynamic, fixed)


def _read(folder: Path) -> Iterator[tuple[str, EventLog]]:
    """Files, rolling logs, or folders with one of these each."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith("eventlog_v2_"):
            (inside,) = path.glob("eventlog_v2_*")
            yield path.name, read_event_log(inside)
        elif path.suffix != ".md":
            yield path.name, read_event_log(path)


def _to_fixed(dynamic: Logs, fixed: Logs) -> Iterator[str]:
    took: defaultdict[int, list[float]] = defaultdict(list)
    for log in fixed.values():
        took[log.most_executors].append(log.clean_seconds)
    for count, seconds in sorted(took.items()):
        yield f"took on {count:>2}: {', '.join(f'{each:.1f}' for each in sorted(seconds))} s"
    yield f"{'run':<24}{'executors':>10}{'replayed':>10}{'took':>8}{'error':>8}"
    errors, own_errors, cost_errors = [], [], []
    for name, log in dynamic.items():
        for size in replayed_at_fixed_sizes(log):
            if size.executors in took:
                truth = median(took[size.executors])
                errors.append(size.seconds / truth - 1.0)
                told = f"{size.executors:>10}{size.seconds:10.1f}{truth:8.1f}{errors[-1]:+8.1%}"
                yield f"{name:<24}{told}"
        own = _by_its_own_rules(log)
        own_errors.append(own.seconds / log.clean_seconds - 1.0)
        cost_errors.append(own.mean_executors / Sizes(log).mean - 1.0)
        told = f"{'its own':>10}{own.seconds:10.1f}{log.clean_seconds:8.1f}{own_errors[-1]:+8.1%}"
        yield f"{name:<24}{told}   executors on average {cost_errors[-1]:+.1%}"
    yield f"on fixed numbers: {_median(errors)}"
    yield f"by its own rules, seconds: {_median(own_errors)}"
    yield f"by its own rules, executors on average: {_median(cost_errors)}"


def _by_its_own_rules(log: EventLog) -> ReplayedAllocation:
    """A run under dynamic allocation, replayed as it was."""
    bounds = bounds_in(log.properties, most=log.most_executors)
    rules = rules_of(log.properties, startup_seconds=executor_startup_seconds(log))
    tasks, plan = log.task_columns, plan_of(log)
    seconds, excess = on_other_executors(
        log, plan, tasks.seconds, executors=bounds.maximum, warm_up=warm_up_of(log, plan)
    )
    share = ((tasks.freed_at - tasks.launched_at) / np.maximum(tasks.seconds, 1e-9)).clip(0.0, 1.0)
    simulation = Simulation(
        plan,
        seconds,
        allocation=ExecutorAllocation(rules, bounds),
        slots_per_executor=max(1, int(np.median(list(log.slots_by_executor.values())))),
        slot_seconds=seconds * share,
        warm_up_seconds=excess,
    )
    return allocation_of(simulation.run(), bounds)


def _to_dynamic(dynamic: Logs, fixed: Logs) -> Iterator[str]:
    yield f"{'from':<16}{'to':<24}{'replayed':>10}{'took':>8}{'error':>8}{'executors':>11}{'had':>7}"
    errors, cost_errors = [], []
    for name, log in fixed.items():
        profile = profile_run(log)
        for other, truth in dynamic.items():
            (told,) = replay_allocations(
                [replace(profile, allocation=properties_of_allocation(truth.properties))],
                allowed=[bounds_in(truth.properties, most=truth.most_executors)],
                scale=1.0,
                executor_cores=max(1, profile.slots // profile.executors),
            )
            errors.append(told.seconds / truth.clean_seconds - 1.0)
            mean = Sizes(truth).mean
            cost_errors.append(told.mean_executors / mean - 1.0)
            seconds = f"{told.seconds:10.1f}{truth.clean_seconds:8.1f}{errors[-1]:+8.1%}"
            yield f"{name:<16}{other:<24}{seconds}{told.mean_executors:11.2f}{mean:7.2f}"
    yield f"seconds: {_median(errors)}"
    yield f"executors on average: {_median(cost_errors)}"


if __name__ == "__main__":
    main()
