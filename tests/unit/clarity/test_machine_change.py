from __future__ import annotations

import pytest

from airflow_provider_ernest import run_profile
from airflow_provider_ernest.clarity.what_if import Change, to_machines
from airflow_provider_ernest.exceptions import InvalidParameterError

Capacity = run_profile.Capacity


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(), "the same machines"),
        (Change(network=2.0), "twice the network"),
        (Change(network=0.5, disk=2.0), "half the network, twice the disks"),
        (Change(cpu=1.25), "1.25 times the speed of a core"),
        (Change(cores=8), "8 cores a machine"),
        (Change(cores=1), "1 core a machine"),
        (Change(cores=8, machines=1), "8 cores a machine, 1 machine"),
        (Change(machines=3, network=10), "10 times the network, 3 machines"),
        (Change(network=2.0, name="m5n.large"), "m5n.large"),
    ],
)
def test_a_change_says_what_it_is(change, words):
    assert change.words == words


@pytest.mark.parametrize(
    "fields",
    [
        {"network": 0},
        {"disk": -1.0},
        {"cpu": float("nan")},
        {"cpu": float("inf")},
        {"cores": 0},
        {"machines": 1.5},
        {"machines": float("nan")},
    ],
)
def test_no_machine_is_like_that(fields):
    with pytest.raises(InvalidParameterError, match=next(iter(fields))):
        Change(**fields)


def test_other_machines_are_as_many_times_as_fast_as_their_rates():
    here = Capacity(cores=2, network_gigabytes_per_second=0.5, disk_gigabytes_per_second=0.2)
    there = Capacity(cores=4, network_gigabytes_per_second=1.25, disk_gigabytes_per_second=0.1)

    assert to_machines(here, there, cpu=1.1, machines=3, name="m5n.xlarge") == Change(
        cpu=1.1, network=2.5, disk=0.5, cores=4, machines=3, name="m5n.xlarge"
    )


def test_what_one_of_the_two_does_not_tell_counts_as_the_same():
    here = Capacity(cores=2, network_gigabytes_per_second=None, disk_gigabytes_per_second=0.2)
    there = Capacity(cores=2, network_gigabytes_per_second=1.25)

    assert to_machines(here, there) == Change()
