from dataclasses import replace

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.advice import bound_by, headline_of
from airflow_provider_ernest.run_profile import ResourceLimit, RunProfile
from tests.unit.run_profiles import bare, network_bound


def limit(resource: str, percent: float, *, of: float = 44.0) -> ResourceLimit:
    return ResourceLimit(
        resource=resource,
        blocked_seconds=10.0,
        share_percent=percent,
        seconds_without=of * (1 - percent / 100),
        improvement_percent=percent,
    )


def profile(bottleneck: str = run_profile.CPU, **percents: float) -> RunProfile:
    limits = tuple(limit(name.replace("_", " "), percent) for name, percent in percents.items())
    return bare(seconds=44.0, replayed_seconds=44.0, bottleneck=bottleneck, limits=limits)


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (
            profile(network=2.0, disk=1.2),
            "CPU-bound: at most 2 % from a faster network, 1 % from faster disks",
        ),
        (profile(network=0, disk=0.01), "CPU-bound: nothing from a faster network, 0.1 % from faster disks"),
        (
            profile(run_profile.NETWORK, network=41.0),
            "Network-bound: up to 41 % (18 s of 44 s) from an infinitely fast network",
        ),
        (
            profile(run_profile.DISK, disk=12.4),
            "Disk-bound: up to 12 % (5.5 s of 44 s) from infinitely fast disks",
        ),
        (
            profile(run_profile.PYTHON_WORKER, Python_worker=68.0),
            "Bound by Python workers, computing or waiting (Spark does not tell which): at most 68 % (30 s "
            "of 44 s) without their time",
        ),
        (
            profile(run_profile.GARBAGE_COLLECTION, garbage_collection=30.0),
            "Bound by garbage collection: up to 30 % (13 s of 44 s) without it",
        ),
        (
            replace(profile(run_profile.DRIVER, network=1.0), driver_seconds=30.0),
            "Bound by the driver, with no task running for 30 s of 44 s: at most 1 % from a faster network",
        ),
        (
            replace(profile(network=2.0), driver_seconds=20.0),
            "CPU-bound: at most 2 % from a faster network; no task ran for 20 s of 44 s",
        ),
        (
            profile(run_profile.UNMEASURED, network=2.0),
            "Bound by what Spark does not measure, such as reading input, a service or a busy host: at most "
            "2 % from a faster network",
        ),
        (bare(), "CPU-bound"),
    ],
)
def test_the_sentence_and_its_figures(run: RunProfile, sentence: str):
    assert headline_of(run) == sentence


def test_the_resource_that_is_used_most_binds_the_run():
    assert bound_by(network_bound(), [run_profile.NETWORK]) == run_profile.NETWORK
    assert bound_by(network_bound(), [run_profile.CPU]) == run_profile.CPU
    assert bound_by(network_bound(), [run_profile.UNMEASURED]) == run_profile.UNMEASURED


def test_what_spark_does_not_measure_is_told_of_a_run_that_computes():
    run = profile(network=2.0)
    assert headline_of(run, unmeasured_share=0.1) == headline_of(run)
    assert headline_of(run, unmeasured_share=0.3) == (
        "CPU-bound: at most 2 % from a faster network; Spark does not measure what 30 % of its tasks' time "
        "went to, such as reading input or a busy host"
    )


def test_what_is_used_most_without_being_waited_for_gives_way_to_what_comes_next():
    used = [run_profile.DISK, run_profile.UNMEASURED, run_profile.CPU]
    assert bound_by(network_bound(), used) == run_profile.UNMEASURED


def test_waiting_that_wins_next_to_nothing_binds_no_run():
    assert bound_by(network_bound(), [run_profile.DISK]) == run_profile.CPU


def test_a_run_without_tasks_for_most_of_its_time_is_bound_by_its_driver():
    assert bound_by(network_bound(driver_seconds=21.9), [run_profile.NETWORK]) == run_profile.NETWORK
    assert bound_by(network_bound(driver_seconds=22.0), [run_profile.NETWORK]) == run_profile.DRIVER
