"""Making the runs: each scenario on its cluster, its event log kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks.clarity import disks
from benchmarks.clarity.cluster import SlowableCluster
from benchmarks.clarity.disturbance import least_disturbed
from benchmarks.clarity.scenarios import WITH_DISKS, WORKERS, Scenario

PATIENCE_SECONDS = 60.0
"""To wait, before a run, for others to leave this machine alone."""

APPLICATION = Path(__file__).parent / "application.py"

SLOW_HOST_SETTING = "spark.clarity.slowHost"
"""Tells the report, by way of the event log, which host had been made slow; no analysis looks at it."""


def log_of(folder: Path, scenario: str, repeat: int) -> Path:
    """Where the event log of a run lies."""
    return folder / f"{scenario.replace(', ', '-').replace(' ', '-')}.{repeat}.log"


def make_runs(
    scenarios: Sequence[Scenario],
    work_directory: Path,
    logs: Path,
    *,
    repeats: int,
    attempts: int,
    say: Callable[[str], None],
) -> None:
    """Make runs, one after another; repeats of one are apart from each other.

    Args:
        scenarios: to run.
        work_directory: for the clusters' logs; what is in it is removed.
        logs: where the event logs go; runs whose logs are there already are not made again.
        repeats: of each scenario.
        attempts: to make a run while others do not use this machine; the least disturbed counts.
        say: is told of each run.

    Raises:
        RuntimeError: a cluster does not come up, or an application fails.
    """
    shutil.rmtree(work_directory, ignore_errors=True)
    for name in WORKERS:
        of_cluster = [scenario for scenario in scenarios if scenario.cluster == name]
        if not of_cluster:
            continue
        if name == WITH_DISKS and (problem := disks.missing()):
            say(f"{name}: left out, {problem}")
            continue
        with _cluster(work_directory / name.replace(" ", "-"), name) as (cluster, its_disks):
            for repeat in range(repeats):
                for scenario in of_cluster:
                    log = log_of(logs, scenario.name, repeat)
                    if log.exists():
                        continue
                    made = partial(_run, scenario, cluster, its_disks, log)
                    best, others = least_disturbed(made, attempts=attempts, patience_seconds=PATIENCE_SECONDS)
                    _attempt(log, best).replace(log)
                    for attempt in range(attempts):
                        _attempt(log, attempt).unlink(missing_ok=True)
                    say(f"{scenario.name}: attempt {best + 1} counts, others used {others:.2f} cores")


@contextmanager
def _cluster(folder: Path, name: str) -> Iterator[tuple[SlowableCluster, Sequence[disks.Disk]]]:
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        count = WORKERS[name] if name == WITH_DISKS else 0
        its_disks = stack.enter_context(disks.disks(folder / "disks", count))
        cluster = SlowableCluster(folder, workers=WORKERS[name], disks=[disk.folder for disk in its_disks])
        yield stack.enter_context(cluster), its_disks


def _attempt(event_log: Path, attempt: int) -> Path:
    return event_log.with_suffix(f".attempt-{attempt}")


def _run(
    scenario: Scenario,
    cluster: SlowableCluster,
    its_disks: Sequence[disks.Disk],
    event_log: Path,
    attempt: int,
) -> None:
    cluster.set_hosts(scenario.hosts, slow=scenario.slow)
    for disk in its_disks:
        disk.set_speed(scenario.disk_megabytes_per_second)
    cluster.run(
        APPLICATION,
        scenario.job.split(),
        event_log=_attempt(event_log, attempt),
        machines=scenario.machines,
        cores=scenario.cores,
        settings={
            "spark.app.name": scenario.name,
            **({SLOW_HOST_SETTING: cluster.slow_host} if scenario.slow else {}),
        },
    )
