"""Making the runs: each scenario on its cluster, its event log kept."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.clarity import disks
from benchmarks.clarity.cluster import SlowableCluster
from benchmarks.clarity.scenarios import WITH_DISKS, WORKERS, Scenario

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
    say: Callable[[str], None],
) -> None:
    """Make runs, one after another; repeats of one are apart from each other.

    Args:
        scenarios: to run.
        work_directory: for the clusters' logs; what is in it is removed.
        logs: where the event logs go.
        repeats: of each scenario.
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
                    _run(scenario, cluster, its_disks, log_of(logs, scenario.name, repeat), say)


@contextmanager
def _cluster(folder: Path, name: str) -> Iterator[tuple[SlowableCluster, Sequence[disks.Disk]]]:
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        count = WORKERS[name] if name == WITH_DISKS else 0
        its_disks = stack.enter_context(disks.disks(folder / "disks", count))
        cluster = SlowableCluster(folder, workers=WORKERS[name], disks=[disk.folder for disk in its_disks])
        yield stack.enter_context(cluster), its_disks


def _run(
    scenario: Scenario,
    cluster: SlowableCluster,
    its_disks: Sequence[disks.Disk],
    event_log: Path,
    say: Callable[[str], None],
) -> None:
    cluster.set_hosts(scenario.hosts, slow=scenario.slow)
    for disk in its_disks:
        disk.set_speed(scenario.disk_megabytes_per_second)
    started = time.monotonic()
    cluster.run(
        APPLICATION,
        scenario.job.split(),
        event_log=event_log,
        machines=scenario.machines,
        cores=scenario.cores,
        settings={
            "spark.app.name": scenario.name,
            **({SLOW_HOST_SETTING: cluster.slow_host} if scenario.slow else {}),
        },
    )
    say(f"{scenario.name}: {time.monotonic() - started:.0f} s from submission to end")
