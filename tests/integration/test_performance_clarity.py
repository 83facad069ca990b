"""What is told of real runs whose bottleneck is known, because it was made: on hosts of the test bed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from airflow_provider_ernest import command_line
from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents import profiles
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.eventlog.tables import EventLog
from benchmarks.clarity.cluster import SlowableCluster
from benchmarks.clarity.running import APPLICATION
from tests.ec2_testbed import Performance
from tests.integration.conftest import processes_mentioning

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(SlowableCluster.missing() is not None, reason=SlowableCluster.missing() or ""),
    pytest.mark.spark,
]

WORKERS = 3
COMPUTE = "--rows 8000 --maps 16 --reduces 8 --map-hash-kilobytes 300"
SHUFFLE = "--rows 10000 --row-bytes 8000 --maps 12 --reduces 12"
EQUAL_TASKS = "--rounds 2 --rows 1800 --maps 12 --reduces 6 --map-hash-kilobytes 500"
LINK_MEGABITS = 12.0
# Of CPU time: together less than the two cores of the smallest machine that the tests run on.
SHARE, SLOW_SHARE = Performance(cpu=0.6), Performance(cpu=0.15)
TOLERANCE_PERCENT = 35.0

Run = Callable[..., RunProfile]


def require_cpu(log: EventLog, *, share: float) -> None:
    """Skip where others had so much of this machine's CPU that tasks waited for it most of their time."""
    got = float(np.median(log.task_columns.cpu_seconds / np.maximum(log.task_columns.run_seconds, 1e-3)))
    if got < share / 2:
        pytest.skip(f"needs a machine that is not busy: tasks got {got:.2f} of {share} cores")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clarity")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[SlowableCluster]:
    with SlowableCluster(folder, workers=WORKERS) as running:
        yield running
    assert not processes_mentioning(str(folder)), "nothing of the cluster is left"


@pytest.fixture(scope="module")
def run(cluster: SlowableCluster, folder: Path) -> Run:
    """Runs a job on hosts of a given speed; returns what its event log tells."""

    def run(
        name: str,
        job: str,
        hosts: Performance,
        *,
        slow: Performance | None = None,
        executors: int = WORKERS,
        cores_of_cpu: float | None = None,
    ) -> RunProfile:
        cluster.set_hosts(hosts, slow=slow)
        log = folder / "logs" / name
        cluster.run(APPLICATION, job.split(), event_log=log, executors=executors)
        read = read_event_log(log)
        if cores_of_cpu is not None:
            require_cpu(read, share=cores_of_cpu)
        return profile_run(read, event_log=str(log))

    return run


@pytest.fixture(scope="module")
def computing(run: Run) -> RunProfile:
    # On no more machines than there are cores: with more the tasks would wait for each other's CPU.
    return run("computing", COMPUTE, Performance(), executors=2, cores_of_cpu=1.0)


@pytest.fixture(scope="module")
def throttled(run: Run) -> RunProfile:
    return run("throttled", SHUFFLE, Performance(megabits_per_second=LINK_MEGABITS))


@pytest.fixture(scope="module")
def unthrottled(run: Run) -> RunProfile:
    return run("unthrottled", SHUFFLE, Performance())


@pytest.fixture(scope="module")
def one_slow_host(run: Run) -> RunProfile:
    return run("one_slow_host", EQUAL_TASKS, SHARE, slow=SLOW_SHARE, cores_of_cpu=SHARE.cpu)


def limit(profile: RunProfile, resource: str) -> profiles.ResourceLimit:
    [found] = [limit for limit in profile.limits if limit.resource == resource]
    return found


def test_a_job_that_computes_would_win_nothing_by_a_faster_network(computing: RunProfile) -> None:
    assert computing.bottleneck == profiles.CPU
    assert computing.headline.startswith("CPU-bound"), computing.headline
    assert limit(computing, profiles.NETWORK).improvement_percent < 5
    assert limit(computing, profiles.DISK).improvement_percent < 10
    assert max(computing.stages, key=lambda stage: stage.seconds).bottleneck == profiles.CPU


def test_a_job_that_shuffles_over_slow_links_is_bound_by_them(throttled: RunProfile) -> None:
    assert throttled.bottleneck == profiles.NETWORK
    assert throttled.headline.startswith("Network-bound"), throttled.headline
    assert limit(throttled, profiles.NETWORK).improvement_percent > 30
    fetching = max(throttled.stages, key=lambda stage: stage.shuffle_remote_bytes)
    assert fetching.bottleneck == profiles.NETWORK
    assert throttled.capacity is not None
    assert throttled.capacity.network_gigabytes_per_second == pytest.approx(LINK_MEGABITS / 8000, rel=0.4)


def test_the_same_job_takes_what_was_predicted_once_its_links_are_fast(
    throttled: RunProfile, unthrottled: RunProfile
) -> None:
    predicted = limit(throttled, profiles.NETWORK).seconds_without
    was, came = throttled.seconds, unthrottled.seconds
    assert 100 * abs(predicted / came - 1) <= TOLERANCE_PERCENT, f"{was:.1f} s, {predicted:.1f} s predicted"
    assert unthrottled.bottleneck != profiles.NETWORK
    assert limit(unthrottled, profiles.NETWORK).improvement_percent < 15


def test_ernest_analyze_says_so_of_the_same_log(
    throttled: RunProfile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert throttled.event_log is not None
    page = tmp_path / "run.html"
    assert command_line.main(["analyze", throttled.event_log, "--html", str(page)]) == 0
    assert throttled.headline in " ".join(capsys.readouterr().out.split())
    assert "Network-bound" in page.read_text()


def test_tasks_of_a_slow_host_are_put_down_to_it(cluster: SlowableCluster, one_slow_host: RunProfile) -> None:
    hosts = Counter(
        straggler.host for straggler in one_slow_host.stragglers if straggler.cause == profiles.SLOW_HOST
    )
    assert hosts, "no straggler is put down to a slow host"
    assert hosts.most_common(1)[0][0] == cluster.slow_host
    [cause] = [cause for cause in one_slow_host.straggler_causes if cause.cause == profiles.SLOW_HOST]
    assert cause.seconds_without < 0.9 * one_slow_host.seconds


@pytest.mark.parametrize("which", ["computing", "throttled", "unthrottled", "one_slow_host"])
def test_what_is_replayed_is_what_was(which: str, request: pytest.FixtureRequest) -> None:
    profile: RunProfile = request.getfixturevalue(which)
    assert abs(profile.replay_error_percent) < 5
    whole = profile.startup_seconds + profile.seconds
    assert profile.phases.total_seconds == pytest.approx(whole, rel=0.02)
