"""By which rule does a stage's time follow its machines? Three rules beside real runs.

Each predicts, from the event log of one run, another run of the same job whose network or disks were slower
or faster: the rule of `what_if.changed_task_seconds`, the thesis' ratio of ideal times, and the waiting
alone, scaled. All are replayed in the same way. The rates are those that the hosts were limited to. It reads
the logs that another benchmark keeps:

    python -m benchmarks.clarity --keep DIR
    python -m benchmarks.monotask_rules DIR
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from statistics import median

import numpy as np

from airflow_provider_ernest.clarity.monotasks import ideal_times, resource_use, stated_capacity
from airflow_provider_ernest.clarity.replay import replay
from airflow_provider_ernest.clarity.what_if import Change, changed_task_seconds
from airflow_provider_ernest.documents.profiles import DISK, NETWORK, Capacity
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.eventlog.tasks import FloatColumn
from benchmarks.clarity.running import log_of
from benchmarks.clarity.scenarios import DISK_MEGABYTES, LINK_MEGABITS, MIXED_LINK_MEGABITS

Rule = Callable[[EventLog, Capacity, Change], FloatColumn]

RATES = {
    NETWORK: {
        "shuffle": LINK_MEGABITS / 8000,
        "mixed": MIXED_LINK_MEGABITS / 8000,
    },
    DISK: {"disk": DISK_MEGABYTES / 1000},
}
"""Gigabytes per second of the base scenario of each job."""

TIMES = {"": 1.0, ", half": 0.5, ", twice": 2.0}
"""The other scenarios of a job: how many times as fast."""

NO_LIMIT = ", no limit"
UNLIMITED = 1.25
"""Gigabytes per second that a network without a limit is taken to carry: so many that they need no time."""


def by_thesis(log: EventLog, capacity: Capacity, change: Change) -> FloatColumn:
    """Every task as many times as long as the longest ideal time of its stage becomes."""
    use = resource_use(log)
    ideal = ideal_times(log, capacity, use)
    old, new = ideal.cpu, ideal.cpu
    for resource, factor in ((NETWORK, change.network), (DISK, change.disk)):
        needed = np.nan_to_num(ideal.moved[resource], nan=0.0)
        old, new = np.maximum(old, needed), np.maximum(new, needed / factor)
    growth = np.divide(new, old, out=np.ones_like(old), where=old > 0)
    seconds: FloatColumn = log.task_columns.seconds * growth[use.stage_of]
    return seconds


def by_waiting(log: EventLog, capacity: Capacity, change: Change) -> FloatColumn:
    """Only what tasks waited becomes as many times as long."""
    parts = resource_use(log).parts
    more = parts[NETWORK] * (1 / change.network - 1) + parts[DISK] * (1 / change.disk - 1)
    seconds: FloatColumn = log.task_columns.seconds + more
    return seconds


RULES: dict[str, Rule] = {"this": changed_task_seconds, "thesis": by_thesis, "waiting": by_waiting}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.monotask_rules", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("logs", type=Path, metavar="DIR", help="event logs that benchmarks.clarity kept")
    print("\n".join(_lines(parser.parse_args(arguments).logs)))
    return 0


def _lines(folder: Path) -> Iterator[str]:
    errors: dict[str, list[float]] = {rule: [] for rule in RULES}
    yield f"{'from':<18}{'to':<18}{'was':>7}{'took':>7}" + "".join(f"{rule:>14}" for rule in RULES)
    for resource, jobs in RATES.items():
        for job, rate in jobs.items():
            rates = {suffix: rate * times for suffix, times in TIMES.items()}
            if resource == NETWORK:
                rates[NO_LIMIT] = UNLIMITED
            for base, other in permutations(rates, 2):
                paths = [log_of(folder, f"{job}{suffix}", 0) for suffix in (base, other)]
                told = _compared(paths, resource, rates[base], rates[other])
                if told is None:
                    continue
                was, took, predicted = told
                row = f"{job + base:<18}{job + other:<18}{was:7.1f}{took:7.1f}"
                for rule, seconds in predicted.items():
                    errors[rule].append(100 * (seconds / took - 1))
                    row += f"{seconds:7.1f}{errors[rule][-1]:+6.0f}%"
                yield row
    if errors["this"]:
        for name, worst in (("median", False), ("largest", True)):
            values = (max(map(abs, each)) if worst else median(map(abs, each)) for each in errors.values())
            yield f"{name + ' absolute error':<50}" + "".join(f"{value:13.0f}%" for value in values)


def _compared(
    paths: Sequence[Path], resource: str, rate: float, other_rate: float
) -> tuple[float, float, dict[str, float]] | None:
    """What the base run took, the other took, and it was predicted to; None where one was not made."""
    if not all(path.exists() for path in paths):
        return None
    log, truth = (read_event_log(path) for path in paths)
    network = resource == NETWORK
    capacity = stated_capacity(log, **{"network" if network else "disk": rate})
    change = Change(network=other_rate / rate) if network else Change(disk=other_rate / rate)
    was = log.ended_at - log.ready_at
    replayed = replay(log).seconds
    predicted = {
        name: was * replay(log, task_seconds=rule(log, capacity, change)).seconds / replayed
        for name, rule in RULES.items()
    }
    return was, truth.ended_at - truth.ready_at, predicted


if __name__ == "__main__":
    sys.exit(main())
