from __future__ import annotations

import random

import pytest

from airflow_provider_ernest.clusters.probe import choose_culled, warnings_after
from airflow_provider_ernest.spark.machines import Bandwidth, Machine, Measurement, rate


def machine(host: str, bandwidth: Bandwidth | None = None) -> Machine:
    return Machine(worker_id=f"worker-{host}", host=host, cores=8, memory_megabytes=1024, bandwidth=bandwidth)


def probed(**rates: tuple[float, ...]) -> list[Machine]:
    """Machines by name, each with its (memory, network) bandwidth, rated as the probe rates them."""
    rated = rate(
        Measurement(host=host, memory_windows=(memory,), sent=tuple(network), received=tuple(network))
        for host, (memory, *network) in rates.items()
    )
    return [machine(host, rated[host]) for host in rates]


def culled_hosts(machines, **how):
    return [culled.machine.host for culled in choose_culled(machines, **how)]


FIVE = {"a": (20.0, 1.0), "b": (19.4, 1.0), "c": (20.0, 0.52), "d": (20.0, 1.0), "e": (10.0, 1.0)}


def test_the_slowest_are_culled_slowest_first_and_the_reason_says_what_was_slow():
    culled = choose_culled(probed(**FIVE), keep=2, floor=0.85, smallest=2)
    assert [(each.machine.host, each.reason) for each in culled] == [
        ("e", "memory 50 % of the median, below the floor of 85 %: a straggler"),
        ("c", "network 52 % of the median, below the floor of 85 %: a straggler"),
        ("b", "not needed: memory 97 % of the median"),
    ]


ORDINARY = {"a": (20.0, 1.0), "b": (19.0, 1.0), "c": (20.0, 0.95)}
AT_THE_FLOOR = {"a": (20.0, 1.0), "b": (20.0, 1.0), "c": (17.0, 1.0)}


@pytest.mark.parametrize(
    ("machines", "keep", "smallest", "culled"),
    [
        (ORDINARY, 3, 1, []),
        (AT_THE_FLOOR, 3, 1, []),
        (FIVE, 4, 3, ["e", "c"]),
        (FIVE, 5, 4, ["e"]),
        (FIVE, 5, 5, []),
        (FIVE, 8, 3, ["e", "c"]),
        (FIVE, 8, 6, []),
        ({"a": (9.0,), "b": (9.0,)}, 1, 1, ["a"]),  # without network
    ],
)
def test_stragglers_beyond_the_surplus_are_culled_down_to_the_smallest_acceptable(
    machines, keep, smallest, culled
):
    assert culled_hosts(probed(**machines), keep=keep, floor=0.85, smallest=smallest) == culled


def test_machines_without_measurement_go_before_ordinary_ones_and_after_stragglers():
    machines = [*probed(**FIVE), machine("y"), machine("x")]
    culled = choose_culled(machines, keep=3, floor=0.85, smallest=3)
    assert [each.machine.host for each in culled] == ["e", "c", "x", "y"]
    assert culled[2].reason == "not needed: its bandwidth was not measured"


def test_the_order_of_the_machines_does_not_matter():
    machines = [*probed(**FIVE), machine("y"), machine("x")]
    wanted = choose_culled(machines, keep=3, floor=0.99, smallest=2)
    for seed in range(5):
        shuffled = random.Random(seed).sample(machines, len(machines))
        assert choose_culled(shuffled, keep=3, floor=0.99, smallest=2) == wanted


def test_stragglers_that_had_to_stay_are_told_slowest_first():
    first, second = warnings_after([*probed(**FIVE), machine("unmeasured")], floor=0.85)
    assert "e is slow and remains: memory 50 % of the median, below the floor of 85 %" in first
    assert "c is slow and remains: network 52 %" in second
