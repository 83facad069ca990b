"""Making the runs: each scenario on its cluster, its event log kept."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog
from benchmarks.clarity.cluster import Disk, SlowableCluster
from benchmarks.clarity.scenarios import SCENARIOS, WITH_DISKS, WORKERS, Scenario

APPLICATION = Path(__file__).parent / "application.py"

SLOW_HOST_SETTING = "spark.clarity.slowHost"
"""Tells the report, by way of the event log, which host had been made slow; no analysis looks at it."""

Logs = Mapping[str, Sequence[EventLog]]
"""The event logs of each scenario's runs, by its name."""


def log_of(folder: Path, scenario: str, repeat: int) -> Path:
    """Where the event log of a run lies."""
    return folder / f"{scenario.replace(', ', '-').replace(' ', '-')}.{repeat}.log"


def read_runs(folder: Path) -> Logs:
    """The runs whose event logs are in a folder.

    Raises:
        RuntimeError: there are none.
    """
    found: dict[str, list[EventLog]] = {}
    for scenario in SCENARIOS:
        repeat = 0
        while (path := log_of(folder, scenario.name, repeat)).exists():
            found.setdefault(scenario.name, []).append(read_event_log(path))
            repeat += 1
    if not found:
        raise RuntimeError(f"{folder} holds none of this benchmark's event logs")
    return found


def make_runs(work_directory: Path, logs: Path, *, repeats: int) -> None:
    """Make all runs, repeats of one apart from each other; runs whose logs are there are not made again.

    Raises:
        RuntimeError: a cluster does not come up, or an application fails.
    """
    for name in WORKERS:
        if name == WITH_DISKS and (problem := Disk.missing()):
            print(f"{name}: left out, {problem}", file=sys.stderr)
            continue
        missing = [
            (scenario, log)
            for repeat in range(repeats)
            for scenario in SCENARIOS
            if scenario.cluster == name and not (log := log_of(logs, scenario.name, repeat)).exists()
        ]
        if missing:
            with _cluster(work_directory / name.replace(" ", "-"), name) as (cluster, disks):
                for scenario, log in missing:
                    _run(scenario, cluster, disks, log)
                    print(f"{scenario.name} has run", file=sys.stderr, flush=True)


@contextmanager
def _cluster(folder: Path, name: str) -> Iterator[tuple[SlowableCluster, Sequence[Disk]]]:
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        count = WORKERS[name] if name == WITH_DISKS else 0
        disks = [stack.enter_context(Disk.made(folder / f"disk-{number}")) for number in range(count)]
        cluster = SlowableCluster(folder, workers=WORKERS[name], disks=[disk.folder for disk in disks])
        yield stack.enter_context(cluster), disks


def _run(scenario: Scenario, cluster: SlowableCluster, disks: Sequence[Disk], event_log: Path) -> None:
    cluster.set_hosts(scenario.hosts, slow=scenario.slow)
    for disk in disks:
        disk.set_speed(scenario.disk_megabytes_per_second)
    cluster.run(
        APPLICATION,
        scenario.job.split(),
        event_log=event_log,
        executors=scenario.executors,
        cores=scenario.cores,
        settings={
            "spark.app.name": scenario.name,
            **({SLOW_HOST_SETTING: cluster.slow_host} if scenario.slow else {}),
        },
    )
